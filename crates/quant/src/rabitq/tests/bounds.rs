//! Errors keep to their bounds.

use pageway_types::{Guide, SplitMix64};

use super::fixture::{
    METRICS, ROTATIONS, bytes_for, encode, exact, kernels, normal, sample, score, spec, train,
};
use crate::rabitq::{RaBitQScorer, RaBitQuantizer, Rotation};
use crate::{CodeBatch, CodeScorer};

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

/// Rows of many components that vary as much on all axes: bytes of axes err as much as codes do.
#[test]
fn errors_of_narrow_axes_are_within_the_bounds() {
    let dimension = 640;
    let mut random = SplitMix64::new(9);
    let mut value = || (0..4).map(|_| random.unit()).sum::<f64>() as f32 - 2.0;
    let values: Vec<f32> = (0..1020 * dimension).map(|_| value()).collect();
    let (queries, rows) = values.split_at(20 * dimension);
    for (metric, bits) in METRICS.into_iter().flat_map(|m| [(m, 4), (m, 8)]) {
        let spec = spec(bytes_for(dimension, bits), Rotation::Principal);
        let quantizer = train(&sample(rows, dimension, metric), &spec);
        assert!(quantizer.frame.noise().sum::<f64>() > 0.0);
        let codes = encode(&quantizer, rows);
        let mut within = 0;
        for query in queries.chunks_exact(dimension) {
            let (estimates, errors) = score(&quantizer, query, &codes);
            let rows = rows.chunks_exact(dimension);
            for (row, (estimate, error)) in rows.zip(estimates.iter().zip(&errors)) {
                let gap = (f64::from(*estimate) - exact(metric, query, row)).abs();
                within += usize::from(gap <= f64::from(*error));
            }
        }
        let within = f64::from(within as u32) / 2e4;
        assert!((0.93..0.995).contains(&within), "{metric} {bits}: {within}");
    }
}

#[test]
fn bounds_of_near_rows_are_as_narrow_as_their_errors() {
    let values = normal(2050, 80, 6);
    let (queries, rest) = values.split_at(50 * 80);
    // Rows nearer and nearer to the queries, of 40 rows each.
    let nearness = |row: usize| [1.0, 0.3, 0.1][row % 3];
    let rows: Vec<f32> = rest
        .chunks_exact(80)
        .enumerate()
        .flat_map(|(row, values)| {
            let query = &queries[row / 40 * 80..][..80];
            let mix = move |(q, v): (&f32, &f32)| q + nearness(row) * (v - q);
            query.iter().zip(values).map(mix).collect::<Vec<f32>>()
        })
        .collect();
    for (metric, rotation) in [Guide::L2, Guide::Cosine]
        .into_iter()
        .flat_map(|m| ROTATIONS.map(|r| (m, r)))
    {
        for bits in [2, 4] {
            let spec = spec(bytes_for(80, bits), rotation);
            let quantizer = train(&sample(&values, 80, metric), &spec);
            let codes = encode(&quantizer, &rows);
            // Of each nearness: squared gaps in units of errors, and errors.
            let mut sums = [(0.0, 0.0); 3];
            for (number, query) in queries.chunks_exact(80).enumerate() {
                let (estimates, errors) = score(&quantizer, query, &codes);
                for row in number * 40..(number + 1) * 40 {
                    let error = f64::from(errors[row] / RaBitQScorer::EPSILON);
                    let gap =
                        f64::from(estimates[row]) - exact(metric, query, &rows[row * 80..][..80]);
                    sums[row % 3].0 += (gap / error).powi(2);
                    sums[row % 3].1 += error;
                }
            }
            let of = format!("{metric} {rotation:?} {bits}: {sums:?}");
            for (squares, _) in sums {
                assert!((0.2..1.3).contains(&(squares / 667.0).sqrt()), "{of}");
            }
            // What lies outside of principal axes is not seen any better from near by.
            if rotation == Rotation::Hadamard {
                assert!(sums[2].1 < 0.4 * sums[0].1, "{of}");
            }
        }
    }
}

#[test]
fn the_width_of_bounds_follows_epsilon() {
    let values = normal(300, 40, 5);
    let quantizer = train(
        &sample(&values, 40, Guide::L2),
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
    // Known without another sum, too.
    let codes = codes.chunks(quantizer.code_bytes()).zip(&estimates);
    let again: Vec<f32> = codes.map(|(c, e)| scorer.code_error(c, *e)).collect();
    assert_eq!(again, errors);
}

/// The farthest that an estimate is off, in standard errors that are told of it.
fn farthest(quantizer: &RaBitQuantizer, queries: &[f32], rows: &[f32]) -> f64 {
    let dimension = quantizer.dimension();
    let codes = encode(quantizer, rows);
    let mut farthest = 0.0_f64;
    for query in queries.chunks_exact(dimension) {
        let (estimates, errors) = score(quantizer, query, &codes);
        let told = estimates.iter().zip(&errors);
        for (row, (estimate, error)) in rows.chunks_exact(dimension).zip(told) {
            let gap = f64::from(*estimate) - exact(quantizer.metric(), query, row);
            let deviation = f64::from(error / RaBitQScorer::EPSILON);
            farthest = farthest.max(gap.abs() / deviation);
        }
    }
    farthest
}

#[test]
fn rounded_factors_of_one_axis_are_in_their_bounds() {
    let values = normal(540, 1, 9);
    let (queries, rows) = values.split_at(40);
    for metric in METRICS {
        for code_bytes in [5, 9] {
            let spec = spec(code_bytes, Rotation::Principal);
            let quantizer = train(&sample(&values, 1, metric), &spec);
            let off = farthest(&quantizer, queries, rows);
            assert!(off < 4.5, "{metric} {code_bytes}: {off}");
        }
    }
}

#[test]
fn products_with_rows_far_longer_than_the_query_are_in_their_bounds() {
    for (dimension, code_bytes) in [(1, 5), (1, 9), (3, 6), (3, 11), (32, 16), (32, 40)] {
        let mut values = normal(540, dimension, 10);
        for (number, row) in values.chunks_exact_mut(dimension).enumerate() {
            let scale = 10_f32.powf((number * 7 % 61) as f32 / 10.0 - 3.0);
            for value in row {
                *value *= scale;
            }
        }
        let (queries, rows) = values.split_at(40 * dimension);
        let spec = spec(code_bytes, Rotation::Principal);
        let quantizer = train(&sample(&values, dimension, Guide::InnerProduct), &spec);
        let off = farthest(&quantizer, queries, rows);
        assert!(off < 10.0, "{dimension} {code_bytes}: {off}");
    }
}

#[test]
fn bounds_go_with_the_scale_of_vectors() {
    let values = normal(300, 16, 11);
    let told = |metric: Guide, power: i32| {
        let scale = 2.0_f32.powi(power);
        let scaled: Vec<f32> = values.iter().map(|value| value * scale).collect();
        let quantizer = train(&sample(&scaled, 16, metric), &spec(12, Rotation::Principal));
        let (_, errors) = score(&quantizer, &scaled[..16], &encode(&quantizer, &scaled));
        let per_square = f64::from(scale).powi(-2);
        let errors = errors.iter().map(|error| f64::from(*error) * per_square);
        errors.collect::<Vec<f64>>()
    };
    for metric in [Guide::L2, Guide::InnerProduct] {
        let usual = told(metric, 0);
        for power in [-44, -30, 30, 44] {
            for (own, usual) in told(metric, power).iter().zip(&usual) {
                assert!(
                    (own / usual - 1.0).abs() < 1e-4,
                    "{metric} {power}: {own} {usual}"
                );
            }
        }
    }
}
