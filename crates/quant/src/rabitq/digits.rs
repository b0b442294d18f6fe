//! Codes as tables in memory hold them, for walks that score single ones: the same bytes as the
//! codes, the bits in another order.
//!
//! The number of an axis is cut into digits: of four bits from the top as long as there are so
//! many, then one of two, then one of one. Digits of four come first, by axis, the second of axes
//! of eight bits behind all others, then those of two, then those of one. A digit times the weight
//! of its axis is a product of bytes, and one step of a CPU has 64 of them, where planes of bits
//! take a step for each bit of the weights.
//!
//! ```text
//! head | fours, two to a byte | twos, four to a byte | ones, eight to a byte, then zeros
//! ```
//!
//! Of each 64 bytes of a section the lowest digits come first, then the next.

use std::ops::Range;

use pageway_kernels::{DigitWeights, Estimator};

use super::layout::Layout;
use super::leading::{DigitSums, LeadingDigits};
use super::scorer::nearest;
use super::{RaBitQScorer, RaBitQSpec, RaBitQuantizer};

/// Bits of a digit in each section.
const BITS: [u8; 3] = [4, 2, 1];

/// Neighbouring axes with a digit at the same place of their numbers.
#[derive(Clone, Debug, PartialEq)]
struct Run {
    axes: Range<usize>,
    /// The digit counts `2^shift`.
    shift: u8,
}

/// The digits of the codes of a layout by section, in the order in which they lie there.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Digits([Vec<Run>; 3]);

impl Digits {
    pub(super) fn new(layout: &Layout) -> Self {
        let mut at = 0;
        let segments = layout.segments.iter().map(|segment| {
            at += segment.width;
            (at - segment.width..at, segment.bits)
        });
        let segments: Vec<(Range<usize>, u8)> = segments.collect();
        let run = |axes: &Range<usize>, shift| Run {
            axes: axes.clone(),
            shift,
        };
        let [mut fours, mut twos, mut ones] = [const { Vec::new() }; 3];
        for above in [4, 8] {
            let with = segments.iter().filter(|(_, bits)| *bits >= above);
            fours.extend(with.map(|(axes, bits)| run(axes, bits - above)));
        }
        let with = segments.iter().filter(|(_, bits)| bits & 2 > 0);
        twos.extend(with.map(|(axes, bits)| run(axes, bits & 1)));
        let with = segments.iter().filter(|(_, bits)| bits & 1 > 0);
        ones.extend(with.map(|(axes, _)| run(axes, 0)));
        move_odd((&mut fours, &mut twos), 2);
        move_odd((&mut twos, &mut ones), 1);
        Self([fours, twos, ones])
    }

    /// Bytes of each section.
    fn section_bytes(&self) -> [usize; 3] {
        let [fours, twos, ones] = &self.0;
        [count(fours) / 2, count(twos) / 4, count(ones).div_ceil(8)]
    }

    /// What is known of the sums of the first digits of four bits, so many, and of all others.
    fn sums(&self, count: usize, weights: &[i16]) -> [DigitSums; 2] {
        let mut sums = <[DigitSums; 2]>::default();
        let [first, others] = &mut sums;
        let mut left = count;
        for (runs, bits) in self.0.iter().zip(BITS) {
            for weight in weights_of(runs, weights) {
                if left > 0 {
                    left -= 1;
                    first.add(weight, bits);
                } else {
                    others.add(weight, bits);
                }
            }
        }
        sums
    }

    /// The most that a weight of an axis is doubled for a digit.
    fn largest_shift(&self) -> u8 {
        let runs = self.0.iter().flatten();
        runs.map(|run| run.shift).max().unwrap_or(0)
    }

    /// Writes the digits of numbers, each first as a byte of `digits`.
    fn pack(&self, numbers: &[u8], digits: &mut [u8], out: &mut [u8]) {
        let mut rest = out;
        let sections = self.0.iter().zip(BITS).zip(self.section_bytes());
        for ((runs, bits), bytes) in sections {
            let (section, others) = rest.split_at_mut(bytes.min(rest.len()));
            rest = others;
            let mut digits = cut(runs, numbers, bits, digits);
            section.fill(0);
            for block in section.chunks_mut(DigitWeights::BLOCK_BYTES) {
                for shift in (0..8).step_by(usize::from(bits)) {
                    let (own, others) = digits.split_at(block.len().min(digits.len()));
                    digits = others;
                    for (byte, digit) in block.iter_mut().zip(own) {
                        *byte |= digit << shift;
                    }
                }
            }
        }
    }
}

