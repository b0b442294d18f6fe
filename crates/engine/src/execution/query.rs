//! What a walk looks for.

use pageway_types::NodeId;

/// What counts as an answer.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) enum Goal {
    /// The nearest.
    Nearest,
    /// All within this distance, as far as there is room for results. The candidate list doubles
    /// while many of what it found lie within.
    Within { radius: f32 },
}

/// One query.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Query<'q> {
    /// Raw elements, of the index's shape.
    pub(crate) vector: &'q [u8],
    /// A row that is its own query: the walk goes as if it were not there.
    pub(crate) held_out: Option<NodeId>,
    /// Reads in flight at most (W).
    pub(crate) beam: usize,
    /// What it is for.
    pub(crate) goal: Goal,
    /// Whether every answer needs its exact distance, even where its code decides.
    pub(crate) exact: bool,
}
