//! Estimates from codes: weights for the bits once per query, a sum of weights per code.
//!
//! With `q` the query less the first centroid, rotated, a set bit of plane `p` on axis `i` of `b`
//! bits counts `w = 2^(b-1-p) * step * q_i / 2`, and a bit not set as much against. So `<g, q>` is
//! twice the sum of the weights of the set bits less the sum of all weights. Weights are rounded to
//! integers of a few bits ([`BitWeights`]); the error of that is far below the code's own.

use pageway_kernels::{BitWeights, BlockWeights, Estimator, KernelSet};
use pageway_types::Guide;

use super::allocation::MAX_BITS;
use super::around::Around;
use super::digits::DigitScorer;
use super::encoder::{dot, squared_l2};
use super::errors::Errors;
use super::factors::Factors;
use super::layout::{Layout, Segment};
use super::{RaBitQSpec, RaBitQuantizer};
use crate::{CodeBatch, CodeForms, CodeScorer};

/// Scores codes of one quantizer against one query at a time.
///
/// Owns the query's weights; [`RaBitQScorer::prepare`] refills them without allocating. Before the
/// first `prepare` every estimate is 0.
pub struct RaBitQScorer {
    pub(super) kernels: &'static KernelSet,
    weights: Box<BitWeights>,
    /// The same weights for codes in blocks, once these are scanned.
    pub(super) blocks: Option<Box<BlockWeights>>,
    /// And for codes in tables, once these are scored.
    pub(super) digits: Option<Box<DigitScorer>>,
    pub(super) layout: Layout,
    pub(super) around: Around,
    /// What one query makes of itself.
    query: Vec<f32>,
    pub(super) rotated: Vec<f32>,
    pub(super) integers: Vec<i16>,
    /// By centroid: what the estimate begins with, and what errors are multiplied by.
    centroids: Vec<Centroid>,
    /// `<g, q> = scale * sum + shift`, each times the factor of the metric and negated.
    pub(super) estimator: Estimator,
    pub(super) errors: Errors,
}

/// Added to a small number, it leaves the nearest integer in the lowest bits.
const TO_BITS: f32 = 12_582_912.0;

/// Codes whose sums are kept at a time.
pub(super) const BLOCK: usize = 64;

/// What a query knows of a centroid.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Centroid {
    /// Squared distance of the query.
    pub(super) distance: f32,
    pub(super) add: f32,
    pub(super) error: f32,
    /// Share of the square of that which axes err by, and not what lies outside of them.
    pub(super) inside: f32,
    /// What the squared length of a residual is beside `per_square * add`; not a number where that
    /// does not follow from `add`.
    pub(super) rest: f32,
}

impl RaBitQScorer {
    /// How many standard errors the bounds are wide unless told otherwise: an estimate is farther
    /// off in about one of twenty cases.
    pub const EPSILON: f32 = 1.9;

    /// Most bytes of memory that a scorer of codes of `spec` and vectors of `dimension` holds.
    pub fn bytes(spec: &RaBitQSpec, dimension: usize) -> usize {
        let (_, bits) = spec.budget(dimension);
        BitWeights::bytes(bits.div_ceil(8), planes(MAX_BITS))
            .saturating_add(dimension.saturating_mul(2 * size_of::<f32>()))
            .saturating_add(bits.saturating_mul(size_of::<i16>()))
            .saturating_add((spec.centroids as usize).saturating_mul(size_of::<Centroid>()))
            .saturating_add(size_of::<Self>() + size_of::<BitWeights>())
            .saturating_add(MAX_BITS * size_of::<Segment>())
    }

    /// A scorer for codes of `quantizer`.
    pub fn new(quantizer: &RaBitQuantizer, kernels: &'static KernelSet) -> Self {
        let bits = quantizer.bits();
        Self {
            kernels,
            weights: Box::new(BitWeights::new(
                bits.div_ceil(8),
                planes(usize::from(quantizer.layout.planes())),
            )),
            layout: quantizer.layout.clone(),
            blocks: None,
            digits: None,
            around: Around::new(quantizer, 0.0),
            query: vec![0.0; quantizer.dimension()],
            rotated: vec![0.0; quantizer.axes()],
            integers: vec![0; bits],
            centroids: vec![Centroid::default(); quantizer.centroids()],
            estimator: Estimator::default(),
            errors: Errors::new(Self::EPSILON, quantizer.layout.factors),
        }
    }

