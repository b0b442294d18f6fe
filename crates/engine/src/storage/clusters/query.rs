//! A query as it is compared with means.

use half::f16;

/// Largest number that a component becomes: two signed bytes hold it, and what is as far below 0.
const LARGEST: f32 = 32_639.0;

/// A query in the forms that means are compared with, reused.
///
/// Invariant: where there are two rows of bytes, a component is `unit * (256 * high + low)`, off by
/// half a unit at most; for cosine, a component of the unit vector.
#[derive(Default)]
pub(crate) struct MeanQuery {
    /// In the element type of whole means.
    pub(super) whole: Vec<u8>,
    pub(super) high: Vec<u8>,
    pub(super) low: Vec<u8>,
    pub(super) unit: f32,
    /// Its squared length, in the units of the vectors; 1 for cosine, or 0.
    pub(super) square: f32,
}

impl MeanQuery {
    /// Takes a query as it is, for means in its own element type.
    pub(super) fn take_raw(&mut self, raw: &[u8], widened: &[f32]) {
        self.clear();
        self.whole.extend_from_slice(raw);
        self.square = squared(widened) as f32;
    }

    /// Takes a query, its unit vector where `unit`, for whole means as `f16` in units of `scale` and
    /// for others in bytes.
    pub(super) fn take(&mut self, widened: &[f32], scale: f32, unit: bool) {
        self.clear();
        let square = squared(widened);
        let unit = unit && square > 0.0;
        let length = if unit { square.sqrt() } else { 1.0 };
        self.square = if unit { 1.0 } else { square as f32 };
        let per_scale = (f64::from(scale) * length).recip() as f32;
        let whole = widened.iter().map(|v| bounded_f16(v * per_scale));
        self.whole.extend(whole.flat_map(f16::to_le_bytes));
        self.split(widened, length);
    }

    fn clear(&mut self) {
        self.whole.clear();
        self.high.clear();
        self.low.clear();
        self.unit = 0.0;
    }

    /// Writes the two rows of bytes.
    fn split(&mut self, widened: &[f32], length: f64) {
        // Shifts numbers to above 0 and rounds; the top bit of each byte is then its sign, flipped.
        const SHIFT: f32 = 128.0 * 257.0 + 0.5;
        const SIGN: u8 = 1 << 7;
        let largest = widened.iter().fold(0.0, |most: f32, v| most.max(v.abs()));
        let per_unit = Some(LARGEST / largest).filter(|per_unit| per_unit.is_finite());
        let per_unit = per_unit.unwrap_or(0.0);
        self.unit = (f64::from(largest) / f64::from(LARGEST) / length) as f32;
        let numbers = widened.iter().map(|v| (v * per_unit + SHIFT) as u16);
        self.low.extend(numbers.clone().map(|n| n as u8 ^ SIGN));
        self.high.extend(numbers.map(|n| (n >> 8) as u8 ^ SIGN));
    }
}

fn squared(values: &[f32]) -> f64 {
    values.iter().map(|v| f64::from(*v) * f64::from(*v)).sum()
}

/// The nearest `f16` that is finite.
pub(super) fn bounded_f16(value: f32) -> f16 {
    f16::from_f32(value.clamp(f16::MIN.to_f32(), f16::MAX.to_f32()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn joined(query: &MeanQuery) -> Vec<f32> {
        let pairs = query.high.iter().zip(&query.low);
        let number = |high: u8, low: u8| 256.0 * f32::from(high as i8) + f32::from(low as i8);
        pairs
            .map(|(high, low)| query.unit * number(*high, *low))
            .collect()
    }

    #[test]
    fn two_bytes_hold_a_component_to_half_a_unit() {
        let mut random = pageway_types::SplitMix64::new(8);
        let mut query = MeanQuery::default();
        for scale in [1e-20_f32, 1e-3, 1.0, 1e20] {
            let mut component = || random.below(20_001) as f32 - 10_000.0;
            let widened: Vec<f32> = (0..257).map(|_| component() * scale).collect();
            query.take(&widened, scale, false);
            for (found, wanted) in joined(&query).iter().zip(&widened) {
                let off = (found - wanted).abs();
                assert!(off <= 0.51 * query.unit, "{found} {wanted} {}", query.unit);
            }
        }
    }

    #[test]
    fn the_ends_and_zero_are_met() {
        let mut query = MeanQuery::default();
        query.take(&[3.0, -3.0, 0.0], 1.0, false);
        assert_eq!(joined(&query), [3.0, -3.0, 0.0]);
        query.take(&[3.0, -4.0], 1.0, true);
        let unit = joined(&query);
        assert!(
            (unit[0] - 0.6).abs() < 1e-4 && (unit[1] + 0.8).abs() < 1e-6,
            "{unit:?}"
        );
        for smallest in [0.0, f32::MIN_POSITIVE / 2.0] {
            query.take(&[smallest, 0.0], 1.0, true);
            assert_eq!(joined(&query), [0.0, 0.0]);
        }
    }
}
