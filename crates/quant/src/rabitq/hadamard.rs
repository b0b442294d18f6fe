//! A random rotation without a matrix: signs, Walsh-Hadamard transforms and Kac steps.
//!
//! Six rounds; each flips signs at random, transforms the first (even rounds) or the last (odd
//! rounds) `2^k` values, the largest power of two that fits, and, where that is not all of them,
//! turns the first half against the last by 45 degrees. Any width is served without padding, in
//! `O(width log width)` and 24 bytes per value.
//!
//! Source: the fast rotation of the RaBitQ library (Gao et al., SIGMOD 2025), after Kac's walk.
//!
//! Invariant: orthogonal up to rounding; the same bits on every machine, as every sum has two
//! terms.

use std::f32::consts::FRAC_1_SQRT_2;

use pageway_kernels::KernelSet;
use pageway_types::SplitMix64;

/// Rounds of signs and transforms.
const ROUNDS: usize = 6;

/// The sign bit of an `f32`.
const SIGN: u32 = 1 << 31;

/// A rotation of `width` values.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Hadamard {
    width: usize,
    /// Per round, 0 or the sign bit for each value.
    signs: Vec<u32>,
}

impl Hadamard {
    /// The rotation that a seed and a stream number fix.
    pub(super) fn new(width: usize, seed: u64, stream: u64) -> Self {
        let mut random = SplitMix64::stream(seed, stream);
        let sign = |_| (random.next_u64() >> 32) as u32 & SIGN;
        let signs = (0..ROUNDS * width).map(sign).collect();
        Self { width, signs }
    }

    pub(super) const fn bytes(width: usize) -> usize {
        width.saturating_mul(ROUNDS * size_of::<u32>())
    }

    pub(super) fn width(&self) -> usize {
        self.width
    }

    /// Rotates `width` values in place.
    pub(super) fn rotate(&self, kernels: &KernelSet, values: &mut [f32]) {
        for (round, signs) in self.rounds() {
            flip(values, signs);
            transform(kernels, window(values, round));
            kac_step(values);
        }
    }

    /// Rotates back what [`Hadamard::rotate`] made.
    pub(super) fn undo(&self, kernels: &KernelSet, values: &mut [f32]) {
        for (round, signs) in self.rounds().rev() {
            kac_step(values);
            transform(kernels, window(values, round));
            flip(values, signs);
        }
    }

    fn rounds(&self) -> impl DoubleEndedIterator<Item = (usize, &[u32])> + ExactSizeIterator {
        self.signs.chunks_exact(self.width.max(1)).enumerate()
    }
}

fn flip(values: &mut [f32], signs: &[u32]) {
    for (value, sign) in values.iter_mut().zip(signs) {
        *value = f32::from_bits(value.to_bits() ^ sign);
    }
}

/// The values that a round transforms: a power of two of them.
fn window(values: &mut [f32], round: usize) -> &mut [f32] {
    let length = values.len().checked_ilog2().map_or(0, |log| 1 << log);
    let at = if round.is_multiple_of(2) {
        0
    } else {
        values.len() - length
    };
    let (_, tail) = values.split_at_mut(at);
    tail.split_at_mut(length).0
}

/// The Walsh-Hadamard transform of a power of two of values, scaled to be its own inverse.
fn transform(kernels: &KernelSet, values: &mut [f32]) {
    kernels.hadamard()(values);
    let scale = (values.len() as f64).sqrt().recip() as f32;
    for value in values {
        *value *= scale;
    }
}

/// Turns the first half against the last, unless a transform reaches all values; its own inverse.
fn kac_step(values: &mut [f32]) {
    if values.len().is_power_of_two() {
        return;
    }
    let half = values.len() / 2;
    let (left, right) = values.split_at_mut(values.len() - half);
    for (a, b) in left.iter_mut().zip(right) {
        (*a, *b) = ((*a + *b) * FRAC_1_SQRT_2, (*a - *b) * FRAC_1_SQRT_2);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn energy(values: &[f32]) -> f64 {
        values.iter().map(|v| f64::from(*v) * f64::from(*v)).sum()
    }

    #[test]
    fn is_orthogonal_and_undone_at_every_width() {
        let kernels = KernelSet::detect().unwrap();
        for width in (1..=70).chain([100, 128, 129, 960, 3072]) {
            let rotation = Hadamard::new(width, 7, 1);
            let given: Vec<f32> = (0..width).map(|i| (i * 37 % 101) as f32 - 40.0).collect();
            let mut values = given.clone();
            rotation.rotate(kernels, &mut values);
            let ratio = energy(&values) / energy(&given).max(1e-9);
            assert!((ratio - 1.0).abs() < 1e-5, "{width}: {ratio}");
            rotation.undo(kernels, &mut values);
            for (a, b) in values.iter().zip(&given) {
                assert!((a - b).abs() < 1e-3, "{width}");
            }
        }
    }

    #[test]
    fn spreads_one_component_over_all_of_them() {
        let kernels = KernelSet::detect().unwrap();
        for width in [64, 100, 129, 384, 960] {
            // Fourth moments: 3 for a Gaussian, `width` for a vector that is not spread at all.
            let moments = (0..width).map(|component| {
                let mut values = vec![0.0; width];
                values[component] = 1.0;
                Hadamard::new(width, 3, 0).rotate(kernels, &mut values);
                values.iter().map(|v| f64::from(*v).powi(4)).sum::<f64>() * width as f64
            });
            let moment = moments.sum::<f64>() / width as f64;
            assert!((2.0..4.0).contains(&moment), "{width}: {moment}");
        }
    }

    #[test]
    fn seeds_and_streams_differ() {
        let signs = |seed, stream| Hadamard::new(64, seed, stream).signs;
        assert_ne!(signs(1, 0), signs(1, 1));
        assert_ne!(signs(1, 0), signs(2, 0));
    }
}
