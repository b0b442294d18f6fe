//! PageANN: Kang et al., "Scalable Disk-Based Approximate Nearest Neighbor Search with Page-Aligned
//! Graph", 2025.
//!
//! Kept from the paper: the page is the node of the graph, filled by Algorithm 1 with the nearest
//! of a seed's two-hop neighbours; one merged list of neighbours per page, without those on the
//! page itself; codes in memory as far as the budget goes and the others in the page, one or the
//! other; hash routing to the entry; every vector of a page scored and its list followed; hot pages
//! cached with what memory is left. Different: the nodes whose codes are in memory are those of the
//! pages that are named most, numbered first, so that no map of them is kept; hashes are of centred
//! vectors; the hash routing also works with codes on disk.

use super::{Form, Row, Sizes, diskann};
use crate::spec::{
    CacheSpec, CodeStorage, CodecSpec, EntrySpec, ExecutionSpec, HarvestSpec, IndexSpec,
    LayoutSpec, NodeCacheSpec, PageCacheSpec, PlacementSpec, ScheduleSpec, SelectionSpec, Shape,
    VectorStorage,
};

pub(super) const ROW: Row = Row {
    name: "pageann",
    summary: "a page is a node of the graph: its vectors, one merged list of neighbours, and the \
              codes of those whose code memory does not hold; entered by hashing",
    form: Form::new(spec),
    smaller: &[],
};

pub(super) const DISK_ROW: Row = Row {
    name: "pageann-disk",
    summary: "pageann with every code in its pages, entered at fixed nodes: nearly no memory",
    form: Form::new(disk_spec),
    smaller: &[],
};

pub(super) fn spec(shape: Shape, sizes: &Sizes) -> IndexSpec {
    // The plan of a build sees how many the memory budget holds.
    let codes = CodeStorage::Split { memory_nodes: 0 };
    let entry = EntrySpec::Hash {
        one_in: 20,
        radius: 2,
        limit: 200,
    };
    row(shape, sizes, codes, entry)
}

fn disk_spec(shape: Shape, sizes: &Sizes) -> IndexSpec {
    row(
        shape,
        sizes,
        CodeStorage::InPage,
        EntrySpec::Fixed { count: 64 },
    )
}

fn row(shape: Shape, sizes: &Sizes, codes: CodeStorage, entry: EntrySpec) -> IndexSpec {
    let base = diskann::spec(shape, sizes);
    IndexSpec {
        storage: sizes.storage(VectorStorage::InRecord, codes),
        layout: LayoutSpec {
            codec: CodecSpec::PageNode {
                min_degree: sizes.max_degree.div_ceil(2),
            },
            placement: PlacementSpec::Grouped { hops: 2 },
            ..base.layout
        },
        cache: CacheSpec {
            nodes: NodeCacheSpec::None,
            pages: PageCacheSpec::Hot,
            selection: SelectionSpec::Visits,
            ..base.cache
        },
        execution: ExecutionSpec {
            entry,
            schedule: ScheduleSpec::Overlapped {
                beam: sizes.beam.unwrap_or(5),
                doubling: false,
            },
            harvest: HarvestSpec::All,
            ..base.execution
        },
        ..base
    }
}
