//! What a walk looks for.

use pageway_types::NodeId;

/// One query.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Query<'q> {
    /// Raw elements, of the index's shape.
    pub(crate) vector: &'q [u8],
    /// A row that must not be found: the query itself.
    pub(crate) held_out: Option<HeldOut>,
    /// Reads per round (W).
    pub(crate) beam: usize,
}

/// A row of the index that serves as query: the search goes on as if it were not there.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct HeldOut {
    /// The row.
    pub node: NodeId,
    /// Two of its neighbours. Who would walk to the row walks to them: the graph relies on each
    /// node to lead on to its neighbours, and a graph built without the row would have other edges
    /// there. The nearest neighbour is none of them: it would give the first answer away.
    /// Measured in `docs/decisions/0007-held-out-queries.md`.
    pub bridges: [NodeId; HeldOut::BRIDGES],
}

impl HeldOut {
    /// Neighbours that stand in for a row.
    pub const BRIDGES: usize = 2;
}
