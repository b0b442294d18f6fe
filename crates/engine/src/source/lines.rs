//! Lines of a text file, found from any number on. The mark that some programs begin UTF-8 with is
//! no part of the first.

use std::path::Path;
use std::sync::Arc;

use pageway_store::{OpenMode, Vfs, VfsFile};

use super::texts::TextRead;
use crate::error::{Error, Result};

/// Lines between two places of a file that are remembered.
const STEP: u64 = 1024;
/// Bytes that are read at a time.
const BUFFER_BYTES: usize = 1 << 16;
/// Bytes of a line at most.
const MAX_LINE_BYTES: usize = 1 << 24;
/// What some programs put in front of UTF-8.
const BYTE_ORDER_MARK: [u8; 3] = [0xef, 0xbb, 0xbf];

/// `start`, the beginning of a text, without a byte order mark.
#[must_use]
pub fn without_mark(start: &[u8]) -> &[u8] {
    start.strip_prefix(&BYTE_ORDER_MARK).unwrap_or(start)
}

/// A text file with a text on each line. Blank lines are passed over, and spaces around texts.
///
/// Remembers where every 1024th line begins: 8 bytes each.
pub struct TextLines {
    file: Arc<dyn VfsFile>,
    name: String,
    count: u64,
    places: Vec<u64>,
}

impl TextLines {
    /// Opens a file. Costs a pass over it.
    ///
    /// # Errors
    /// As the file is; `InvalidInput` for a line that is too long.
    pub fn open(vfs: &Arc<dyn Vfs>, path: &Path) -> Result<Self> {
        let name = path.display().to_string();
        let file = vfs.open(path, OpenMode::Read);
        let mut lines = Self {
            file: file.map_err(|error| Error::from(error).within(&name))?,
            name,
            count: 0,
            places: Vec::new(),
        };
        let (mut count, mut places) = (0u64, Vec::new());
        lines.each_line(0, &mut |offset, _| {
            if count.is_multiple_of(STEP) {
                places.push(offset);
            }
            count += 1;
            Ok(true)
        })?;
        (lines.count, lines.places) = (count, places);
        Ok(lines)
    }

    /// Shows the texts of lines that are not blank, with their offsets, until `visit` has enough.
    fn each_line(
        &self,
        start: u64,
        visit: &mut dyn FnMut(u64, &[u8]) -> Result<bool>,
    ) -> Result<()> {
        let (mut offset, mut line_start) = (start, start);
        let mut line = Vec::new();
        let mut buffer = vec![0; BUFFER_BYTES];
        loop {
            let read = self.file.read_at(&mut buffer, offset);
            let count = read.map_err(|error| Error::from(error).within(&self.name))?;
            let mut rest = buffer.get(..count).unwrap_or_default();
            if count == 0 {
                let own = own_text(line_start, &line);
                if !own.is_empty() {
                    visit(line_start, own)?;
                }
                return Ok(());
            }
            while let Some(end) = rest.iter().position(|byte| *byte == b'\n') {
                let (own, behind) = rest.split_at(end);
                line.extend_from_slice(own);
                rest = behind.get(1..).unwrap_or_default();
                let own = own_text(line_start, &line);
                if !own.is_empty() && !visit(line_start, own)? {
                    return Ok(());
                }
                line_start += line.len() as u64 + 1;
                line.clear();
            }
            line.extend_from_slice(rest);
            if line.len() > MAX_LINE_BYTES {
                return Err(Error::invalid(format!(
                    "{}: a line of more than 16 MiB, from byte {line_start} on",
                    self.name
                )));
            }
            offset += count as u64;
        }
    }
}

impl TextRead for TextLines {
    fn name(&self) -> &str {
        &self.name
    }

    fn count(&self) -> u64 {
        self.count
    }

    fn visit(
        &self,
        first: u64,
        count: u64,
        visit: &mut dyn FnMut(&[u8]) -> Result<()>,
    ) -> Result<()> {
        let place = self.places.get((first / STEP) as usize).copied();
        let (mut skip, mut left) = (first % STEP, count);
        if left == 0 {
            return Ok(());
        }
        self.each_line(place.unwrap_or(0), &mut |_, line| {
            if skip > 0 {
                skip -= 1;
                return Ok(true);
            }
            visit(line)?;
            left -= 1;
            Ok(left > 0)
        })
    }
}

/// The text of a line, which begins at `offset`.
fn own_text(offset: u64, line: &[u8]) -> &[u8] {
    let line = if offset == 0 {
        without_mark(line)
    } else {
        line
    };
    line.trim_ascii()
}

#[cfg(test)]
mod tests {
    use pageway_store::OsVfs;

    use super::*;

    #[test]
    fn lines_are_found_from_any_row_on() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("rows.jsonl");
        let lines: Vec<String> = (0..5000).map(|row| format!("{{\"row\": {row}}}")).collect();
        let text = lines
            .join("\n\n")
            .replace("\n\n{\"row\": 9}", "\r\n  \n{\"row\": 9}");
        let vfs: Arc<dyn Vfs> = Arc::new(OsVfs);
        let file = vfs.open(&path, OpenMode::CreateNew).unwrap();
        file.write_all_at(text.as_bytes(), 0).unwrap();
        let file = TextLines::open(&vfs, &path).unwrap();
        assert_eq!(file.count(), 5000);
        for (first, count) in [(0, 5000), (1023, 2), (1024, 1), (4999, 1), (3000, 0)] {
            let mut found = Vec::new();
            let mut keep = |line: &[u8]| {
                found.push(String::from_utf8(line.to_vec()).unwrap());
                Ok(())
            };
            file.visit(first, count, &mut keep).unwrap();
            let expected = lines.iter().skip(first as usize).take(count as usize);
            assert!(found.iter().eq(expected), "{first} {count}");
        }
    }

    #[test]
    #[expect(clippy::disallowed_methods, reason = "names come from elsewhere")]
    fn a_byte_order_mark_is_no_part_of_the_first_line() {
        let dir = tempfile::tempdir().unwrap();
        let vfs: Arc<dyn Vfs> = Arc::new(OsVfs);
        for (text, expected) in [
            ("\u{feff}a\nb", &["a", "b"][..]),
            ("\u{feff}\r\nb\n\u{feff}c\n", &["b", "\u{feff}c"]),
            ("\u{feff}", &[]),
        ] {
            let path = dir.path().join("names.txt");
            std::fs::write(&path, text).unwrap();
            let lines = TextLines::open(&vfs, &path).unwrap();
            let mut found = Vec::new();
            let mut keep = |line: &[u8]| {
                found.push(String::from_utf8(line.to_vec()).unwrap());
                Ok(())
            };
            lines.visit(0, lines.count(), &mut keep).unwrap();
            assert_eq!(found, expected);
        }
    }
}
