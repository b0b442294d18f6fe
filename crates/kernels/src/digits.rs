//! Integer weights for the digits of codes: of four bits, then of two, then of one.
//!
//! A code has a section of bytes of two digits of four bits each, one of bytes of four digits of
//! two, and one of bytes of eight digits of one. With a weight for every digit it gives one number:
//! the sum of digits times weights. Weights are of 16 bits, in a high and a low byte, both signed,
//! so that the sum is one of products of bytes, which every instruction set has: exact integers,
//! hence the same everywhere.
//!
//! ```text
//! section  | digits of four                         | of two            | of one
//! block    | bytes 0..64      | 64..90              | 90..112           | 112..115
//! step     | lower | upper    | lower | upper       | 4: lowest first   | 8
//! ```
//!
//! A block is 64 bytes of a section, the last one what is left; a step is the digits at one place
//! of the bytes of a block: one line of weights. Digits come step by step. Where all weights of a
//! block fit a byte, the high bytes are not looked at.

use std::ops::Range;

use crate::sums::{CodeWeights, LINE_BYTES, Line};

/// Sections of a code: digits of four bits, of two and of one.
pub(crate) const SECTIONS: usize = 3;
/// Digits to a byte in each section.
const DIGITS: [usize; SECTIONS] = [2, 4, 8];

/// One weight for each digit of a code; see the module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DigitWeights {
    code_bytes: usize,
    /// Where each section ends in a code, and the first step of each.
    ends: [usize; SECTIONS],
    firsts: [usize; SECTIONS],
    steps: Vec<Step>,
    /// Whether any weight of a block has a high byte, at the first step of each.
    wide: Vec<bool>,
}

/// The weights of the digits at one place of up to 64 bytes: low and high bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Step {
    pub(crate) low: Line,
    pub(crate) high: Line,
}

impl Step {
    const NONE: Self = Self {
        low: Line([0; LINE_BYTES]),
        high: Line([0; LINE_BYTES]),
    };

    /// The weights, in order.
    fn weights(&self) -> impl Iterator<Item = i16> + Clone {
        let pairs = self.low.0.iter().zip(&self.high.0);
        pairs.map(|(low, high)| i16::from(high.cast_signed()) * 256 + i16::from(low.cast_signed()))
    }

    /// Sets a weight; tells whether it has a high byte.
    fn set(&mut self, at: usize, weight: i16) -> bool {
        let most = DigitWeights::LARGEST;
        assert!((-most..=most).contains(&weight), "a weight is too large");
        let low = weight as i8;
        let high = (weight - i16::from(low)) >> 8;
        self.low.0[at] = low.cast_unsigned();
        self.high.0[at] = (high as i8).cast_unsigned();
        high != 0
    }
}

/// What is known of weights that were rounded to multiples of a unit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rounded {
    /// The unit.
    pub unit: i32,
    /// Sum of what was left of the weights.
    pub left: i32,
    /// Sum of the squares of that.
    pub squares: i64,
}

impl Rounded {
    /// How many times the unit a weight is, to the nearest.
    #[inline]
    fn take(&mut self, weight: i16) -> i8 {
        // Numbers above zero are cut off as they are rounded down.
        let times = f32::from(weight) / self.unit as f32;
        let nearest = (times + 128.5) as i32 - 128;
        let left = i32::from(weight) - nearest * self.unit;
        self.left += left;
        self.squares += i64::from(left * left);
        nearest as i8
    }
}

/// The weights of a block of `N` digits to a byte.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Block<'w, const N: usize> {
    /// Lowest digits first.
    pub(crate) steps: &'w [Step; N],
    /// Whether there are high bytes.
    pub(crate) is_wide: bool,
}

impl DigitWeights {
    /// The greatest weight, and the least negated.
    pub const LARGEST: i16 = i16::MAX - 128;

    /// Bytes of a section whose lowest digits come first, then the next.
    pub const BLOCK_BYTES: usize = LINE_BYTES;

    /// Weights of zero for codes with so many bytes in each section.
    pub fn new(sections: [usize; SECTIONS]) -> Self {
        let (mut ends, mut firsts) = ([0; SECTIONS], [0; SECTIONS]);
        let (mut end, mut steps) = (0, 0);
        for (section, bytes) in sections.into_iter().enumerate() {
            end += bytes;
            (ends[section], firsts[section]) = (end, steps);
            steps += DIGITS[section] * bytes.div_ceil(LINE_BYTES);
        }
        Self {
            code_bytes: end,
            ends,
            firsts,
            steps: vec![Step::NONE; steps],
            wide: vec![false; steps],
        }
    }

