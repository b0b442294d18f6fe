//! Codes in blocks of 32, transposed: a scan looks sums up in registers, for many codes at once.
//!
//! Four bits of a code select a sum of four weights out of 16; a register holds the 16, and looks
//! up for as many codes as it has bytes. So the bits of 32 codes lie by place, not by code:
//!
//! ```text
//! block       16 bytes for each four bits; two of them for a byte of a code, its lower bits first
//! byte c      four bits of code c, and in its upper half those of code c + 16
//! step        64 bytes: four times four bits of every code, two bytes of each
//! ```
//!
//! Sums of four weights are held less the smallest of the 16, as numbers of 16 bits: a table for
//! their lower bytes and one for their upper ones. Where weights are small all upper bytes are
//! zero; such steps come last and are left out of the second pass. What was left out of all sums is
//! added in the end. So sums are those that [`crate::BitWeights`] gives: exact integers, the same
//! on every instruction set.
//!
//! Source: look-ups in registers as in André, Kermarrec and Le Scouarnec, "Cache locality is not
//! enough" (VLDB 2015), where sums are rounded to bytes; here nothing is rounded.

use std::array::from_fn;

use crate::sums::Line;

/// Codes of a block.
pub const BLOCK_CODES: usize = 32;

/// Codes whose bits are the lower halves of bytes, and those whose bits are the upper ones.
const HALF: usize = BLOCK_CODES / 2;

/// Bits that select a sum.
const SELECT_BITS: usize = 4;

/// Sums that they select from.
pub(crate) const CHOICES: usize = 1 << SELECT_BITS;

/// Bytes of a block that a step looks up.
const STEP_BYTES: usize = size_of::<Line>();

/// Bytes of each code among them.
const STEP_CODE_BYTES: usize = STEP_BYTES / BLOCK_CODES;

/// Weights of a step.
const STEP_WEIGHTS: usize = 8 * STEP_CODE_BYTES;

/// Steps whose bytes add up to 16 bits: each looks up four of at most 255.
const PASS_STEPS: usize = 64;

/// One weight for each bit of a code, as tables to look sums up in; see the module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BlockWeights {
    code_bytes: usize,
    /// What sums are held less.
    base: i32,
    /// Steps that have upper bytes; they come first.
    wide: usize,
    /// Where in a block each step begins.
    places: Vec<u32>,
    lower: Vec<Line>,
    upper: Vec<Line>,
}

impl BlockWeights {
    /// The largest weight, and with a minus the smallest.
    pub const LARGEST: i16 = (u16::MAX / SELECT_BITS as u16) as i16;

    /// Weights of zero for codes of `code_bytes` bytes.
    pub fn new(code_bytes: usize) -> Self {
        let steps = code_bytes.div_ceil(STEP_CODE_BYTES);
        let lines = || vec![Line([0; STEP_BYTES]); steps];
        Self {
            code_bytes,
            base: 0,
            wide: 0,
            places: (0..steps as u32).map(|s| s * STEP_BYTES as u32).collect(),
            lower: lines(),
            upper: lines(),
        }
    }

    /// Takes the weights of another; without allocating, where those are for codes as long.
    pub fn copy_from(&mut self, other: &Self) {
        (self.code_bytes, self.base, self.wide) = (other.code_bytes, other.base, other.wide);
        self.places.clone_from(&other.places);
        self.lower.clone_from(&other.lower);
        self.upper.clone_from(&other.upper);
    }

    /// Bytes of memory that [`BlockWeights::new`] allocates.
    pub const fn bytes(code_bytes: usize) -> usize {
        let step = 2 * size_of::<Line>() + size_of::<u32>();
        code_bytes.div_ceil(STEP_CODE_BYTES).saturating_mul(step)
    }

    /// Bytes of the codes that have these weights.
    pub fn code_bytes(&self) -> usize {
        self.code_bytes
    }

    /// Bytes that a scan reads of a block, in whole steps: where codes have an odd number of bytes,
    /// 32 more than theirs, of any value.
    pub fn scanned_bytes(&self) -> usize {
        self.places.len() * STEP_BYTES
    }

    /// Sets the weight of every bit, `8 * code_bytes` of them at most; those not given are zero.
    ///
    /// About 25 ns for 16 weights.
    ///
    /// # Panics
    /// When there are more weights than bits, or one is beyond [`BlockWeights::LARGEST`].
    pub fn fill(&mut self, weights: &[i16]) {
        assert!(weights.len() <= self.code_bytes * 8, "one weight per bit");
        let (mut front, mut back) = (0, self.places.len());
        let mut given = weights.chunks(STEP_WEIGHTS);
        self.base = 0;
        for step in 0..self.places.len() {
            let sums = StepSums::of(given.next().unwrap_or(&[]));
            let at = if sums.largest > u16::from(u8::MAX) {
                front += 1;
                front - 1
            } else {
                back -= 1;
                back
            };
            self.base = self.base.wrapping_add(sums.base);
            self.places[at] = (step * STEP_BYTES) as u32;
            self.lower[at] = Line(sums.sums.map(|sum| sum as u8));
            self.upper[at] = Line(sums.sums.map(|sum| (sum >> 8) as u8));
        }
        self.wide = front;
    }
}

