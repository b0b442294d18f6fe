//! Vectors of the caller in the element type of an index.

use pageway::source::NarrowedVectors;
use pageway::{ElementType, VectorRead};
use pyo3::prelude::*;

use crate::error::to_exception;

/// Vectors as an index is to hold them.
pub(crate) enum RowsToStore<'v> {
    AsGiven(Box<dyn VectorRead + 'v>),
    Rounded(NarrowedVectors<'v>),
}

impl<'v> RowsToStore<'v> {
    /// `vectors`, which errors call `name`, rounded where an element type is wished.
    pub(crate) fn new(
        vectors: Box<dyn VectorRead + 'v>,
        name: &str,
        wished: Option<ElementType>,
    ) -> PyResult<Self> {
        let Some(element) = wished else {
            return Ok(Self::AsGiven(vectors));
        };
        let rounded = NarrowedVectors::new(vectors, name, element);
        Ok(Self::Rounded(rounded.map_err(to_exception)?))
    }

    pub(crate) fn rows(&self) -> &dyn VectorRead {
        match self {
            Self::AsGiven(vectors) => vectors.as_ref(),
            Self::Rounded(vectors) => vectors,
        }
    }

    /// How far rounding moved a vector at most, as a share of its length.
    pub(crate) fn worst_error(&self) -> Option<f32> {
        match self {
            Self::AsGiven(_) => None,
            Self::Rounded(vectors) => Some(vectors.worst_error()),
        }
    }
}
