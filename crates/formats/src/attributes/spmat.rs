//! Tags of rows as the filter track of big-ann-benchmarks has them, `.spmat`: a sparse matrix, a
//! row for each vector and a column for each tag.
//!
//! ```text
//! rows, columns, entries i64 | offsets i64, one more than rows | columns i32 | values f32
//! ```
//!
//! Little-endian. Values are not read: a tag is there or is not.

use std::path::Path;
use std::sync::Arc;

use pageway::lab::{OpenMode, VfsFile};
use pageway::{Error, Result, Vfs};
use serde_json::{Map, Value};

use super::Take;

/// The field that the tags of a row become.
const FIELD: &str = "tags";
const HEAD_BYTES: u64 = 24;
/// Rows whose offsets are read at a time.
const ROWS_AT_ONCE: u64 = 8192;
/// Tags of a row at most: a document has no room for more.
const MOST_TAGS: u64 = 1 << 20;

/// A file whose header fits its length.
struct Matrix {
    name: String,
    file: Arc<dyn VfsFile>,
    rows: u64,
    columns: u64,
    entries: u64,
}

/// Shows the tags of each row as a document.
///
/// # Errors
/// `InvalidInput` for a header that contradicts the length of the file, and with the row whose
/// offsets or columns cannot be; `NotFound`, `Io`.
pub(super) fn each_document(vfs: &Arc<dyn Vfs>, path: &Path, take: &mut Take<'_>) -> Result<()> {
    let matrix = Matrix::open(vfs, path)?;
    let mut last = 0;
    for first in (0..matrix.rows).step_by(ROWS_AT_ONCE as usize) {
        let count = ROWS_AT_ONCE.min(matrix.rows - first);
        let offsets = matrix.offsets(first, count + 1)?;
        for (row, span) in (first..).zip(offsets.windows(2)) {
            let &[start, end] = span else {
                continue;
            };
            let fits = start == last && start <= end && end <= matrix.entries;
            let is_last = row + 1 == matrix.rows;
            if !fits || (is_last && end != matrix.entries) || end - start > MOST_TAGS {
                return Err(matrix.wrong(row, "its offsets do not lead through the entries"));
            }
            last = end;
            let tags = Value::Array(matrix.tags(row, (start, end))?);
            take(Map::from_iter([(FIELD.to_owned(), tags)]))?;
        }
    }
    Ok(())
}

impl Matrix {
    fn open(vfs: &Arc<dyn Vfs>, path: &Path) -> Result<Self> {
        let name = path.display().to_string();
        let named = |error: std::io::Error| Error::from(error).within(&name);
        let file = vfs
            .open(path, OpenMode::Read)
            .map_err(|error| Error::from(error).within(&name))?;
        let bytes = file.len().map_err(named)?;
        if bytes < HEAD_BYTES {
            let words = format!("{name}: is shorter than the header of a .spmat file");
            return Err(Error::invalid(words));
        }
        let mut head = [0; HEAD_BYTES as usize];
        file.read_exact_at(&mut head, 0).map_err(named)?;
        let [rows, columns, entries] = words(&head)[..] else {
            return Err(Error::invalid(format!("{name}: has no header")));
        };
        let needed = rows
            .checked_add(1)
            .zip(entries.checked_mul(8))
            .and_then(|(rows, entries)| rows.checked_mul(8)?.checked_add(entries))
            .and_then(|bytes| bytes.checked_add(HEAD_BYTES));
        if columns > i32::MAX as u64 || needed != Some(bytes) {
            return Err(Error::invalid(format!(
                "{name}: {rows} rows, {columns} columns and {entries} entries by its header do not \
                 fit its {bytes} bytes"
            )));
        }
        Ok(Self {
            name,
            file,
            rows,
            columns,
            entries,
        })
    }

    fn read(&self, count: u64, width: u64, offset: u64) -> Result<Vec<u8>> {
        let mut bytes = vec![0; (count * width) as usize];
        let read = self.file.read_exact_at(&mut bytes, offset);
        read.map_err(|error| Error::from(error).within(&self.name))?;
        Ok(bytes)
    }

    fn offsets(&self, first: u64, count: u64) -> Result<Vec<u64>> {
        let bytes = self.read(count, 8, HEAD_BYTES + 8 * first)?;
        Ok(words(&bytes))
    }

