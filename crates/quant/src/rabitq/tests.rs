//! RaBitQ from end to end, against direct computation in `f64`.

use pageway_kernels::KernelSet;
use pageway_types::{Cancelled, ElementType, Metric, NoProgress, NodeId, Progress, SplitMix64};
use proptest::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};

use super::encoder::dot;
use super::grid::Grid;
use super::{RaBitQScorer, RaBitQSpec, RaBitQuantizer, Rotation};
use crate::{CodeBatch, CodeScorer, QuantError, TrainingSample, normalise};

const METRICS: [Metric; 3] = [Metric::L2, Metric::InnerProduct, Metric::Cosine];
const ROTATIONS: [Rotation; 2] = [Rotation::Hadamard, Rotation::Principal];

fn kernels() -> &'static KernelSet {
    KernelSet::detect().unwrap()
}

fn pool(threads: usize) -> ThreadPool {
    let builder = ThreadPoolBuilder::new().num_threads(threads);
    builder.build().unwrap()
}

/// Rows off the origin, normally distributed, with a spread that falls from axis to axis.
fn normal(rows: usize, dimension: usize, seed: u64) -> Vec<f32> {
    let mut random = SplitMix64::stream(seed, 0);
    let mut noise = move || (0..12).map(|_| random.unit()).sum::<f64>() - 6.0;
    let spread = |axis: usize| 0.1 + 4.0 * (-8.0 * axis as f64 / dimension as f64).exp();
    (0..rows * dimension)
        .map(|value| (1.0 + noise() * spread(value % dimension)) as f32)
        .collect()
}

fn spec(code_bytes: usize, rotation: Rotation) -> RaBitQSpec {
    RaBitQSpec {
        rotation,
        ..RaBitQSpec::new(code_bytes as u32)
    }
}

fn sample(values: &[f32], dimension: usize, metric: Metric) -> TrainingSample<'_> {
    TrainingSample {
        values,
        dimension,
        metric,
    }
}

fn train(sample: &TrainingSample<'_>, spec: &RaBitQSpec) -> RaBitQuantizer {
    RaBitQuantizer::train(sample, spec, kernels(), &pool(2), &NoProgress).unwrap()
}

/// Bytes of a code with about `bits` per axis.
fn bytes_for(dimension: usize, bits: usize) -> usize {
    let factors = if bits > 3 { 8 } else { 4 };
    factors + (dimension * bits).div_ceil(8)
}

fn encode(quantizer: &RaBitQuantizer, values: &[f32]) -> Vec<u8> {
    let rows: Vec<u8> = values.iter().flat_map(|v| v.to_le_bytes()).collect();
    let mut codes = vec![0xa5; values.len() / quantizer.dimension() * quantizer.code_bytes()];
    quantizer
        .encoder(ElementType::F32, kernels())
        .encode(&rows, &mut codes);
    codes
}

/// Estimates and the half widths of their bounds.
fn score(quantizer: &RaBitQuantizer, query: &[f32], codes: &[u8]) -> (Vec<f32>, Vec<f32>) {
    let mut scorer = RaBitQScorer::new(quantizer, kernels());
    let (mut estimates, mut errors) = (Vec::new(), Vec::new());
    scorer.prepare(quantizer, query);
    scorer.score_with_errors(CodeBatch::Inline { codes }, &mut estimates, &mut errors);
    (estimates, errors)
}

/// The distance by definition.
fn exact(metric: Metric, a: &[f32], b: &[f32]) -> f64 {
    let differences = a.iter().zip(b).map(|(a, b)| f64::from(*a) - f64::from(*b));
    match metric {
        Metric::L2 => differences.map(|d| d * d).sum(),
        Metric::InnerProduct => -dot(a, b),
        Metric::Cosine => 1.0 - dot(a, b) / (dot(a, a) * dot(b, b)).sqrt(),
    }
}