/// Cuts the last digits of a section that would fill a part of a byte into two of so many bits, of
/// the next section.
fn move_odd((runs, next): (&mut Vec<Run>, &mut Vec<Run>), bits: u8) {
    let per_byte = usize::from(4 / bits);
    let mut odd = count(runs) % per_byte;
    while let Some(last) = runs.last_mut().filter(|_| odd > 0) {
        let end = last.axes.end;
        last.axes.end -= odd.min(last.axes.len());
        let axes = last.axes.end..end;
        odd -= axes.len();
        next.extend([last.shift + bits, last.shift].map(|shift| Run {
            axes: axes.clone(),
            shift,
        }));
        if last.axes.is_empty() {
            runs.pop();
        }
    }
}

/// The digits of some runs, of so many bits, a byte each, one after the other in `digits`.
fn cut<'d>(runs: &[Run], numbers: &[u8], bits: u8, digits: &'d mut [u8]) -> &'d [u8] {
    let most = (1 << bits) - 1;
    let mut at = 0;
    for run in runs {
        let numbers = numbers.get(run.axes.clone()).unwrap_or(&[]);
        let own = digits.get_mut(at..at + numbers.len()).unwrap_or_default();
        at += own.len();
        for (digit, number) in own.iter_mut().zip(numbers) {
            *digit = number >> run.shift & most;
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
    pub(super) leading: Option<Box<LeadingDigits>>,
    /// As for codes as they are stored, of other weights.
    pub(super) estimator: Estimator,
}

impl DigitScorer {
    /// Takes what another of the same layout made of its query.
    pub(super) fn take_over(&mut self, other: &Self) {
        self.weights.copy_from(&other.weights);
        if let (Some(own), Some(other)) = (&mut self.leading, &other.leading) {
            own.take_over(other);
        }
        self.estimator = other.estimator;
    }

    pub(super) fn new(layout: &Layout) -> Self {
        let digits = Digits::new(layout);
        Self {
            weights: DigitWeights::new(digits.section_bytes()),
            leading: LeadingDigits::new(digits.section_bytes()),
            digits,
            estimator: Estimator::default(),
        }
    }
}

impl RaBitQScorer {
    /// Bytes that a scorer holds more when tables are scored, at most.
    pub fn table_bytes(spec: &RaBitQSpec, dimension: usize) -> usize {
        let (_, bits) = spec.budget(dimension);
        // A run for each place of a digit and each number of bits, and for what is moved.
        let runs = 32 * size_of::<Run>();
        let bytes = bits.div_ceil(8);
        let weights = DigitWeights::bytes(bytes) + LeadingDigits::bytes(bytes);
        weights + runs + size_of::<DigitScorer>()
    }

    /// Makes the weights of all digits, of those of axes.
    pub(super) fn weigh_digits(&mut self, factor: f64) {
        let layout = &self.layout;
        let new = || Box::new(DigitScorer::new(layout));
        let own = self.digits.get_or_insert_with(new);
        let magnitudes = self.rotated.iter().map(|weight| weight.abs());
        let largest = magnitudes.fold(0.0, f32::max);
        let room = DigitWeights::LARGEST >> own.digits.largest_shift();
        let limit = largest_weight(layout).min(f32::from(room));
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
        let sections = own.digits.0.each_ref();
        own.weights
            .fill(sections.map(|runs| weights_of(runs, &self.integers)));
        if let Some(leading) = &mut own.leading {
            let sums = own.digits.sums(LeadingDigits::COUNT, &self.integers);
            leading.take(&own.weights, sums);
        }
        let unit = f64::from(largest / limit) * factor;
        own.estimator = Estimator {
            scale: -unit as f32,
            shift: (unit * sum as f64 / 2.0) as f32,
            ..self.estimator
        };
        self.errors.round(unit, squares);
    }
}

/// The largest weight of an axis, where digits have room for it. Rounded to that, weights of axes
/// of so many bits err a tenth as far as their codes, or less, and no sum overflows.
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
