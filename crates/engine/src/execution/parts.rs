//! The components a traversal works with, as `resolve` made them from a spec.

use pageway_kernels::DistanceFn;
use pageway_quant::ProductQuantizer;
use pageway_store::PageGeometry;
use pageway_types::NodeId;

use crate::cache::NodeCache;
use crate::layout::PageCodec;
use crate::spec::ExecutionSpec;
use crate::storage::CodeTable;

/// Everything a query needs that outlives it. Immutable while queries run.
pub(crate) struct Parts<C: PageCodec> {
    /// Pages to records.
    pub(crate) codec: C,
    /// Bytes and pages of one read.
    pub(crate) geometry: PageGeometry,
    /// Records kept in memory.
    pub(crate) cache: NodeCache,
    /// Codes of all nodes.
    pub(crate) codes: CodeTable,
    /// What the codes mean.
    pub(crate) quantizer: ProductQuantizer,
    /// Exact distance between raw vectors.
    pub(crate) exact: DistanceFn,
    /// Raw vector to `f32`.
    pub(crate) widen: fn(&[u8], &mut [f32]),
    /// Where walks start.
    pub(crate) entry: Vec<NodeId>,
    /// Policies, with their defaults.
    pub(crate) execution: ExecutionSpec,
}
