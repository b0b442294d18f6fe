//! Codes as tables in memory hold them, for walks that score single ones: the same bytes as the
//! codes, the bits in another order.
//!
//! The number of an axis is cut into digits: of four bits from the top as long as there are so
//! many, and of one bit. Digits of four come first, by axis, the second of axes of eight bits
//! behind all others, then those of one, by number of bits and place. A digit times the weight of
//! its axis is a product of bytes, and one step of a CPU has 64 of them, where planes of bits take
//! a step for each bit of the weights.
//!
//! ```text
//! head | fours, two to a byte, the lower first | ones, lowest first in each byte, then zeros
//! ```

use std::ops::Range;

use pageway_kernels::{DigitWeights, Estimator};

use super::layout::{GATHER, Layout};
use super::scorer::nearest;
use super::{RaBitQScorer, RaBitQSpec, RaBitQuantizer};

/// Bits of a digit that has more than one.
const FOUR: u8 = 4;

/// Neighbouring axes with a digit at the same place of their numbers.
#[derive(Clone, Debug, PartialEq)]
struct Run {
    axes: Range<usize>,
    /// The digit counts `2^shift`.
    shift: u8,
}

/// The digits of the codes of a layout, in the order in which they lie there.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Digits {
    fours: Vec<Run>,
    ones: Vec<Run>,
}

impl Digits {
    pub(super) fn new(layout: &Layout) -> Self {
        let mut digits = Self::default();
        let mut at = 0;
        let segments = layout.segments.iter().map(|segment| {
            at += segment.width;
            (at - segment.width..at, segment.bits)
        });
        let segments: Vec<(Range<usize>, u8)> = segments.collect();
        for above in [FOUR, 2 * FOUR] {
            let with = segments.iter().filter(|(_, bits)| *bits >= above);
            digits.fours.extend(with.map(|(axes, bits)| Run {
                axes: axes.clone(),
                shift: bits - above,
            }));
        }
        digits.fill_bytes();
        for (axes, bits) in &segments {
            digits.ones.extend((0..bits % FOUR).rev().map(|shift| Run {
                axes: axes.clone(),
                shift,
            }));
        }
        digits
    }

    /// Makes four digits of the last, where it would have half a byte.
    fn fill_bytes(&mut self) {
        if count(&self.fours).is_multiple_of(2) {
            return;
        }
        if let Some(run) = self.fours.last_mut() {
            run.axes.end -= 1;
            let axes = run.axes.end..run.axes.end + 1;
            let shifts = (run.shift..run.shift + FOUR).rev();
            self.ones.extend(shifts.map(|shift| Run {
                axes: axes.clone(),
                shift,
            }));
        }
    }

    /// Bytes of digits of four bits.
    fn fours_bytes(&self) -> usize {
        count(&self.fours) / 2
    }

    /// Writes the digits of numbers, each first as a byte of `digits`.
    fn pack(&self, numbers: &[u8], digits: &mut [u8], out: &mut [u8]) {
        let (fours, ones) = out.split_at_mut(self.fours_bytes().min(out.len()));
        let (pairs, _) = cut(&self.fours, numbers, 0xf, digits).as_chunks();
        for (byte, [low, high]) in fours.iter_mut().zip(pairs) {
            *byte = low | high << FOUR;
        }
        let bits = cut(&self.ones, numbers, 1, digits);
        let (eights, rest) = bits.as_chunks();
        let mut last = [0; 8];
        last.iter_mut().zip(rest).for_each(|(own, bit)| *own = *bit);
        for (byte, eight) in ones.iter_mut().zip(eights.iter().chain([&last])) {
            *byte = (u64::from_le_bytes(*eight).wrapping_mul(GATHER) >> 56) as u8;
        }
    }
}

/// The digits of some runs, a byte each, one after the other in `digits`.
fn cut<'d>(runs: &[Run], numbers: &[u8], mask: u8, digits: &'d mut [u8]) -> &'d [u8] {
    let mut at = 0;
    for run in runs {
        let numbers = numbers.get(run.axes.clone()).unwrap_or(&[]);
        let own = digits.get_mut(at..at + numbers.len()).unwrap_or_default();
        at += own.len();
        for (digit, number) in own.iter_mut().zip(numbers) {
            *digit = number >> run.shift & mask;
        }
    }
    digits.get(..at).unwrap_or_default()
}

fn count(runs: &[Run]) -> usize {
    runs.iter().map(|run| run.axes.len()).sum()
}

