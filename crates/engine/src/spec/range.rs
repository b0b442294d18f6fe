//! Ranges of the numbers of a spec, choice by choice.

use pageway_types::VectorShape;

use super::validate::{Checked, SpecError, refuse_if};
use super::{
    EntrySpec, GraphSpec, HarvestSpec, IndexSpec, PlacementSpec, QuantizerSpec, RefineSpec,
    RotationSpec, ScheduleSpec, StopSpec,
};

/// Longest adjacency list an index may have.
pub const MAX_DEGREE: u32 = 512;
/// Widest beam.
pub const MAX_BEAM: u32 = 64;
/// Largest candidate list while building.
pub const MAX_BUILD_LIST: u32 = 2048;
/// Most fixed entries, and most candidates that an entry may give.
pub(super) const MAX_ENTRIES: u32 = 1000;

pub(super) fn within<T: PartialOrd + std::fmt::Display + Copy>(
    field: &'static str,
    value: T,
    low: T,
    high: T,
) -> Checked {
    if value >= low && value <= high {
        return Ok(());
    }
    let nearest = if value > high { high } else { low };
    let rule =
        format!("it must lie between {low} and {high}; the nearest legal value is {nearest}");
    Err(SpecError {
        field,
        value: value.to_string(),
        rule,
    })
}

impl IndexSpec {
    pub(super) fn validate_ranges(&self) -> Checked {
        let dimension = self.shape.dimension;
        within("dimension", dimension, 1, VectorShape::MAX_DIMENSION)?;
        self.graph.validate()?;
        self.storage.quantizer.validate("code_bytes", dimension)?;
        if let Some(second) = self.storage.second_quantizer {
            second.validate("second_code_bytes", dimension)?;
        }
        self.validate_page()?;
        self.layout.placement.validate()?;
        within("page_share", self.cache.page_share, 0.0, 1.0)?;
        self.execution.entry.validate()?;
        self.execution.schedule.validate()?;
        self.execution.harvest.validate()?;
        self.execution.refine.validate()?;
        self.execution.stop.validate()?;
        within("slack", self.execution.slack, 0.0, 1.0)
    }

    fn validate_page(&self) -> Checked {
        let bytes = self.layout.page_bytes;
        within("page_bytes", bytes, 4096, 65_536)?;
        if bytes.is_power_of_two() {
            return Ok(());
        }
        let rule = format!(
            "it must be a power of two; try {}",
            bytes.next_power_of_two()
        );
        Err(SpecError {
            field: "page_bytes",
            value: bytes.to_string(),
            rule,
        })
    }
}

/// Bytes of the factors of a code, at most.
const FACTOR_BYTES: u32 = 16;

/// Largest dimension whose principal axes are looked for: the time for it grows with its cube.
pub(crate) const MAX_PRINCIPAL_DIMENSION: u32 = 4096;

impl QuantizerSpec {
    fn validate(self, field: &'static str, dimension: u32) -> Checked {
        let principal = matches!(
            self,
            Self::RaBitQ {
                rotation: RotationSpec::Principal,
                ..
            }
        );
        refuse_if(
            principal && dimension > MAX_PRINCIPAL_DIMENSION,
            "rotation",
            "principal",
            "finding the axes of more than 4096 components takes too long; choose rotation hadamard",
        )?;
        let most = match self {
            Self::Pq { .. } => dimension,
            // Eight bits per component.
            Self::RaBitQ { .. } => dimension.next_multiple_of(64) + FACTOR_BYTES,
        };
        within(field, self.code_bytes(), 1, most)
    }
}

impl GraphSpec {
    fn validate(&self) -> Checked {
        if let Self::Clusters { members } = *self {
            return within("members", members, 1, 65_536);
        }
        within("max_degree", self.max_degree(), 1, MAX_DEGREE)?;
        within("build_list", self.build_list(), 1, MAX_BUILD_LIST)?;
        match *self {
            Self::Clusters { .. } => Ok(()),
            Self::Vamana { alpha, .. } => within("alpha", alpha, 1.0, 4.0),
            Self::Nsg { knn, .. } => within("knn", knn, 1, MAX_BUILD_LIST),
            Self::Hnsw { max_degree, .. } => within("max_degree", max_degree, 4, MAX_DEGREE),
            Self::PiPnn {
                alpha,
                fanout,
                leaf,
                knn,
                ..
            } => {
                within("alpha", alpha, 1.0, 4.0)?;
                within("fanout", fanout, 1, 64)?;
                within("leaf", leaf, 16, 8192)?;
                within("knn", knn, 1, 64)
            }
        }
    }
}

impl PlacementSpec {
    /// Name on the command line.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::ById => "by_id",
            Self::Bnp => "bnp",
            Self::Bnf { .. } => "bnf",
            Self::Bns { .. } => "bns",
            Self::Grouped { .. } => "grouped",
            Self::Clustered => "clustered",
        }
    }

    fn validate(&self) -> Checked {
        match *self {
            Self::Bnf { rounds, gain } | Self::Bns { rounds, gain } => {
                within("rounds", rounds, 1, 1000)?;
                within("gain", gain, 0.0, 1.0)
            }
            Self::Grouped { hops } => within("hops", hops, 1, 8),
            Self::ById | Self::Bnp | Self::Clustered => Ok(()),
        }
    }
}

impl EntrySpec {
    fn validate(&self) -> Checked {
        match *self {
            Self::Medoid | Self::Clusters => Ok(()),
            Self::Fixed { count } => within("entry count", count, 1, MAX_ENTRIES),
            Self::UpperLayers { list_size } => within("entry list", list_size, 1, MAX_ENTRIES),
            Self::Navigation {
                one_in,
                max_degree,
                list_size,
            } => {
                within("one_in", one_in, 1, u32::MAX)?;
                within("navigation degree", max_degree, 1, MAX_DEGREE)?;
                within("entry list", list_size, 1, MAX_ENTRIES)
            }
            Self::Hash {
                one_in,
                radius,
                limit,
            } => {
                within("one_in", one_in, 1, u32::MAX)?;
                within("radius", radius, 0, 2)?;
                within("entry limit", limit, 1, MAX_ENTRIES)
            }
        }
    }
}

impl ScheduleSpec {
    fn validate(&self) -> Checked {
        within("beam", self.beam(), 1, MAX_BEAM)?;
        match *self {
            Self::Pipelined { least, most, .. } => within("least beam", least, 1, most),
            Self::Lockstep { .. } | Self::Overlapped { .. } | Self::Prefetch { .. } => Ok(()),
        }
    }
}

impl HarvestSpec {
    fn validate(self) -> Checked {
        match self {
            Self::Near { share } => within("harvest share", share, 0.0, 1.0),
            Self::Target | Self::All | Self::Held => Ok(()),
        }
    }
}

impl RefineSpec {
    fn validate(&self) -> Checked {
        match *self {
            Self::Inline => Ok(()),
            Self::Deferred { share } => within("refine share", share, 0.0, 1.0),
            Self::Cascade { scored, read } => {
                within("refine scored", scored, 0.0, 1.0)?;
                within("refine read", read, 0.0, scored)
            }
            Self::Bounded { deviations } => within("refine deviations", deviations, 0.0, 16.0),
        }
    }
}

impl StopSpec {
    fn validate(self) -> Checked {
        match self {
            Self::Exhausted => Ok(()),
            Self::Horizon { growth } => within("stop growth", growth, 1.0, 1000.0),
        }
    }
}
