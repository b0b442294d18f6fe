//! Where vectors come from: a file, an array in memory, a generator.

use std::io;

use crate::VectorShape;

/// A set of vectors that can be read in any order, a run of rows at a time.
///
/// Rows are raw little-endian element bytes, `shape().row_bytes()` each. Implementations hold no
/// copy of the set: a build calls `read` several times over and pays one pass of I/O each time.
pub trait VectorRead: Sync {
    /// Number of vectors.
    fn count(&self) -> u64;

    /// Dimension and element type.
    fn shape(&self) -> VectorShape;

    /// Reads the rows `first .. first + out.len() / row_bytes` into `out`.
    ///
    /// # Errors
    /// When the rows are out of range, `out` is not a whole number of rows, or the medium fails.
    fn read(&self, first: u64, out: &mut [u8]) -> io::Result<()>;

    /// All rows, where they lie in memory already (an array of the caller): a build then makes no
    /// copy of them.
    fn resident(&self) -> Option<&[u8]> {
        None
    }
}

impl<V: VectorRead + ?Sized> VectorRead for &V {
    fn count(&self) -> u64 {
        (**self).count()
    }

    fn shape(&self) -> VectorShape {
        (**self).shape()
    }

    fn read(&self, first: u64, out: &mut [u8]) -> io::Result<()> {
        (**self).read(first, out)
    }

    fn resident(&self) -> Option<&[u8]> {
        (**self).resident()
    }
}
