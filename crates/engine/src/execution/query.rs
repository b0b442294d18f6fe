//! What a walk looks for.

use pageway_types::NodeId;

/// One query.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Query<'q> {
    /// Raw elements, of the index's shape.
    pub(crate) vector: &'q [u8],
    /// A row that is its own query: the walk goes as if it were not there.
    pub(crate) held_out: Option<NodeId>,
    /// Reads per round (W).
    pub(crate) beam: usize,
}
