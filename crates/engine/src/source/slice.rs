//! Vectors that are in memory already: arrays of a caller, rows made by tests.

use std::io;

use pageway_types::{VectorRead, VectorShape};

use super::error::SourceError;
use super::file::check_rows;
use super::shape::legal_shape;
use crate::error::Error;

const NAME: &str = "vectors in memory";

/// Rows in memory, borrowed.
#[derive(Clone, Copy, Debug)]
pub struct VectorSlice<'a> {
    bytes: &'a [u8],
    shape: VectorShape,
}

impl<'a> VectorSlice<'a> {
    /// Looks at `bytes` as rows of `shape`. An empty slice is a set without rows.
    ///
    /// # Errors
    /// `InvalidInput` for an illegal dimension and for bytes that are not whole rows.
    pub fn new(bytes: &'a [u8], shape: VectorShape) -> Result<Self, Error> {
        legal_shape(NAME, shape.dimension.into(), shape.element)?;
        let row_bytes = shape.row_bytes();
        if !bytes.len().is_multiple_of(row_bytes) {
            let bytes = bytes.len();
            return Err(SourceError::PartialRow {
                name: NAME.to_owned(),
                bytes,
                row_bytes,
            }
            .into());
        }
        Ok(Self { bytes, shape })
    }

    /// All rows, one after the other.
    pub fn bytes(&self) -> &'a [u8] {
        self.bytes
    }
}

impl VectorRead for VectorSlice<'_> {
    fn count(&self) -> u64 {
        (self.bytes.len() / self.shape.row_bytes()) as u64
    }

    fn shape(&self) -> VectorShape {
        self.shape
    }

    fn read(&self, first: u64, out: &mut [u8]) -> io::Result<()> {
        let row_bytes = self.shape.row_bytes();
        check_rows(NAME, self.count(), row_bytes, first, out.len()).map_err(Error::from)?;
        let (_, rows) = self.bytes.split_at(first as usize * row_bytes);
        let (rows, _) = rows.split_at(out.len());
        out.copy_from_slice(rows);
        Ok(())
    }
}

/// The same, which a build uses where they lie.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ResidentSlice<'a>(pub(crate) VectorSlice<'a>);

impl VectorRead for ResidentSlice<'_> {
    fn count(&self) -> u64 {
        self.0.count()
    }

    fn shape(&self) -> VectorShape {
        self.0.shape()
    }

    fn read(&self, first: u64, out: &mut [u8]) -> io::Result<()> {
        self.0.read(first, out)
    }

    fn resident(&self) -> Option<&[u8]> {
        Some(self.0.bytes())
    }
}
