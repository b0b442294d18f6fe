//! Integer weights for the digits of codes: of four bits, then of one.
//!
//! A code has some bytes of two digits of four bits each, the lower first, and then bytes of eight
//! digits of one bit, the lowest first. With a weight for every digit it gives one number: the sum
//! of digits times weights. Weights are of 16 bits, in a high and a low byte, both signed, so that
//! the sum is one of products of bytes, which every instruction set has: exact integers, hence the
//! same everywhere.
//!
//! ```text
//! step           | 0     | 1     | 2     | ...   a step is 64 digits: one line of weights
//! digits of four | bytes 0..64: lower, upper | 64..128: lower, ...
//! digits of one                              | behind them 8 bytes a step
//! ```
//!
//! Where all weights of a step fit a byte, the high bytes are not looked at.

use std::ops::Range;

use crate::sums::{CodeWeights, LINE_BYTES, Line};

/// Bytes of digits of one bit that a step has.
pub(crate) const BITS_BYTES: usize = LINE_BYTES / 8;

/// One weight for each digit of a code; see the module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DigitWeights {
    code_bytes: usize,
    /// Bytes of digits of four bits.
    fours: usize,
    /// Low and high bytes of each step.
    lines: Vec<[Line; 2]>,
    /// Whether any weight of a step has a high byte.
    wide: Vec<bool>,
}

/// The weights of 64 digits.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Step<'w> {
    pub(crate) low: &'w Line,
    /// Nothing where all of it is zero.
    pub(crate) high: Option<&'w Line>,
}

impl DigitWeights {
    /// The greatest weight, and the least negated.
    pub const LARGEST: i16 = i16::MAX - 128;

    /// Weights of zero for codes of `code_bytes` bytes, the first `fours` of them of digits of four
    /// bits.
    ///
    /// # Panics
    /// When `fours` is more than `code_bytes`.
    pub fn new(code_bytes: usize, fours: usize) -> Self {
        assert!(fours <= code_bytes, "no more bytes than a code has");
        let steps = step_count(code_bytes, fours);
        Self {
            code_bytes,
            fours,
            lines: vec![[Line([0; LINE_BYTES]); 2]; steps],
            wide: vec![false; steps],
        }
    }

    /// Takes the weights of another; without allocating, where those are for codes as long.
    pub fn copy_from(&mut self, other: &Self) {
        (self.code_bytes, self.fours) = (other.code_bytes, other.fours);
        self.lines.clone_from(&other.lines);
        self.wide.clone_from(&other.wide);
    }

    /// Most bytes of memory that [`DigitWeights::new`] allocates, whatever the digits are.
    pub const fn bytes(code_bytes: usize) -> usize {
        // Two steps more than of digits of one bit alone, where those of four bits fill none.
        let steps = step_count(code_bytes, 0) + 2;
        steps.saturating_mul(size_of::<[Line; 2]>() + size_of::<bool>())
    }

    /// Sets the weight of every digit; those not given are zero.
    ///
    /// # Panics
    /// When there are more weights than digits, or one is beyond [`DigitWeights::LARGEST`].
    pub fn fill(
        &mut self,
        fours: impl IntoIterator<Item = i16>,
        ones: impl IntoIterator<Item = i16>,
    ) {
        self.lines.fill([Line([0; LINE_BYTES]); 2]);
        self.wide.fill(false);
        let first_of_ones = 2 * self.fours.div_ceil(LINE_BYTES);
        for (at, weight) in fours.into_iter().enumerate() {
            let (byte, upper) = (at / 2, at % 2);
            assert!(byte < self.fours, "one weight per digit");
            self.set(byte / LINE_BYTES * 2 + upper, byte % LINE_BYTES, weight);
        }
        let digits = 8 * (self.code_bytes - self.fours);
        for (at, weight) in ones.into_iter().enumerate() {
            assert!(at < digits, "one weight per digit");
            self.set(first_of_ones + at / LINE_BYTES, at % LINE_BYTES, weight);
        }
    }

    fn set(&mut self, step: usize, at: usize, weight: i16) {
        let most = Self::LARGEST;
        assert!((-most..=most).contains(&weight), "a weight is too large");
        let low = weight as i8;
        let high = (weight - i16::from(low)) >> 8;
        let [lows, highs] = &mut self.lines[step];
        lows.0[at] = low.cast_unsigned();
        highs.0[at] = (high as i8).cast_unsigned();
        self.wide[step] |= high != 0;
    }

