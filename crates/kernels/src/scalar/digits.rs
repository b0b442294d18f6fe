//! Sums of integer weights times the digits of a code, digit by digit.

use pageway_types::Place;

use crate::digits::{DigitWeights, FOURS, ONES, Section, TWOS};
use crate::sums::{self, CodeSum, Line};

/// Digits by the portable method.
struct Portable;

impl CodeSum for Portable {
    type Weights = DigitWeights;

    /// The sum that every instruction set must give.
    #[inline(always)]
    unsafe fn sum(weights: &DigitWeights, code: &[u8]) -> i32 {
        digit_sum(weights, code)
    }
}

/// The sum of one code.
#[inline(always)]
pub(crate) fn digit_sum(weights: &DigitWeights, code: &[u8]) -> i32 {
    of_section(weights, FOURS, code)
        .wrapping_add(of_section(weights, TWOS, code))
        .wrapping_add(of_section(weights, ONES, code))
}

/// The sum of a section.
#[inline(always)]
fn of_section<const N: usize>(weights: &DigitWeights, section: Section<N>, code: &[u8]) -> i32 {
    let mut total = 0_i32;
    for (bytes, block) in weights.of_section(section) {
        for (place, step) in (0..).zip(block.steps) {
            let shift = place * Section::<N>::BITS;
            let digits = code[bytes.clone()].iter();
            let digits = digits.map(|byte| byte >> shift & Section::<N>::MOST);
            let high = if block.is_wide {
                products(&step.high, digits.clone()) << 8
            } else {
                0
            };
            total = total.wrapping_add(products(&step.low, digits) + high);
        }
    }
    total
}

/// Digits times bytes of weights.
#[inline(always)]
fn products(weights: &Line, digits: impl Iterator<Item = u8>) -> i32 {
    let weights = weights.0.iter().map(|weight| weight.cast_signed());
    let products = digits.zip(weights);
    products.map(|(a, b)| i32::from(a) * i32::from(b)).sum()
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
