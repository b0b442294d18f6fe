//! Our own design: what can be decided in memory is decided there, and what cannot is read in one
//! parallel round.
//!
//! Codes with error bounds and packed adjacency lists stay in memory as far as the budget goes, so
//! that a walk touches the disk little or not at all; full vectors lie in pages of their own, in
//! the order of clusters; of the candidates of a walk only those are read that their codes leave
//! undecided. With less memory lists lie on the disk, many to a page, and the codes are shorter.

use super::{Form, Row, Sizes, diskann, pageann};
use crate::spec::{
    CacheSpec, CodeStorage, CodecSpec, ExecutionSpec, HarvestSpec, IndexSpec, LayoutSpec,
    MAX_PRINCIPAL_DIMENSION, NodeCacheSpec, PageCacheSpec, PlacementSpec, QuantizerSpec,
    RefineSpec, RotationSpec, ScheduleSpec, Shape, StorageSpec, VectorStorage,
};

const RESIDENT: Form = Form {
    spec: resident,
    lists_first: true,
    least_bits: 0.5,
};

pub(super) const ROW: Row = Row {
    name: "pageway",
    summary: "codes with error bounds and packed lists in memory, vectors in the order of clusters \
              on disk; one round reads what the bounds leave undecided",
    form: RESIDENT,
    smaller: &[
        Form {
            spec: resident_at_random,
            ..RESIDENT
        },
        Form {
            spec: resident_in_order,
            ..RESIDENT
        },
        Form::new(on_disk),
        Form::new(on_disk_at_random),
    ],
};

/// Bits per component of the fine codes on disk.
const FINE_BITS: u32 = 6;
/// Bytes of the factors of such a code.
const FINE_FACTORS: u32 = 8;

/// Width of the bounds, in standard deviations.
const DEVIATIONS: f32 = 1.0;

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

fn resident(shape: Shape, sizes: &Sizes) -> IndexSpec {
    let base = diskann::spec(shape, sizes);
    IndexSpec {
        storage: StorageSpec {
            quantizer: code(shape, sizes.code_bytes),
            ids_in_memory: true,
            ..sizes.storage(VectorStorage::Separate, CodeStorage::Memory)
        },
        layout: LayoutSpec {
            codec: CodecSpec::Split,
            placement: PlacementSpec::Clustered,
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
            refine: RefineSpec::Bounded {
                deviations: DEVIATIONS,
            },
            ..base.execution
        },
        ..base
    }
}

/// The same on random axes: they take no memory of their own, which counts for few or long vectors.
fn resident_at_random(shape: Shape, sizes: &Sizes) -> IndexSpec {
    at_random(resident(shape, sizes))
}

/// The same with vectors in the order of the data, for builds whose memory does not hold the graph.
fn resident_in_order(shape: Shape, sizes: &Sizes) -> IndexSpec {
    let mut spec = resident(shape, sizes);
    spec.layout.placement = PlacementSpec::ById;
    spec
}

/// Pages that are nodes of the graph, of fine codes, their shared list, and coarse codes of those
/// neighbours whose codes memory does not hold.
fn on_disk(shape: Shape, sizes: &Sizes) -> IndexSpec {
    let base = pageann::spec(shape, sizes);
    let fine_bytes = (shape.dimension * FINE_BITS).div_ceil(8) + FINE_FACTORS;
    IndexSpec {
        storage: StorageSpec {
            vectors: VectorStorage::Coded,
            quantizer: code(shape, sizes.code_bytes),
            second_quantizer: Some(code(shape, fine_bytes)),
            ..base.storage
        },
        execution: ExecutionSpec {
            refine: RefineSpec::Bounded {
                deviations: DEVIATIONS,
            },
            ..base.execution
        },
        ..base
    }
}

/// The same on random axes, for the least memory of all.
fn on_disk_at_random(shape: Shape, sizes: &Sizes) -> IndexSpec {
    at_random(on_disk(shape, sizes))
}

fn at_random(mut spec: IndexSpec) -> IndexSpec {
    spec.storage.rotate_codes_at_random();
    spec
}
