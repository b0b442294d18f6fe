//! Unit length for the cosine metric.
//!
//! Norms and products are in `f64`, so that no finite row overflows or underflows on the way and
//! training, encoding and preparing a query agree to the last bit.

/// Factor that brings a row to unit length; 0 for a zero row, which stays zero.
pub(super) fn inverse_norm(row: &[f32]) -> f64 {
    let squares: f64 = row
        .iter()
        .map(|&value| f64::from(value) * f64::from(value))
        .sum();
    if squares > 0.0 {
        squares.sqrt().recip()
    } else {
        0.0
    }
}

/// One component times the factor of its row.
#[inline]
pub(super) fn scaled(value: f32, factor: f64) -> f32 {
    (f64::from(value) * factor) as f32
}

/// Multiplies a row by its factor.
pub(super) fn scale(row: &mut [f32], factor: f64) {
    for value in row {
        *value = scaled(*value, factor);
    }
}

/// Brings a row to unit length, as codes for cosine see it; a zero row stays zero.
pub fn normalise(row: &mut [f32]) {
    let factor = inverse_norm(row);
    scale(row, factor);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reaches_unit_length_at_any_scale() {
        for scale in [1e-44f32, 1e-20, 1.0, 1e38] {
            let mut row = [2.0 * scale, 2.0 * scale, scale, 0.0];
            let first = f64::from(row[0]) * inverse_norm(&row);
            let factor = inverse_norm(&row);
            self::scale(&mut row, factor);
            let norm: f32 = row.iter().map(|value| value * value).sum();
            assert!((norm - 1.0).abs() < 1e-6, "{scale}: {norm}");
            assert_eq!(row[0], first as f32);
        }
        assert_eq!(inverse_norm(&[0.0; 3]), 0.0);
    }
}
