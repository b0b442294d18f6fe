//! What was found in an index file of another library.

use pageway::{ElementType, Metric, VectorShape};

use super::runs::Runs;

/// Where vectors come from.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Origin {
    /// Library and kind of index, such as `faiss, IVF-flat`.
    pub kind: String,
    /// What the index compares by, where the file says so and pageway knows it.
    pub metric: Option<Metric>,
    /// Rows that were marked as deleted, and left out.
    pub deleted: u64,
}

/// The vectors of an index file.
pub(crate) struct Found {
    /// The file.
    pub(crate) name: String,
    pub(crate) origin: Origin,
    pub(crate) shape: VectorShape,
    pub(crate) rows: Runs,
    /// An id per row, 8 bytes each; row numbers where absent.
    pub(crate) ids: Option<Runs>,
}

/// `kind` without deleted rows.
pub(super) fn origin(kind: &str, metric: Option<Metric>) -> Origin {
    Origin {
        kind: kind.to_owned(),
        metric,
        deleted: 0,
    }
}

/// A shape, if it is one that pageway has.
pub(super) fn shape(dimension: u64, element: ElementType) -> Option<VectorShape> {
    let dimension = u32::try_from(dimension).ok()?;
    let shape = VectorShape { dimension, element };
    shape.is_legal().then_some(shape)
}
