//! Bytes of a file, from the front.

use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;
use std::sync::Arc;

use flate2::read::MultiGzDecoder;
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

/// Opens a text for reading from the front; `.gz` is unpacked.
///
/// # Errors
/// As [`open_file`].
pub(crate) fn read_buffered(vfs: &Arc<dyn Vfs>, path: &Path) -> Result<Box<dyn BufRead>> {
    let reader = FileReader::new(open_file(vfs, path)?, 0);
    let extension = path.extension();
    let packed = extension.is_some_and(|own| own.eq_ignore_ascii_case("gz"));
    if packed {
        let unpacked = MultiGzDecoder::new(BufReader::new(reader));
        return Ok(Box::new(BufReader::new(Unpacked(unpacked))));
    }
    Ok(Box::new(BufReader::new(reader)))
}

/// What gzip packed, and an end that comes too soon as what is wrong with the file.
struct Unpacked<R>(R);

impl<R: Read> Read for Unpacked<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        self.0.read(out).map_err(|error| {
            if error.kind() == io::ErrorKind::UnexpectedEof {
                io::Error::new(io::ErrorKind::InvalidInput, "the gzip file is cut")
            } else {
                error
            }
        })
    }
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
