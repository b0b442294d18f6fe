//! Rows with their ids, all in memory: for builds whose memory holds them, so that no stage reads
//! them again.

use pageway_kernels::advise_huge_pages;
use pageway_types::VectorShape;

use crate::error::Result;
use crate::options::BuildInput;
use crate::source::{IdRead, IdSlice, ResidentSlice, VectorSlice};

/// Rows with their ids.
pub(super) struct HeldRows {
    shape: VectorShape,
    rows: Vec<u8>,
    ids: Option<Vec<u64>>,
}

impl HeldRows {
    /// Reads all of an input.
    pub(super) fn read(input: &BuildInput<'_>) -> Result<Self> {
        let (vectors, shape) = (input.vectors, input.vectors.shape());
        let count = vectors.count() as usize;
        let mut rows = vec![0; count * shape.row_bytes()];
        vectors.read(0, &mut rows)?;
        advise_huge_pages(&rows);
        let read = |ids: &dyn IdRead| {
            let mut own = vec![0; count];
            ids.read(0, &mut own).map(|()| own)
        };
        let ids = input.ids.map(read).transpose()?;
        Ok(Self { shape, rows, ids })
    }

    /// The rows.
    pub(super) fn vectors(&self) -> Result<ResidentSlice<'_>> {
        VectorSlice::new(&self.rows, self.shape).map(ResidentSlice)
    }

    /// Their ids, where they have any.
    pub(super) fn ids(&self) -> Option<IdSlice<'_>> {
        self.ids.as_deref().map(IdSlice)
    }
}
