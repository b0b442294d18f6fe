//! Texts that wait in a scratch file, a line each, until they are read in any order.

use std::io::{BufRead, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use pageway::lab::{OpenMode, VfsFile};
use pageway::source::{TextLines, TextRead};
use pageway::{Error, Progress, Result, Vfs};
use serde_json::{Map, Value};

/// Bytes that are written at a time.
const BUFFER_BYTES: usize = 1 << 20;
/// Bytes of a line at most.
const LINE_BYTES_MAX: u64 = 16 << 20;
/// Rows between two looks at the wish to stop.
const ROWS_AT_ONCE: u64 = 4096;

/// Lines in the making. Dropped before it is finished, it leaves nothing.
pub(super) struct Spool<'s> {
    vfs: &'s Arc<dyn Vfs>,
    progress: &'s dyn Progress,
    /// What messages call the texts.
    name: String,
    path: PathBuf,
    file: Arc<dyn VfsFile>,
    buffer: Vec<u8>,
    written: u64,
    rows: u64,
}

impl<'s> Spool<'s> {
    pub(super) fn create(
        vfs: &'s Arc<dyn Vfs>,
        scratch: &Path,
        name: String,
        progress: &'s dyn Progress,
    ) -> Result<Self> {
        static COUNTER: AtomicU32 = AtomicU32::new(0);
        let (process, own) = (std::process::id(), COUNTER.fetch_add(1, Ordering::Relaxed));
        let path = scratch.join(format!(".pageway-attributes-{process}-{own}.jsonl"));
        let file = vfs
            .open(&path, OpenMode::CreateNew)
            .map_err(|error| Error::from(error).within(path.display()))?;
        progress.stage("read attributes", 0);
        Ok(Self {
            vfs,
            progress,
            name,
            path,
            file,
            buffer: Vec::new(),
            written: 0,
            rows: 0,
        })
    }

    /// Adds a document.
    pub(super) fn push(&mut self, document: &Map<String, Value>) -> Result<()> {
        serde_json::to_writer(&mut self.buffer, document)
            .map_err(|error| Error::invalid(format!("{}: {error}", self.name)))?;
        self.end_line()
    }

    /// Adds all lines of another text.
    pub(super) fn copy(&mut self, mut input: &mut dyn BufRead) -> Result<()> {
        loop {
            let mut bounded = (&mut input).take(LINE_BYTES_MAX);
            let read = bounded.read_until(b'\n', &mut self.buffer);
            match read.map_err(|error| Error::from(error).within(&self.name))? as u64 {
                0 => return Ok(()),
                LINE_BYTES_MAX => {
                    let words = format!("{}, line {}: longer than 16 MiB", self.name, self.rows);
                    return Err(Error::invalid(words));
                }
                _ => self.end_line()?,
            }
        }
    }

    fn end_line(&mut self) -> Result<()> {
        if self.buffer.last() != Some(&b'\n') {
            self.buffer.push(b'\n');
        }
        self.rows += 1;
        if self.rows.is_multiple_of(ROWS_AT_ONCE) {
            self.progress.check()?;
        }
        if self.buffer.len() < BUFFER_BYTES {
            return Ok(());
        }
        self.flush()
    }

    fn flush(&mut self) -> Result<()> {
        let written = self.file.write_all_at(&self.buffer, self.written);
        written.map_err(|error| Error::from(error).within(self.path.display()))?;
        self.written += self.buffer.len() as u64;
        self.buffer.clear();
        Ok(())
    }

    /// The texts; the file goes when they are dropped.
    pub(super) fn finish(mut self) -> Result<Box<dyn TextRead>> {
        self.flush()?;
        let lines = TextLines::open(self.vfs, &self.path)?;
        let name = self.name.clone();
        Ok(Box::new(Spooled { name, lines }))
    }
}

impl Drop for Spool<'_> {
    fn drop(&mut self) {
        let _ = self.vfs.remove_file(&self.path);
    }
}

/// Lines that stand for another file.
struct Spooled {
    name: String,
    lines: TextLines,
}

impl TextRead for Spooled {
    fn name(&self) -> &str {
        &self.name
    }

    fn count(&self) -> u64 {
        self.lines.count()
    }

    fn visit(
        &self,
        first: u64,
        count: u64,
        visit: &mut dyn FnMut(&[u8]) -> Result<()>,
    ) -> Result<()> {
        self.lines.visit(first, count, visit)
    }
}
