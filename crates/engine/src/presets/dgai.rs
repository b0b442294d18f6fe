//! DGAI: Lou et al., "DGAI: Decoupled On-Disk Graph-Based ANN Index for
//! Efficient Updates and Queries", 2025.
//!
//! Kept from the paper: adjacency lists and vectors in pages of their own; lists of similar nodes
//! share a page, and a query keeps the pages it read; three stages: a walk by one code, a choice
//! among the best by a second, independent code too, exact distances for the few that remain; a
//! cache of pages; an update writes pages of lists in place, and of vectors only those of new
//! rows. Different: similar means shuffled as in Starling, and no page is split: a node's number
//! tells its page, so rows that come share pages in the order in which they come, until all is
//! built again; a list has its own room in a page; edges to deleted rows are mended where searches
//! for those find them, and no pass over lists is made; a navigation graph finds the entry; the
//! cache takes pages of vectors too.

use super::{Form, Row, Sizes, diskann, starling};
use crate::spec::{
    CacheSpec, CodeStorage, CodecSpec, EntrySpec, ExecutionSpec, HarvestSpec, IndexSpec,
    LayoutSpec, NodeCacheSpec, PageCacheSpec, QuantizerSpec, RefineSpec, RepairSpec, ScheduleSpec,
    Shape, StorageSpec, UpdateSpec, VectorStorage,
};

pub(super) const ROW: Row = Row {
    name: "dgai",
    summary: "adjacency lists and vectors in pages of their own, two codes in memory, exact \
              vectors read for the few that both codes favour",
    form: Form::new(spec),
    smaller: &[],
};

fn spec(shape: Shape, sizes: &Sizes) -> IndexSpec {
    let base = diskann::spec(shape, sizes);
    // Both codes together take the bytes that a design with one would have.
    let first = sizes.code_bytes.div_ceil(2);
    let second = (sizes.code_bytes - first).max(1);
    IndexSpec {
        storage: StorageSpec {
            quantizer: QuantizerSpec::Pq { code_bytes: first },
            second_quantizer: Some(QuantizerSpec::Pq { code_bytes: second }),
            ..sizes.storage(VectorStorage::Separate, CodeStorage::Memory)
        },
        layout: LayoutSpec {
            codec: CodecSpec::Split,
            placement: starling::SHUFFLED,
            ..base.layout
        },
        cache: CacheSpec {
            nodes: NodeCacheSpec::None,
            pages: PageCacheSpec::Clock,
            ..base.cache
        },
        execution: ExecutionSpec {
            entry: EntrySpec::Navigation {
                one_in: 100,
                max_degree: 24,
                list_size: 10,
            },
            schedule: ScheduleSpec::Lockstep {
                beam: sizes.beam.unwrap_or(4),
            },
            harvest: HarvestSpec::Held,
            refine: RefineSpec::Cascade {
                scored: 1.0,
                read: 0.5,
            },
            ..base.execution
        },
        update: UpdateSpec::Overwrite,
        repair: RepairSpec::Local,
        ..base
    }
}