    /// Takes the weights of another; without allocating, where those are for codes as long.
    pub fn copy_from(&mut self, other: &Self) {
        (self.code_bytes, self.ends, self.firsts) = (other.code_bytes, other.ends, other.firsts);
        self.steps.clone_from(&other.steps);
        self.wide.clone_from(&other.wide);
    }

    /// Takes the weights of the first digits of another, of whose codes its own are the first
    /// bytes, as multiples of a unit with which they fit a byte.
    ///
    /// # Panics
    /// Unless its codes are whole blocks of digits of four bits, of which the other has as many.
    pub fn round_first(&mut self, other: &Self) -> Rounded {
        let (steps, bytes) = (self.steps.len(), self.code_bytes);
        let is_whole = self.ends[0] == bytes && bytes.is_multiple_of(LINE_BYTES);
        assert!(is_whole && bytes <= other.ends[0], "whole blocks");
        let weights = other.steps[..steps].iter().map(Step::weights);
        let largest = weights.clone().flatten().map(i16::unsigned_abs).max();
        let mut rounded = Rounded {
            unit: largest
                .unwrap_or(0)
                .div_ceil(i8::MAX.unsigned_abs().into())
                .max(1)
                .into(),
            ..Rounded::default()
        };
        for (step, weights) in self.steps.iter_mut().zip(weights) {
            for (low, weight) in step.low.0.iter_mut().zip(weights) {
                *low = rounded.take(weight).cast_unsigned();
            }
        }
        rounded
    }

    /// Whether no weight has a high byte.
    #[inline(always)]
    pub(crate) fn is_narrow(&self) -> bool {
        !self.wide.contains(&true)
    }

    /// Most bytes of memory that [`DigitWeights::new`] allocates for codes of so many bytes,
    /// whatever their digits are.
    pub const fn bytes(code_bytes: usize) -> usize {
        // A block of each section may hold little.
        let blocks = code_bytes.div_ceil(LINE_BYTES);
        let steps = blocks
            .saturating_mul(DIGITS[2])
            .saturating_add(DIGITS[0] + DIGITS[1]);
        steps.saturating_mul(size_of::<Step>() + size_of::<bool>())
    }

    /// Sets the weight of every digit, section by section; those not given are zero.
    ///
    /// # Panics
    /// When there are more weights than digits, or one is beyond [`DigitWeights::LARGEST`].
    pub fn fill<I: IntoIterator<Item = i16>>(&mut self, sections: [I; SECTIONS]) {
        self.steps.fill(Step::NONE);
        self.wide.fill(false);
        for (section, weights) in sections.into_iter().enumerate() {
            let mut weights = weights.into_iter();
            let mut first = self.firsts[section];
            for block in self.blocks(section) {
                for step in first..first + DIGITS[section] {
                    for (at, weight) in weights.by_ref().take(block.len()).enumerate() {
                        self.wide[first] |= self.steps[step].set(at, weight);
                    }
                }
                first += DIGITS[section];
            }
            assert!(weights.next().is_none(), "one weight per digit");
        }
    }

    /// Where the blocks of a section lie in a code.
    #[inline(always)]
    fn blocks(&self, section: usize) -> impl Iterator<Item = Range<usize>> + use<> {
        let start = section.checked_sub(1).map_or(0, |before| self.ends[before]);
        let end = self.ends[section];
        let starts = (start..end).step_by(LINE_BYTES);
        starts.map(move |start| start..end.min(start + LINE_BYTES))
    }

    /// For each block of a section its place in a code, and its weights.
    #[inline(always)]
    pub(crate) fn of_section<const N: usize>(
        &self,
        section: Section<N>,
    ) -> impl Iterator<Item = (Range<usize>, Block<'_, N>)> {
        let Section(section) = section;
        let first = self.firsts[section];
        let (steps, _) = self.steps[first..].as_chunks::<N>();
        let wide = self.wide[first..].iter().step_by(N);
        let of_block = steps.iter().zip(wide);
        let of_block = of_block.map(|(steps, is_wide)| Block {
            steps,
            is_wide: *is_wide,
        });
        self.blocks(section).zip(of_block)
    }
}

