//! Estimates come near the distances, as near as their bits allow.

use pageway_kernels::KernelSet;
use pageway_types::{Guide, Place, SplitMix64};

use super::fixture::{
    METRICS, ROTATIONS, bytes_for, encode, exact, normal, relative_error, sample, score, spec,
    train,
};
use crate::rabitq::{RaBitQScorer, RaBitQSpec, RaBitQuantizer, Rotation};
use crate::{CodeBatch, CodeScorer};

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
            let quantizer = train(&sample(&values, 64, Guide::L2), &spec);
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
        &sample(&values, 9, Guide::Cosine),
        &spec(15, Rotation::Hadamard),
    );
    let (estimates, _) = score(&quantizer, &values[..9], &encode(&quantizer, &[0.0; 9]));
    assert!((estimates[0] - 1.0).abs() < 0.05, "{}", estimates[0]);
}

#[test]
fn gathered_and_inline_codes_give_the_same_estimates() {
    let values = normal(300, 30, 9);
    for (rotation, bytes) in [(Rotation::Hadamard, 9), (Rotation::Principal, 11)] {
        let quantizer = train(&sample(&values, 30, Guide::L2), &spec(bytes, rotation));
        let codes = encode(&quantizer, &values);
        let mut random = SplitMix64::new(1);
        let places: Vec<Place> = (0..77).map(|_| Place(random.below(300) as u32)).collect();
        let of_place = |place: &Place| codes[place.index() * bytes..][..bytes].to_vec();
        let batch: Vec<u8> = places.iter().flat_map(of_place).collect();
        let mut all = Vec::new();
        for isa in KernelSet::available() {
            let mut scorer = RaBitQScorer::new(&quantizer, KernelSet::for_isa(isa).unwrap());
            assert_eq!(scorer.code_bytes(), bytes);
            scorer.prepare(&quantizer, &values[..30]);
            let (mut gathered, mut inline) = (vec![f32::NAN; 9], Vec::new());
            let gather = CodeBatch::Gather {
                codes: &codes,
                places: &places,
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
fn the_largest_dimension_of_tests_is_coded() {
    let values = normal(6, 3072, 14);
    let spec = spec(bytes_for(3072, 8), Rotation::Hadamard);
    let quantizer = train(&sample(&values, 3072, Guide::L2), &spec);
    let (estimates, errors) = score(&quantizer, &values[..3072], &encode(&quantizer, &values));
    for (row, (estimate, error)) in values.chunks_exact(3072).zip(estimates.iter().zip(&errors)) {
        let gap = (f64::from(*estimate) - exact(Guide::L2, &values[..3072], row)).abs();
        assert!(gap <= 3.0 * f64::from(*error).max(1e-2), "{gap} {error}");
    }
}