    /// Makes bounds `epsilon` standard errors wide.
    pub fn set_epsilon(&mut self, epsilon: f32) {
        self.errors.set_epsilon(epsilon);
    }

    /// Takes the next query: `dimension` finite values, at any length for cosine.
    ///
    /// Costs a rotation, 1 ns per bit of a code at most, and `dimension + axes` multiply-adds per
    /// centroid.
    ///
    /// # Panics
    /// When the query or the quantizer has another shape than the scorer was made for.
    pub fn prepare(&mut self, quantizer: &RaBitQuantizer, query: &[f32]) {
        self.prepare_forms(quantizer, query, CodeForms::Stored);
    }

    /// The same for codes in the forms that will be scored, and in no other. Allocates the first
    /// time that tables or blocks are among them.
    ///
    /// # Panics
    /// As [`RaBitQScorer::prepare`].
    pub fn prepare_forms(&mut self, quantizer: &RaBitQuantizer, query: &[f32], forms: CodeForms) {
        self.prepare_turned(quantizer, (query, None), forms);
    }

    /// The same of a query that was turned by [`RaBitQuantizer::turn`], where it was.
    ///
    /// # Panics
    /// As [`RaBitQScorer::prepare`].
    pub fn prepare_turned(
        &mut self,
        quantizer: &RaBitQuantizer,
        (query, turned): (&[f32], Option<&[f32]>),
        forms: CodeForms,
    ) {
        self.take(quantizer, query);
        if forms == CodeForms::Blocks {
            return self.weigh_blocks(quantizer, turned);
        }
        self.meet_centroids(quantizer);
        let factor = self.turn(quantizer, turned);
        self.meet_errors(quantizer, factor);
        self.multiply_by_steps();
        if forms != CodeForms::Stored {
            self.weigh_digits(factor);
        }
        if forms != CodeForms::Table {
            self.weigh(factor);
            self.weights.fill(&self.integers);
        }
    }

    /// Takes the query of another scorer of the same quantizer, and all that it made of it: for a
    /// copy of some kilobytes. Allocates as [`RaBitQScorer::prepare_forms`].
    pub fn take_over(&mut self, other: &Self) {
        self.query.clone_from(&other.query);
        self.rotated.clone_from(&other.rotated);
        self.integers.clone_from(&other.integers);
        self.centroids.clone_from(&other.centroids);
        self.around = other.around;
        self.estimator = other.estimator;
        self.errors = other.errors;
        self.weights.copy_from(&other.weights);
        if let Some(others) = &other.blocks {
            let bytes = others.code_bytes();
            let own = self
                .blocks
                .get_or_insert_with(|| Box::new(BlockWeights::new(bytes)));
            own.copy_from(others);
        }
        if let Some(others) = &other.digits {
            let layout = &self.layout;
            let own = self
                .digits
                .get_or_insert_with(|| Box::new(DigitScorer::new(layout)));
            own.take_over(others);
        }
    }

    /// Copies a query; its unit vector for cosine.
    pub(super) fn take(&mut self, quantizer: &RaBitQuantizer, query: &[f32]) {
        assert_eq!(
            self.layout, quantizer.layout,
            "the quantizer of this scorer"
        );
        assert_eq!(query.len(), quantizer.dimension(), "one query");
        self.query.copy_from_slice(query);
        quantizer.normalise(&mut self.query);
    }

    /// Rotates what the query differs by from the first centroid, unless that was done; returns
    /// what inner products count in the metric.
    pub(super) fn turn(&mut self, quantizer: &RaBitQuantizer, turned: Option<&[f32]>) -> f64 {
        quantizer.centre(&mut self.query);
        match turned {
            Some(turned) => self.rotated.copy_from_slice(turned),
            None => quantizer.rotate(self.kernels, &self.query, &mut self.rotated),
        }
        self.estimator.energy = quantizer.energy;
        let factor = match quantizer.metric {
            Guide::L2 => 2.0,
            Guide::InnerProduct | Guide::Cosine => 1.0,
        };
        self.errors.meet(quantizer);
        self.around = Around::new(quantizer, factor);
        factor
    }

    /// What estimates begin with, for each centroid.
    fn meet_centroids(&mut self, quantizer: &RaBitQuantizer) {
        for (number, own) in self.centroids.iter_mut().enumerate() {
            let centroid = quantizer.centroid(number);
            let distance = squared_l2(&self.query, centroid);
            own.distance = distance as f32;
            own.add = match quantizer.metric {
                Guide::L2 => distance as f32,
                Guide::InnerProduct => -dot(&self.query, centroid) as f32,
                Guide::Cosine => (1.0 - dot(&self.query, centroid)) as f32,
            };
            own.rest = match quantizer.metric {
                // What `add` holds for the others is not of the residual alone.
                _ if number > 0 => f32::NAN,
                Guide::L2 => 0.0,
                Guide::Cosine => (1.0 - dot(centroid, centroid)) as f32,
                Guide::InnerProduct => f32::NAN,
            };
        }
    }

