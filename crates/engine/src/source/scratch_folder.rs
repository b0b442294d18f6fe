//! A temporary folder for the tests of this crate's file formats, through the one door.

use std::path::PathBuf;
use std::sync::Arc;

use pageway_store::{OpenMode, OsVfs, Vfs};

/// A folder that is removed with its files at the end of a test.
pub(crate) struct ScratchFolder {
    folder: tempfile::TempDir,
    pub(crate) vfs: Arc<dyn Vfs>,
}

impl ScratchFolder {
    pub(crate) fn new() -> Self {
        Self {
            folder: tempfile::tempdir().unwrap(),
            vfs: Arc::new(OsVfs),
        }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn write(&self, name: &str, bytes: &[u8]) -> PathBuf {
        let path = self.path(name);
        let _ = self.vfs.remove_file(&path);
        let file = self.vfs.open(&path, OpenMode::CreateNew).unwrap();
        file.write_all_at(bytes, 0).unwrap();
        path
    }

    pub(crate) fn read(&self, name: &str) -> Vec<u8> {
        let file = self.vfs.open(&self.path(name), OpenMode::Read).unwrap();
        let mut bytes = vec![0; file.len().unwrap() as usize];
        file.read_exact_at(&mut bytes, 0).unwrap();
        bytes
    }

    /// Names of all files, sorted.
    pub(crate) fn names(&self) -> Vec<String> {
        self.vfs.list(self.folder.path()).unwrap()
    }
}

/// Little-endian bytes of a list of numbers: `le!(u32: 2, 3)`.
macro_rules! le {
    ($type:ty: $($value:expr),* $(,)?) => {
        [$(<$type>::to_le_bytes($value)),*].concat()
    };
}
pub(crate) use le;

/// A `.npy` file of version 1 with the given literal.
pub(crate) fn npy(literal: &str, payload: &[u8]) -> Vec<u8> {
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend((literal.len() as u16).to_le_bytes());
    bytes.extend(literal.as_bytes());
    bytes.extend(payload);
    bytes
}
