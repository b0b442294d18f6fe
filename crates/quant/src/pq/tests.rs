//! Product quantization from end to end, against direct computation in `f64`.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use pageway_kernels::KernelSet;
use pageway_types::{Cancelled, ElementType, Guide, NoProgress, Place, Progress, SplitMix64};
use rayon::{ThreadPool, ThreadPoolBuilder};

use super::{ComponentOrder, PqScorer, PqSpec, ProductQuantizer, TrainingSample};
use crate::{CodeBatch, CodeScorer, QuantError};

pub(super) const METRICS: [Guide; 3] = [Guide::L2, Guide::InnerProduct, Guide::Cosine];
pub(super) const ORDERS: [ComponentOrder; 2] = [ComponentOrder::Natural, ComponentOrder::Strided];

fn kernels() -> &'static KernelSet {
    KernelSet::detect().unwrap()
}

fn pool(threads: usize) -> ThreadPool {
    ThreadPoolBuilder::new()
        .num_threads(threads)
        .build()
        .unwrap()
}

/// Rows around 40 centres off the origin, with a spread that differs by component.
pub(super) fn clustered(rows: usize, dimension: usize, seed: u64) -> Vec<f32> {
    let mut rng = SplitMix64::stream(seed, 0);
    let mut noise = move || (0..4).map(|_| rng.unit() - 0.5).sum::<f64>() as f32;
    let centres: Vec<f32> = (0..40 * dimension).map(|_| 3.0 + 4.0 * noise()).collect();
    let row = |row: usize| centres[row % 40 * dimension..][..dimension].iter();
    let values = (0..rows).flat_map(|index| row(index).enumerate());
    values
        .map(|(i, centre)| centre + noise() * (1.0 + i as f32 / 8.0))
        .collect()
}

pub(super) fn train(
    values: &[f32],
    dimension: usize,
    metric: Guide,
    code_bytes: u32,
) -> ProductQuantizer {
    let sample = TrainingSample {
        values,
        dimension,
        metric,
    };
    train_ordered(&sample, code_bytes, ComponentOrder::Natural)
}

pub(super) fn train_ordered(
    sample: &TrainingSample<'_>,
    code_bytes: u32,
    order: ComponentOrder,
) -> ProductQuantizer {
    let spec = PqSpec {
        rounds: 6,
        order,
        ..PqSpec::new(code_bytes)
    };
    ProductQuantizer::train(sample, &spec, kernels(), &pool(2), &NoProgress).unwrap()
}

fn encode(quantizer: &ProductQuantizer, values: &[f32]) -> Vec<u8> {
    let rows: Vec<u8> = values
        .iter()
        .flat_map(|value| value.to_le_bytes())
        .collect();
    let mut codes = vec![0; values.len() / quantizer.dimension() * quantizer.code_bytes()];
    quantizer
        .encoder(ElementType::F32, kernels())
        .encode(&rows, &mut codes);
    codes
}

fn decoded(quantizer: &ProductQuantizer, code: &[u8]) -> Vec<f32> {
    let mut out = vec![f32::NAN; quantizer.dimension()];
    quantizer.decode(code, &mut out);
    out
}

/// Sum of squared differences between rows and what their codes stand for.
fn error(quantizer: &ProductQuantizer, values: &[f32]) -> f64 {
    let codes = encode(quantizer, values);
    let codes = codes.chunks_exact(quantizer.code_bytes());
    let rows = values.chunks_exact(quantizer.dimension()).zip(codes);
    rows.map(|(row, code)| squared_l2(row, &decoded(quantizer, code)))
        .sum()
}

fn squared_l2(a: &[f32], b: &[f32]) -> f64 {
    a.iter()
        .zip(b)
        .map(|(a, b)| (f64::from(*a) - f64::from(*b)).powi(2))
        .sum()
}

fn dot(a: &[f32], b: &[f32]) -> f64 {
    a.iter()
        .zip(b)
        .map(|(a, b)| f64::from(*a) * f64::from(*b))
        .sum()
}

fn unit(row: &[f32]) -> Vec<f32> {
    row.iter()
        .map(|value| (f64::from(*value) / dot(row, row).sqrt()) as f32)
        .collect()
}

/// What an estimate is by definition: the distance to the decoded vector.
fn oracle(metric: Guide, query: &[f32], decoded: &[f32]) -> f64 {
    match metric {
        Guide::L2 => squared_l2(query, decoded),
        Guide::InnerProduct => -dot(query, decoded),
        Guide::Cosine => squared_l2(&unit(query), decoded) / 2.0,
    }
}

