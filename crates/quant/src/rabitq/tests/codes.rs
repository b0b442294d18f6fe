//! Codes: the best grid vector, its bytes, and the same on any machine.

use pageway_kernels::KernelSet;
use pageway_types::{ElementType, Guide, NoProgress, SplitMix64};

use super::fixture::{
    METRICS, ROTATIONS, bytes_for, encode, exact, kernels, normal, pool, sample, score, spec, train,
};
use crate::rabitq::encoder::dot;
use crate::rabitq::grid::Grid;
use crate::rabitq::{RaBitQScorer, RaBitQSpec, RaBitQuantizer, Rotation};
use crate::{CodeBatch, CodeForms, normalise};

#[test]
fn a_grid_vector_is_as_good_as_the_best_over_all_scales() {
    let values = normal(60, 48, 6);
    for (bits, rotation) in (1..=5).flat_map(|bits| ROTATIONS.map(|rotation| (bits, rotation))) {
        let spec = spec(bytes_for(48, bits), rotation);
        let quantizer = train(&sample(&values, 48, Guide::L2), &spec);
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

#[test]
fn signs_lie_in_front_and_are_a_code_of_one_bit() {
    let values = normal(500, 64, 7);
    let whole = train(
        &sample(&values, 64, Guide::L2),
        &spec(bytes_for(64, 3), Rotation::Hadamard),
    );
    let signs = train(
        &sample(&values, 64, Guide::L2),
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
            .map(|(q, code)| crate::rabitq::factors::Factors::read(q.layout.factors, code).rescale);
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
                if metric == Guide::Cosine {
                    normalise(&mut row);
                }
                quantizer.decode(kernels(), code, &mut decoded);
                error += exact(Guide::L2, &row, &decoded);
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
fn element_types_and_batch_sizes_agree() {
    let mut random = SplitMix64::new(13);
    let bytes: Vec<u8> = (0..301 * 24).map(|_| random.below(100) as u8).collect();
    let values: Vec<f32> = bytes.iter().map(|byte| f32::from(*byte)).collect();
    let quantizer = train(
        &sample(&values, 24, Guide::L2),
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
fn queries_that_are_turned_together_are_those_turned_alone() {
    for (metric, rotation) in METRICS
        .into_iter()
        .flat_map(|own| ROTATIONS.map(|r| (own, r)))
    {
        let (dimension, values) = (40, normal(300, 40, 9));
        let own = sample(&values, dimension, metric);
        let quantizer = train(&own, &spec(bytes_for(dimension, 4), rotation));
        let codes = encode(&quantizer, &values);
        let mut queries = normal(9, dimension, 10);
        let alone: Vec<_> = queries
            .chunks_exact(dimension)
            .map(|query| score(&quantizer, query, &codes))
            .collect();
        let asked = queries.clone();
        let mut turned = vec![f32::NAN; 9 * quantizer.axes()];
        quantizer.turn(kernels(), &mut queries, &mut turned);
        let turned = turned.chunks_exact(quantizer.axes());
        let asked = asked.chunks_exact(dimension).zip(turned);
        for ((query, turned), expected) in asked.zip(alone) {
            let mut scorer = RaBitQScorer::new(&quantizer, kernels());
            scorer.prepare_turned(&quantizer, (query, Some(turned)), CodeForms::Stored);
            let (mut estimates, mut errors) = (Vec::new(), Vec::new());
            let batch = CodeBatch::Inline { codes: &codes };
            scorer.score_with_errors(batch, &mut estimates, &mut errors);
            assert_eq!((estimates, errors), expected, "{metric} {rotation:?}");
        }
    }
}
