//! Sums of integer weights selected by the bits of a code, word by word.

use pageway_types::Place;

use crate::bits::BitWeights;
use crate::sums::{self, CodeSum};

/// Ones counted by the portable method.
struct Portable;

impl CodeSum for Portable {
    type Weights = BitWeights;

    /// The sum that every instruction set must give: the planes are walked from the sign down, so
    /// that each step doubles what came before.
    #[inline(always)]
    unsafe fn sum(weights: &BitWeights, code: &[u8]) -> i32 {
        let mut total: i64 = 0;
        for (lines, code) in weights.chunks(code) {
            let mut planes = lines.iter().map(|line| ones(&line.0, code));
            let sign = planes.next().unwrap_or(0);
            total += planes.fold(-sign, |sum, ones| 2 * sum + ones);
        }
        total as i32
    }
}

/// Ones that two strings of bits have in common; the shorter one counts.
#[inline(always)]
fn ones(line: &[u8], code: &[u8]) -> i64 {
    let (code_words, code_rest) = code.as_chunks::<8>();
    let (line_words, _) = line.as_chunks::<8>();
    let rest = &line[8 * code_words.len()..];
    let words = code_words.iter().zip(line_words);
    let in_words: u32 = words
        .map(|(a, b)| (u64::from_le_bytes(*a) & u64::from_le_bytes(*b)).count_ones())
        .sum();
    let in_rest: u32 = code_rest
        .iter()
        .zip(rest)
        .map(|(a, b)| (a & b).count_ones())
        .sum();
    i64::from(in_words + in_rest)
}

pub(crate) fn bit_sums(weights: &BitWeights, codes: &[u8], stride: usize, out: &mut [i32]) {
    // SAFETY: portable code needs no features.
    unsafe { sums::sums::<Portable>(weights, codes, stride, out) }
}

pub(crate) fn bit_sums_gather(
    weights: &BitWeights,
    codes: &[u8],
    stride: usize,
    places: &[Place],
    out: &mut [i32],
) {
    // SAFETY: portable code needs no features.
    unsafe { sums::sums_gather::<Portable>(weights, codes, stride, places, out) }
}