#[test]
fn reconstruction_improves_with_code_bytes() {
    let values = clustered(2000, 24, 1);
    for metric in [Guide::L2, Guide::InnerProduct] {
        let errors = [1, 2, 4, 8, 24].map(|m| error(&train(&values, 24, metric, m), &values));
        assert!(
            errors.is_sorted_by(|a, b| *a > 1.1 * b),
            "{metric}: {errors:?}"
        );
    }
}

#[test]
fn lloyd_rounds_improve_on_the_start() {
    let values = clustered(4000, 16, 2);
    let sample = TrainingSample {
        values: &values,
        dimension: 16,
        metric: Guide::L2,
    };
    let errors = [0, 1, 10].map(|rounds| {
        let spec = PqSpec {
            rounds,
            ..PqSpec::new(4)
        };
        let trained = ProductQuantizer::train(&sample, &spec, kernels(), &pool(1), &NoProgress);
        error(&trained.unwrap(), &values)
    });
    assert!(
        errors[1] < 0.9 * errors[0] && errors[2] < 0.98 * errors[1],
        "{errors:?}"
    );
}

#[test]
fn one_byte_per_component_is_exact_for_few_distinct_values() {
    let mut rng = SplitMix64::stream(3, 0);
    let values: Vec<f32> = (0..1000 * 7)
        .map(|_| rng.below(200) as f32 - 90.0)
        .collect();
    let quantizer = train(&values, 7, Guide::L2, 7);
    assert!(error(&quantizer, &values) < 1e-6);
}

#[test]
fn rare_values_missed_by_the_start_get_centroids() {
    let rare = |row: usize| row % 331 == 7;
    let value = |row: usize| {
        if rare(row) {
            (row / 331) as f32 * 9.0
        } else {
            (row % 7) as f32
        }
    };
    let values: Vec<f32> = (0..60_000).map(value).collect();
    let sample = TrainingSample {
        values: &values,
        dimension: 1,
        metric: Guide::L2,
    };
    let spec = PqSpec {
        rounds: 12,
        ..PqSpec::new(1)
    };
    let quantizer = ProductQuantizer::train(&sample, &spec, kernels(), &pool(1), &NoProgress);
    assert!(error(&quantizer.unwrap(), &values) < 1e-4);
}

#[test]
fn few_and_equal_rows_are_reproduced() {
    for (rows, dimension, m) in [(1, 5, 2), (2, 5, 5), (200, 12, 5), (255, 3, 1)] {
        let values = clustered(rows, dimension, 4);
        let quantizer = train(&values, dimension, Guide::L2, m);
        assert!(
            error(&quantizer, &values) / (rows as f64) < 1e-9,
            "{rows} rows"
        );
    }
    let equal = vec![-2.5f32; 3000 * 4];
    for metric in METRICS {
        let quantizer = train(&equal, 4, metric, 3);
        let expected = if metric == Guide::Cosine { -0.5 } else { -2.5 };
        let codes = encode(&quantizer, &equal[..4]);
        assert_eq!(decoded(&quantizer, &codes), [expected; 4], "{metric}");
    }
    let zeros = train(&[0.0; 40], 4, Guide::Cosine, 2);
    assert_eq!(decoded(&zeros, &[0, 255]), [0.0; 4]);
}

#[test]
fn estimates_are_distances_to_decoded_vectors() {
    for (dimension, m) in [(32, 8), (10, 3), (7, 7), (33, 1), (5, 4)] {
        let values = clustered(1200, dimension, 5);
        let (queries, rows) = values.split_at(100 * dimension);
        for (metric, order) in METRICS
            .into_iter()
            .flat_map(|m| ORDERS.map(|order| (m, order)))
        {
            let sample = TrainingSample {
                values: rows,
                dimension,
                metric,
            };
            let quantizer = train_ordered(&sample, m, order);
            let codes = encode(&quantizer, rows);
            let mut scorer = PqScorer::new(&quantizer, kernels());
            let mut estimates = Vec::new();
            for query in queries.chunks_exact(dimension) {
                scorer.prepare(&quantizer, query);
                scorer.score(CodeBatch::Inline { codes: &codes }, &mut estimates);
                for (code, estimate) in codes.chunks_exact(m as usize).zip(&estimates) {
                    let expected = oracle(metric, query, &decoded(&quantizer, code));
                    let limit = 1e-4 * expected.abs().max(1.0);
                    let gap = (f64::from(*estimate) - expected).abs();
                    assert!(
                        gap < limit,
                        "{metric} {dimension}/{m}: {estimate} {expected}"
                    );
                }
            }
        }
    }
}

