//! Errors keep to their bounds.

use pageway_types::Metric;

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
