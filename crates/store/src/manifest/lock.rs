//! One writer per index.

use std::io::ErrorKind;
use std::path::Path;

use crate::{LockGuard, StoreError, Vfs};

/// Name of the lock file. It stays in the directory for good: removing it would let two writers
/// hold locks on two files of the same name.
pub const LOCK_FILE: &str = "LOCK";

/// The right to write an index, until dropped or until the process dies.
#[derive(Debug)]
pub struct DirectoryLock {
    _guard: Box<dyn LockGuard>,
}

impl DirectoryLock {
    /// Takes the lock of `dir`, or fails with `Busy` at once.
    pub fn acquire(vfs: &dyn Vfs, dir: &Path) -> Result<Self, StoreError> {
        Self::acquire_file(vfs, &dir.join(LOCK_FILE))
    }

    /// The same of another file, which nobody replaces meanwhile: for those who share the lock of
    /// its directory.
    pub fn acquire_file(vfs: &dyn Vfs, path: &Path) -> Result<Self, StoreError> {
        let path = path.to_path_buf();
        match vfs.lock(&path) {
            Ok(Some(guard)) => Ok(Self { _guard: guard }),
            Ok(None) => Err(StoreError::Busy { path }),
            Err(error) => Err(StoreError::io(&path, "lock", error)),
        }
    }

    /// Keeps writers away from `dir` while others read it too, or fails with `Busy` at once. None
    /// where there is no lock file and none can be made: no writer was ever there.
    pub fn share(vfs: &dyn Vfs, dir: &Path) -> Result<Option<Self>, StoreError> {
        let path = dir.join(LOCK_FILE);
        match vfs.lock_shared(&path) {
            Ok(Some(guard)) => Ok(Some(Self { _guard: guard })),
            Ok(None) => Err(StoreError::Busy { path }),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(StoreError::io(&path, "lock", error)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::OsVfs;

    #[test]
    fn a_second_writer_is_told_to_wait() {
        let root = tempfile::tempdir().unwrap();
        let lock = DirectoryLock::acquire(&OsVfs, root.path()).unwrap();
        let second = DirectoryLock::acquire(&OsVfs, root.path());
        assert!(matches!(second, Err(StoreError::Busy { .. })));
        drop(lock);
        DirectoryLock::acquire(&OsVfs, root.path()).unwrap();
    }

    #[test]
    fn readers_share_and_keep_writers_away() {
        let root = tempfile::tempdir().unwrap();
        let share = || DirectoryLock::share(&OsVfs, root.path());
        let (one, other) = (share().unwrap(), share().unwrap());
        let writer = || DirectoryLock::acquire(&OsVfs, root.path());
        drop(one);
        assert!(matches!(writer(), Err(StoreError::Busy { .. })));
        drop(other);
        let lock = writer().unwrap();
        assert!(matches!(share(), Err(StoreError::Busy { .. })));
        drop(lock);
        assert!(share().unwrap().is_some());
    }
}
