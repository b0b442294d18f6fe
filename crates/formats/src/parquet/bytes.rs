//! A file as the parquet library reads it.

use std::io::BufReader;
use std::sync::Arc;

use ::bytes::Bytes;
use pageway::lab::VfsFile;
use parquet::errors::{ParquetError, Result};
use parquet::file::reader::{ChunkReader, Length};

use crate::reader::FileReader;

/// A file of known length.
pub(super) struct Chunks {
    pub(super) file: Arc<dyn VfsFile>,
    pub(super) length: u64,
}

impl Length for Chunks {
    fn len(&self) -> u64 {
        self.length
    }
}

impl ChunkReader for Chunks {
    type T = BufReader<FileReader>;

    fn get_read(&self, start: u64) -> Result<Self::T> {
        let reader = FileReader::new(Arc::clone(&self.file), start);
        Ok(BufReader::new(reader))
    }

    fn get_bytes(&self, start: u64, length: usize) -> Result<Bytes> {
        let end = start.checked_add(length as u64);
        if end.is_none_or(|end| end > self.length) {
            return Err(ParquetError::EOF("a part lies behind the end".to_owned()));
        }
        let mut bytes = vec![0; length];
        self.file.read_exact_at(&mut bytes, start)?;
        Ok(Bytes::from(bytes))
    }
}