/// Root of the mean squared error of estimates, in parts of what the exact distances vary by.
fn relative_error(quantizer: &RaBitQuantizer, values: &[f32], queries: usize) -> f64 {
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

#[test]
fn estimates_improve_with_bits_and_errors_halve_for_each() {
    let values = normal(1100, 96, 1);
    for (metric, rotation) in METRICS.into_iter().flat_map(|m| ROTATIONS.map(|r| (m, r))) {
        let errors: Vec<f64> = (1..=8)
            .map(|bits| {
                let spec = spec(bytes_for(96, bits), rotation);
                let quantizer = train(&sample(&values, 96, metric), &spec);
                assert_eq!(quantizer.code_bytes(), spec.code_bytes as usize);
                relative_error(&quantizer, &values, 40)
            })
            .collect();
        // The first principal axes have all their eight bits long before the others.
        let (least, whole) = match rotation {
            Rotation::Hadamard => (1.5, 60.0),
            Rotation::Principal => (1.1, 15.0),
        };
        for pair in errors.windows(2) {
            let ratio = pair[0] / pair[1];
            assert!(
                (least..3.2).contains(&ratio),
                "{metric} {rotation:?}: {errors:?}"
            );
        }
        assert!(
            errors[0] / errors[7] > whole,
            "{metric} {rotation:?}: {errors:?}"
        );
    }
}

#[test]
fn principal_axes_beat_random_ones_where_variances_differ() {
    let values = normal(2100, 64, 2);
    for bits in 1..=4 {
        let [random, principal] = ROTATIONS.map(|rotation| {
            let spec = spec(bytes_for(64, bits), rotation);
            let quantizer = train(&sample(&values, 64, Metric::L2), &spec);
            relative_error(&quantizer, &values, 40)
        });
        assert!(
            principal < 0.7 * random,
            "{bits} bits: {principal} {random}"
        );
    }
}

#[test]
fn estimates_are_right_on_average_over_rotations() {
    let values = normal(40, 33, 3);
    let (query, row) = (&values[..33], &values[33..66]);
    for (metric, bits) in METRICS.into_iter().flat_map(|m| [1, 2, 5].map(|b| (m, b))) {
        let exact = exact(metric, query, row);
        let errors: Vec<f64> = (0..150)
            .map(|seed| {
                let spec = RaBitQSpec {
                    seed,
                    ..spec(bytes_for(33, bits), Rotation::Hadamard)
                };
                let quantizer = train(&sample(&values, 33, metric), &spec);
                let (estimates, _) = score(&quantizer, query, &encode(&quantizer, row));
                f64::from(estimates[0]) - exact
            })
            .collect();
        let mean = errors.iter().sum::<f64>() / 150.0;
        let deviation = (errors.iter().map(|e| e * e).sum::<f64>() / 150.0).sqrt();
        assert!(
            mean.abs() < 4.0 * deviation / 150.0_f64.sqrt(),
            "{metric} {bits}: {mean} {deviation}"
        );
    }
}

#[test]
fn errors_keep_to_their_bounds_as_often_as_they_say() {
    let values = normal(2050, 80, 4);
    let (queries, rows) = values.split_at(50 * 80);
    for (metric, rotation) in METRICS.into_iter().flat_map(|m| ROTATIONS.map(|r| (m, r))) {
        for bits in [1, 2, 4, 7] {
            let spec = spec(bytes_for(80, bits), rotation);
            let quantizer = train(&sample(&values, 80, metric), &spec);
            let codes = encode(&quantizer, rows);
            let (mut within, mut wide) = (0, 0);
            for query in queries.chunks_exact(80) {
                let (estimates, errors) = score(&quantizer, query, &codes);
                for (row, (estimate, error)) in
                    rows.chunks_exact(80).zip(estimates.iter().zip(&errors))
                {
                    let gap = (f64::from(*estimate) - exact(metric, query, row)).abs();
                    within += usize::from(gap <= f64::from(*error));
                    wide += usize::from(gap <= f64::from(error / 4.0));
                }
            }
            let [within, wide] = [within, wide].map(|n| n as f64 / 1e5);
            // 1.9 standard errors hold 94 % of a normal distribution; lengths are rounded up.
            assert!(
                (0.93..0.995).contains(&within),
                "{metric} {rotation:?} {bits}: {within}"
            );
            assert!(wide < 0.55, "{metric} {rotation:?} {bits}: {wide}");
        }
    }
}

#[test]
fn the_width_of_bounds_follows_epsilon() {
    let values = normal(300, 40, 5);
    let quantizer = train(
        &sample(&values, 40, Metric::L2),
        &spec(20, Rotation::Principal),
    );
    let codes = encode(&quantizer, &values);
    let mut scorer = RaBitQScorer::new(&quantizer, kernels());
    scorer.prepare(&quantizer, &values[..40]);
    let batch = CodeBatch::Inline { codes: &codes };
    let (mut estimates, mut errors) = (Vec::new(), Vec::new());
    scorer.score_with_errors(batch, &mut estimates, &mut errors);
    let default = errors.clone();
    scorer.set_epsilon(2.0 * RaBitQScorer::EPSILON);
    scorer.score_with_errors(batch, &mut estimates, &mut errors);
    assert!(
        errors
            .iter()
            .zip(&default)
            .all(|(a, b)| *a == 2.0 * b && *b > 0.0)
    );
    let mut plain = Vec::new();
    scorer.score(batch, &mut plain);
    assert_eq!(plain, estimates);
}

#[test]
fn a_grid_vector_is_as_good_as_the_best_over_all_scales() {
    let values = normal(60, 48, 6);
    for (bits, rotation) in (1..=5).flat_map(|bits| ROTATIONS.map(|rotation| (bits, rotation))) {
        let spec = spec(bytes_for(48, bits), rotation);
        let quantizer = train(&sample(&values, 48, Metric::L2), &spec);
        let axes = quantizer.axes();
        let (mut grid, mut numbers) = (Grid::new(&quantizer.layout), vec![0; axes]);
        let mut vector = vec![0.0; axes];
        let mut losses = Vec::new();
        for row in values.chunks_exact(48) {
            let pairs = row.iter().zip(quantizer.centroid(0));
            let residual: Vec<f32> = pairs.map(|(v, mean)| v - mean).collect();
            let mut y = vec![0.0; axes];
            quantizer.rotate(kernels(), &residual, &mut y);
            grid.nearest(&y, &mut numbers);
            quantizer.layout.values(&numbers, &mut vector);
            let cosine = |g: &[f32]| dot(g, &y) / (dot(g, g) * dot(&y, &y)).sqrt();
            let best = best_cosine(&quantizer, &y, cosine);
            let found = cosine(&vector);
            assert!(found <= best + 1e-6);
            losses.push((1.0 - found + 1e-7) / (1.0 - best + 1e-7));
        }
        let mean = losses.iter().sum::<f64>() / losses.len() as f64;
        let worst = losses.iter().copied().fold(0.0, f64::max);
        assert!(
            mean < 1.015 && worst < 1.3,
            "{bits} {rotation:?}: {mean} {worst}"
        );
    }
}

/// The largest cosine over every scale at which a number changes.
fn best_cosine(quantizer: &RaBitQuantizer, y: &[f32], cosine: impl Fn(&[f32]) -> f64) -> f64 {
    let segments: Vec<_> = quantizer.layout.per_axis().collect();
    let axes = || y.iter().zip(&segments);
    let mut scales = vec![0.0];
    for (y, segment) in axes() {
        let top = (1_u16 << (segment.bits - 1)) - 1;
        let magnitude = f64::from(y.abs() / segment.step);
        scales.extend((1..=top).map(|level| f64::from(level) / magnitude * (1.0 + 1e-9)));
    }
    let at = |scale: f64| {
        let vector: Vec<f32> = axes()
            .map(|(y, segment)| {
                let top = f64::from((1_u16 << (segment.bits - 1)) - 1);
                let level = (scale * f64::from(y.abs() / segment.step)).floor().min(top);
                (level as f32 + 0.5).copysign(*y) * segment.step
            })
            .collect();
        cosine(&vector)
    };
    scales.into_iter().map(at).fold(-1.0, f64::max)
}

/// Rows around some centres far apart.
fn grouped(rows: usize, dimension: usize, seed: u64) -> Vec<f32> {
    let mut values = normal(rows, dimension, seed);
    let centres = normal(30, dimension, seed + 1);
    for (number, row) in values.chunks_exact_mut(dimension).enumerate() {
        let centre = &centres[number % 30 * dimension..][..dimension];
        for (value, centre) in row.iter_mut().zip(centre) {
            *value += 5.0 * centre;
        }
    }
    values
}

#[test]
fn many_centroids_make_the_errors_of_grouped_rows_smaller() {
    let values = grouped(3000, 32, 20);
    for (metric, rotation) in METRICS.into_iter().flat_map(|m| ROTATIONS.map(|r| (m, r))) {
        let sample = sample(&values, 32, metric);
        let [one, many, most] = [1, 200, 300].map(|centroids| {
            let spec = RaBitQSpec {
                centroids,
                ..spec(20, rotation)
            };
            let quantizer = train(&sample, &spec);
            assert_eq!(quantizer.centroids(), centroids as usize);
            let back = RaBitQuantizer::from_bytes(&quantizer.to_bytes()).unwrap();
            assert_eq!(back, quantizer);
            assert!(quantizer.resident_bytes() <= RaBitQuantizer::codebook_bytes(32, &spec));
            let (query, codes) = (&values[..32], encode(&quantizer, &values));
            let (estimates, errors) = score(&quantizer, query, &codes);
            let rows = values.chunks_exact(32).zip(estimates.iter().zip(&errors));
            let within = rows.filter(|(row, (estimate, error))| {
                let gap = f64::from(**estimate) - exact(metric, query, row);
                gap.abs() <= f64::from(**error)
            });
            let within = within.count() as f64 / 3000.0;
            assert!(within > 0.85, "{metric} {rotation:?} {centroids}: {within}");
            relative_error(&quantizer, &values, 20)
        });
        let errors = [one, many, most];
        assert!(
            many < 0.8 * one && most < 0.8 * one,
            "{metric} {rotation:?}: {errors:?}"
        );
    }
}

#[test]
fn signs_lie_in_front_and_are_a_code_of_one_bit() {
    let values = normal(500, 64, 7);
    let whole = train(
        &sample(&values, 64, Metric::L2),
        &spec(bytes_for(64, 3), Rotation::Hadamard),
    );
    let signs = train(
        &sample(&values, 64, Metric::L2),
        &spec(bytes_for(64, 1), Rotation::Hadamard),
    );
    let (codes, short) = (encode(&whole, &values), encode(&signs, &values));
    let mut numbers = [vec![0; 64], vec![0; 64]];
    let (mut ratio, mut count) = (0.0, 0.0);
    for (code, short) in codes
        .chunks_exact(whole.code_bytes())
        .zip(short.chunks_exact(signs.code_bytes()))
    {
        assert_eq!(code[4..12], short[4..12]);
        whole.layout.unpack(code, 1, &mut numbers[0]);
        signs.layout.unpack(short, 1, &mut numbers[1]);
        assert!(
            numbers[0]
                .iter()
                .zip(&numbers[1])
                .all(|(a, b)| a >> 2 == *b)
        );
        // The factor of the prefix: the signs of three bits are four times as long in steps.
        let factors = [(&whole, code), (&signs, short)]
            .map(|(q, code)| super::factors::Factors::read(q.layout.factors, code).rescale);
        let steps = 4.0 * whole.layout.segments[0].step / signs.layout.segments[0].step;
        ratio += f64::from(factors[0] * whole.prefixes[0] * steps / factors[1]);
        count += 1.0;
    }
    assert!((ratio / count - 1.0).abs() < 0.02, "{}", ratio / count);
}

#[test]
fn decoded_vectors_come_near_the_rows() {
    let values = normal(600, 50, 8);
    for (metric, rotation) in METRICS.into_iter().flat_map(|m| ROTATIONS.map(|r| (m, r))) {
        let mut last = f64::INFINITY;
        for bits in [1, 2, 4, 8] {
            let spec = spec(bytes_for(50, bits), rotation);
            let quantizer = train(&sample(&values, 50, metric), &spec);
            let codes = encode(&quantizer, &values);
            let (mut error, mut decoded) = (0.0, vec![f32::NAN; 50]);
            for (row, code) in values
                .chunks_exact(50)
                .zip(codes.chunks_exact(quantizer.code_bytes()))
            {
                let mut row = row.to_vec();
                if metric == Metric::Cosine {
                    normalise(&mut row);
                }
                quantizer.decode(code, &mut decoded);
                error += exact(Metric::L2, &row, &decoded);
            }
            assert!(
                error < 0.6 * last,
                "{metric} {rotation:?} {bits}: {error} {last}"
            );
            last = error;
        }
    }
}

#[test]
fn gathered_and_inline_codes_give_the_same_estimates() {
    let values = normal(300, 30, 9);
    for (rotation, bytes) in [(Rotation::Hadamard, 9), (Rotation::Principal, 11)] {
        let quantizer = train(&sample(&values, 30, Metric::L2), &spec(bytes, rotation));
        let codes = encode(&quantizer, &values);
        let mut random = SplitMix64::new(1);
        let nodes: Vec<NodeId> = (0..77).map(|_| NodeId(random.below(300) as u32)).collect();
        let of_node = |node: &NodeId| codes[node.index() * bytes..][..bytes].to_vec();
        let batch: Vec<u8> = nodes.iter().flat_map(of_node).collect();
        let mut all = Vec::new();
        for isa in KernelSet::available() {
            let mut scorer = RaBitQScorer::new(&quantizer, KernelSet::for_isa(isa).unwrap());
            assert_eq!(scorer.code_bytes(), bytes);
            scorer.prepare(&quantizer, &values[..30]);
            let (mut gathered, mut inline) = (vec![f32::NAN; 9], Vec::new());
            let gather = CodeBatch::Gather {
                codes: &codes,
                nodes: &nodes,
            };
            scorer.score(gather, &mut gathered);
            scorer.score(CodeBatch::Inline { codes: &batch }, &mut inline);
            assert_eq!(gathered, inline);
            assert_eq!(gathered.len(), 77);
            all.push(inline);
            scorer.score(CodeBatch::Inline { codes: &[] }, &mut gathered);
            assert!(gathered.is_empty());
        }
        assert!(all.iter().all(|estimates| *estimates == all[0]));
    }
}

#[test]
fn bytes_depend_on_the_seed_but_not_on_threads_or_instruction_set() {
    let values = normal(900, 37, 10);
    for (metric, rotation) in METRICS.into_iter().flat_map(|m| ROTATIONS.map(|r| (m, r))) {
        let run = |kernels, threads, seed| {
            let spec = RaBitQSpec {
                seed,
                ..spec(bytes_for(37, 2), rotation)
            };
            let sample = sample(&values, 37, metric);
            let quantizer =
                RaBitQuantizer::train(&sample, &spec, kernels, &pool(threads), &NoProgress);
            let quantizer = quantizer.unwrap();
            let rows: Vec<u8> = values.iter().flat_map(|v| v.to_le_bytes()).collect();
            let mut codes = vec![0; 900 * quantizer.code_bytes()];
            let mut encoder = quantizer.encoder(ElementType::F32, kernels);
            encoder.encode(&rows, &mut codes);
            (quantizer.to_bytes(), codes)
        };
        let one = run(kernels(), 1, 0);
        assert!(one == run(kernels(), 2, 0) && one == run(kernels(), 5, 0));
        assert!(one != run(kernels(), 1, 1));
        for isa in KernelSet::available() {
            let other = run(KernelSet::for_isa(isa).unwrap(), 1, 0);
            assert!(one == other, "{metric} {rotation:?} {isa}");
        }
    }
}

#[test]
fn awkward_shapes_and_values_are_coded() {
    for dimension in [1, 3, 100, 129, 700] {
        for (metric, rotation) in METRICS.into_iter().flat_map(|m| ROTATIONS.map(|r| (m, r))) {
            for rows in [1, 2, 20] {
                let values = normal(rows, dimension, 11);
                let spec = spec(bytes_for(dimension, 3), rotation);
                let quantizer = train(&sample(&values, dimension, metric), &spec);
                let others = [
                    values.as_slice(),
                    &vec![0.0; dimension],
                    &vec![1e3; dimension],
                ];
                let codes = encode(&quantizer, &others.concat());
                for query in others.concat().chunks_exact(dimension) {
                    let (estimates, errors) = score(&quantizer, query, &codes);
                    let numbers = estimates.iter().chain(&errors);
                    assert!(numbers.copied().all(f32::is_finite), "{dimension} {rows}");
                }
            }
        }
    }
}

#[test]
fn equal_rows_are_estimated_exactly() {
    let equal = vec![-2.5_f32; 64 * 9];
    for (metric, rotation) in METRICS.into_iter().flat_map(|m| ROTATIONS.map(|r| (m, r))) {
        let quantizer = train(&sample(&equal, 9, metric), &spec(10, rotation));
        let query = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, -9.0];
        let (estimates, errors) = score(&quantizer, &query, &encode(&quantizer, &equal[..9]));
        let wanted = exact(metric, &query, &equal[..9]);
        assert!(
            (f64::from(estimates[0]) - wanted).abs() < 1e-4 * wanted.abs(),
            "{metric}"
        );
        assert!(errors[0] < 1e-3, "{metric}");
    }
    // A zero vector has no direction: at distance 1 from everything.
    let values = normal(200, 9, 12);
    let quantizer = train(
        &sample(&values, 9, Metric::Cosine),
        &spec(15, Rotation::Hadamard),
    );
    let (estimates, _) = score(&quantizer, &values[..9], &encode(&quantizer, &[0.0; 9]));
    assert!((estimates[0] - 1.0).abs() < 0.05, "{}", estimates[0]);
}

