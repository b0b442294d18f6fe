//! Ranges of the numbers of a spec: those of a choice stand beside it.

use pageway_types::VectorShape;

use super::IndexSpec;
use super::validate::{Checked, SpecError, refuse_if};

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
        self.validate_element()?;
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

    /// Whole bytes of bits, and a metric that compares the element type.
    fn validate_element(&self) -> Checked {
        let shape = self.shape;
        refuse_if(
            !shape.vectors().is_legal(),
            "dimension",
            &shape.dimension.to_string(),
            "bits come in whole bytes; choose a multiple of 8 and pad the vectors with zeros",
        )?;
        refuse_if(
            !shape.metric.compares(shape.element),
            "metric",
            shape.metric.name(),
            "it compares bits, and these vectors hold numbers; choose element type bit, or metric \
             l2, inner_product, cosine or l1",
        )
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
