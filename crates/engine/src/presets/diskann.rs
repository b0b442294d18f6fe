//! DiskANN: Subramanya et al., "DiskANN: Fast Accurate Billion-point Nearest Neighbor Search on a
//! Single Node", NeurIPS 2019.
//!
//! Kept from the paper: a Vamana graph; full vectors beside their adjacency list in fixed records;
//! product codes in memory steer the walk; rounds of `beam` reads; exact distances as pages pass;
//! the nodes nearest to the medoid cached. Different: every page is checksummed (8 bytes of 4096),
//! a record never straddles a page it could fit in, list size follows from a recall target, and the
//! cache takes what the memory budget leaves over.

use super::{Form, Row, Sizes};
use crate::spec::{
    CacheSpec, CodeStorage, CodecSpec, DeltaSpec, EntrySpec, ExecutionSpec, GraphSpec, HarvestSpec,
    IndexSpec, LayoutSpec, ListSpec, NodeCacheSpec, PageCacheSpec, PlacementSpec, RefineSpec,
    RepairSpec, ScheduleSpec, SelectionSpec, Shape, StopSpec, UpdateSpec, VectorStorage,
};

pub(super) const ROW: Row = Row {
    name: "diskann",
    summary: "vectors and adjacency lists together in page records on disk, product codes in \
              memory, a beam of reads per round, nodes near the medoid cached",
    form: Form::new(spec),
    smaller: &[],
};

pub(super) fn spec(shape: Shape, sizes: &Sizes) -> IndexSpec {
    IndexSpec {
        shape,
        graph: GraphSpec::vamana(sizes),
        storage: sizes.storage(VectorStorage::InRecord, CodeStorage::Memory),
        layout: LayoutSpec {
            page_bytes: sizes.page_bytes,
            codec: CodecSpec::Packed,
            placement: PlacementSpec::ById,
            lists: ListSpec::Plain,
            folded: None,
        },
        cache: CacheSpec {
            nodes: NodeCacheSpec::Records,
            pages: PageCacheSpec::None,
            selection: SelectionSpec::BreadthFirst,
            page_share: 0.0,
        },
        execution: ExecutionSpec {
            entry: EntrySpec::Medoid,
            schedule: ScheduleSpec::Lockstep {
                beam: sizes.beam.unwrap_or(4),
            },
            harvest: HarvestSpec::Target,
            refine: RefineSpec::Inline,
            stop: StopSpec::Exhausted,
            slack: 0.0,
        },
        update: UpdateSpec::Static,
        repair: RepairSpec::Sweep,
        delta: DeltaSpec::Scan,
        seed: sizes.seed,
    }
}
