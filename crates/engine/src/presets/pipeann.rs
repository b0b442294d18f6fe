//! PipeANN: Guo and Lu, "Achieving Low-Latency Graph-Based Vector Search via Aligning Best-First
//! Search Algorithm with SSD", OSDI 2025.
//!
//! Kept from the paper: `DiskANN`'s records; a navigation graph over one node in a hundred; a read
//! for the best candidate whenever fewer than a width are in flight, no waiting for a round; the
//! width grows from 4 to 32 once the walk converges and few reads are wasted. Different: pages are
//! expanded as they arrive, not in the order of their reads, and reads then fill the width.

use super::{Form, Row, Sizes, diskann};
use crate::spec::{
    CacheSpec, CompletionSpec, EntrySpec, ExecutionSpec, IndexSpec, NodeCacheSpec, ScheduleSpec,
    Shape,
};

pub(super) const ROW: Row = Row {
    name: "pipeann",
    summary: "diskann's records, a navigation graph in memory, and a pipeline of reads that never \
              waits for a round and widens when the walk converges",
    form: Form::new(spec),
    smaller: &[],
};

pub(super) fn spec(shape: Shape, sizes: &Sizes) -> IndexSpec {
    let base = diskann::spec(shape, sizes);
    let most = sizes.beam.unwrap_or(32);
    IndexSpec {
        cache: CacheSpec {
            nodes: NodeCacheSpec::None,
            ..base.cache
        },
        execution: ExecutionSpec {
            entry: EntrySpec::Navigation {
                one_in: 100,
                max_degree: 32,
                list_size: 10,
            },
            schedule: ScheduleSpec::Pipelined {
                least: most.min(4),
                most,
                completion: CompletionSpec::AsTheyCome,
            },
            ..base.execution
        },
        ..base
    }
}
