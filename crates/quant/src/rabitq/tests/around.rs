//! Codes around centres of the caller.

use pageway_types::{ElementType, Guide};

use super::fixture::{METRICS, ROTATIONS, bytes_for, exact, kernels, normal, sample, spec, train};
use crate::rabitq::RaBitQScorer;
use crate::rabitq::encoder::{dot, squared_l2};
use crate::{Centre, CodeBatch, CodeScorer, normalise};

const DIMENSION: usize = 48;

/// Mean squared error of estimates around a centre near the rows, of estimates by codes of the
/// whole rows, and the share of errors within two standard errors. Rows lie around `origin` in
/// each component.
fn errors(metric: Guide, rotation: crate::rabitq::Rotation, origin: f32) -> (f64, f64, f64) {
    // A heap of rows around each of some centres.
    let mut centres = normal(20, DIMENSION, 3);
    for value in &mut centres {
        *value += origin;
    }
    let noise: Vec<f32> = normal(1200, DIMENSION, 4)
        .iter()
        .map(|v| (v - 1.0) * 0.2)
        .collect();
    let heap = |row: usize| &centres[row % 20 * DIMENSION..][..DIMENSION];
    let rows: Vec<Vec<f32>> = noise
        .chunks(DIMENSION)
        .enumerate()
        .map(|(row, noise)| {
            let mut row: Vec<f32> = heap(row).iter().zip(noise).map(|(a, b)| a + b).collect();
            if metric == Guide::Cosine {
                normalise(&mut row);
            }
            row
        })
        .collect();
    let means: Vec<Vec<f32>> = (0..20)
        .map(|heap| {
            let own: Vec<&Vec<f32>> = rows.iter().skip(heap).step_by(20).collect();
            let sum = |axis: usize| own.iter().map(|row| row[axis]).sum::<f32>();
            (0..DIMENSION)
                .map(|axis| sum(axis) / own.len() as f32)
                .collect()
        })
        .collect();
    let residuals: Vec<f32> = rows
        .iter()
        .enumerate()
        .flat_map(|(row, values)| values.iter().zip(&means[row % 20]).map(|(a, b)| a - b))
        .collect();
    let spec = spec(bytes_for(DIMENSION, 3), rotation);
    let origin = vec![origin; DIMENSION];
    let around = train(&sample(&residuals, DIMENSION, Guide::L2), &spec).around(metric, &origin);
    let all: Vec<f32> = rows.iter().flatten().copied().collect();
    let whole = train(&sample(&all, DIMENSION, metric), &spec);
    let mut scorers = [&around, &whole].map(|q| RaBitQScorer::new(q, kernels()));
    scorers[0].set_epsilon(2.0);
    let (mut sums, mut within, mut count) = ([0.0; 2], 0, 0);
    for query in rows.iter().step_by(37) {
        scorers[0].prepare(&around, query);
        scorers[1].prepare(&whole, query);
        for (at, row) in rows.iter().enumerate().skip(1).step_by(11) {
            let bytes: Vec<u8> = row.iter().flat_map(|v| v.to_le_bytes()).collect();
            let mean = &means[at % 20];
            let centre = Centre {
                distance: squared_l2(query, mean) as f32,
                product: dot(query, mean) as f32,
            };
            let truth = exact(metric, query, row);
            let (mut estimate, mut error) = (Vec::new(), Vec::new());
            let mut code = vec![0; around.code_bytes()];
            around
                .encoder(ElementType::F32, kernels())
                .encode_around(mean, &bytes, &mut code);
            scorers[0].score_around_with_errors(centre, &code, &mut estimate, &mut error);
            sums[0] += (f64::from(estimate[0]) - truth).powi(2);
            within += usize::from((f64::from(estimate[0]) - truth).abs() <= f64::from(error[0]));
            let mut code = vec![0; whole.code_bytes()];
            whole
                .encoder(ElementType::F32, kernels())
                .encode(&bytes, &mut code);
            scorers[1].score(CodeBatch::Inline { codes: &code }, &mut estimate);
            sums[1] += (f64::from(estimate[0]) - truth).powi(2);
            count += 1;
        }
    }
    let count = f64::from(count);
    (sums[0] / count, sums[1] / count, within as f64 / count)
}

#[test]
fn codes_around_near_centres_err_less_and_know_by_how_much() {
    for (metric, rotation) in METRICS.into_iter().flat_map(|m| ROTATIONS.map(|r| (m, r))) {
        let (around, whole, within) = errors(metric, rotation, 0.0);
        assert!(
            around < 0.3 * whole,
            "{metric} {rotation:?}: {around} {whole}"
        );
        assert!(within > 0.9, "{metric} {rotation:?}: {within}");
    }
}

#[test]
fn where_rows_lie_costs_no_precision() {
    for rotation in ROTATIONS {
        let (near, ..) = errors(Guide::L2, rotation, 0.0);
        let (far, _, within) = errors(Guide::L2, rotation, 500.0);
        assert!(far < 1.2 * near, "{rotation:?}: {near} {far}");
        assert!(within > 0.9, "{rotation:?}: {within}");
    }
}
