//! What the tests share: rows, quantizers, and the distance by definition in `f64`.

use pageway_kernels::KernelSet;
use pageway_types::{ElementType, Guide, NoProgress, SplitMix64};
use rayon::{ThreadPool, ThreadPoolBuilder};

use crate::rabitq::encoder::dot;
use crate::rabitq::factors::Factors;
use crate::rabitq::scorer::estimate;
use crate::rabitq::{RaBitQScorer, RaBitQSpec, RaBitQuantizer, Rotation};
use crate::{Centre, CodeBatch, TrainingSample};

pub(super) const METRICS: [Guide; 3] = [Guide::L2, Guide::InnerProduct, Guide::Cosine];
pub(super) const ROTATIONS: [Rotation; 2] = [Rotation::Hadamard, Rotation::Principal];

pub(super) fn kernels() -> &'static KernelSet {
    KernelSet::detect().unwrap()
}

pub(super) fn pool(threads: usize) -> ThreadPool {
    let builder = ThreadPoolBuilder::new().num_threads(threads);
    builder.build().unwrap()
}

/// Rows off the origin, normally distributed, with a spread that falls from axis to axis.
pub(super) fn normal(rows: usize, dimension: usize, seed: u64) -> Vec<f32> {
    let mut random = SplitMix64::stream(seed, 0);
    let mut noise = move || (0..12).map(|_| random.unit()).sum::<f64>() - 6.0;
    let spread = |axis: usize| 0.1 + 4.0 * (-8.0 * axis as f64 / dimension as f64).exp();
    (0..rows * dimension)
        .map(|value| (1.0 + noise() * spread(value % dimension)) as f32)
        .collect()
}

pub(super) fn spec(code_bytes: usize, rotation: Rotation) -> RaBitQSpec {
    RaBitQSpec {
        rotation,
        ..RaBitQSpec::new(code_bytes as u32)
    }
}

pub(super) fn sample(values: &[f32], dimension: usize, metric: Guide) -> TrainingSample<'_> {
    TrainingSample {
        values,
        dimension,
        metric,
    }
}

pub(super) fn train(sample: &TrainingSample<'_>, spec: &RaBitQSpec) -> RaBitQuantizer {
    RaBitQuantizer::train(sample, spec, kernels(), &pool(2), &NoProgress).unwrap()
}

/// Bytes of a code with about `bits` per axis.
pub(super) fn bytes_for(dimension: usize, bits: usize) -> usize {
    let factors = if bits > 3 { 8 } else { 4 };
    factors + (dimension * bits).div_ceil(8)
}

pub(super) fn encode(quantizer: &RaBitQuantizer, values: &[f32]) -> Vec<u8> {
    let rows: Vec<u8> = values.iter().flat_map(|v| v.to_le_bytes()).collect();
    let mut codes = vec![0xa5; values.len() / quantizer.dimension() * quantizer.code_bytes()];
    quantizer
        .encoder(ElementType::F32, kernels())
        .encode(&rows, &mut codes);
    codes
}

/// Estimates and the half widths of their bounds.
pub(super) fn score(
    quantizer: &RaBitQuantizer,
    query: &[f32],
    codes: &[u8],
) -> (Vec<f32>, Vec<f32>) {
    let mut scorer = RaBitQScorer::new(quantizer, kernels());
    let (mut estimates, mut errors) = (Vec::new(), Vec::new());
    scorer.prepare(quantizer, query);
    scorer.score_with_errors(CodeBatch::Inline { codes }, &mut estimates, &mut errors);
    (estimates, errors)
}

/// The distance by definition.
pub(super) fn exact(metric: Guide, a: &[f32], b: &[f32]) -> f64 {
    let differences = a.iter().zip(b).map(|(a, b)| f64::from(*a) - f64::from(*b));
    match metric {
        Guide::L2 => differences.map(|d| d * d).sum(),
        Guide::InnerProduct => -dot(a, b),
        Guide::Cosine => 1.0 - dot(a, b) / (dot(a, a) * dot(b, b)).sqrt(),
    }
}

/// Root of the mean squared error of estimates, in parts of what the exact distances vary by.
pub(super) fn relative_error(quantizer: &RaBitQuantizer, values: &[f32], queries: usize) -> f64 {
    let (dimension, metric) = (quantizer.dimension(), quantizer.metric());
    let (queries, rows) = values.split_at(queries * dimension);
    let codes = encode(quantizer, rows);
    let (mut error, mut sum, mut squares, mut count) = (0.0, 0.0, 0.0, 0.0);
    for query in queries.chunks_exact(dimension) {
        let (estimates, _) = score(quantizer, query, &codes);
        for (row, estimate) in rows.chunks_exact(dimension).zip(estimates) {
            let exact = exact(metric, query, row);
            error += (f64::from(estimate) - exact).powi(2);
            (sum, squares, count) = (sum + exact, squares + exact * exact, count + 1.0);
        }
    }
    (error / (squares - sum * sum / count)).sqrt()
}

impl RaBitQScorer {
    /// Estimates, and the half widths of their bounds, of codes that were made around one centre:
    /// one code at a time, as the specification of blocks.
    pub(super) fn score_around_with_errors(
        &self,
        centre: Centre,
        codes: &[u8],
        out: &mut Vec<f32>,
        errors: &mut Vec<f32>,
    ) {
        let centroid = self.around.meet(centre);
        errors.clear();
        self.for_each_code(CodeBatch::Inline { codes }, out, |estimator, code, sum| {
            let factors = Factors::read(self.layout.factors, code);
            let estimate = estimate(estimator, factors, centroid, sum);
            errors.push(self.error(factors, centroid, estimate));
            estimate
        });
    }
}