/// The weights of each digit, of those of the axes.
fn weights_of<'a>(runs: &'a [Run], weights: &'a [i16]) -> impl Iterator<Item = i16> + 'a {
    runs.iter().flat_map(|run| {
        let weights = weights.get(run.axes.clone()).unwrap_or(&[]);
        weights.iter().map(|weight| weight << run.shift)
    })
}

impl RaBitQuantizer {
    /// Whether products of bytes are faster than planes of bits: where digits of four bits hold
    /// most of a code. Measured by `examples/scan.rs`.
    pub fn gains_by_arranging(&self) -> bool {
        16 * Digits::new(&self.layout).fours_bytes() > self.layout.bits()
    }

    /// Puts codes, one after the other, into the order in which
    /// [`CodeBatch::Table`](crate::CodeBatch::Table) has them, each in its place. About a
    /// nanosecond per bit.
    pub fn arrange(&self, codes: &mut [u8]) {
        let digits = Digits::new(&self.layout);
        let (mut numbers, mut cut) = (vec![0; self.axes()], vec![0; self.bits()]);
        for code in codes.chunks_exact_mut(self.code_bytes()) {
            self.layout.unpack(code, self.layout.planes(), &mut numbers);
            let (_, bits) = code.split_at_mut(self.layout.head_bytes());
            digits.pack(&numbers, &mut cut, bits);
        }
    }
}

/// What a query makes of codes in digits.
pub(super) struct DigitScorer {
    digits: Digits,
    pub(super) weights: DigitWeights,
    /// As for codes as they are stored, of other weights.
    pub(super) estimator: Estimator,
}

impl DigitScorer {
    /// Takes what another of the same layout made of its query.
    pub(super) fn take_over(&mut self, other: &Self) {
        self.weights.copy_from(&other.weights);
        self.estimator = other.estimator;
    }

    pub(super) fn new(layout: &Layout) -> Self {
        let digits = Digits::new(layout);
        let bytes = layout.code_bytes() - layout.head_bytes();
        Self {
            weights: DigitWeights::new(bytes, digits.fours_bytes()),
            digits,
            estimator: Estimator::default(),
        }
    }
}

impl RaBitQScorer {
    /// Bytes that a scorer holds more when tables are scored, at most.
    pub fn table_bytes(spec: &RaBitQSpec, dimension: usize) -> usize {
        let (_, bits) = spec.budget(dimension);
        // A run for each place of a digit and each number of bits.
        let runs = 32 * size_of::<Run>();
        DigitWeights::bytes(bits.div_ceil(8)) + runs + size_of::<DigitScorer>()
    }

    /// Makes the weights of all digits, of those of axes.
    pub(super) fn weigh_digits(&mut self, factor: f64) {
        let layout = &self.layout;
        let new = || Box::new(DigitScorer::new(layout));
        let own = self.digits.get_or_insert_with(new);
        let magnitudes = self.rotated.iter().map(|weight| weight.abs());
        let largest = magnitudes.fold(0.0, f32::max);
        let limit = largest_weight(layout);
        let per_weight = if largest > 0.0 { limit / largest } else { 0.0 };
        let (mut sum, mut squares, mut at) = (0, 0.0, 0);
        for segment in &layout.segments {
            let weights = self.rotated.iter().zip(&mut self.integers);
            let mut of_segment = 0;
            for (weight, integer) in weights.skip(at).take(segment.width) {
                *integer = nearest(weight * per_weight);
                of_segment += i64::from(*integer);
            }
            at += segment.width;
            let most = (1_i64 << segment.bits) - 1;
            sum += of_segment * most;
            squares += (segment.width as i64 * most * (most + 2)) as f64 / 3.0;
        }
        let of = |runs| weights_of(runs, &self.integers);
        own.weights
            .fill(of(&own.digits.fours), of(&own.digits.ones));
        let unit = f64::from(largest / limit) * factor;
        own.estimator = Estimator {
            scale: -unit as f32,
            shift: (unit * sum as f64 / 2.0) as f32,
            ..self.estimator
        };
        self.errors.round(unit, squares);
    }
}

/// The largest weight of an axis. Rounded to that, weights of axes of so many bits err a tenth as
/// far as their codes, or less, and no sum overflows.
fn largest_weight(layout: &Layout) -> f32 {
    let wanted = match layout.planes() {
        0..=5 => 127,
        6 => 255,
        7 => 511,
        _ => 1023,
    };
    let most = layout
        .segments
        .iter()
        .map(|segment| segment.width as u64 * ((1 << segment.bits) - 1));
    let room = i32::MAX as u64 / most.sum::<u64>().max(1);
    wanted.min(room) as f32
}
