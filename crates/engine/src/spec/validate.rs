//! Which specs exist. Every refusal names the field, its value and the nearest legal one.

use pageway_types::VectorShape;

use super::{GraphSpec, IndexSpec, ScheduleSpec};

/// A spec that no index can have.
#[derive(Clone, PartialEq, Debug, thiserror::Error)]
#[error("{field} = {value} is not possible: {rule}")]
pub struct SpecError {
    /// The field, as in the manifest.
    pub field: &'static str,
    /// Its value.
    pub value: String,
    /// The rule it breaks, with the nearest legal choice.
    pub rule: String,
}

/// Longest adjacency list an index may have.
pub const MAX_DEGREE: u32 = 512;
/// Widest beam.
pub const MAX_BEAM: u32 = 64;
/// Largest candidate list while building.
pub const MAX_BUILD_LIST: u32 = 2048;

fn within<T: PartialOrd + std::fmt::Display + Copy>(
    field: &'static str,
    value: T,
    low: T,
    high: T,
) -> Result<(), SpecError> {
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
    /// Checks that an index of this spec can exist.
    ///
    /// # Errors
    /// The first rule that is broken.
    pub fn validate(&self) -> Result<(), SpecError> {
        within(
            "dimension",
            self.shape.dimension,
            1,
            VectorShape::MAX_DIMENSION,
        )?;
        let GraphSpec::Vamana {
            max_degree,
            build_list,
            alpha,
        } = self.graph;
        within("max_degree", max_degree, 1, MAX_DEGREE)?;
        within("build_list", build_list, 1, MAX_BUILD_LIST)?;
        within("alpha", alpha, 1.0, 4.0)?;
        let code_bytes = self.storage.quantizer.code_bytes();
        within("code_bytes", code_bytes, 1, self.shape.dimension)?;
        let ScheduleSpec::Lockstep { beam } = self.execution.schedule;
        within("beam", beam, 1, MAX_BEAM)?;
        self.validate_page()
    }

    fn validate_page(&self) -> Result<(), SpecError> {
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

#[cfg(test)]
mod tests {
    use crate::presets::{Preset, Sizes};
    use crate::spec::{IndexSpec, LayoutSpec, Shape};
    use pageway_types::{ElementType, Metric};

    fn legal() -> IndexSpec {
        let shape = Shape {
            dimension: 16,
            element: ElementType::U8,
            metric: Metric::L2,
        };
        Preset::DiskAnn.spec(shape, &Sizes::default())
    }

    #[test]
    fn each_refusal_names_its_field() {
        assert_eq!(legal().validate(), Ok(()));
        let page = |page_bytes| IndexSpec {
            layout: LayoutSpec {
                page_bytes,
                ..legal().layout
            },
            ..legal()
        };
        for bytes in [0, 512, 5000, 131_072] {
            assert_eq!(page(bytes).validate().unwrap_err().field, "page_bytes");
        }
        let mut spec = legal();
        spec.shape.dimension = 0;
        assert_eq!(spec.validate().unwrap_err().field, "dimension");
        let mut spec = legal();
        spec.shape.dimension = 16_385;
        assert!(spec.validate().unwrap_err().to_string().contains("16384"));
    }
}
