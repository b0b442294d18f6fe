//! Bytes of a file, from the front.

use std::io::{self, Read};
use std::path::Path;
use std::sync::Arc;

use pageway::lab::{OpenMode, VfsFile};
use pageway::{Error, Result, Vfs};

/// Opens a file for reading.
///
/// # Errors
/// `NotFound` and `Io`, with the path.
pub(crate) fn open_file(vfs: &Arc<dyn Vfs>, path: &Path) -> Result<Arc<dyn VfsFile>> {
    vfs.open(path, OpenMode::Read)
        .map_err(|error| Error::from(error).within(path.display()))
}

/// A cursor over a file.
#[derive(Debug)]
pub(crate) struct FileReader {
    file: Arc<dyn VfsFile>,
    offset: u64,
}

impl FileReader {
    pub(crate) fn new(file: Arc<dyn VfsFile>, offset: u64) -> Self {
        Self { file, offset }
    }
}

impl Read for FileReader {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let read = self.file.read_at(out, self.offset)?;
        self.offset += read as u64;
        Ok(read)
    }
}
