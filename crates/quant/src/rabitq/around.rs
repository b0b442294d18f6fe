//! Estimates from codes that were made around centres of the caller, who tells with each batch what
//! the query knows of the centre.

use pageway_types::Guide;

use super::RaBitQuantizer;
use super::allocation::STEPS;
use super::scorer::Centroid;
use crate::Centre;

/// What a scorer needs of its query to meet a centre.
#[derive(Clone, Copy, Debug)]
pub(super) struct Around {
    metric: Guide,
    /// What errors are multiplied by, per distance of the query from the centre.
    error: f32,
}

impl Around {
    /// For a query that is scored with `factor` times inner products.
    pub(super) fn new(quantizer: &RaBitQuantizer, factor: f64) -> Self {
        Self {
            metric: quantizer.metric,
            error: error_by_distance(quantizer, factor),
        }
    }

    pub(super) fn meet(self, centre: Centre) -> Centroid {
        let Centre { distance, product } = centre;
        let add = match self.metric {
            Guide::L2 => distance,
            Guide::InnerProduct => -product,
            Guide::Cosine => 1.0 - product,
        };
        Centroid {
            distance,
            add,
            error: self.error * distance.max(0.0).sqrt(),
            inside: 1.0,
            rest: f32::NAN,
        }
    }
}

/// Standard error of an estimate per unit of a code's error and of the distance of the query from
/// the centre.
fn error_by_distance(quantizer: &RaBitQuantizer, factor: f64) -> f32 {
    let (mut inside, mut variance) = (0.0, 0.0);
    for segment in &quantizer.layout.segments {
        let unit = STEPS.get(usize::from(segment.bits)).copied().unwrap_or(1.0);
        let spread = f64::from(segment.step / unit).powi(2);
        let width = segment.width as f64;
        inside += width * spread;
        variance += f64::from(segment.error_share) * width * spread / (width - 1.0).max(1.0);
    }
    let outside = quantizer.outside;
    let beyond = (f64::from(quantizer.energy) - inside).max(0.0);
    variance += f64::from(outside.error_share) * f64::from(outside.spread) * beyond;
    let energy = (inside + beyond).max(f64::MIN_POSITIVE);
    (factor * f64::from(quantizer.error_unit) * (variance / energy).sqrt()) as f32
}
