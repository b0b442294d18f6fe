//! Digits of codes, 32 at a time: products of bytes in pairs, then pairs of those.
//!
//! Four codes are summed together: they share the weights, and the adding up of lanes at the end.

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
use crate::sums::{self, CodeSum, GROUP, Line};

/// Bytes of a register.
const BYTES: usize = 32;

/// Digits times weights in registers of 32.
struct Products;

impl CodeSum for Products {
    type Weights = DigitWeights;

    #[inline(always)]
    unsafe fn sum(weights: &DigitWeights, code: &[u8]) -> i32 {
        // SAFETY: the caller vouches for the features.
        unsafe {
            let [lanes] = lanes(weights, [code]);
            let two = _mm_add_epi32(lanes, _mm_unpackhi_epi64(lanes, lanes));
            _mm_cvtsi128_si32(_mm_add_epi32(two, _mm_shuffle_epi32::<1>(two)))
        }
    }

    #[inline(always)]
    unsafe fn group(weights: &DigitWeights, codes: [&[u8]; GROUP]) -> [i32; GROUP] {
        // SAFETY: the caller vouches for the features; a register holds as many bytes as the array.
        unsafe {
            let [a, b, c, d] = lanes(weights, codes);
            let sums = _mm_hadd_epi32(_mm_hadd_epi32(a, b), _mm_hadd_epi32(c, d));
            let mut out = [0; GROUP];
            _mm_storeu_si128(out.as_mut_ptr().cast(), sums);
            out
        }
    }
}

/// The sums of some codes, by lanes.
///
/// # Safety
/// The CPU has AVX2.
#[inline(always)]
unsafe fn lanes<const N: usize>(weights: &DigitWeights, codes: [&[u8]; N]) -> [__m128i; N] {
    // SAFETY: the caller vouches for the features.
    unsafe {
        let mut sums = Sums::new();
        sums.add_section::<2, 4>(weights, FOURS, &codes);
        sums.add_section::<4, 2>(weights, TWOS, &codes);
        sums.add_section::<8, 1>(weights, ONES, &codes);
        let mut halves = [_mm256_castsi256_si128(_mm256_setzero_si256()); N];
        for (half, wide) in halves.iter_mut().zip(sums.wide) {
            let upper = _mm256_extracti128_si256::<1>(wide);
            *half = _mm_add_epi32(_mm256_castsi256_si128(wide), upper);
        }
        halves
    }
}

/// Sums of products of some codes by lanes.
struct Sums<const N: usize> {
    /// Those with low bytes of weights and those with high ones, in 16 bits.
    narrow: [[__m256i; N]; 2],
    wide: [__m256i; N],
}

impl<const N: usize> Sums<N> {
    /// # Safety
    /// The CPU has AVX2.
    #[inline(always)]
    unsafe fn new() -> Self {
        // SAFETY: the caller vouches for the features.
        let zero = unsafe { _mm256_setzero_si256() };
        Self {
            narrow: [[zero; N]; 2],
            wide: [zero; N],
        }
    }

    /// Adds the digits of a section, of so many to a byte and so many bits.
    ///
    /// # Safety
    /// The CPU has AVX2.
    #[inline(always)]
    unsafe fn add_section<const DIGITS: usize, const BITS: i32>(
        &mut self,
        weights: &DigitWeights,
        section: Section<DIGITS>,
        codes: &[&[u8]; N],
    ) {
        // SAFETY: the caller vouches for the features.
        unsafe {
            for (number, (bytes, block)) in weights.of_section(section).enumerate() {
                if number > 0 && number % blocks_between(DIGITS) == 0 {
                    self.widen();
                }
                if block.is_wide {
                    self.add_block::<DIGITS, BITS, true>((bytes, block), codes);
                } else {
                    self.add_block::<DIGITS, BITS, false>((bytes, block), codes);
                }
            }
            self.widen();
        }
    }

    /// Adds the digits of a block whose weights have high bytes or none.
    ///
    /// # Safety
    /// The CPU has AVX2.
    #[inline(always)]
    unsafe fn add_block<const DIGITS: usize, const BITS: i32, const WIDE: bool>(
        &mut self,
        (bytes, block): (Range<usize>, Block<'_, DIGITS>),
        codes: &[&[u8]; N],
    ) {
        // SAFETY: the caller vouches for the features.
        unsafe {
            let most = _mm256_set1_epi8(Section::<DIGITS>::MOST.cast_signed());
            let [low, high] = &mut self.narrow;
            for (half, at) in bytes.step_by(BYTES).enumerate() {
                let mut bytes = load(codes, at);
                for step in block.steps {
                    let mut digits = bytes;
                    for (digits, bytes) in digits.iter_mut().zip(&mut bytes) {
                        *digits = _mm256_and_si256(*bytes, most);
                        *bytes = _mm256_srli_epi16::<BITS>(*bytes);
                    }
                    add(&step.low, half, &digits, low);
                    if WIDE {
                        add(&step.high, half, &digits, high);
                    }
                }
            }
        }
    }

    /// Makes room for as many more.
    ///
    /// # Safety
    /// The CPU has AVX2.
    #[inline(always)]
    unsafe fn widen(&mut self) {
        // SAFETY: the caller vouches for the features.
        unsafe {
            for (narrow, unit) in self.narrow.iter_mut().zip([1, 256]) {
                let unit = _mm256_set1_epi16(unit);
                for (wide, narrow) in self.wide.iter_mut().zip(narrow) {
                    *wide = _mm256_add_epi32(*wide, _mm256_madd_epi16(*narrow, unit));
                    *narrow = _mm256_setzero_si256();
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

/// The 32 bytes of each code from `at` on, and zeros where nothing follows. What lies behind a
/// section has no weight in it.
///
/// # Safety
/// The CPU has AVX2.
#[inline(always)]
unsafe fn load<const N: usize>(codes: &[&[u8]; N], at: usize) -> [__m256i; N] {
    // SAFETY: the caller vouches for the features; 32 bytes are readable from each start on.
    unsafe {
        let mut out = [_mm256_setzero_si256(); N];
        if codes.iter().all(|code| at + BYTES <= code.len()) {
            for (out, code) in out.iter_mut().zip(codes) {
                *out = _mm256_loadu_si256(code.as_ptr().add(at).cast());
            }
        } else {
            for (out, code) in out.iter_mut().zip(codes) {
                let mut padded = [0; BYTES];
                let code = &code[at..];
                let own = code.len().min(BYTES);
                padded[..own].copy_from_slice(&code[..own]);
                *out = _mm256_loadu_si256(padded.as_ptr().cast());
            }
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
        unsafe { sums::sums_gather::<Products>(weights, codes, stride, places, out) }
    }
    // SAFETY: reached through a detected set only.
    unsafe { run(weights, codes, stride, places, out) }
}
