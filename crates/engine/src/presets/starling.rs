//! Starling: Wang et al., "Starling: An I/O-Efficient Disk-Resident Graph Index Framework for
//! High-Dimensional Vector Similarity Search on Data Segment", SIGMOD 2024.
//!
//! Kept from the paper: nodes shuffled so that neighbours share a page (BNF, beta 8, tau 0.01); a
//! navigation graph over one node in a hundred; all vectors of a page scored, its target expanded
//! at once and the best share of the others while the next reads are in flight; pages are not read
//! twice. Different: nodes are renumbered, so that no map from node to page stays in memory; BNF
//! starts at greedy packing, and pages take nodes by how many edges they bring.

use super::{Form, Row, Sizes, diskann};
use crate::spec::{
    CacheSpec, EntrySpec, ExecutionSpec, HarvestSpec, IndexSpec, LayoutSpec, NodeCacheSpec,
    PlacementSpec, ScheduleSpec, Shape,
};

pub(super) const ROW: Row = Row {
    name: "starling",
    summary: "neighbours shuffled into the same page, a navigation graph in memory, the whole page \
              scored and its best part expanded while the next is read",
    form: Form::new(spec),
    smaller: &[],
};

pub(super) const SHUFFLED: PlacementSpec = PlacementSpec::Bnf {
    rounds: 8,
    gain: 0.01,
};

fn spec(shape: Shape, sizes: &Sizes) -> IndexSpec {
    let base = diskann::spec(shape, sizes);
    IndexSpec {
        layout: LayoutSpec {
            placement: SHUFFLED,
            ..base.layout
        },
        cache: CacheSpec {
            nodes: NodeCacheSpec::None,
            ..base.cache
        },
        execution: ExecutionSpec {
            entry: EntrySpec::Navigation {
                one_in: 100,
                max_degree: 24,
                list_size: 10,
            },
            schedule: ScheduleSpec::Overlapped {
                beam: sizes.beam.unwrap_or(4),
                doubling: false,
            },
            harvest: HarvestSpec::Near { share: 0.3 },
            ..base.execution
        },
        ..base
    }
}