    fn tags(&self, row: u64, (start, end): (u64, u64)) -> Result<Vec<Value>> {
        let first = HEAD_BYTES + 8 * (self.rows + 1) + 4 * start;
        let bytes = self.read(end - start, 4, first)?;
        let tag = |bytes: &[u8; 4]| u32::from_le_bytes(*bytes);
        let tags = bytes.as_chunks().0.iter().map(tag);
        tags.map(|tag| {
            let fits = u64::from(tag) < self.columns;
            let words = || {
                format!(
                    "names a column outside of the {} that there are",
                    self.columns
                )
            };
            fits.then(|| tag.into())
                .ok_or_else(|| self.wrong(row, words()))
        })
        .collect()
    }

    fn wrong(&self, row: u64, words: impl std::fmt::Display) -> Error {
        Error::invalid(format!("{}: row {row}: {words}", self.name))
    }
}

/// Numbers of 64 bits; those below 0 are larger than any file.
fn words(bytes: &[u8]) -> Vec<u64> {
    let word = |bytes: &[u8; 8]| u64::from_le_bytes(*bytes);
    bytes.as_chunks().0.iter().map(word).collect()
}

#[cfg(test)]
mod tests {
    use pageway::OsVfs;

    use super::*;

    fn bytes(head: [i64; 3], offsets: &[i64], columns: &[i32]) -> Vec<u8> {
        let mut all: Vec<u8> = head.iter().flat_map(|one| one.to_le_bytes()).collect();
        all.extend(offsets.iter().flat_map(|one| one.to_le_bytes()));
        all.extend(columns.iter().flat_map(|one| one.to_le_bytes()));
        all.extend(columns.iter().flat_map(|_| 1_f32.to_le_bytes()));
        all
    }

    fn read(bytes: &[u8]) -> Result<Vec<String>> {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().join("own.spmat");
        let vfs: Arc<dyn Vfs> = Arc::new(OsVfs);
        let file = vfs.open(&path, OpenMode::CreateNew).unwrap();
        file.write_all_at(bytes, 0).unwrap();
        let mut found = Vec::new();
        each_document(&vfs, &path, &mut |document| {
            found.push(Value::Object(document).to_string());
            Ok(())
        })?;
        Ok(found)
    }

    #[test]
    fn tags_become_a_list() {
        let found = read(&bytes([3, 9, 3], &[0, 2, 2, 3], &[0, 8, 4])).unwrap();
        assert_eq!(
            found,
            [r#"{"tags":[0,8]}"#, r#"{"tags":[]}"#, r#"{"tags":[4]}"#]
        );
        assert_eq!(read(&bytes([0, 0, 0], &[0], &[])).unwrap(), [""; 0]);
    }

    #[test]
    fn what_contradicts_itself_is_refused() {
        let whole = bytes([3, 9, 3], &[0, 2, 2, 3], &[0, 8, 4]);
        let refused = |bytes: &[u8]| read(bytes).unwrap_err().to_string();
        assert!(refused(&whole[..20]).contains("shorter than the header"));
        assert!(refused(&whole[..whole.len() - 1]).contains("3 rows, 9 columns and 3 entries"));
        for (head, offsets, columns, words) in [
            (
                [3, 8, 3],
                [0, 2, 2, 3],
                [0, 8, 4],
                "row 0: names a column outside of the 8",
            ),
            (
                [3, 9, 3],
                [0, 2, 2, 3],
                [0, -1, 4],
                "row 0: names a column outside",
            ),
            ([3, 9, 3], [0, 2, 1, 3], [0, 8, 4], "row 1: its offsets"),
            ([3, 9, 3], [0, 2, 2, 2], [0, 8, 4], "row 2: its offsets"),
            ([3, 9, 3], [1, 2, 2, 3], [0, 8, 4], "row 0: its offsets"),
            ([-1, 9, 3], [0, 2, 2, 3], [0, 8, 4], "do not fit"),
            ([3, i64::MAX, 3], [0, 2, 2, 3], [0, 8, 4], "do not fit"),
        ] {
            let error = refused(&bytes(head, &offsets, &columns));
            assert!(error.contains(words), "{error}");
        }
    }
}
