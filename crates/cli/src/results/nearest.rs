//! The answers of a search as a `.ibin` file: `u32 queries, u32 k`, ids (`i32`, -1 where there is
//! no answer), distances (`f32`), as `pageway ground-truth` writes them.

use std::path::Path;

use pageway::{Answers, Error, Result};

use super::partial::{PartialFile, narrow_ids, words};

const HEADER_BYTES: u64 = 8;
const VALUE_BYTES: u64 = 4;

/// A results file in the making. Chunks of answers may come in any order.
pub(crate) struct ResultsFile {
    file: PartialFile,
    queries: u64,
}

impl ResultsFile {
    /// Begins a file for `queries` times `k` answers.
    ///
    /// # Errors
    /// `InvalidInput` for another extension and more queries than the format counts; `Io`.
    pub(crate) fn create(path: &Path, queries: u64, k: u32) -> Result<Self> {
        let Ok(count) = u32::try_from(queries) else {
            let place = path.display();
            return Err(Error::invalid(format!(
                "{place}: {queries} queries; .ibin counts at most {}",
                u32::MAX
            )));
        };
        let file = PartialFile::create(path, "ibin")?;
        file.write(&[count.to_le_bytes(), k.to_le_bytes()].concat(), 0)?;
        Ok(Self { file, queries })
    }

    /// Writes the answers of the queries from `first` on.
    ///
    /// # Errors
    /// `InvalidInput` for user ids beyond 31 bits, with the query; `NoSpace`; `Io`.
    pub(crate) fn put(&self, first: u64, answers: &Answers) -> Result<()> {
        let k = answers.k as u64;
        let query_of = |place: usize| first + place as u64 / k;
        let ids = narrow_ids(self.file.path(), &answers.ids, query_of)?;
        let offset = HEADER_BYTES + first * k * VALUE_BYTES;
        self.file.write(&ids, offset)?;
        let offset = offset + self.queries * k * VALUE_BYTES;
        self.file.write(&words(&answers.distances), offset)
    }

    /// Makes the file durable and gives it its name.
    pub(crate) fn finish(self) -> Result<()> {
        self.file.finish()
    }
}
