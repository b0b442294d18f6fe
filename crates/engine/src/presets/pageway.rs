//! Our own design: what can be decided in memory is decided there, and what cannot is read in one
//! parallel round.
//!
//! Codes with error bounds stay in memory, full vectors lie in pages of their own, in the order of
//! clusters; of the candidates only those are read that their codes leave undecided. Where memory
//! also holds packed adjacency lists, candidates come from a walk that reads nothing. With less,
//! codes take the room of the lists, and candidates come from clusters; where vectors are large,
//! what is read for them are fine codes, many to a page. With still less the codes lie on disk.
//!
//! Lists are those of a graph from small groups, which takes the least time to build.

use super::{Form, Row, Sizes, diskann, pageann};
use crate::spec::{
    CacheSpec, CodeStorage, CodecSpec, EntrySpec, ExecutionSpec, GraphSpec, HarvestSpec, IndexSpec,
    LayoutSpec, MAX_PRINCIPAL_DIMENSION, NodeCacheSpec, PageCacheSpec, PlacementSpec,
    QuantizerSpec, RefineSpec, RotationSpec, ScheduleSpec, Shape, StorageSpec, VectorStorage,
};

const RESIDENT: Form = Form {
    name: "resident",
    spec: resident,
    lists_first: true,
    least_bits: 1.5,
};

const CLUSTERED: Form = Form {
    name: "clustered",
    spec: clustered,
    lists_first: false,
    least_bits: 0.5,
};

const ON_DISK: Form = Form {
    name: "on-disk",
    ..Form::new(on_disk)
};

pub(super) const ROW: Row = Row {
    name: "pageway",
    summary: "codes with error bounds in memory, vectors in the order of clusters on disk; \
              candidates by packed lists or by clusters; one round reads what the bounds leave \
              undecided",
    form: RESIDENT,
    smaller: &[
        Form {
            spec: resident_at_random,
            ..RESIDENT
        },
        CLUSTERED,
        Form {
            spec: clustered_at_random,
            ..CLUSTERED
        },
        ON_DISK,
        Form {
            spec: on_disk_at_random,
            ..ON_DISK
        },
        Form {
            spec: on_disk_alone,
            ..ON_DISK
        },
    ],
};

/// Bits per component of the fine codes on disk.
const FINE_BITS: u32 = 6;
/// Bytes of the factors of such a code.
const FINE_FACTORS: u32 = 8;

/// Width of the bounds, in standard deviations, where a list holds ten candidates for each answer.
/// What is missed for narrow ones a longer list gives back, which is arithmetic, where wide ones
/// are reads.
const DEVIATIONS: f32 = 0.65;

/// The same where candidates come from clusters, which have more of them at less cost.
const SCANNED_DEVIATIONS: f32 = 0.45;

/// How much farther than a node whose page must be read one may be whose page is in memory, and
/// come first: about what estimates by coarse codes err by.
const SLACK: f32 = 0.3;

/// Nodes to start at where memory has no room for more.
const ENTRIES: u32 = 64;

/// Nodes of a cluster.
const MEMBERS: u32 = 64;

/// Times that a vector must be larger than its fine code for that to be worth a read of its own.
const FINE_SHARE: usize = 3;

/// Whether codes of so many bytes decide some answers without a read: with fewer bits who an answer
/// is follows from what is read.
fn decides(shape: Shape, code_bytes: u32) -> bool {
    2 * 8 * code_bytes >= 3 * shape.dimension
}

/// A code by principal axes, where those can be found.
fn code(shape: Shape, code_bytes: u32) -> QuantizerSpec {
    let rotation = if shape.dimension <= MAX_PRINCIPAL_DIMENSION {
        RotationSpec::Principal
    } else {
        RotationSpec::Hadamard
    };
    QuantizerSpec::RaBitQ {
        code_bytes,
        rotation,
    }
}

/// The code that lies on disk. With so many bits axes by variance gain little, and take memory.
fn fine_code(shape: Shape) -> QuantizerSpec {
    QuantizerSpec::RaBitQ {
        code_bytes: (shape.dimension * FINE_BITS).div_ceil(8) + FINE_FACTORS,
        rotation: RotationSpec::Hadamard,
    }
}

/// What is read: what bounds of so many deviations leave undecided; or, where codes estimate
/// another metric than that of the answers, all candidates.
fn refine(shape: Shape, deviations: f32) -> RefineSpec {
    if shape.metric.is_guide() {
        RefineSpec::Bounded { deviations }
    } else {
        RefineSpec::Deferred { share: 1.0 }
    }
}

/// Whether codes may answer for vectors: they guide by the metric of the answers, and a vector is
/// large enough for the id beside its code to be worth its bytes.
fn answers(shape: Shape) -> bool {
    shape.metric.is_guide() && shape.element.is_float()
}

