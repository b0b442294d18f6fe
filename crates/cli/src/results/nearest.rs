//! The answers of a search as a `.ibin` file: `u32 queries, u32 k`, ids (`i32`, -1 where there is
//! no answer), distances (`f32`), as `pageway ground-truth` writes them.
//!
//! Invariant: the file gets its name when it is complete; dropped before, it leaves nothing.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use pageway::{Answers, Error, OpenMode, Result, Vfs};

use crate::system;

const HEADER_BYTES: u64 = 8;
const VALUE_BYTES: u64 = 4;
const NO_ANSWER: i32 = -1;

/// A results file in the making. Chunks of answers may come in any order.
pub(crate) struct ResultsFile {
    vfs: Arc<dyn Vfs>,
    path: PathBuf,
    partial: PathBuf,
    file: Arc<dyn pageway::VfsFile>,
    queries: u64,
    complete: bool,
}

impl ResultsFile {
    /// Begins a file for `queries` times `k` answers.
    ///
    /// # Errors
    /// `InvalidInput` for another extension and more queries than the format counts; `Io`.
    pub(crate) fn create(path: &Path, queries: u64, k: u32) -> Result<Self> {
        if !path
            .extension()
            .is_some_and(|extension| extension.eq_ignore_ascii_case("ibin"))
        {
            let place = path.display();
            return Err(Error::invalid(format!(
                "{place}: results are written as .ibin files"
            )));
        }
        let Ok(count) = u32::try_from(queries) else {
            let place = path.display();
            return Err(Error::invalid(format!(
                "{place}: {queries} queries; .ibin counts at most {}",
                u32::MAX
            )));
        };
        let vfs = system::vfs();
        let mut partial = path.as_os_str().to_owned();
        partial.push(".partial");
        let partial = PathBuf::from(partial);
        if vfs.exists(&partial)? {
            vfs.remove_file(&partial)?;
        }
        let file = vfs
            .open(&partial, OpenMode::CreateNew)
            .map_err(|error| Error::from(error).within(path.display()))?;
        let results = Self {
            vfs,
            path: path.to_owned(),
            partial,
            file,
            queries,
            complete: false,
        };
        results.write(&[count.to_le_bytes(), k.to_le_bytes()].concat(), 0)?;
        Ok(results)
    }

    /// Writes the answers of the queries from `first` on.
    ///
    /// # Errors
    /// `InvalidInput` for user ids beyond 31 bits, with the query; `NoSpace`; `Io`.
    pub(crate) fn put(&self, first: u64, answers: &Answers) -> Result<()> {
        let k = answers.k as u64;
        let mut ids = Vec::with_capacity(answers.ids.len() * VALUE_BYTES as usize);
        for (place, id) in answers.ids.iter().enumerate() {
            let narrow = match *id {
                u64::MAX => NO_ANSWER,
                id => i32::try_from(id).map_err(|_| self.too_wide(first + place as u64 / k, id))?,
            };
            ids.extend(narrow.to_le_bytes());
        }
        let distances: Vec<u8> = answers
            .distances
            .iter()
            .flat_map(|d| d.to_le_bytes())
            .collect();
        let offset = HEADER_BYTES + first * k * VALUE_BYTES;
        self.write(&ids, offset)?;
        self.write(&distances, offset + self.queries * k * VALUE_BYTES)
    }

    /// Makes the file durable and gives it its name.
    pub(crate) fn finish(mut self) -> Result<()> {
        self.file.sync_data()?;
        self.vfs.rename(&self.partial, &self.path)?;
        self.complete = true;
        Ok(())
    }

    fn write(&self, bytes: &[u8], offset: u64) -> Result<()> {
        let written = self.file.write_all_at(bytes, offset);
        written.map_err(|error| Error::from(error).within(self.path.display()))
    }

    fn too_wide(&self, query: u64, id: u64) -> Error {
        Error::invalid(format!(
            "{}: query {query} found id {id}, which .ibin (31 bits) cannot hold; drop --out and \
             use --show, or search from Python",
            self.path.display()
        ))
    }
}

impl Drop for ResultsFile {
    fn drop(&mut self) {
        if !self.complete {
            let _ = self.vfs.remove_file(&self.partial);
        }
    }
}