#[test]
fn element_types_and_batch_sizes_agree() {
    let mut random = SplitMix64::new(13);
    let bytes: Vec<u8> = (0..301 * 24).map(|_| random.below(100) as u8).collect();
    let values: Vec<f32> = bytes.iter().map(|byte| f32::from(*byte)).collect();
    let quantizer = train(
        &sample(&values, 24, Metric::L2),
        &spec(12, Rotation::Principal),
    );
    let wanted = encode(&quantizer, &values);
    let mut encoder = quantizer.encoder(ElementType::U8, kernels());
    let mut codes = vec![0; wanted.len()];
    encoder.encode(&bytes, &mut codes);
    assert_eq!(codes, wanted);
    let mut one = [0xff; 12];
    encoder.encode(&bytes[24..48], &mut one);
    assert_eq!(one, wanted[12..24]);
}

#[test]
fn the_largest_dimension_of_tests_is_coded() {
    let values = normal(6, 3072, 14);
    let spec = spec(bytes_for(3072, 8), Rotation::Hadamard);
    let quantizer = train(&sample(&values, 3072, Metric::L2), &spec);
    let (estimates, errors) = score(&quantizer, &values[..3072], &encode(&quantizer, &values));
    for (row, (estimate, error)) in values.chunks_exact(3072).zip(estimates.iter().zip(&errors)) {
        let gap = (f64::from(*estimate) - exact(Metric::L2, &values[..3072], row)).abs();
        assert!(gap <= 3.0 * f64::from(*error).max(1e-2), "{gap} {error}");
    }
}

