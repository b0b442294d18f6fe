//! Digits of codes, 64 at a time: products of bytes are added up by the instruction for it (VNNI).
//!
//! Four codes are summed together: they share the weights, and the adding up of lanes at the end.

use std::arch::x86_64::{
    __m512i, _mm512_add_epi32, _mm512_and_si512, _mm512_dpbusd_epi32, _mm512_load_si512,
    _mm512_reduce_add_epi32, _mm512_set1_epi8, _mm512_setzero_si512, _mm512_slli_epi32,
    _mm512_srli_epi16,
};

use pageway_types::Place;

use super::bits::{add_up, load};
use crate::digits::{DigitWeights, FOURS, ONES, Section, TWOS};
use crate::sums::{self, CodeSum, GROUP, Line};

/// Digits times weights in registers of 64.
struct Products;

impl CodeSum for Products {
    type Weights = DigitWeights;

    #[inline(always)]
    unsafe fn sum(weights: &DigitWeights, code: &[u8]) -> i32 {
        // SAFETY: the caller vouches for the features.
        unsafe {
            let [lanes] = lanes(weights, [code]);
            _mm512_reduce_add_epi32(lanes)
        }
    }

    #[inline(always)]
    unsafe fn group(weights: &DigitWeights, codes: [&[u8]; GROUP]) -> [i32; GROUP] {
        // SAFETY: the caller vouches for the features.
        unsafe { add_up(lanes(weights, codes)) }
    }
}

/// The sums of some codes, by lanes.
///
/// # Safety
/// The CPU has AVX-512 BW and VNNI.
#[inline(always)]
unsafe fn lanes<const N: usize>(weights: &DigitWeights, codes: [&[u8]; N]) -> [__m512i; N] {
    // SAFETY: the caller vouches for the features.
    unsafe {
        let mut sums = [[_mm512_setzero_si512(); N]; 2];
        add_section::<N, 2, 4>(weights, FOURS, &codes, &mut sums);
        add_section::<N, 4, 2>(weights, TWOS, &codes, &mut sums);
        add_section::<N, 8, 1>(weights, ONES, &codes, &mut sums);
        let [mut sums, high] = sums;
        for at in 0..N {
            sums[at] = _mm512_add_epi32(sums[at], _mm512_slli_epi32::<8>(high[at]));
        }
        sums
    }
}

/// Adds the digits of a section, of so many to a byte and so many bits.
///
/// # Safety
/// The CPU has AVX-512 BW and VNNI.
#[inline(always)]
unsafe fn add_section<const N: usize, const DIGITS: usize, const BITS: u32>(
    weights: &DigitWeights,
    section: Section<DIGITS>,
    codes: &[&[u8]; N],
    sums: &mut [[__m512i; N]; 2],
) {
    // SAFETY: the caller vouches for the features.
    unsafe {
        let most = _mm512_set1_epi8(Section::<DIGITS>::MOST.cast_signed());
        let mut digits = [_mm512_setzero_si512(); N];
        let mut bytes = [_mm512_setzero_si512(); N];
        let [low, high] = sums;
        for (place, block) in weights.of_section(section) {
            for at in 0..N {
                bytes[at] = load(&codes[at][place.clone()]);
            }
            for step in block.steps {
                for at in 0..N {
                    digits[at] = _mm512_and_si512(bytes[at], most);
                    bytes[at] = _mm512_srli_epi16::<BITS>(bytes[at]);
                }
                add(&step.low, &digits, low);
                if block.is_wide {
                    add(&step.high, &digits, high);
                }
            }
        }
    }
}

/// Adds digits times a line of weights.
///
/// # Safety
/// The CPU has AVX-512 F and VNNI.
#[inline(always)]
unsafe fn add<const N: usize>(weights: &Line, digits: &[__m512i; N], sums: &mut [__m512i; N]) {
    // SAFETY: the caller vouches for the features; a line is 64 aligned bytes.
    unsafe {
        let weights = _mm512_load_si512(weights.0.as_ptr().cast());
        for at in 0..N {
            sums[at] = _mm512_dpbusd_epi32(sums[at], digits[at], weights);
        }
    }
}

pub(super) fn digit_sums_gather(
    weights: &DigitWeights,
    codes: &[u8],
    stride: usize,
    places: &[Place],
    out: &mut [i32],
) {
    #[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vnni")]
    fn run(weights: &DigitWeights, codes: &[u8], stride: usize, places: &[Place], out: &mut [i32]) {
        // SAFETY: this function has the features.
        unsafe { sums::sums_gather::<Products>(weights, codes, stride, places, out) }
    }
    // SAFETY: reached through a detected set only.
    unsafe { run(weights, codes, stride, places, out) }
}
