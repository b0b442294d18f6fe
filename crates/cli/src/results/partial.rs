//! A file that gets its name when it is complete; dropped before, it leaves nothing.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use pageway::lab::{OpenMode, VfsFile};
use pageway::{Error, Result, Vfs};

use crate::system;

/// A file in the making. Bytes may come in any order.
pub(super) struct PartialFile {
    vfs: Arc<dyn Vfs>,
    path: PathBuf,
    partial: PathBuf,
    file: Arc<dyn VfsFile>,
    complete: bool,
}

impl PartialFile {
    /// Begins a file with the extension that its format has.
    ///
    /// # Errors
    /// `InvalidInput` for another extension; `Io`.
    pub(super) fn create(path: &Path, extension: &str) -> Result<Self> {
        let matches = |found: &std::ffi::OsStr| found.eq_ignore_ascii_case(extension);
        if !path.extension().is_some_and(matches) {
            let place = path.display();
            return Err(Error::invalid(format!(
                "{place}: results are written as .{extension} files"
            )));
        }
        Self::open(path, ".partial")
    }

    /// A second file beside this one, for bytes whose place is not known yet.
    pub(super) fn beside(&self) -> Result<Self> {
        Self::open(&self.path, ".partial-2")
    }

    fn open(path: &Path, suffix: &str) -> Result<Self> {
        let vfs = system::vfs();
        let mut partial = path.as_os_str().to_owned();
        partial.push(suffix);
        let partial = PathBuf::from(partial);
        if vfs.exists(&partial)? {
            vfs.remove_file(&partial)?;
        }
        let file = vfs
            .open(&partial, OpenMode::CreateNew)
            .map_err(|error| Error::from(error).within(path.display()))?;
        Ok(Self {
            vfs,
            path: path.to_owned(),
            partial,
            file,
            complete: false,
        })
    }

    /// The name it will have.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    pub(super) fn write(&self, bytes: &[u8], offset: u64) -> Result<()> {
        let written = self.file.write_all_at(bytes, offset);
        written.map_err(|error| self.failed(error))
    }

    pub(super) fn read(&self, bytes: &mut [u8], offset: u64) -> Result<()> {
        let read = self.file.read_exact_at(bytes, offset);
        read.map_err(|error| self.failed(error))
    }

    /// Makes the file durable and gives it its name.
    pub(super) fn finish(mut self) -> Result<()> {
        self.file.sync_data().map_err(|error| self.failed(error))?;
        let renamed = self.vfs.rename(&self.partial, &self.path);
        renamed.map_err(|error| self.failed(error))?;
        self.complete = true;
        Ok(())
    }

    fn failed(&self, error: std::io::Error) -> Error {
        Error::from(error).within(self.path.display())
    }
}

impl Drop for PartialFile {
    fn drop(&mut self) {
        if !self.complete {
            let _ = self.vfs.remove_file(&self.partial);
        }
    }
}

/// Ids as 31-bit words.
///
/// # Errors
/// `InvalidInput` for a wider one, with its query.
pub(super) fn narrow_ids(
    path: &Path,
    ids: &[u64],
    query_of: impl Fn(usize) -> u64,
) -> Result<Vec<u8>> {
    const NO_ANSWER: i32 = -1;
    let mut words = Vec::with_capacity(ids.len() * size_of::<i32>());
    for (place, id) in ids.iter().enumerate() {
        let too_wide = |_| {
            Error::invalid(format!(
                "{}: query {} found id {id}, which 31 bits of this format cannot hold; write \
                 a .npy, .csv, .jsonl or .parquet file",
                path.display(),
                query_of(place)
            ))
        };
        let narrow = match *id {
            u64::MAX => NO_ANSWER,
            id => i32::try_from(id).map_err(too_wide)?,
        };
        words.extend(narrow.to_le_bytes());
    }
    Ok(words)
}

/// Distances as they are stored.
pub(super) fn words(distances: &[f32]) -> Vec<u8> {
    distances.iter().flat_map(|d| d.to_le_bytes()).collect()
}