/// A section of so many digits to a byte.
#[derive(Clone, Copy)]
pub(crate) struct Section<const N: usize>(usize);

impl<const N: usize> Section<N> {
    /// Bits of a digit.
    pub(crate) const BITS: i32 = 8 / N as i32;
    /// The greatest digit.
    pub(crate) const MOST: u8 = ((1_u32 << Self::BITS) - 1) as u8;
}

pub(crate) const FOURS: Section<{ DIGITS[0] }> = Section(0);
pub(crate) const TWOS: Section<{ DIGITS[1] }> = Section(1);
pub(crate) const ONES: Section<{ DIGITS[2] }> = Section(2);

impl CodeWeights for DigitWeights {
    #[inline(always)]
    fn code_bytes(&self) -> usize {
        self.code_bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weights_are_cut_into_signed_bytes() {
        let mut weights = DigitWeights::new([66, 3, 1]);
        assert_eq!(weights.steps.len(), 4 + 4 + 8);
        assert!(weights.steps.len() * 129 <= DigitWeights::bytes(70));
        let most = DigitWeights::LARGEST;
        weights.fill(
            [&[127, -128, 128, -129, most, -most][..], &[5; 11], &[-1]]
                .map(|own| own.iter().copied()),
        );
        let value = |step: usize, at: usize| {
            let Step { low, high } = &weights.steps[step];
            i32::from(high.0[at].cast_signed()) * 256 + i32::from(low.0[at].cast_signed())
        };
        let all = i32::from(most);
        assert_eq!(
            [0, 1, 2, 3, 4, 5].map(|at| value(0, at)),
            [127, -128, 128, -129, all, -all]
        );
        assert_eq!(
            [value(4, 2), value(7, 1), value(7, 2), value(8, 0)],
            [5, 5, 0, -1]
        );
        let wide: Vec<usize> = (0..16).filter(|step| weights.wide[*step]).collect();
        assert_eq!(wide, [0]);
        weights.fill([[], [], []]);
        assert_eq!(weights, DigitWeights::new([66, 3, 1]));
    }

    #[test]
    fn first_weights_are_rounded_to_bytes() {
        let own: Vec<i16> = (0..300)
            .map(|at| (at * 7919 % 2001 - 1000) as i16)
            .collect();
        let mut whole = DigitWeights::new([150, 9, 2]);
        whole.fill([own.clone(), vec![5; 36], vec![-3; 16]]);
        let mut first = DigitWeights::new([128, 0, 0]);
        let rounded = first.round_first(&whole);
        assert_eq!(rounded.unit, 8);
        assert!(first.is_narrow() && !whole.is_narrow());
        let (mut left, mut squares) = (0, 0);
        let all = first.steps.iter().flat_map(Step::weights).zip(own);
        for (rounded, own) in all {
            let rest = i32::from(own) - 8 * i32::from(rounded);
            assert!(rest.abs() <= 4, "{own}: {rounded}");
            left += rest;
            squares += i64::from(rest * rest);
        }
        assert_eq!((rounded.left, rounded.squares), (left, squares));
        whole.fill([vec![100; 300], Vec::new(), Vec::new()]);
        let exactly = Rounded {
            unit: 1,
            left: 0,
            squares: 0,
        };
        assert_eq!(first.round_first(&whole), exactly);
        whole.fill([const { Vec::new() }; 3]);
        assert_eq!(first.round_first(&whole), exactly);
    }

    #[test]
    fn digits_come_step_by_step() {
        let mut weights = DigitWeights::new([66, 0, 0]);
        weights.fill([(0..132).collect::<Vec<i16>>(), Vec::new(), Vec::new()]);
        let low = |step: usize, at: usize| weights.steps[step].low.0[at];
        assert_eq!(
            [low(0, 63), low(1, 0), low(2, 0), low(2, 1), low(3, 1)],
            [63, 64, 128, 129, 131]
        );
    }

    #[test]
    fn no_code_has_more_weights_than_is_said() {
        for sections in [[1, 1, 1], [64, 64, 64], [65, 1, 1], [1, 65, 200], [0, 0, 7]] {
            let weights = DigitWeights::new(sections);
            let most = DigitWeights::bytes(sections.iter().sum());
            assert!(weights.steps.len() * 129 <= most, "{sections:?}");
        }
    }
}
