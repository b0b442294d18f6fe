//! Errors keep to their bounds.

use pageway_types::Guide;

use super::fixture::{
    METRICS, ROTATIONS, bytes_for, encode, exact, kernels, normal, sample, score, spec, train,
};
use crate::rabitq::{RaBitQScorer, Rotation};
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
