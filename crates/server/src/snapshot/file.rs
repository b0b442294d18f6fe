//! Files as streams.

use std::fmt::Write as _;
use std::io::{Read, Result, Write};
use std::sync::Arc;

use pageway::server::VfsFile;
use sha2::{Digest, Sha256};

/// Bytes that are hashed at a time.
const CHUNK_BYTES: usize = 256 << 10;

/// Reads a file from some place on.
pub(super) struct FileSource {
    file: Arc<dyn VfsFile>,
    at: u64,
}

impl FileSource {
    pub(super) fn new(file: Arc<dyn VfsFile>) -> Self {
        Self::starting_at(file, 0)
    }

    pub(super) fn starting_at(file: Arc<dyn VfsFile>, at: u64) -> Self {
        Self { file, at }
    }
}

impl Read for FileSource {
    fn read(&mut self, buffer: &mut [u8]) -> Result<usize> {
        let count = self.file.read_at(buffer, self.at)?;
        self.at += count as u64;
        Ok(count)
    }
}

/// Writes a file from its begin, and hashes what it writes.
pub(crate) struct FileSink {
    file: Arc<dyn VfsFile>,
    at: u64,
    hash: Sha256,
}

impl FileSink {
    pub(crate) fn new(file: Arc<dyn VfsFile>) -> Self {
        Self {
            file,
            at: 0,
            hash: Sha256::new(),
        }
    }

    /// Makes it durable; its length, and its SHA-256 in hexadecimal digits.
    pub(crate) fn finish(self) -> Result<(u64, String)> {
        self.file.sync_data()?;
        Ok((self.at, digits(self.hash)))
    }
}

impl Write for FileSink {
    fn write(&mut self, bytes: &[u8]) -> Result<usize> {
        self.file.write_all_at(bytes, self.at)?;
        self.hash.update(bytes);
        self.at += bytes.len() as u64;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> Result<()> {
        Ok(())
    }
}

/// The SHA-256 of a file, in hexadecimal digits.
pub(crate) fn sha256_of(file: &Arc<dyn VfsFile>) -> Result<String> {
    let mut source = FileSource::new(Arc::clone(file));
    let (mut hash, mut buffer) = (Sha256::new(), vec![0; CHUNK_BYTES]);
    loop {
        let count = source.read(&mut buffer)?;
        match buffer.get(..count) {
            Some(bytes) if !bytes.is_empty() => hash.update(bytes),
            _ => return Ok(digits(hash)),
        }
    }
}

/// A hash in hexadecimal digits.
pub(crate) fn digits(hash: Sha256) -> String {
    hexadecimal(&hash.finalize())
}

/// Bytes in hexadecimal digits.
pub(super) fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        // A text takes whatever is written.
        let _ = write!(text, "{byte:02x}");
        text
    })
}
