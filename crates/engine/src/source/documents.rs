//! Attributes of rows, as they are read to be built in: a document for each row, as JSON.

use std::path::Path;
use std::sync::Arc;

use pageway_attributes::{Document, MAX_DOCUMENT_BYTES, terms_of};
use pageway_store::{OpenMode, Vfs, VfsFile};

use crate::error::{Error, Result};

/// Documents of rows, one each, in any number of passes.
pub trait DocumentRead: Sync {
    /// Where they come from, for messages.
    fn name(&self) -> &str;

    /// How many there are.
    fn count(&self) -> u64;

    /// Number of the first row, for messages.
    fn first(&self) -> u64 {
        0
    }

    /// Shows the documents of `count` rows from `first` on, in order, each as a JSON object.
    ///
    /// # Errors
    /// As reading is; what `visit` gives.
    fn visit(
        &self,
        first: u64,
        count: u64,
        visit: &mut dyn FnMut(&[u8]) -> Result<()>,
    ) -> Result<()>;
}

impl std::fmt::Debug for dyn DocumentRead + '_ {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} documents of {}", self.count(), self.name())
    }
}

/// The document that a JSON text stands for, if rows can have it.
///
/// # Errors
/// `InvalidInput` for what is no object, and for objects that are too long or too deep or have
/// names that are too long.
pub(crate) fn check_document(json: &[u8]) -> Result<Document> {
    let parsed = serde_json::from_slice(json);
    let document: Document = parsed.map_err(|error| Error::invalid(error.to_string()))?;
    if json.len() > MAX_DOCUMENT_BYTES {
        return Err(Error::invalid("a document of more than 1 MiB"));
    }
    terms_of(&document)?;
    Ok(document)
}

/// Rows between two places of a file that are remembered.
const STEP: u64 = 1024;
/// Bytes that are read at a time.
const BUFFER_BYTES: usize = 1 << 16;
/// Bytes of a line at most.
const MAX_LINE_BYTES: usize = 1 << 24;

/// A file of JSON lines. Blank lines are passed over.
///
/// Remembers where every 1024th row begins: 8 bytes each.
pub struct DocumentLines {
    file: Arc<dyn VfsFile>,
    name: String,
    count: u64,
    places: Vec<u64>,
}

impl DocumentLines {
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

    /// Shows lines that are not blank, with their offsets, until `visit` has enough.
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
                if !line.trim_ascii().is_empty() {
                    visit(line_start, &line)?;
                }
                return Ok(());
            }
            while let Some(end) = rest.iter().position(|byte| *byte == b'\n') {
                let (own, behind) = rest.split_at(end);
                line.extend_from_slice(own);
                rest = behind.get(1..).unwrap_or_default();
                if !line.trim_ascii().is_empty() && !visit(line_start, &line)? {
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

impl DocumentRead for DocumentLines {
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

/// Documents in memory, a JSON text each.
pub struct DocumentSlice<'s>(
    /// Them.
    pub &'s [String],
);

impl DocumentRead for DocumentSlice<'_> {
    fn name(&self) -> &'static str {
        "attributes"
    }

    fn count(&self) -> u64 {
        self.0.len() as u64
    }

    fn visit(
        &self,
        first: u64,
        count: u64,
        visit: &mut dyn FnMut(&[u8]) -> Result<()>,
    ) -> Result<()> {
        let all = self.0.iter().skip(first as usize).take(count as usize);
        all.map(String::as_bytes).try_for_each(visit)
    }
}

/// Some of the documents of others.
pub struct DocumentPart<'d> {
    of: &'d dyn DocumentRead,
    first: u64,
    count: u64,
}

impl<'d> DocumentPart<'d> {
    /// The documents of `count` rows from `first` on.
    pub fn new(of: &'d dyn DocumentRead, first: u64, count: u64) -> Self {
        let count = count.min(of.count().saturating_sub(first));
        Self { of, first, count }
    }
}

impl DocumentRead for DocumentPart<'_> {
    fn name(&self) -> &str {
        self.of.name()
    }

    fn count(&self) -> u64 {
        self.count
    }

    fn first(&self) -> u64 {
        self.of.first() + self.first
    }

    fn visit(
        &self,
        first: u64,
        count: u64,
        visit: &mut dyn FnMut(&[u8]) -> Result<()>,
    ) -> Result<()> {
        let count = count.min(self.count.saturating_sub(first));
        self.of.visit(self.first + first, count, visit)
    }
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
        let file = DocumentLines::open(&vfs, &path).unwrap();
        assert_eq!(file.count(), 5000);
        for (first, count) in [(0, 5000), (1023, 2), (1024, 1), (4999, 1), (3000, 0)] {
            let mut found = Vec::new();
            let mut keep = |line: &[u8]| {
                found.push(String::from_utf8(line.trim_ascii().to_vec()).unwrap());
                Ok(())
            };
            file.visit(first, count, &mut keep).unwrap();
            let expected = lines.iter().skip(first as usize).take(count as usize);
            assert!(found.iter().eq(expected), "{first} {count}");
        }
    }
}