#[test]
fn cosine_ignores_length() {
    let values = clustered(600, 9, 6);
    let factors = [1e-30f32, 1.0, 1e30];
    let scaled = factors.map(|f| values.iter().map(|v| v * f).collect::<Vec<_>>());
    let quantizer = train(&values, 9, Guide::Cosine, 4);
    let mut scorer = PqScorer::new(&quantizer, kernels());
    let answers = scaled.map(|values| {
        let codes = encode(&quantizer, &values);
        let mut estimates = Vec::new();
        scorer.prepare(&quantizer, &values[..9]);
        scorer.score(CodeBatch::Inline { codes: &codes }, &mut estimates);
        estimates
    });
    for other in [&answers[0], &answers[2]] {
        let gaps = answers[1].iter().zip(other).map(|(a, b)| (a - b).abs());
        // A row on the border of two centroids may change sides by a rounding; few do.
        assert!(gaps.filter(|gap| *gap > 1e-5).count() < 6);
    }
    assert!(answers[1][0].abs() < 0.05 && answers[1].iter().all(|e| (-0.01..2.1).contains(e)));
}

#[test]
fn gather_inline_and_naive_agree() {
    let values = clustered(500, 20, 7);
    let quantizer = train(&values, 20, Guide::L2, 6);
    let codes = encode(&quantizer, &values);
    let mut scorer = PqScorer::new(&quantizer, kernels());
    assert_eq!(scorer.code_bytes(), 6);
    let mut rng = SplitMix64::stream(8, 0);
    let (mut gathered, mut inline) = (vec![f32::NAN; 900], vec![f32::NAN; 900]);
    for count in [0, 1, 3, 4, 17, 500] {
        scorer.prepare(&quantizer, &values[count.min(499) * 20..][..20]);
        let places: Vec<_> = (0..count).map(|_| Place(rng.below(500) as u32)).collect();
        let of_place = |place: &Place| &codes[place.index() * 6..][..6];
        let batch: Vec<u8> = places.iter().flat_map(of_place).copied().collect();
        scorer.score(
            CodeBatch::Gather {
                codes: &codes,
                places: &places,
            },
            &mut gathered,
        );
        scorer.score(CodeBatch::Inline { codes: &batch }, &mut inline);
        assert_eq!(gathered, inline);
        assert_eq!(gathered.len(), count);
        for (node, estimate) in places.iter().zip(&gathered) {
            let entries = of_place(node).iter().enumerate();
            let sum: f32 = entries
                .map(|(j, byte)| scorer.table()[j * 256 + *byte as usize])
                .sum();
            assert!((estimate - sum).abs() <= 1e-5 * sum.abs());
        }
    }
}

#[test]
fn strided_is_natural_on_rows_with_sorted_components() {
    for (dimension, m) in [(32, 8), (10, 3), (33, 5), (7, 7), (6, 1)] {
        let values = clustered(700, dimension, 15);
        let sorted: Vec<f32> = values
            .chunks_exact(dimension)
            .flat_map(|row| (0..m).flat_map(move |j| row.iter().skip(j).step_by(m)))
            .copied()
            .collect();
        for metric in [Guide::L2, Guide::InnerProduct] {
            let sample = |values| TrainingSample {
                values,
                dimension,
                metric,
            };
            let strided = train_ordered(&sample(&values), m as u32, ComponentOrder::Strided);
            let natural = train_ordered(&sample(&sorted), m as u32, ComponentOrder::Natural);
            assert_eq!(strided.order(), ComponentOrder::Strided);
            assert_eq!(strided.mean, natural.mean);
            assert_eq!(strided.centroids, natural.centroids);
            let codes = encode(&strided, &values);
            assert_eq!(codes, encode(&natural, &sorted), "{metric} {dimension}/{m}");
            let tables = [(&strided, &values), (&natural, &sorted)].map(|(quantizer, rows)| {
                let mut scorer = PqScorer::new(quantizer, kernels());
                scorer.prepare(quantizer, &rows[..dimension]);
                scorer.table().to_vec()
            });
            assert_eq!(tables[0], tables[1]);
        }
    }
}

#[test]
fn every_order_reproduces_few_rows_in_their_own_order() {
    for (metric, order) in METRICS
        .into_iter()
        .flat_map(|m| ORDERS.map(|order| (m, order)))
    {
        let values = clustered(200, 12, 4);
        let sample = TrainingSample {
            values: &values,
            dimension: 12,
            metric,
        };
        let quantizer = train_ordered(&sample, 5, order);
        let codes = encode(&quantizer, &values);
        for (row, code) in values.chunks_exact(12).zip(codes.chunks_exact(5)) {
            let expected = if metric == Guide::Cosine {
                unit(row)
            } else {
                row.to_vec()
            };
            let gap = squared_l2(&expected, &decoded(&quantizer, code));
            assert!(gap < 1e-9, "{metric} {order:?}: {gap}");
        }
    }
}