/// Whether reading a fine code in place of a vector saves pages.
fn is_large(shape: Shape) -> bool {
    let decides = shape.metric.is_guide();
    decides && shape.vectors().row_bytes() >= FINE_SHARE * fine_code(shape).code_bytes() as usize
}

fn resident(shape: Shape, sizes: &Sizes) -> IndexSpec {
    let base = diskann::spec(shape, sizes);
    IndexSpec {
        graph: GraphSpec::pipnn(sizes),
        storage: StorageSpec {
            quantizer: code(shape, sizes.code_bytes),
            ids_in_memory: true,
            ..sizes.storage(VectorStorage::Separate, CodeStorage::Memory)
        },
        layout: LayoutSpec {
            codec: CodecSpec::Split,
            placement: PlacementSpec::Nearest,
            ..base.layout
        },
        cache: CacheSpec {
            nodes: NodeCacheSpec::Lists,
            pages: PageCacheSpec::None,
            ..base.cache
        },
        execution: ExecutionSpec {
            schedule: ScheduleSpec::Prefetch {
                beam: sizes.beam.unwrap_or(16),
            },
            harvest: HarvestSpec::Held,
            refine: refine(shape, DEVIATIONS),
            ..base.execution
        },
        ..base
    }
}

/// Clusters in place of lists.
fn clustered(shape: Shape, sizes: &Sizes) -> IndexSpec {
    let base = resident(shape, sizes);
    let is_large = is_large(shape);
    let (vectors, codec) = if is_large {
        (VectorStorage::Coded, CodecSpec::Packed)
    } else {
        (VectorStorage::Separate, CodecSpec::Split)
    };
    IndexSpec {
        graph: GraphSpec::Clusters { members: MEMBERS },
        storage: StorageSpec {
            vectors,
            second_quantizer: is_large.then(|| fine_code(shape)),
            ids_in_memory: answers(shape) && decides(shape, sizes.code_bytes),
            ..base.storage
        },
        layout: LayoutSpec {
            codec,
            placement: PlacementSpec::Clustered,
            ..base.layout
        },
        cache: CacheSpec {
            nodes: NodeCacheSpec::None,
            ..base.cache
        },
        execution: ExecutionSpec {
            entry: EntrySpec::Clusters,
            schedule: ScheduleSpec::Lockstep {
                beam: sizes.beam.unwrap_or(16),
            },
            harvest: HarvestSpec::All,
            refine: refine(shape, SCANNED_DEVIATIONS),
            ..base.execution
        },
        ..base
    }
}

/// The same on random axes.
fn clustered_at_random(shape: Shape, sizes: &Sizes) -> IndexSpec {
    at_random(clustered(shape, sizes))
}

/// The same on random axes: they take no memory of their own, which counts for few or long vectors.
fn resident_at_random(shape: Shape, sizes: &Sizes) -> IndexSpec {
    at_random(resident(shape, sizes))
}

/// Pages that are nodes of the graph, of fine codes where vectors are large, their shared list, and
/// coarse codes of those neighbours whose codes memory does not hold.
fn on_disk(shape: Shape, sizes: &Sizes) -> IndexSpec {
    let base = IndexSpec {
        graph: GraphSpec::pipnn(sizes),
        ..pageann::spec(shape, sizes)
    };
    let vectors = StorageSpec {
        quantizer: code(shape, sizes.code_bytes),
        ..base.storage
    };
    let execution = ExecutionSpec {
        schedule: ScheduleSpec::Overlapped {
            beam: sizes.beam.unwrap_or(8),
            doubling: true,
        },
        slack: SLACK,
        ..base.execution
    };
    if !is_large(shape) {
        return IndexSpec {
            storage: vectors,
            execution,
            ..base
        };
    }
    IndexSpec {
        storage: StorageSpec {
            vectors: VectorStorage::Coded,
            second_quantizer: Some(fine_code(shape)),
            ..vectors
        },
        execution: ExecutionSpec {
            refine: refine(shape, DEVIATIONS),
            ..execution
        },
        ..base
    }
}

/// The same on random axes.
fn on_disk_at_random(shape: Shape, sizes: &Sizes) -> IndexSpec {
    at_random(on_disk(shape, sizes))
}

/// The same with all codes on disk and a few fixed nodes to start at: next to no memory.
fn on_disk_alone(shape: Shape, sizes: &Sizes) -> IndexSpec {
    let mut spec = on_disk_at_random(shape, sizes);
    spec.storage.codes = CodeStorage::InPage;
    spec.execution.entry = EntrySpec::Fixed { count: ENTRIES };
    spec
}

fn at_random(mut spec: IndexSpec) -> IndexSpec {
    spec.storage.rotate_codes_at_random();
    spec
}