    /// Standard error of the estimate per unit of a code's error, for each centroid: errors are
    /// random within a segment, so that each segment of the query meets its share of them.
    fn meet_errors(&mut self, quantizer: &RaBitQuantizer, factor: f64) {
        let unit = factor * f64::from(quantizer.error_unit);
        for (number, own) in self.centroids.iter_mut().enumerate() {
            let offset = quantizer.offset(number);
            let mut rest = self.rotated.as_slice();
            let (mut variance, mut met, mut at) = (0.0, 0.0, 0);
            for segment in &self.layout.segments {
                let (part, others) = rest.split_at(segment.width.min(rest.len()));
                rest = others;
                let energy = squared_l2(part, offset.get(at..).unwrap_or(&[]));
                at += segment.width;
                met += energy;
                let width = (segment.width as f64 - 1.0).max(1.0);
                variance += f64::from(segment.error_share) * energy / width;
            }
            let outside = quantizer.outside;
            let left = f64::from(outside.error_share) * f64::from(outside.spread);
            let beyond = left * (f64::from(own.distance) - met).max(0.0);
            own.error = (unit * (variance + beyond).sqrt()) as f32;
            own.inside = (variance / (variance + beyond).max(f64::MIN_POSITIVE)) as f32;
        }
    }

    /// Turns the rotated query into weights of axes: what a difference of one in a number counts.
    pub(super) fn multiply_by_steps(&mut self) {
        self.multiply_by(|segment| segment.step);
    }

    fn multiply_by(&mut self, factor: impl Fn(&Segment) -> f32) {
        let mut rest = self.rotated.as_mut_slice();
        for segment in &self.layout.segments {
            let (own, others) = rest.split_at_mut(segment.width.min(rest.len()));
            let factor = factor(segment);
            for weight in own {
                *weight *= factor;
            }
            rest = others;
        }
    }

    /// Makes the weights of all bits, of those of axes, which are lost.
    pub(super) fn weigh(&mut self, factor: f64) {
        self.multiply_by(|segment| f32::from(1_u16 << (segment.bits - 1)));
        let magnitudes = self.rotated.iter().map(|weight| weight.abs());
        let largest = magnitudes.fold(0.0, f32::max);
        let limit = f32::from((1_u16 << (self.weights.planes() - 1)) - 1);
        let mut per_weight = if largest > 0.0 { limit / largest } else { 0.0 };
        let mut rest = self.integers.as_mut_slice();
        for plane in 0..self.layout.planes() {
            let axes = self.layout.plane_axes(plane).min(rest.len());
            let (own, others) = rest.split_at_mut(axes);
            for (integer, weight) in own.iter_mut().zip(&self.rotated) {
                *integer = nearest(weight * per_weight);
            }
            per_weight /= 2.0;
            rest = others;
        }
        let sum: i64 = self.integers.iter().map(|weight| i64::from(*weight)).sum();
        let unit = f64::from(largest / limit) * factor;
        self.estimator.scale = -unit as f32;
        // A bit counts half of its weight, for or against.
        self.errors.round(unit, self.integers.len() as f64);
        self.estimator.shift = (unit * sum as f64 / 2.0) as f32;
    }

    /// Estimates as by [`CodeScorer::score`], and for each the half width of its bound: what
    /// `epsilon` standard errors of this code are, in the units of the estimate.
    ///
    /// # Panics
    /// As [`CodeScorer::score`].
    pub fn score_with_errors(
        &self,
        batch: CodeBatch<'_>,
        out: &mut Vec<f32>,
        errors: &mut Vec<f32>,
    ) {
        errors.clear();
        self.for_each_code(batch, out, |estimator, code, sum| {
            let (factors, centroid) = self.read(code);
            let estimate = estimate(estimator, factors, centroid, sum);
            errors.push(self.error(factors, centroid, estimate));
            estimate
        });
    }

    /// By how much an estimate that was made of a code is off, as
    /// [`RaBitQScorer::score_with_errors`] has it: told by the head of the code, without a sum.
    pub fn code_error(&self, code: &[u8], estimate: f32) -> f32 {
        let (factors, centroid) = self.read(code);
        self.error(factors, centroid, estimate)
    }

