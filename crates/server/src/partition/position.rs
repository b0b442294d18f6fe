//! How much of the log the indexes on disk have for sure. They may have more: records say what
//! points become, so that those behind the position are done again, in their order.

use std::path::{Path, PathBuf};

use pageway::server::{commit_manifest, create_directory, read_manifest};
use pageway::{Error, ErrorKind, Vfs};
use serde::{Deserialize, Serialize};

use crate::failure::{Failure, Outcome};

/// The directory, in that of the collection.
const POSITION: &str = "POSITION";

#[derive(Serialize, Deserialize)]
struct PositionEntry {
    number: u64,
}

/// The position in the directory of a collection; 0 where none was written.
pub(crate) fn read_position(vfs: &dyn Vfs, dir: &Path) -> Outcome<u64> {
    match read_manifest(vfs, &place(dir)) {
        Ok(bytes) => {
            let entry: PositionEntry = serde_json::from_slice(&bytes).map_err(Failure::internal)?;
            Ok(entry.number)
        }
        Err(error) => {
            let error = Error::from(error);
            if error.kind() == ErrorKind::NotFound {
                return Ok(0);
            }
            Err(error.into())
        }
    }
}

/// Writes the position, durably: all that it counts is in the indexes, durably too.
pub(crate) fn write_position(vfs: &dyn Vfs, dir: &Path, number: u64) -> Outcome<()> {
    let place = place(dir);
    if !vfs.exists(&place).map_err(Failure::internal)? {
        create_directory(vfs, &place)?;
    }
    let bytes = serde_json::to_vec(&PositionEntry { number }).map_err(Failure::internal)?;
    Ok(commit_manifest(vfs, &place, &bytes)?)
}

fn place(dir: &Path) -> PathBuf {
    dir.join(POSITION)
}

#[cfg(test)]
mod tests {
    use pageway::OsVfs;

    use super::*;

    #[test]
    fn positions_come_back() {
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(read_position(&OsVfs, dir.path()), Ok(0));
        for number in [7, 9] {
            write_position(&OsVfs, dir.path(), number).unwrap();
            assert_eq!(read_position(&OsVfs, dir.path()), Ok(number));
        }
    }
}
