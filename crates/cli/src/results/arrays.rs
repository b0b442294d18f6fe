//! NumPy arrays: ids in the file that was named, distances in one beside it.
//!
//! ```text
//! found.npy             int64 (queries, k), -1 where there is no answer
//! found.distances.npy   float32 (queries, k)
//! ```
//!
//! Where int64 does not hold an id, ids are uint64, 2^64 - 1 where there is no answer.

use std::path::Path;

use pageway::{Answers, Result};

use super::partial::{PartialFile, words};

const HEADER_BYTES: usize = 128;

/// Both arrays in the making.
pub(crate) struct ArraysFile {
    ids: PartialFile,
    distances: PartialFile,
    queries: u64,
    k: u32,
    values: u64,
    /// Whether an id is one that int64 does not hold.
    is_unsigned: bool,
}

impl ArraysFile {
    pub(super) fn create(path: &Path, queries: u64, k: u32) -> Result<Self> {
        let ids = PartialFile::create(path, "npy")?;
        let distances = PartialFile::create(&path.with_extension("distances.npy"), "npy")?;
        ids.write(&header("<i8", queries, &[k]), 0)?;
        distances.write(&header("<f4", queries, &[k]), 0)?;
        Ok(Self {
            ids,
            distances,
            queries,
            k,
            values: 0,
            is_unsigned: false,
        })
    }

    pub(super) fn put(&mut self, answers: &Answers) -> Result<()> {
        let ids: Vec<u8> = answers.ids.iter().flat_map(|id| id.to_le_bytes()).collect();
        let at = |bytes: u64| HEADER_BYTES as u64 + self.values * bytes;
        self.ids.write(&ids, at(8))?;
        self.distances.write(&words(&answers.distances), at(4))?;
        self.values += answers.ids.len() as u64;
        let beyond = |id: &u64| *id != u64::MAX && i64::try_from(*id).is_err();
        self.is_unsigned |= answers.ids.iter().any(beyond);
        Ok(())
    }

    pub(super) fn finish(self) -> Result<()> {
        if self.is_unsigned {
            self.ids.write(&header("<u8", self.queries, &[self.k]), 0)?;
        }
        self.distances.finish()?;
        self.ids.finish()
    }
}

/// The header of an array in C order: rows, and columns if it has a second axis.
pub(super) fn header(descr: &str, rows: u64, columns: &[u32]) -> Vec<u8> {
    let room = HEADER_BYTES - 10;
    let axes: Vec<String> = columns.iter().map(|count| format!(" {count}")).collect();
    let axes = axes.concat();
    let literal =
        format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': ({rows},{axes}), }}");
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend((room as u16).to_le_bytes());
    bytes.extend(format!("{literal:<width$}\n", width = room - 1).into_bytes());
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_are_of_one_length_and_end_in_a_line() {
        for rows in [0, u64::MAX] {
            let bytes = header("<i8", rows, &[u32::MAX]);
            assert_eq!(bytes.len(), HEADER_BYTES);
            assert_eq!(bytes.last(), Some(&b'\n'));
            assert!(String::from_utf8_lossy(&bytes).contains(&format!("({rows}, {})", u32::MAX)));
        }
    }
}
