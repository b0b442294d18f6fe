//! Ids as text, one decimal number per line. Lines end with `\n` or `\r\n`; the last may end with
//! the file. Nothing else is allowed, but a byte order mark and blank lines at the end, so that a
//! wrong file is found on its first line.
//!
//! Opening reads the file once and remembers where every `LINES_PER_MARK`-th line begins, so that
//! reading a run of rows later starts close to it: 8 bytes of memory for 4,096 ids.

use std::sync::Arc;

use pageway_store::VfsFile;

use super::super::error::SourceError;
use super::super::layout::{length_of, read_of};
use super::super::lines::without_mark;
use super::{IdRead, check_range};
use crate::error::Error;

const LINES_PER_MARK: u64 = 4096;
const BUFFER_BYTES: usize = 64 * 1024;

/// Ids in a text file.
pub(super) struct TextIds {
    file: Arc<dyn VfsFile>,
    name: String,
    file_bytes: u64,
    count: u64,
    marks: Vec<u64>,
}

impl TextIds {
    /// Reads the file once; refuses the first line that is not a number.
    pub(super) fn open(file: Arc<dyn VfsFile>, name: String) -> Result<Self, Error> {
        let file_bytes = length_of(file.as_ref(), &name)?;
        let mut ids = Self {
            file,
            name,
            file_bytes,
            count: 0,
            marks: Vec::new(),
        };
        let mut marks = Vec::new();
        let mut lines = ids.lines_from(ids.start()?, 0);
        loop {
            let (line, offset) = (lines.line, lines.offset());
            if lines.next_id()?.is_none() {
                break;
            }
            if line.is_multiple_of(LINES_PER_MARK) {
                marks.push(offset);
            }
        }
        let count = lines.line;
        if count == 0 {
            return Err(SourceError::Empty { file: ids.name }.into());
        }
        ids.count = count;
        ids.marks = marks;
        Ok(ids)
    }

    /// Where the first line begins.
    fn start(&self) -> Result<u64, Error> {
        let mut head = [0; 3];
        let there = self.file_bytes.min(head.len() as u64) as usize;
        let head = head.get_mut(..there).unwrap_or_default();
        read_of(self.file.as_ref(), &self.name, head, 0)?;
        Ok((head.len() - without_mark(head).len()) as u64)
    }

    fn lines_from(&self, offset: u64, line: u64) -> Lines<'_> {
        Lines {
            file: self.file.as_ref(),
            name: &self.name,
            buffer: Vec::new(),
            position: 0,
            unread_offset: offset,
            file_bytes: self.file_bytes,
            line,
        }
    }
}

impl IdRead for TextIds {
    fn name(&self) -> &str {
        &self.name
    }

    fn count(&self) -> u64 {
        self.count
    }

    fn read(&self, first: u64, out: &mut [u64]) -> Result<(), Error> {
        check_range(self, first, out.len())?;
        let mark = first / LINES_PER_MARK;
        let offset = self
            .marks
            .get(mark as usize)
            .copied()
            .unwrap_or(self.file_bytes);
        let mut lines = self.lines_from(offset, mark * LINES_PER_MARK);
        for _ in 0..first % LINES_PER_MARK {
            lines.next_id()?;
        }
        for id in out {
            *id = lines.next_id()?.ok_or_else(|| lines.bad_line())?;
        }
        Ok(())
    }
}

/// A cursor over the lines of a file.
struct Lines<'f> {
    file: &'f dyn VfsFile,
    name: &'f str,
    buffer: Vec<u8>,
    position: usize,
    /// Offset of the first byte behind the buffer.
    unread_offset: u64,
    file_bytes: u64,
    /// Lines read so far.
    line: u64,
}

impl Lines<'_> {
    /// Offset of the next byte.
    fn offset(&self) -> u64 {
        self.unread_offset - (self.buffer.len() - self.position) as u64
    }

    fn bad_line(&self) -> SourceError {
        SourceError::BadLine {
            file: self.name.to_owned(),
            line: self.line + 1,
        }
    }

    fn next_byte(&mut self) -> Result<Option<u8>, Error> {
        if self.position == self.buffer.len() {
            let bytes = (self.file_bytes - self.unread_offset).min(BUFFER_BYTES as u64) as usize;
            self.buffer.resize(bytes, 0);
            read_of(self.file, self.name, &mut self.buffer, self.unread_offset)?;
            self.unread_offset += bytes as u64;
            self.position = 0;
        }
        let byte = self.buffer.get(self.position).copied();
        self.position += usize::from(byte.is_some());
        Ok(byte)
    }

    /// The number on the next line, or `None` behind the last.
    fn next_id(&mut self) -> Result<Option<u64>, Error> {
        let mut id: Option<u64> = None;
        loop {
            match self.next_byte()? {
                Some(digit @ b'0'..=b'9') => {
                    let longer = id
                        .unwrap_or(0)
                        .checked_mul(10)
                        .and_then(|tens| tens.checked_add(u64::from(digit - b'0')));
                    id = Some(longer.ok_or_else(|| self.bad_line())?);
                }
                None if id.is_none() => return Ok(None),
                Some(b'\r' | b'\n') if id.is_none() => return self.pass_blank_end(),
                end => {
                    let ended = match end {
                        Some(b'\r') => self.next_byte()? == Some(b'\n'),
                        other => matches!(other, Some(b'\n') | None),
                    };
                    let value = id.filter(|_| ended).ok_or_else(|| self.bad_line())?;
                    self.line += 1;
                    return Ok(Some(value));
                }
            }
        }
    }

    /// Behind a line break without a number only line breaks may follow.
    fn pass_blank_end(&mut self) -> Result<Option<u64>, Error> {
        while let Some(byte) = self.next_byte()? {
            if !matches!(byte, b'\r' | b'\n') {
                return Err(self.bad_line().into());
            }
        }
        Ok(None)
    }
}
