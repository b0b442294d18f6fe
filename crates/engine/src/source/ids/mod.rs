//! User ids from files: one `u64` per row of the vectors they name.
//!
//! | extension | layout |
//! |---|---|
//! | `.u64bin` | `u32 rows, u32 1`, then one `u64` per row |
//! | `.ibin` | `u32 rows, u32 1`, then one `i32` per row, not negative |
//! | `.npy` | one axis, or two with one column; `<u8 <i8 <u4 <i4`, not negative |
//! | `.txt` | one decimal number per line |
//!
//! Ids are streamed: no file is held whole, and the check for duplicates keeps a memory cap.

mod binary;
mod text;
mod unique;

use std::path::Path;
use std::sync::Arc;

use pageway_store::{OpenMode, Vfs};

use self::binary::BinaryIds;
use self::text::TextIds;
pub use self::unique::{UNIQUE_BYTES_MIN, check_unique};
use super::error::SourceError;
use super::format::lowercase_extension;
use crate::error::Error;

/// A list of user ids that can be read in any order, a run of rows at a time.
pub trait IdRead: Sync {
    /// File or array, for messages.
    fn name(&self) -> &str;

    /// Number of ids.
    fn count(&self) -> u64;

    /// Reads the ids of the rows `first .. first + out.len()`.
    ///
    /// # Errors
    /// `InvalidInput` for rows out of range and for ids that are negative or no numbers; `Io`.
    fn read(&self, first: u64, out: &mut [u64]) -> Result<(), Error>;
}

/// Opens a file of ids by its extension. A `.txt` file is read once, to find its lines.
///
/// # Errors
/// `NotFound` and `Io` from the file system; `InvalidInput` with file and field or line.
pub fn open_ids(vfs: &Arc<dyn Vfs>, path: &Path) -> Result<Box<dyn IdRead>, Error> {
    let name = path.display().to_string();
    let extension = lowercase_extension(path);
    if !["u64bin", "ibin", "npy", "txt"].contains(&extension.as_str()) {
        let known = ".u64bin .ibin .npy .txt".to_owned();
        return Err(SourceError::UnknownExtension { file: name, known }.into());
    }
    let file = vfs
        .open(path, OpenMode::Read)
        .map_err(|e| Error::from(e).within(&name))?;
    Ok(match extension.as_str() {
        "txt" => Box::new(TextIds::open(file, name)?),
        _ => Box::new(BinaryIds::open(file, name, &extension)?),
    })
}

/// Ids in memory, borrowed.
#[derive(Clone, Copy, Debug)]
pub struct IdSlice<'a>(pub &'a [u64]);

impl IdRead for IdSlice<'_> {
    fn name(&self) -> &'static str {
        "ids in memory"
    }

    fn count(&self) -> u64 {
        self.0.len() as u64
    }

    fn read(&self, first: u64, out: &mut [u64]) -> Result<(), Error> {
        check_range(self, first, out.len())?;
        let (_, rest) = self.0.split_at(first as usize);
        let (wanted, _) = rest.split_at(out.len());
        out.copy_from_slice(wanted);
        Ok(())
    }
}

/// Refuses rows outside of the list.
fn check_range(ids: &dyn IdRead, first: u64, length: usize) -> Result<(), SourceError> {
    let (end, count) = (first.saturating_add(length as u64), ids.count());
    if end <= count {
        return Ok(());
    }
    Err(SourceError::Range {
        name: ids.name().to_owned(),
        what: "rows",
        first,
        end,
        count,
    })
}

#[cfg(test)]
mod tests;
