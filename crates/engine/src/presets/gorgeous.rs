//! Gorgeous: Yin et al., "Gorgeous: Revisiting the Data Layout for Disk-Resident High-Dimensional
//! Vector Search", 2025.
//!
//! Kept from the paper: memory holds adjacency lists before vectors; a page holds the lists of a
//! node's nearest neighbours beside its own record, each list replicated a bounded number of times;
//! a list in memory is expanded without a read; the best share of the candidates is read at the
//! end, in one batch; reads are in flight while lists in memory are expanded. Different: the lists
//! that memory takes first are nearest to the navigation graph by hops, not by distance; a packed
//! list is expanded when its node's turn comes; the next reads are chosen when all of a round have
//! arrived, so that answers do not depend on which read is faster.

use super::{Form, Row, Sizes, diskann};
use crate::spec::{
    CacheSpec, CodecSpec, EntrySpec, ExecutionSpec, HarvestSpec, IndexSpec, LayoutSpec,
    NodeCacheSpec, RefineSpec, ScheduleSpec, Shape,
};

pub(super) const ROW: Row = Row {
    name: "gorgeous",
    summary: "memory holds adjacency lists before vectors, pages hold the lists of neighbours \
              beside a record, exact distances are read at the end for the best alone",
    form: Form::new(spec),
    smaller: &[],
};

fn spec(shape: Shape, sizes: &Sizes) -> IndexSpec {
    let base = diskann::spec(shape, sizes);
    let lists = sizes
        .packed_lists
        .unwrap_or_else(|| lists_that_fit(shape, sizes));
    IndexSpec {
        layout: LayoutSpec {
            codec: CodecSpec::Replicated { lists },
            ..base.layout
        },
        cache: CacheSpec {
            nodes: NodeCacheSpec::Lists,
            ..base.cache
        },
        execution: ExecutionSpec {
            entry: EntrySpec::Navigation {
                one_in: 200,
                max_degree: 24,
                list_size: 10,
            },
            schedule: ScheduleSpec::Prefetch {
                beam: sizes.beam.unwrap_or(8),
            },
            harvest: HarvestSpec::Held,
            refine: RefineSpec::Deferred { share: 0.5 },
            ..base.execution
        },
        ..base
    }
}

/// Lists that fill one page beside a record, or none where the record does not leave room.
fn lists_that_fit(shape: Shape, sizes: &Sizes) -> u32 {
    const LIST_HEADER: usize = 6;
    const RESERVED: usize = 40;
    let list = LIST_HEADER + 4 * sizes.max_degree as usize;
    let taken = shape.vectors().row_bytes() + list + RESERVED;
    let page = sizes.page_bytes as usize;
    (page.saturating_sub(taken) / list).min(sizes.max_degree as usize) as u32
}
