//! A query as it is compared with means, and numbers in two bytes.

/// Largest number in two signed bytes, and what is as far below 0.
const LARGEST: f32 = 32_639.0;

/// A query in the form that means are compared with, reused: as it is for those of bytes, else in
/// two signed bytes per component.
///
/// Invariant: where there are two rows of bytes, a component is `unit * (256 * high + low)`, off by
/// half a unit at most; for cosine, a component of the unit vector.
#[derive(Default)]
pub(crate) struct MeanQuery {
    pub(super) raw: Vec<u8>,
    pub(super) high: Vec<u8>,
    pub(super) low: Vec<u8>,
    pub(super) unit: f64,
    /// Squared length of the rows of bytes, in the units of the vectors.
    pub(super) rounded: f64,
    /// Its squared length, in the units of the vectors; 1 for cosine, or 0.
    pub(super) square: f32,
    /// Its distances to the means of groups, as they are ranked by.
    pub(super) groups: Vec<f32>,
}

impl MeanQuery {
    /// Bytes that it holds beside itself, at most.
    pub(crate) const fn bytes(dimension: usize, groups: usize) -> usize {
        2 * dimension + groups * size_of::<f32>()
    }

    /// Its distances to the means of all groups, as groups are ranked by.
    pub(crate) fn groups(&self) -> &[f32] {
        &self.groups
    }

    /// Takes a query as it is.
    pub(super) fn take(&mut self, raw: &[u8], widened: &[f32]) {
        self.raw.clear();
        self.raw.extend_from_slice(raw);
        self.square = squared(widened) as f32;
    }

    /// Takes a query in two bytes per component; its unit vector, where `to_unit`.
    pub(super) fn split(&mut self, widened: &[f32], to_unit: bool) {
        let square = squared(widened);
        let to_unit = to_unit && square > 0.0;
        let length = if to_unit { square.sqrt() } else { 1.0 };
        self.square = if to_unit { 1.0 } else { square as f32 };
        let unit = unit_of(widened);
        self.unit = f64::from(unit) / length;
        self.high.clear();
        self.low.clear();
        split(widened, unit, (&mut self.high, &mut self.low));
        let numbers = self.high.iter().zip(&self.low);
        let squares = numbers.map(|(high, low)| i64::from(joined(*high, *low)).pow(2));
        self.rounded = squares.sum::<i64>() as f64 * self.unit * self.unit;
    }
}

/// The unit that makes use of the range of two bytes.
pub(super) fn unit_of(values: &[f32]) -> f32 {
    values.iter().fold(0.0, |most: f32, v| most.max(v.abs())) / LARGEST
}

/// Appends the two bytes of each value, in units no smaller than `unit_of` says.
pub(super) fn split(values: &[f32], unit: f32, (high, low): (&mut Vec<u8>, &mut Vec<u8>)) {
    // Puts numbers above 0 and rounds; the top bit of each byte is then its sign, flipped.
    const SHIFT: f32 = 128.0 * 257.0 + 0.5;
    const SIGN: u8 = 1 << 7;
    let per_unit = Some(unit.recip()).filter(|per_unit| per_unit.is_finite());
    let per_unit = per_unit.unwrap_or(0.0);
    let numbers = values.iter().map(|v| (v * per_unit + SHIFT) as u16);
    low.extend(numbers.clone().map(|number| number as u8 ^ SIGN));
    high.extend(numbers.map(|number| (number >> 8) as u8 ^ SIGN));
}

/// The number that two bytes are.
pub(super) fn joined(high: u8, low: u8) -> i32 {
    256 * i32::from(high as i8) + i32::from(low as i8)
}

fn squared(values: &[f32]) -> f64 {
    values.iter().map(|v| f64::from(*v) * f64::from(*v)).sum()
}

#[cfg(test)]
mod tests {
    use pageway_types::SplitMix64;

    use super::*;

    fn components(query: &MeanQuery) -> Vec<f64> {
        let pairs = query.high.iter().zip(&query.low);
        pairs
            .map(|(high, low)| query.unit * f64::from(joined(*high, *low)))
            .collect()
    }

    #[test]
    fn two_bytes_hold_a_component_to_half_a_unit() {
        let mut random = SplitMix64::new(8);
        let mut query = MeanQuery::default();
        for scale in [1e-20_f32, 1e-3, 1.0, 1e12] {
            let mut component = || (random.below(20_001) as f32 - 10_000.0) * scale;
            let widened: Vec<f32> = (0..257).map(|_| component()).collect();
            query.split(&widened, false);
            let found = components(&query);
            for (found, wanted) in found.iter().zip(&widened) {
                let off = (found - f64::from(*wanted)).abs();
                assert!(off <= 0.51 * query.unit, "{found} {wanted}");
            }
            let square: f64 = found.iter().map(|v| v * v).sum();
            assert!((query.rounded / square - 1.0).abs() < 1e-12);
            assert!((f64::from(query.square) / square - 1.0).abs() < 1e-4);
        }
    }

    #[test]
    fn the_ends_and_zero_are_met() {
        let mut query = MeanQuery::default();
        query.split(&[3.0, -3.0, 0.0], false);
        for (found, wanted) in components(&query).iter().zip([3.0, -3.0, 0.0]) {
            assert!((found - wanted).abs() < 1e-6, "{found}");
        }
        query.split(&[3.0, -4.0], true);
        let unit = components(&query);
        assert!(
            (unit[0] - 0.6).abs() < 2e-5 && (unit[1] + 0.8).abs() < 1e-6,
            "{unit:?}"
        );
        query.split(&[0.0, 0.0], true);
        assert_eq!((components(&query), query.square), (vec![0.0, 0.0], 0.0));
    }
}