#[test]
fn errors_of_the_two_orders_are_almost_independent() {
    let values = clustered(3000, 32, 16);
    let sample = TrainingSample {
        values: &values,
        dimension: 32,
        metric: Guide::L2,
    };
    let (queries, rows) = values.split_at(50 * 32);
    let quantizers = ORDERS.map(|order| train_ordered(&sample, 8, order));
    let codes = [0, 1].map(|at| encode(&quantizers[at], rows));
    let (mut squares, mut product) = ([0.0; 2], 0.0);
    for query in queries.chunks_exact(32) {
        let errors = [0, 1].map(|at| {
            let mut scorer = PqScorer::new(&quantizers[at], kernels());
            scorer.prepare(&quantizers[at], query);
            let mut estimates = Vec::new();
            scorer.score(CodeBatch::Inline { codes: &codes[at] }, &mut estimates);
            let exact = rows.chunks_exact(32).map(|row| squared_l2(query, row));
            let errors = exact.zip(estimates).map(|(exact, e)| f64::from(e) - exact);
            let errors: Vec<f64> = errors.collect();
            let mean = errors.iter().sum::<f64>() / errors.len() as f64;
            errors
                .into_iter()
                .map(|error| error - mean)
                .collect::<Vec<_>>()
        });
        for (a, b) in errors[0].iter().zip(&errors[1]) {
            squares[0] += a * a;
            squares[1] += b * b;
            product += a * b;
        }
    }
    let correlation = product / f64::sqrt(squares[0] * squares[1]);
    assert!(correlation.abs() < 0.3, "{correlation}");
}

#[test]
fn encoder_agrees_between_element_types_and_batch_sizes() {
    let mut rng = SplitMix64::stream(9, 0);
    let bytes: Vec<u8> = (0..3001 * 6).map(|_| rng.below(100) as u8).collect();
    let values: Vec<f32> = bytes.iter().map(|byte| f32::from(*byte)).collect();
    for metric in METRICS {
        let quantizer = train(&values, 6, metric, 4);
        let expected = encode(&quantizer, &values);
        let mut encoder = quantizer.encoder(ElementType::U8, kernels());
        let mut codes = vec![0; expected.len()];
        encoder.encode(&bytes, &mut codes);
        assert_eq!(codes, expected);
        for (row, code) in bytes.chunks(6).zip(expected.chunks(4)).take(50) {
            let mut own = [0; 4];
            encoder.encode(row, &mut own);
            assert_eq!(own, code);
        }
    }
}

#[test]
fn encoder_picks_the_nearest_centroid() {
    let values = clustered(300, 8, 10);
    let quantizer = train(&values, 8, Guide::L2, 1);
    for (row, code) in values.chunks_exact(8).zip(encode(&quantizer, &values)) {
        let all = (0..=255).map(|byte| squared_l2(row, &decoded(&quantizer, &[byte])));
        let best = all.fold(f64::INFINITY, f64::min);
        assert!(squared_l2(row, &decoded(&quantizer, &[code])) <= best + 1e-4);
    }
}

#[test]
fn bytes_depend_on_the_seed_but_not_on_threads_or_instruction_set() {
    let values = clustered(20_000, 11, 11);
    for (metric, order) in METRICS
        .into_iter()
        .flat_map(|m| ORDERS.map(|order| (m, order)))
    {
        let sample = TrainingSample {
            values: &values,
            dimension: 11,
            metric,
        };
        let run = |kernels, threads, seed| {
            let spec = PqSpec {
                rounds: 3,
                seed,
                order,
                ..PqSpec::new(4)
            };
            let trained =
                ProductQuantizer::train(&sample, &spec, kernels, &pool(threads), &NoProgress);
            trained.unwrap().to_bytes()
        };
        let one = run(kernels(), 1, 0);
        assert!(
            one == run(kernels(), 2, 0) && one == run(kernels(), 7, 0),
            "{metric}"
        );
        assert!(one != run(kernels(), 1, 1), "{metric}");
        for isa in KernelSet::available() {
            assert!(
                one == run(KernelSet::for_isa(isa).unwrap(), 1, 0),
                "{metric} {isa}"
            );
        }
    }
}

/// Counts units, and stops after a number of questions.
struct Watch {
    patience: AtomicU32,
    total: AtomicU64,
    done: AtomicU64,
}

