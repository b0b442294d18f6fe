//! Sums of integer weights times the digits of a code, digit by digit.

use pageway_types::Place;

use crate::digits::{self, DigitWeights, Step};
use crate::sums::{self, CodeSum, LINE_BYTES};

/// Digits by the portable method.
struct Portable;

impl CodeSum for Portable {
    type Weights = DigitWeights;

    /// The sum that every instruction set must give.
    #[inline(always)]
    unsafe fn sum(weights: &DigitWeights, code: &[u8]) -> i32 {
        let mut total = 0_i32;
        for (bytes, [lower, upper]) in weights.of_fours() {
            let mut digits = [[0; LINE_BYTES]; 2];
            for (at, byte) in code[bytes].iter().enumerate() {
                digits[0][at] = byte & 0xf;
                digits[1][at] = byte >> 4;
            }
            let [low, high] = digits;
            total = total.wrapping_add(products(lower, &low));
            total = total.wrapping_add(products(upper, &high));
        }
        for (at, step) in weights.of_ones() {
            let word = digits::word(code, at);
            let mut digits = [0; LINE_BYTES];
            for (bit, digit) in digits.iter_mut().enumerate() {
                *digit = (word >> bit) as u8 & 1;
            }
            total = total.wrapping_add(products(step, &digits));
        }
        total
    }
}

/// Digits times their weights.
#[inline(always)]
fn products(step: Step<'_>, digits: &[u8; LINE_BYTES]) -> i32 {
    let lines = [(Some(step.low), 1), (step.high, 256)];
    let lines = lines
        .into_iter()
        .filter_map(|(line, unit)| Some((line?, unit)));
    let sums = lines.map(|(line, unit)| {
        let weights = line.0.iter().map(|weight| weight.cast_signed());
        let products = digits.iter().zip(weights);
        let sum: i32 = products.map(|(a, b)| i32::from(*a) * i32::from(b)).sum();
        unit * sum
    });
    sums.sum()
}

pub(crate) fn digit_sums_gather(
    weights: &DigitWeights,
    codes: &[u8],
    stride: usize,
    places: &[Place],
    out: &mut [i32],
) {
    // SAFETY: portable code needs no features.
    unsafe { sums::sums_gather::<Portable>(weights, codes, stride, places, out) }
}