    /// For each up to 64 bytes of digits of four bits their place in a code, and the steps of their
    /// lower and of their upper digits.
    #[inline(always)]
    pub(crate) fn of_fours(&self) -> impl Iterator<Item = (Range<usize>, [Step<'_>; 2])> {
        let starts = (0..self.fours).step_by(LINE_BYTES);
        let places = starts.map(|start| start..self.fours.min(start + LINE_BYTES));
        let (lines, wide) = (self.lines.as_chunks::<2>().0, self.wide.as_chunks::<2>().0);
        let pairs = lines.iter().zip(wide).map(|([lower, upper], wide)| {
            let [is_lower_wide, is_upper_wide] = *wide;
            [step(lower, is_lower_wide), step(upper, is_upper_wide)]
        });
        places.zip(pairs)
    }

    /// For each up to 8 bytes of digits of one bit where they begin in a code, and their step.
    #[inline(always)]
    pub(crate) fn of_ones(&self) -> impl Iterator<Item = (usize, Step<'_>)> {
        let first = 2 * self.fours.div_ceil(LINE_BYTES);
        let steps = self.lines[first..].iter().zip(&self.wide[first..]);
        let starts = (self.fours..self.code_bytes).step_by(BITS_BYTES);
        starts.zip(steps.map(|(lines, is_wide)| step(lines, *is_wide)))
    }
}

#[inline(always)]
fn step([low, high]: &[Line; 2], is_wide: bool) -> Step<'_> {
    Step {
        low,
        high: is_wide.then_some(high),
    }
}

impl CodeWeights for DigitWeights {
    #[inline(always)]
    fn code_bytes(&self) -> usize {
        self.code_bytes
    }
}

const fn step_count(code_bytes: usize, fours: usize) -> usize {
    2 * fours.div_ceil(LINE_BYTES) + (code_bytes - fours).div_ceil(BITS_BYTES)
}

/// The 64 bits of a code from byte `at` on, zeros behind its end.
#[inline(always)]
pub(crate) fn word(code: &[u8], at: usize) -> u64 {
    if let Some(word) = code[at..].first_chunk() {
        return u64::from_le_bytes(*word);
    }
    let rest = code.len() - at;
    match code.last_chunk() {
        Some(word) if rest > 0 => u64::from_le_bytes(*word) >> (64 - 8 * rest),
        _ => code[at..]
            .iter()
            .rev()
            .fold(0, |word, byte| word << 8 | u64::from(*byte)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weights_are_cut_into_signed_bytes() {
        let mut weights = DigitWeights::new(66 + 9, 66);
        assert_eq!(weights.lines.len(), 4 + 2);
        assert!(6 * 129 <= DigitWeights::bytes(66 + 9));
        let most = DigitWeights::LARGEST;
        weights.fill([127, -128, 128, -129, most, -most], [5; 65]);
        let value = |step: usize, at: usize| {
            let [low, high] = &weights.lines[step];
            i32::from(high.0[at].cast_signed()) * 256 + i32::from(low.0[at].cast_signed())
        };
        let most = i32::from(most);
        assert_eq!([0, 1, 2].map(|at| value(0, at)), [127, 128, most]);
        assert_eq!([0, 1, 2].map(|at| value(1, at)), [-128, -129, -most]);
        assert_eq!([value(4, 63), value(5, 0), value(5, 1)], [5, 5, 0]);
        assert_eq!(weights.wide, [true, true, false, false, false, false]);
        weights.fill([], []);
        assert_eq!(weights, DigitWeights::new(66 + 9, 66));
    }

    #[test]
    fn words_end_with_the_code() {
        let code: Vec<u8> = (1..=19).collect();
        for end in 0..=code.len() {
            for at in 0..=end {
                let mut wanted = [0; 8];
                for (to, byte) in wanted.iter_mut().zip(&code[at..end]) {
                    *to = *byte;
                }
                assert_eq!(
                    word(&code[..end], at),
                    u64::from_le_bytes(wanted),
                    "{at} {end}"
                );
            }
        }
    }
}
