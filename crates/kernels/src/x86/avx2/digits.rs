//! Digits of codes, 32 at a time: products of bytes in pairs, then pairs of those.
//!
//! Four codes are summed together: they share the weights, and the adding up of lanes at the end.
//! Of weights without high bytes there are half as many sums, for which there are registers.

use std::arch::x86_64::{
    __m128i, __m256i, _mm_add_epi32, _mm_cvtsi128_si32, _mm_hadd_epi32, _mm_shuffle_epi32,
    _mm_storeu_si128, _mm_unpackhi_epi64, _mm256_add_epi16, _mm256_add_epi32, _mm256_and_si256,
    _mm256_castsi256_si128, _mm256_extracti128_si256, _mm256_load_si256, _mm256_loadu_si256,
    _mm256_madd_epi16, _mm256_maddubs_epi16, _mm256_set1_epi8, _mm256_set1_epi16,
    _mm256_setzero_si256, _mm256_srli_epi16,
};
use std::ops::Range;

use pageway_types::Place;

use crate::digits::{Block, DigitWeights, FOURS, ONES, Section, TWOS};
use crate::scalar::digits::digit_sum;
use crate::sums::{self, CodeSum, CodeWeights, GROUP, Line};

/// Bytes of a register.
const BYTES: usize = 32;

/// Digits times weights in registers of 32: times their low bytes, or both.
struct Products<const PARTS: usize>;

impl<const PARTS: usize> CodeSum for Products<PARTS> {
    type Weights = DigitWeights;

    #[inline(always)]
    unsafe fn sum(weights: &DigitWeights, code: &[u8]) -> i32 {
        if !has_room(weights, code) {
            return digit_sum(weights, code);
        }
        // SAFETY: the caller vouches for the features, and what was looked at for the bytes.
        unsafe {
            let [lanes] = lanes::<1, PARTS>(weights, &[code]);
            let two = _mm_add_epi32(lanes, _mm_unpackhi_epi64(lanes, lanes));
            _mm_cvtsi128_si32(_mm_add_epi32(two, _mm_shuffle_epi32::<1>(two)))
        }
    }

    #[inline(always)]
    unsafe fn group(weights: &DigitWeights, codes: [&[u8]; GROUP]) -> [i32; GROUP] {
        let [a, b, c, d] = codes;
        let have_room = has_room(weights, a)
            && has_room(weights, b)
            && has_room(weights, c)
            && has_room(weights, d);
        if !have_room {
            return codes.map(|code| digit_sum(weights, code));
        }
        // SAFETY: the caller vouches for the features, what was looked at for the bytes; a register
        // holds as many as the array.
        unsafe {
            let [a, b, c, d] = lanes::<GROUP, PARTS>(weights, &codes);
            let sums = _mm_hadd_epi32(_mm_hadd_epi32(a, b), _mm_hadd_epi32(c, d));
            let mut out = [0; GROUP];
            _mm_storeu_si128(out.as_mut_ptr().cast(), sums);
            out
        }
    }
}

/// Whether a register can be filled from any byte of a code on: of all but the last ones.
#[inline(always)]
fn has_room(weights: &DigitWeights, code: &[u8]) -> bool {
    code.len() >= weights.code_bytes() + BYTES
}

/// The sums of some codes, by lanes.
///
/// # Safety
/// The CPU has AVX2; a register of bytes follows each code.
#[inline(always)]
unsafe fn lanes<const N: usize, const PARTS: usize>(
    weights: &DigitWeights,
    codes: &[&[u8]; N],
) -> [__m128i; N] {
    // SAFETY: the caller vouches for features and bounds.
    unsafe {
        let mut sums = [_mm256_setzero_si256(); N];
        add_section::<N, PARTS, 2, 4>((weights, FOURS), codes, &mut sums);
        add_section::<N, PARTS, 4, 2>((weights, TWOS), codes, &mut sums);
        add_section::<N, PARTS, 8, 1>((weights, ONES), codes, &mut sums);
        let mut halves = [_mm256_castsi256_si128(_mm256_setzero_si256()); N];
        for (half, sum) in halves.iter_mut().zip(sums) {
            let upper = _mm256_extracti128_si256::<1>(sum);
            *half = _mm_add_epi32(_mm256_castsi256_si128(sum), upper);
        }
        halves
    }
}

