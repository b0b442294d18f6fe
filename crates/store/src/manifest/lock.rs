//! One writer per index.

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
        let path = dir.join(LOCK_FILE);
        match vfs.lock(&path) {
            Ok(Some(guard)) => Ok(Self { _guard: guard }),
            Ok(None) => Err(StoreError::Busy { path }),
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
}
