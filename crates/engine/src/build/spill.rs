//! Temporary files of a build: written, read once or more, removed, unless they are kept for a
//! build that goes on.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use pageway_store::{OpenMode, Vfs, VfsFile};

use crate::error::{Error, Result};

/// Bytes buffered per open spill.
pub(super) const BUFFER_BYTES: usize = 64 << 10;
/// The same for many open spills: the least for each, and the most for all together.
const SMALL_BUFFER_BYTES: usize = 4 << 10;
const BUFFERS_BYTES: usize = 1 << 20;

/// Bytes buffered per spill if so many are open at once.
pub(super) const fn shared_buffer_bytes(spills: u64) -> usize {
    let share = BUFFERS_BYTES / if spills == 0 { 1 } else { spills as usize };
    if share > BUFFER_BYTES {
        BUFFER_BYTES
    } else if share < SMALL_BUFFER_BYTES {
        SMALL_BUFFER_BYTES
    } else {
        share
    }
}

/// A stream being written.
pub(super) struct SpillWriter {
    spill: Spill,
    buffer: Vec<u8>,
    buffer_bytes: usize,
    written: u64,
}

/// A finished stream. Its file goes when this does, unless it is kept.
pub(super) struct Spill {
    vfs: Arc<dyn Vfs>,
    path: PathBuf,
    file: Arc<dyn VfsFile>,
    kept: AtomicBool,
}

/// A stream being read from its start.
pub(super) struct SpillReader<'s> {
    spill: &'s Spill,
    buffer: Vec<u8>,
    buffer_bytes: usize,
    at: usize,
    offset: u64,
}

impl Drop for Spill {
    fn drop(&mut self) {
        if self.kept.load(Ordering::Relaxed) {
            return;
        }
        // What cannot be removed now is an orphan that the next build removes.
        let _ = self.vfs.remove_file(&self.path);
    }
}

impl SpillWriter {
    /// Creates the file.
    pub(super) fn create(vfs: &Arc<dyn Vfs>, path: &Path, buffer_bytes: usize) -> Result<Self> {
        let file = vfs.open(path, OpenMode::CreateNew);
        let file = file.map_err(|error| Error::of_writing(path.display(), error))?;
        let spill = Spill {
            vfs: Arc::clone(vfs),
            path: path.to_path_buf(),
            file,
            kept: AtomicBool::new(false),
        };
        Ok(Self {
            spill,
            buffer: Vec::with_capacity(buffer_bytes),
            buffer_bytes,
            written: 0,
        })
    }

    /// Appends bytes.
    pub(super) fn write(&mut self, bytes: &[u8]) -> Result<()> {
        if self.buffer.len() + bytes.len() > self.buffer_bytes {
            self.flush()?;
        }
        if bytes.len() >= self.buffer_bytes {
            return self.write_through(bytes);
        }
        self.buffer.extend_from_slice(bytes);
        Ok(())
    }

    /// Goes on at `offset`.
    pub(super) fn seek(&mut self, offset: u64) -> Result<()> {
        if self.written + self.buffer.len() as u64 != offset {
            self.flush()?;
            self.written = offset;
        }
        Ok(())
    }

    /// Ends the stream.
    pub(super) fn finish(mut self) -> Result<Spill> {
        self.flush()?;
        Ok(self.spill)
    }

    fn flush(&mut self) -> Result<()> {
        let buffer = std::mem::take(&mut self.buffer);
        let outcome = self.write_through(&buffer);
        self.buffer = buffer;
        self.buffer.clear();
        outcome
    }

    fn write_through(&mut self, bytes: &[u8]) -> Result<()> {
        let wrote = self.spill.file.write_all_at(bytes, self.written);
        wrote.map_err(|error| Error::from(error).within(self.spill.path.display()))?;
        self.written += bytes.len() as u64;
        Ok(())
    }
}

