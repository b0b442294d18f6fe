//! How many bits each axis gets: greedy reverse water-filling.
//!
//! A bit more on an axis of variance `v` lowers the mean squared error of that axis by
//! `v * (D(b) - D(b + 1))`, where `D(b)` is the error of the best uniform quantizer of `b` bits for
//! a Gaussian of variance 1. The bits with the largest gains are taken, so the error is the least
//! that so many bits can reach with these quantizers. Axes come with falling variance, hence
//! falling bits: axes of equal bits are neighbours.
//!
//! Source: Cover and Thomas, "Elements of Information Theory", 10.3.3; the constants are those of
//! Max (1960) for uniform quantizers, computed again.

/// Most bits of an axis.
pub(super) const MAX_BITS: usize = 8;

/// Mean squared error of `b` bits for a Gaussian of variance 1.
const ERRORS: [f64; MAX_BITS + 1] = [
    1.0,
    0.363_38,
    0.118_85,
    0.037_44,
    0.011_54,
    0.003_495,
    0.001_041,
    0.000_304,
    0.000_087_7,
];

/// Step of the best uniform quantizer of `b` bits for a Gaussian of variance 1.
pub(super) const STEPS: [f32; MAX_BITS + 1] = [
    0.0, 1.595_8, 0.995_7, 0.586_0, 0.335_2, 0.188_1, 0.104_1, 0.056_87, 0.030_76,
];

/// Bits of each axis, `budget` in all at most; `variances` fall. The first axis gets one at least,
/// and no axis without variance gets any beside it.
pub(super) fn allocate(variances: &[f64], budget: usize) -> Vec<u8> {
    let mut gains = Vec::with_capacity(variances.len() * MAX_BITS);
    for (axis, variance) in variances.iter().enumerate() {
        let steps = ERRORS.windows(2).map(|pair| match pair {
            [before, after] => before - after,
            _ => 0.0,
        });
        gains.extend(steps.map(|step| (variance * step, axis)));
    }
    // The errors are convex, so the gains of an axis fall and its bits are taken in their order.
    gains.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    let mut bits = vec![0; variances.len()];
    for (_, axis) in gains.iter().take(budget).filter(|(gain, _)| *gain > 0.0) {
        if let Some(bits) = bits.get_mut(*axis) {
            *bits += 1;
        }
    }
    if let Some(first) = bits.first_mut() {
        *first = (*first).max(1);
    }
    bits
}

/// Bytes that [`allocate`] takes.
pub(super) const fn bytes(dimension: usize) -> usize {
    dimension.saturating_mul(2 * MAX_BITS * size_of::<(f64, usize)>() + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(variances: &[f64], bits: &[u8]) -> f64 {
        let terms = variances.iter().zip(bits);
        terms.map(|(v, b)| v * ERRORS[usize::from(*b)]).sum()
    }

    #[test]
    fn equal_axes_share_the_bits_evenly() {
        assert_eq!(allocate(&[2.0; 5], 12), [3, 3, 2, 2, 2]);
        assert_eq!(allocate(&[2.0; 3], 100), [8, 8, 8]);
    }

    #[test]
    fn constant_axes_get_nothing_but_one_axis_is_kept() {
        assert_eq!(allocate(&[1.0, 0.0, 0.0], 20), [8, 0, 0]);
        assert_eq!(allocate(&[0.0, 0.0], 20), [1, 0]);
    }

    #[test]
    fn no_other_allocation_has_less_error() {
        let variances = [40.0, 9.0, 1.0, 0.1];
        for budget in 1..=12 {
            let best = error(&variances, &allocate(&variances, budget));
            for code in 0..9_usize.pow(4) {
                let bits = [1, 9, 81, 729].map(|unit| (code / unit % 9) as u8);
                if bits.iter().map(|b| usize::from(*b)).sum::<usize>() <= budget {
                    assert!(
                        best <= error(&variances, &bits) + 1e-12,
                        "{budget} {bits:?}"
                    );
                }
            }
        }
    }

    #[test]
    fn bits_fall_with_the_variance() {
        let variances: Vec<f64> = (0..200).map(|i| 1e4 * 0.93_f64.powi(i)).collect();
        let bits = allocate(&variances, 300);
        assert!(bits.is_sorted_by(|a, b| a >= b));
        assert_eq!(bits.iter().map(|b| usize::from(*b)).sum::<usize>(), 300);
    }

    #[test]
    fn steps_and_errors_are_those_of_a_gaussian() {
        for bits in 1..=MAX_BITS {
            let (step, levels) = (f64::from(STEPS[bits]), 1 << bits);
            let mse = |x: f64| {
                let cell =
                    ((x / step).floor() + f64::from(levels / 2)).clamp(0.0, f64::from(levels - 1));
                let value = (cell + 0.5 - f64::from(levels / 2)) * step;
                (x - value).powi(2) * (-x * x / 2.0).exp()
            };
            let sum: f64 = (-80_000..80_000)
                .map(|i| mse((f64::from(i) + 0.5) / 1e4) / 1e4)
                .sum();
            let error = sum / (2.0 * std::f64::consts::PI).sqrt();
            assert!((error / ERRORS[bits] - 1.0).abs() < 0.01, "{bits}: {error}");
        }
    }
}
