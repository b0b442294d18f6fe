//! Vectors as the index takes them, of a segment that may store them in fewer bytes.

use pageway_kernels::WidenFn;
use pageway_types::VectorShape;

/// How the stored vectors of a segment become those that the index takes and gives.
#[derive(Clone, Copy)]
pub(crate) struct GivenRows {
    stored: VectorShape,
    /// Where they are stored in another type than `f32` that they are given in.
    widen: Option<WidenFn>,
}

impl GivenRows {
    /// Vectors stored as `stored`, and widened to `f32` by `widen`, where it is there.
    pub(crate) fn new(stored: VectorShape, widen: Option<WidenFn>) -> Self {
        Self { stored, widen }
    }

    /// Dimension and element type of what is stored.
    pub(super) fn stored(self) -> VectorShape {
        self.stored
    }

    /// Bytes of a vector as it is given.
    pub(super) fn row_bytes(self) -> usize {
        match self.widen {
            Some(_) => self.stored.dimension as usize * size_of::<f32>(),
            None => self.stored.row_bytes(),
        }
    }

    /// Room for a vector.
    pub(super) fn row(self) -> GivenRow {
        let values = self.widen.map_or(0, |_| self.stored.dimension as usize);
        GivenRow {
            widen: self.widen,
            values: vec![0.0; values],
            bytes: Vec::new(),
        }
    }
}

/// A vector as it is given.
pub(super) struct GivenRow {
    widen: Option<WidenFn>,
    values: Vec<f32>,
    bytes: Vec<u8>,
}

impl GivenRow {
    /// A stored vector as it is given. Panics unless it has the length of the others.
    pub(super) fn of<'r>(&'r mut self, stored: &'r [u8]) -> &'r [u8] {
        let Some(widen) = self.widen else {
            return stored;
        };
        widen(stored, &mut self.values);
        self.bytes.clear();
        let values = self.values.iter();
        self.bytes
            .extend(values.flat_map(|value| value.to_le_bytes()));
        &self.bytes
    }
}
