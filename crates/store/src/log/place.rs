//! Where a log lies, and what its files are called.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::Lsn;
use crate::{FileUuid, StoreError, Vfs};

/// What files of a log end in. No other file is ever taken for one, and none of them for another
/// file of the index.
pub const LOG_EXTENSION: &str = ".pwl";

/// What is added to the name of a file that salvage has set aside.
const ASIDE: &str = ".lost";
const NAME: &str = "log-";
const TEMPORARY: &str = "log.tmp";
const DIGITS: usize = 16;

/// Length of a file where the caller has no other wish.
const FILE_BYTES: u64 = 16 << 20;
const RESERVE_BYTES: u64 = 1 << 20;

/// A log: the directory that holds its files, and its identity.
///
/// The directory exists and its name is durable. All of its files named `log-*.pwl` belong to this
/// log; it is well a directory of its own.
#[derive(Clone, Debug)]
pub struct LogPlace {
    /// The file system.
    pub vfs: Arc<dyn Vfs>,
    /// Where the files are.
    pub dir: PathBuf,
    /// Identity of the log, which the manifest knows: files of another log are refused.
    pub log: FileUuid,
    /// Length that files are created with, at least. A batch that needs more gets a longer one.
    pub file_bytes: u64,
    /// Part of each file that only [`Room::Reserve`](super::Room::Reserve) may fill.
    pub reserve_bytes: u64,
}

impl LogPlace {
    /// With files of 16 MiB, of which 1 MiB is reserve.
    pub fn new(vfs: Arc<dyn Vfs>, dir: &Path, log: FileUuid) -> Self {
        let dir = dir.to_path_buf();
        Self {
            vfs,
            dir,
            log,
            file_bytes: FILE_BYTES,
            reserve_bytes: RESERVE_BYTES,
        }
    }

    /// The file whose first record has this number.
    pub(super) fn path(&self, first: Lsn) -> PathBuf {
        self.dir
            .join(format!("{NAME}{:016x}{LOG_EXTENSION}", first.0))
    }

    /// The name under which a file is prepared.
    pub(super) fn temporary(&self) -> PathBuf {
        self.dir.join(TEMPORARY)
    }

    /// Where salvage puts a file.
    pub(super) fn aside(&self, first: Lsn) -> PathBuf {
        let mut name = self.path(first).into_os_string();
        name.push(ASIDE);
        name.into()
    }

    /// First LSNs of the files, ascending, by their names.
    pub(super) fn files(&self) -> Result<Vec<Lsn>, StoreError> {
        let names = self.vfs.list(&self.dir);
        let names = names.map_err(|e| StoreError::io(&self.dir, "list", e))?;
        let mut files: Vec<Lsn> = names.iter().filter_map(|name| first_lsn(name)).collect();
        files.sort_unstable();
        Ok(files)
    }

    pub(super) fn remove(&self, path: &Path) -> Result<(), StoreError> {
        let removed = self.vfs.remove_file(path);
        removed.map_err(|e| StoreError::io(path, "remove", e))
    }

    pub(super) fn rename(&self, from: &Path, to: &Path) -> Result<(), StoreError> {
        let renamed = self.vfs.rename(from, to);
        renamed.map_err(|e| StoreError::io(to, "rename", e))
    }

    pub(super) fn sync_dir(&self) -> Result<(), StoreError> {
        let synced = self.vfs.sync_dir(&self.dir);
        synced.map_err(|e| StoreError::io(&self.dir, "sync directory", e))
    }
}

fn first_lsn(name: &str) -> Option<Lsn> {
    let digits = name.strip_prefix(NAME)?.strip_suffix(LOG_EXTENSION)?;
    let canonical = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
    if digits.len() != DIGITS || !digits.bytes().all(canonical) {
        return None;
    }
    u64::from_str_radix(digits, 16).ok().map(Lsn)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{OpenMode, OsVfs};

    #[test]
    fn names_round_trip_and_others_are_left_alone() {
        let root = tempfile::tempdir().unwrap();
        let place = LogPlace::new(Arc::new(OsVfs), root.path(), FileUuid([1; 16]));
        for first in [300, 1, u64::MAX] {
            OsVfs
                .open(&place.path(Lsn(first)), OpenMode::CreateNew)
                .unwrap();
        }
        let foreign = [
            "log-1.pwl",
            "log-00000000000000ZZ.pwl",
            "log-00000000000000FF.pwl",
            "log-+000000000000001.pwl",
            "log-0000000000000001.pw",
            "log.tmp",
            "records.pw",
        ];
        for name in foreign {
            OsVfs
                .open(&root.path().join(name), OpenMode::CreateNew)
                .unwrap();
        }
        let aside = place.aside(Lsn(1));
        assert!(aside.to_string_lossy().ends_with("01.pwl.lost"));
        OsVfs.open(&aside, OpenMode::CreateNew).unwrap();
        assert_eq!(place.files().unwrap(), [Lsn(1), Lsn(300), Lsn(u64::MAX)]);
    }
}