impl Watch {
    fn new(patience: u32) -> Self {
        let (total, done) = (AtomicU64::new(0), AtomicU64::new(0));
        Self {
            patience: AtomicU32::new(patience),
            total,
            done,
        }
    }
}

impl Progress for Watch {
    fn stage(&self, _: &'static str, total: u64) {
        self.total.fetch_add(total, Ordering::Relaxed);
    }
    fn advance(&self, units: u64) {
        self.done.fetch_add(units, Ordering::Relaxed);
    }
    fn cancelled(&self) -> bool {
        let less = |left: u32| left.checked_sub(1);
        self.patience
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, less)
            .is_err()
    }
}

#[test]
fn progress_adds_up_and_stops_training() {
    let values = clustered(3000, 8, 12);
    let sample = TrainingSample {
        values: &values,
        dimension: 8,
        metric: Guide::Cosine,
    };
    let run = |watch: &Watch| {
        ProductQuantizer::train(&sample, &PqSpec::new(4), kernels(), &pool(2), watch)
    };
    let whole = Watch::new(u32::MAX);
    run(&whole).unwrap();
    assert_eq!(whole.total.into_inner(), 4 * u64::from(PqSpec::ROUNDS));
    assert_eq!(whole.done.into_inner(), 4 * u64::from(PqSpec::ROUNDS));
    for patience in [0, 1, 12, 100, 2000] {
        assert_eq!(
            run(&Watch::new(patience)),
            Err(QuantError::Cancelled(Cancelled))
        );
    }
}

#[test]
fn refuses_bad_samples() {
    let run = |values: &[f32], dimension, metric, code_bytes| {
        let sample = TrainingSample {
            values,
            dimension,
            metric,
        };
        let spec = PqSpec::new(code_bytes);
        ProductQuantizer::train(&sample, &spec, kernels(), &pool(1), &NoProgress).unwrap_err()
    };
    let length = |values, dimension| QuantError::SampleLength { values, dimension };
    assert_eq!(run(&[], 4, Guide::L2, 2), length(0, 4));
    assert_eq!(run(&[0.0; 6], 4, Guide::L2, 2), length(6, 4));
    let limit = 16_384;
    assert_eq!(
        run(&[1.0], 0, Guide::L2, 2),
        QuantError::Dimension { found: 0, limit }
    );
    let code_bytes = |code_bytes| QuantError::CodeBytes {
        code_bytes,
        dimension: 4,
    };
    assert_eq!(run(&[0.0; 4], 4, Guide::L2, 5), code_bytes(5));
    assert_eq!(run(&[0.0; 4], 4, Guide::L2, 0), code_bytes(0));
    let bad = [f32::NAN, f32::INFINITY, f32::NEG_INFINITY];
    for (value, metric) in bad
        .into_iter()
        .flat_map(|v| METRICS.map(|metric| (v, metric)))
    {
        let values = [1.0, 2.0, value, 4.0, 0.0, 0.0, 1.0, 1.0];
        assert_eq!(
            run(&values, 2, metric, 1),
            QuantError::SampleRange,
            "{value} {metric}"
        );
    }
    let huge: Vec<f32> = (0..600).map(|i| i as f32 * 5e35).collect();
    assert_eq!(run(&huge, 1, Guide::L2, 1), QuantError::SampleRange);
}

#[test]
fn memory_is_told_before_it_is_used() {
    let spec = PqSpec::new(32);
    let one = ProductQuantizer::train_bytes(256_000, 128, &spec, 1);
    let two = ProductQuantizer::train_bytes(256_000, 128, &spec, 2);
    let copy = 256_000 * 4 * 4;
    assert!(
        one > copy && one < 2 * copy && two > one + copy,
        "{one} {two}"
    );
    assert_eq!(
        two - one,
        ProductQuantizer::train_bytes(256_000, 128, &spec, 3) - two
    );
    let capped = |threads| ProductQuantizer::train_bytes(1000, 8, &PqSpec::new(2), threads);
    assert_eq!(capped(2), capped(64));
    assert_eq!(
        ProductQuantizer::train_bytes(usize::MAX, 8, &spec, 64),
        usize::MAX
    );

    let quantizer = train(&clustered(300, 10, 13), 10, Guide::L2, 4);
    let codebook = ProductQuantizer::codebook_bytes(10);
    assert_eq!(quantizer.to_bytes().len(), codebook);
    assert!(quantizer.resident_bytes().abs_diff(codebook) < 200);
    assert!(PqScorer::bytes(4, 10).abs_diff((4 * 256 + 10) * 4) < 100);
}