impl Spill {
    /// A file that was kept.
    pub(super) fn open(vfs: &Arc<dyn Vfs>, path: &Path) -> Result<Self> {
        let file = vfs.open(path, OpenMode::ReadOwn);
        let file = file.map_err(|error| Error::from(error).within(path.display()))?;
        Ok(Self {
            vfs: Arc::clone(vfs),
            path: path.to_path_buf(),
            file,
            kept: AtomicBool::new(true),
        })
    }

    /// Keeps the file when this is dropped.
    pub(super) fn keep(&self) {
        self.kept.store(true, Ordering::Relaxed);
    }

    /// Name of the file.
    pub(super) fn name(&self) -> String {
        let name = self.path.file_name().unwrap_or_default();
        name.to_string_lossy().into_owned()
    }

    /// Length in bytes.
    pub(super) fn bytes(&self) -> Result<u64> {
        let bytes = self.file.len();
        bytes.map_err(|error| Error::from(error).within(self.path.display()))
    }

    /// Fills `out` with the bytes at `offset`.
    pub(super) fn read_at(&self, out: &mut [u8], offset: u64) -> Result<()> {
        let read = self.file.read_exact_at(out, offset);
        read.map_err(|error| Error::from(error).within(self.path.display()))
    }

    /// Writes bytes again in their place.
    pub(super) fn write_at(&self, bytes: &[u8], offset: u64) -> Result<()> {
        let wrote = self.file.write_all_at(bytes, offset);
        wrote.map_err(|error| Error::from(error).within(self.path.display()))
    }

    /// Reads the stream from its start.
    pub(super) fn reader(&self) -> SpillReader<'_> {
        self.reader_beside(1)
    }

    /// The same, for one of `streams` streams that are read at once.
    pub(super) fn reader_beside(&self, streams: usize) -> SpillReader<'_> {
        SpillReader {
            spill: self,
            buffer: Vec::new(),
            buffer_bytes: shared_buffer_bytes(streams as u64),
            at: 0,
            offset: 0,
        }
    }
}

impl SpillReader<'_> {
    /// Fills `out` with the next bytes; false at the end of the stream.
    pub(super) fn read(&mut self, out: &mut [u8]) -> Result<bool> {
        let mut filled = 0;
        while filled < out.len() {
            if self.at == self.buffer.len() && !self.refill()? {
                return Ok(false);
            }
            let ready = self.buffer.get(self.at..).unwrap_or_default();
            let rest = out.get_mut(filled..).unwrap_or_default();
            let count = ready.len().min(rest.len());
            rest.iter_mut()
                .zip(ready)
                .for_each(|(to, from)| *to = *from);
            self.at += count;
            filled += count;
        }
        Ok(true)
    }

    fn refill(&mut self) -> Result<bool> {
        self.buffer.resize(self.buffer_bytes, 0);
        let read = self.spill.file.read_at(&mut self.buffer, self.offset);
        let count = read.map_err(|error| Error::from(error).within(self.spill.path.display()))?;
        self.buffer.truncate(count);
        self.at = 0;
        self.offset += count as u64;
        Ok(count > 0)
    }
}

#[cfg(test)]
mod tests {
    use pageway_store::OsVfs;

    use super::*;

    #[test]
    fn gives_back_what_was_written_and_goes() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("spill-0.pw");
        let vfs: Arc<dyn Vfs> = Arc::new(OsVfs);
        let bytes: Vec<u8> = (0..300_000u32).map(|i| (i * 7) as u8).collect();
        let mut writer = SpillWriter::create(&vfs, &path, BUFFER_BYTES).unwrap();
        let mut rest = bytes.as_slice();
        for size in [1, 5, 100_000, 0, 70, 65_536, 134_388] {
            let (now, later) = rest.split_at(size);
            writer.write(now).unwrap();
            rest = later;
        }
        let spill = writer.finish().unwrap();
        let mut back = vec![0; bytes.len()];
        let mut reader = spill.reader();
        let (left, right) = back.split_at_mut(12_345);
        assert!(reader.read(left).unwrap() && reader.read(right).unwrap());
        assert!(!reader.read(&mut [0]).unwrap());
        assert!(back == bytes);
        drop(spill);
        assert!(!vfs.exists(&path).unwrap());
    }
}
