//! Distances of one query to many rows: the inner loop of every graph build.

use pageway_types::NodeId;

use super::lanes::Lanes;
use super::measure::{Measure, distance};
use crate::prefetch::RowPrefetch;

/// See [`crate::DistanceManyFn`].
///
/// # Safety
/// The CPU has the features of `V`.
#[inline(always)]
pub(crate) unsafe fn distance_many<V: Lanes, M: Measure<V>>(
    query: &[u8],
    rows: &[u8],
    row_bytes: usize,
    nodes: &[NodeId],
    out: &mut [f32],
) {
    assert_eq!(query.len(), row_bytes, "a query as long as a row");
    assert_eq!(nodes.len(), out.len(), "one distance per node");
    let prefetch = RowPrefetch::new(rows, row_bytes, nodes);
    for (index, (node, out)) in nodes.iter().zip(out).enumerate() {
        prefetch.ahead_of(index);
        let row = &rows[node.index() * row_bytes..][..row_bytes];
        // SAFETY: the caller vouches for the features.
        *out = unsafe { distance::<V, M>(query, row) };
    }
}