/// The sums of a step: 16 for each four of its weights.
struct StepSums {
    sums: [u16; STEP_BYTES],
    /// What all of them are held less, together.
    base: i32,
    largest: u16,
}

impl StepSums {
    fn of(weights: &[i16]) -> Self {
        let mut all = [0; STEP_WEIGHTS];
        all[..weights.len()].copy_from_slice(weights);
        let mut step = Self {
            sums: [0; STEP_BYTES],
            base: 0,
            largest: 0,
        };
        let (tables, _) = step.sums.as_chunks_mut::<CHOICES>();
        for (table, weights) in tables.iter_mut().zip(all.as_chunks::<SELECT_BITS>().0) {
            let least: i32 = weights.iter().map(|w| i32::from(*w).min(0)).sum();
            let span: i32 = weights.iter().map(|w| i32::from(*w).abs()).sum();
            assert!(span <= i32::from(u16::MAX), "a weight is too large");
            *table = [(-least) as u16; CHOICES];
            for (bit, weight) in weights.iter().enumerate() {
                let added: [u16; CHOICES] =
                    from_fn(|choice| (-((choice >> bit & 1) as i16) & weight).cast_unsigned());
                for (sum, added) in table.iter_mut().zip(added) {
                    *sum = sum.wrapping_add(added);
                }
            }
            step.base += least;
            step.largest = step.largest.max(span as u16);
        }
        step
    }
}

/// Writes codes of `code_bytes` bytes, the first of each `stride`, to a block; codes that are
/// missing are zero.
///
/// # Panics
/// Unless `block` has room for [`BLOCK_CODES`] codes.
pub fn write_block(codes: &[u8], (stride, code_bytes): (usize, usize), block: &mut [u8]) {
    let (rows, _) = block[..BLOCK_CODES * code_bytes].as_chunks_mut::<HALF>();
    rows.as_flattened_mut().fill(0);
    for (number, code) in codes.chunks(stride).take(BLOCK_CODES).enumerate() {
        let (column, shift) = (number % HALF, number / HALF * SELECT_BITS);
        for (rows, byte) in rows.chunks_exact_mut(2).zip(code) {
            rows[0][column] |= (byte & 0xf) << shift;
            rows[1][column] |= byte >> SELECT_BITS << shift;
        }
    }
}

/// How an instruction set adds up what some steps look up, of at most [`PASS_STEPS`], and adds it
/// to `out` times `2^shift`.
///
/// # Safety
/// `add_up` needs the CPU features of the instruction set. A line's worth of `block` begins at each
/// place, of which there are as many as lines.
pub(crate) trait BlockSum {
    unsafe fn add_up(
        steps: (&[Line], &[u32]),
        block: &[u8],
        shift: u32,
        out: &mut [i32; BLOCK_CODES],
    );
}

/// See [`crate::BlockSumsFn`].
///
/// # Safety
/// The CPU has the features of `S`.
#[inline(always)]
pub(crate) unsafe fn block_sums<S: BlockSum>(
    weights: &BlockWeights,
    block: &[u8],
    out: &mut [i32; BLOCK_CODES],
) {
    assert!(block.len() >= weights.scanned_bytes(), "a whole block");
    out.fill(weights.base);
    let passes = [(&*weights.lower, 0), (&weights.upper[..weights.wide], 8)];
    for (lines, shift) in passes {
        let places = weights.places.chunks(PASS_STEPS);
        for (lines, places) in lines.chunks(PASS_STEPS).zip(places) {
            // SAFETY: the caller vouches for the features; all places lie within the scanned bytes.
            unsafe { S::add_up((lines, &places[..lines.len()]), block, shift, out) }
        }
    }
}

/// The two factors of each code of a block, as they are stored.
///
/// ```text
/// Half      32 times add: f16 | 32 times: 12 bits of rescale, an f16 without sign and 3 bits | 4
/// Single    32 times add: f32 | 32 times: 28 bits of rescale, an f32 without its last 4 bits | 4
/// ```
#[derive(Clone, Copy, Debug)]
pub enum BlockFactors<'a> {
    /// Factors of half precision.
    Half(&'a [u8; 4 * BLOCK_CODES]),
    /// Factors of single precision.
    Single(&'a [u8; 8 * BLOCK_CODES]),
}

/// What a query makes of sums and factors: the estimate of a code is
/// `add * energy + start + rescale * (scale * sum + shift)`.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Estimator {
    /// Per unit of a sum.
    pub scale: f32,
    /// What the sum of no weights counts.
    pub shift: f32,
    /// The unit of `add`.
    pub energy: f32,
    /// What all estimates begin with.
    pub start: f32,
}