#[test]
fn refuses_what_cannot_be_trained() {
    let run = |values: &[f32], dimension, spec: &RaBitQSpec| {
        let sample = sample(values, dimension, Metric::L2);
        RaBitQuantizer::train(&sample, spec, kernels(), &pool(1), &NoProgress).unwrap_err()
    };
    let length = |values, dimension| QuantError::SampleLength { values, dimension };
    assert_eq!(run(&[], 4, &spec(6, Rotation::Hadamard)), length(0, 4));
    assert_eq!(
        run(&[0.0; 6], 4, &spec(6, Rotation::Hadamard)),
        length(6, 4)
    );
    for (rotation, limit) in [(Rotation::Hadamard, 16_384), (Rotation::Principal, 4096)] {
        for found in [0, limit + 1] {
            let error = QuantError::Dimension { found, limit };
            assert_eq!(run(&[1.0], found, &spec(6, rotation)), error);
        }
        for code_bytes in [0, 4, 18] {
            let error = run(&[0.0; 9], 9, &spec(code_bytes, rotation));
            let smallest = if rotation == Rotation::Hadamard { 6 } else { 5 };
            let largest = 17;
            let wanted = QuantError::CodeLength {
                code_bytes,
                smallest,
                largest,
            };
            assert_eq!(error, wanted);
        }
    }
    for value in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY, 3e38] {
        let values = [1.0, value, -3e38, 4.0, 0.0, 0.0];
        for rotation in ROTATIONS {
            assert_eq!(
                run(&values, 2, &spec(6, rotation)),
                QuantError::SampleRange,
                "{value}"
            );
        }
    }
}