    /// Fills `out` with what `each` makes of a code and its sum of weights.
    pub(super) fn for_each_code(
        &self,
        batch: CodeBatch<'_>,
        out: &mut Vec<f32>,
        mut each: impl FnMut(&Estimator, &[u8], i32) -> f32,
    ) {
        out.clear();
        let (stride, head) = (self.code_bytes(), self.layout.head_bytes());
        let mut sums = [0; BLOCK];
        match batch {
            CodeBatch::Gather { codes, places } | CodeBatch::Table { codes, places } => {
                let bits = codes.get(head..).unwrap_or(&[]);
                let digits = match batch {
                    CodeBatch::Table { .. } => {
                        debug_assert!(self.digits.is_some(), "prepared for tables");
                        self.digits.as_deref()
                    }
                    CodeBatch::Gather { .. } | CodeBatch::Inline { .. } => None,
                };
                let estimator = digits.map_or(&self.estimator, |digits| &digits.estimator);
                for places in places.chunks(BLOCK) {
                    let (sums, _) = sums.split_at_mut(places.len());
                    if let Some(digits) = digits {
                        let sum = self.kernels.digit_sums_gather();
                        sum(&digits.weights, bits, stride, places, sums);
                    } else {
                        let sum = self.kernels.bit_sums_gather();
                        sum(&self.weights, bits, stride, places, sums);
                    }
                    let codes = places.iter().map(|at| codes.get(at.index() * stride..));
                    let pairs = codes.zip(sums);
                    out.extend(pairs.map(|(code, sum)| each(estimator, code.unwrap_or(&[]), *sum)));
                }
            }
            CodeBatch::Inline { codes } => {
                assert_eq!(codes.len() % stride, 0, "whole codes");
                for codes in codes.chunks(BLOCK * stride) {
                    let (sums, _) = sums.split_at_mut(codes.len() / stride);
                    let bits = codes.get(head..).unwrap_or(&[]);
                    self.kernels.bit_sums()(&self.weights, bits, stride, sums);
                    let pairs = codes.chunks_exact(stride).zip(sums);
                    out.extend(pairs.map(|(code, sum)| each(&self.estimator, code, *sum)));
                }
            }
        }
    }

    #[inline]
    pub(super) fn read(&self, code: &[u8]) -> (Factors, Centroid) {
        let factors = Factors::read(self.layout.factors, code);
        let centroid = self.centroids.get(self.layout.centroid(code));
        (factors, centroid.copied().unwrap_or_default())
    }

    /// The half width of the bound of a code.
    #[inline]
    pub(super) fn error(&self, factors: Factors, centroid: Centroid, estimate: f32) -> f32 {
        self.errors
            .half_width(factors, self.estimator.energy, centroid, estimate)
    }

    #[inline]
    pub(super) fn estimator(&self, centroid: Centroid) -> Estimator {
        Estimator {
            start: centroid.add,
            ..self.estimator
        }
    }
}

impl CodeScorer for RaBitQScorer {
    fn score(&self, batch: CodeBatch<'_>, out: &mut Vec<f32>) {
        self.for_each_code(batch, out, |estimator, code, sum| {
            let (factors, centroid) = self.read(code);
            estimate(estimator, factors, centroid, sum)
        });
    }

    fn code_bytes(&self) -> usize {
        self.layout.code_bytes()
    }
}

/// The estimate of a code of one of many centroids.
#[inline]
pub(super) fn estimate(
    estimator: &Estimator,
    factors: Factors,
    centroid: Centroid,
    sum: i32,
) -> f32 {
    let Factors { add, rescale, .. } = factors;
    let estimator = Estimator {
        start: centroid.add,
        ..*estimator
    };
    estimator.estimate((add, rescale), sum)
}

/// The nearest integer, which lies in the lowest bits of a number of this size.
#[inline]
pub(super) fn nearest(weight: f32) -> i16 {
    (weight + TO_BITS).to_bits() as i16
}

/// Bits of a weight: enough that rounding it errs far less than an axis of so many bits does. An
/// axis of the most bits there can be may be any number of times as wide as the others, whose
/// weights must not vanish beside its own: they have as many as blocks have room for.
const fn planes(bits: usize) -> usize {
    if bits < MAX_BITS {
        7 + bits * 3 / 4
    } else {
        BlockWeights::LARGEST.ilog2() as usize + 2
    }
}