impl Estimator {
    /// The estimate of one code, rounded after each operation.
    #[inline(always)]
    pub fn estimate(&self, (add, rescale): (f32, f32), sum: i32) -> f32 {
        let product = self.scale * sum as f32 + self.shift;
        add * self.energy + self.start + rescale * product
    }
}

/// Estimates of a block; see [`crate::BlockEstimatesFn`].
#[inline(always)]
pub(crate) fn block_estimates(
    estimator: &Estimator,
    factors: BlockFactors<'_>,
    sums: &[i32; BLOCK_CODES],
    out: &mut [f32; BLOCK_CODES],
) {
    match factors {
        BlockFactors::Half(bytes) => {
            let halves = bytes.as_chunks::<2>().0;
            let (adds, rescales) = halves.split_at(BLOCK_CODES);
            for (at, out) in out.iter_mut().enumerate() {
                let add = half_value(u16::from_le_bytes(adds[at]));
                let rescale = half_rescale(u16::from_le_bytes(rescales[at]));
                *out = estimator.estimate((add, rescale), sums[at]);
            }
        }
        BlockFactors::Single(bytes) => {
            let singles = bytes.as_chunks::<4>().0;
            let (adds, rescales) = singles.split_at(BLOCK_CODES);
            for (at, out) in out.iter_mut().enumerate() {
                let add = f32::from_le_bytes(adds[at]);
                let rescale = single_rescale(u32::from_le_bytes(rescales[at]));
                *out = estimator.estimate((add, rescale), sums[at]);
            }
        }
    }
}

/// The value of a finite half-precision number: its bits moved to their places in an `f32`, and the
/// exponent put right by a multiplication. Two instructions where a conversion is a call.
#[inline(always)]
pub fn half_value(bits: u16) -> f32 {
    const EXPONENT: f32 = f32::from_bits((127 + 112) << 23);
    let magnitude = f32::from_bits(u32::from(bits & 0x7fff) << 13) * EXPONENT;
    f32::from_bits(magnitude.to_bits() | u32::from(bits & 0x8000) << 16)
}

/// The rescale in the upper 12 of 16 bits; see [`BlockFactors`].
#[inline(always)]
pub fn half_rescale(packed: u16) -> f32 {
    half_value(packed >> 4 << 3)
}

/// The rescale in the upper 28 of 32 bits; see [`BlockFactors`].
#[inline(always)]
pub fn single_rescale(packed: u32) -> f32 {
    f32::from_bits(packed >> 4 << 4)
}

#[cfg(test)]
mod tests {
    use half::f16;

    use super::*;

    /// Reads a code back out of a block.
    fn read_block(block: &[u8], number: usize, code: &mut [u8]) {
        assert!(number < BLOCK_CODES, "a code of the block");
        let (rows, _) = block[..BLOCK_CODES * code.len()].as_chunks::<HALF>();
        let (column, shift) = (number % HALF, number / HALF * SELECT_BITS);
        for (rows, byte) in rows.chunks_exact(2).zip(code) {
            let bits = |row: &[u8; HALF]| row[column] >> shift & 0xf;
            *byte = bits(&rows[0]) | bits(&rows[1]) << SELECT_BITS;
        }
    }

    #[test]
    fn every_half_has_the_value_of_its_bits() {
        for bits in 0..=u16::MAX {
            let wanted = f16::from_bits(bits);
            if wanted.is_finite() {
                assert_eq!(half_value(bits).to_bits(), wanted.to_f32().to_bits());
            }
        }
    }

    #[test]
    fn codes_come_back_out_of_their_block() {
        for code_bytes in 0..9 {
            let stride = code_bytes + 3;
            let codes: Vec<u8> = (0..29 * stride)
                .map(|at| (at * 37 + at / 7) as u8)
                .collect();
            let mut block = vec![0xee; BLOCK_CODES * code_bytes];
            write_block(&codes, (stride, code_bytes), &mut block);
            for number in 0..BLOCK_CODES {
                let mut code = vec![0xcc; code_bytes];
                read_block(&block, number, &mut code);
                let mut wanted = vec![0; code_bytes];
                if number < 29 {
                    wanted.copy_from_slice(&codes[number * stride..][..code_bytes]);
                }
                assert_eq!(code, wanted, "{number}");
            }
        }
    }

    #[test]
    fn small_weights_have_no_upper_bytes() {
        let mut weights = BlockWeights::new(5);
        assert_eq!(
            (weights.scanned_bytes(), BlockWeights::bytes(5)),
            (192, 396)
        );
        let mut given = [63; 40];
        given[20] = 67;
        weights.fill(&given);
        assert_eq!((weights.wide, weights.base), (1, 0));
        assert_eq!(weights.places, [64, 128, 0]);
        assert_eq!(weights.upper[0].0[16 + 15], 1);
        assert_eq!(weights.lower[2].0[..4], [0, 63, 63, 126]);
        weights.fill(&[-1, 2]);
        assert_eq!((weights.wide, weights.base), (0, -1));
        assert_eq!(weights.lower[2].0[..4], [1, 0, 3, 2]);
    }
}