struct Stopped;

impl Progress for Stopped {
    fn stage(&self, _: &'static str, _: u64) {}
    fn advance(&self, _: u64) {}
    fn cancelled(&self) -> bool {
        true
    }
}

#[test]
fn training_stops_on_request_and_tells_its_memory() {
    let values = normal(100, 16, 15);
    for rotation in ROTATIONS {
        let spec = spec(12, rotation);
        let sample = sample(&values, 16, Metric::L2);
        let stopped = RaBitQuantizer::train(&sample, &spec, kernels(), &pool(1), &Stopped);
        assert_eq!(stopped, Err(QuantError::Cancelled(Cancelled)));
        let quantizer = train(&sample, &spec);
        let most = RaBitQuantizer::codebook_bytes(16, &spec);
        assert!(
            quantizer.resident_bytes() <= most,
            "{}",
            quantizer.resident_bytes()
        );
        assert!(quantizer.to_bytes().len() <= most);
        assert!(RaBitQuantizer::train_bytes(100, 16, &spec, 2) > most);
        let least = quantizer.bits() * 2;
        assert!(RaBitQScorer::bytes(&spec, 16) > least);
    }
    let bytes = |rotation| RaBitQuantizer::train_bytes(100_000, 960, &spec(120, rotation), 2);
    assert!(bytes(Rotation::Principal) > 2 * 960 * 960 * 8);
    assert!(bytes(Rotation::Hadamard) < 1 << 20);
}

fn trained(rotation: Rotation) -> RaBitQuantizer {
    let values = normal(200, 12, 16);
    train(
        &sample(&values, 12, Metric::InnerProduct),
        &spec(9, rotation),
    )
}

#[test]
fn codebooks_are_read_back() {
    let values = normal(50, 12, 17);
    for quantizer in ROTATIONS.map(trained) {
        let bytes = quantizer.to_bytes();
        assert!(bytes.starts_with(&RaBitQuantizer::MAGIC));
        let back = RaBitQuantizer::from_bytes(&bytes).unwrap();
        assert_eq!(back, quantizer);
        assert_eq!(encode(&back, &values), encode(&quantizer, &values));
    }
}

#[test]
fn codebooks_of_any_other_length_are_refused() {
    for quantizer in ROTATIONS.map(trained) {
        let bytes = quantizer.to_bytes();
        for length in 0..bytes.len() {
            let found = length;
            let error = RaBitQuantizer::from_bytes(&bytes[..length]).unwrap_err();
            assert!(
                matches!(error, QuantError::CodebookLength { expected, found: f }
                    if f == found && expected > found),
                "{length}: {error}"
            );
        }
        let longer = [bytes.as_slice(), &[0; 4]].concat();
        let (expected, found) = (bytes.len(), longer.len());
        let error = QuantError::CodebookLength { expected, found };
        assert_eq!(RaBitQuantizer::from_bytes(&longer), Err(error));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    /// No bytes make the reader or what it read panic.
    #[test]
    fn damaged_codebooks_are_refused_or_usable(
        principal: bool,
        at in 0_usize..1000,
        byte: u8,
    ) {
        let quantizer = trained(ROTATIONS[usize::from(principal)]);
        let mut bytes = quantizer.to_bytes();
        let at = at % bytes.len();
        bytes[at] = byte;
        if let Ok(read) = RaBitQuantizer::from_bytes(&bytes) {
            let values = normal(3, read.dimension(), 18);
            let codes = encode(&read, &values);
            let (estimates, _) = score(&read, &values[..read.dimension()], &codes);
            prop_assert_eq!(estimates.len(), 3);
            let mut out = vec![0.0; read.dimension()];
            read.decode(&vec![0xff; read.code_bytes()], &mut out);
            prop_assert_eq!(read.to_bytes(), bytes);
        }
    }
}