/// Adds the digits of a section, of so many to a byte and so many bits.
///
/// # Safety
/// As [`lanes`].
#[inline(always)]
unsafe fn add_section<const N: usize, const PARTS: usize, const DIGITS: usize, const BITS: i32>(
    (weights, section): (&DigitWeights, Section<DIGITS>),
    codes: &[&[u8]; N],
    sums: &mut [__m256i; N],
) {
    let mut blocks = weights.of_section(section).peekable();
    // SAFETY: the caller vouches for features and bounds.
    unsafe {
        while blocks.peek().is_some() {
            // Sums with low bytes of weights and with high ones, in 16 bits.
            let mut narrow = [[_mm256_setzero_si256(); N]; PARTS];
            for (bytes, block) in blocks.by_ref().take(blocks_between(DIGITS)) {
                if PARTS > 1 && block.is_wide {
                    add_block::<N, PARTS, PARTS, DIGITS, BITS>((bytes, block), codes, &mut narrow);
                } else {
                    add_block::<N, PARTS, 1, DIGITS, BITS>((bytes, block), codes, &mut narrow);
                }
            }
            for (narrow, unit) in narrow.iter().zip([1, 256]) {
                let unit = _mm256_set1_epi16(unit);
                for (sum, narrow) in sums.iter_mut().zip(narrow) {
                    *sum = _mm256_add_epi32(*sum, _mm256_madd_epi16(*narrow, unit));
                }
            }
        }
    }
}

/// Adds the digits of a block whose weights have so many parts that count.
///
/// # Safety
/// As [`lanes`].
#[inline(always)]
unsafe fn add_block<
    const N: usize,
    const PARTS: usize,
    const COUNTED: usize,
    const DIGITS: usize,
    const BITS: i32,
>(
    (bytes, block): (Range<usize>, Block<'_, DIGITS>),
    codes: &[&[u8]; N],
    narrow: &mut [[__m256i; N]; PARTS],
) {
    // SAFETY: the caller vouches for features and bounds.
    unsafe {
        let most = _mm256_set1_epi8(Section::<DIGITS>::MOST.cast_signed());
        for (half, at) in bytes.step_by(BYTES).enumerate() {
            let mut bytes = load(codes, at);
            for step in block.steps {
                let mut digits = bytes;
                for (digits, bytes) in digits.iter_mut().zip(&mut bytes) {
                    *digits = _mm256_and_si256(*bytes, most);
                    *bytes = _mm256_srli_epi16::<BITS>(*bytes);
                }
                let parts = [&step.low, &step.high];
                for (weights, narrow) in parts.iter().zip(narrow.iter_mut()).take(COUNTED) {
                    add(weights, half, &digits, narrow);
                }
            }
        }
    }
}

/// Adds digits times half a line of weights.
///
/// # Safety
/// The CPU has AVX2; `half` is 0 or 1.
#[inline(always)]
unsafe fn add<const N: usize>(
    weights: &Line,
    half: usize,
    digits: &[__m256i; N],
    sums: &mut [__m256i; N],
) {
    // SAFETY: the caller vouches for features and bounds.
    unsafe {
        let weights = _mm256_load_si256(weights.0.as_ptr().add(half * BYTES).cast());
        for (sum, digits) in sums.iter_mut().zip(digits) {
            *sum = _mm256_add_epi16(*sum, _mm256_maddubs_epi16(*digits, weights));
        }
    }
}

/// Blocks of a section of so many digits to a byte that 16 bits have room for: a pair of products
/// is at most twice 128 times the greatest digit, and a block adds one for each digit of a byte
/// twice.
const fn blocks_between(digits: usize) -> usize {
    let pair = 256 * ((1 << (8 / digits)) - 1);
    i16::MAX as usize / (2 * digits * pair)
}

/// The 32 bytes of each code from `at` on. What lies behind a section has no weight in it.
///
/// # Safety
/// The CPU has AVX2; 32 bytes are readable from `at` on.
#[inline(always)]
unsafe fn load<const N: usize>(codes: &[&[u8]; N], at: usize) -> [__m256i; N] {
    // SAFETY: the caller vouches for features and bounds.
    unsafe {
        let mut out = [_mm256_setzero_si256(); N];
        for (out, code) in out.iter_mut().zip(codes) {
            *out = _mm256_loadu_si256(code.as_ptr().add(at).cast());
        }
        out
    }
}

pub(super) fn digit_sums_gather(
    weights: &DigitWeights,
    codes: &[u8],
    stride: usize,
    places: &[Place],
    out: &mut [i32],
) {
    #[target_feature(enable = "avx2")]
    fn run(weights: &DigitWeights, codes: &[u8], stride: usize, places: &[Place], out: &mut [i32]) {
        // SAFETY: this function has the features.
        unsafe {
            if weights.is_narrow() {
                sums::sums_gather::<Products<1>>(weights, codes, stride, places, out);
            } else {
                sums::sums_gather::<Products<2>>(weights, codes, stride, places, out);
            }
        }
    }
    // SAFETY: reached through a detected set only.
    unsafe { run(weights, codes, stride, places, out) }
}
