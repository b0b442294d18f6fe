//! The answers of a range search as a `.rangeres` file: `u32 queries, u32 results`, results per
//! query (`u32`), ids (`i32`), distances (`f32`), as `pageway ground-truth --radius` writes them.
//!
//! Distances follow the last id, whose place is known at the end: until then they wait in a file of
//! their own.

use std::path::Path;

use pageway::{Answers, Error, Result};

use super::partial::{PartialFile, narrow_ids, words};

const HEADER_BYTES: u64 = 8;
const VALUE_BYTES: u64 = 4;
/// Bytes moved at a time.
const COPY_BYTES: u64 = 1 << 20;

/// A results file in the making. Holds 4 bytes per query.
pub(crate) struct RangeResultsFile {
    file: PartialFile,
    distances: PartialFile,
    queries: u64,
    counts: Vec<u32>,
    results: u64,
}

impl RangeResultsFile {
    /// Begins a file for the results of `queries`.
    ///
    /// # Errors
    /// `InvalidInput` for another extension; `Io`.
    pub(crate) fn create(path: &Path, queries: u64) -> Result<Self> {
        let file = PartialFile::create(path, "rangeres")?;
        Ok(Self {
            distances: file.beside()?,
            file,
            queries,
            counts: Vec::new(),
            results: 0,
        })
    }

    /// Adds the results of the queries that come next.
    ///
    /// # Errors
    /// `InvalidInput` for user ids beyond 31 bits, with the query; `NoSpace`; `Io`.
    pub(crate) fn put(&mut self, answers: &Answers) -> Result<()> {
        let first = self.counts.len();
        let lims = &answers.lims;
        let query_of = |place: usize| {
            let query = lims.partition_point(|lim| *lim <= place).saturating_sub(1);
            (first + query) as u64
        };
        let ids = narrow_ids(self.file.path(), &answers.ids, query_of)?;
        let done = self.results * VALUE_BYTES;
        self.file.write(&ids, self.ids_at() + done)?;
        self.distances.write(&words(&answers.distances), done)?;
        let ends = lims.iter().skip(1);
        let counts = ends.zip(lims).map(|(end, begin)| (end - begin) as u32);
        self.counts.extend(counts);
        self.results += answers.ids.len() as u64;
        Ok(())
    }

    /// Puts the parts together, makes the file durable and gives it its name.
    ///
    /// # Errors
    /// `InvalidInput` for more queries or results than the format counts; `NoSpace`; `Io`.
    pub(crate) fn finish(self) -> Result<()> {
        let counted = |number: u64, what: &str| {
            i32::try_from(number).map_err(|_| {
                let place = self.file.path().display();
                let most = i32::MAX;
                Error::invalid(format!(
                    "{place}: {number} {what}; .rangeres counts at most {most}"
                ))
            })
        };
        let queries = counted(self.queries, "queries")?;
        let results = counted(self.results, "results")?;
        let mut head = [queries.to_le_bytes(), results.to_le_bytes()].concat();
        head.extend(self.counts.iter().flat_map(|count| count.to_le_bytes()));
        self.file.write(&head, 0)?;
        self.move_distances()?;
        self.file.finish()
    }

    fn move_distances(&self) -> Result<()> {
        let bytes = self.results * VALUE_BYTES;
        let to = self.ids_at() + bytes;
        let mut done = 0;
        while done < bytes {
            let mut block = vec![0; COPY_BYTES.min(bytes - done) as usize];
            self.distances.read(&mut block, done)?;
            self.file.write(&block, to + done)?;
            done += block.len() as u64;
        }
        Ok(())
    }

    fn ids_at(&self) -> u64 {
        HEADER_BYTES + self.queries * VALUE_BYTES
    }
}
