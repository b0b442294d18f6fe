//! Leading digits: what they leave out lies beyond the limit, by every instruction set.

use pageway_kernels::KernelSet;
use pageway_types::Place;

use super::fixture::{METRICS, ROTATIONS, bytes_for, encode, normal, sample, spec, train};
use crate::rabitq::{RaBitQScorer, RaBitQuantizer};
use crate::{CodeBatch, CodeForms, CodeScorer};

const DIMENSION: usize = 320;

/// Rows whose later components are ever narrower.
fn narrowing(count: usize, seed: u64) -> Vec<f32> {
    let mut rows = normal(count, DIMENSION, seed);
    for row in rows.chunks_exact_mut(DIMENSION) {
        for (at, value) in row.iter_mut().enumerate() {
            *value *= 0.98_f32.powi(at as i32);
        }
    }
    rows
}

/// Estimates of the codes of a table, and which of them leading digits leave at each limit.
fn screened(
    quantizer: &RaBitQuantizer,
    (query, codes): (&[f32], &[u8]),
    limits: &[f32],
) -> (Vec<f32>, Vec<Vec<bool>>) {
    let mut table = codes.to_vec();
    quantizer.arrange(&mut table);
    let count = codes.len() / quantizer.code_bytes();
    let places: Vec<Place> = (0..count as u32).map(Place).collect();
    let mut of_sets = KernelSet::available().into_iter().map(|isa| {
        let mut scorer = RaBitQScorer::new(quantizer, KernelSet::for_isa(isa).unwrap());
        scorer.prepare_forms(quantizer, query, CodeForms::Table);
        let mut estimates = Vec::new();
        let batch = CodeBatch::Table {
            codes: &table,
            places: &places,
        };
        scorer.score(batch, &mut estimates);
        let left = limits.iter().map(|limit| {
            let parts = places.chunks(RaBitQScorer::SCREENED);
            let marks = parts.flat_map(|own| {
                let marks = scorer.screen(&table, own, *limit);
                (0..own.len()).map(move |at| marks >> at & 1 == 1)
            });
            marks.collect()
        });
        (estimates, left.collect())
    });
    let first = of_sets.next().unwrap();
    of_sets.for_each(|other| assert_eq!(other, first));
    first
}

#[test]
fn what_leading_digits_leave_out_lies_beyond_the_limit() {
    let rows = narrowing(700, 3);
    for (metric, bits) in METRICS.into_iter().zip([5, 6, 7]) {
        let spec = spec(bytes_for(DIMENSION, bits), ROTATIONS[1]);
        let quantizer = train(&sample(&rows, DIMENSION, metric), &spec);
        let codes = encode(&quantizer, &rows);
        for number in [0, 1, 2] {
            // A row itself, and two others.
            let others = narrowing(2, 77);
            let queries = rows
                .chunks(DIMENSION)
                .take(1)
                .chain(others.chunks(DIMENSION));
            let query = queries.clone().nth(number).unwrap();
            let (estimates, _) = screened(&quantizer, (query, &codes), &[]);
            let mut sorted = estimates.clone();
            sorted.sort_unstable_by(f32::total_cmp);
            let limits = [sorted[10], sorted[70], sorted[350]];
            let (_, left) = screened(&quantizer, (query, &codes), &limits);
            for (limit, left) in limits.iter().zip(left) {
                let is_near = |at: &usize| estimates[*at] <= *limit;
                let near = (0..estimates.len()).filter(is_near).count();
                assert!(
                    (0..left.len()).filter(is_near).all(|at| left[at]),
                    "{metric:?}"
                );
                let all = left.iter().filter(|own| **own).count();
                assert!(
                    2 * all < near + 700,
                    "{metric:?} {bits}: {all} left, {near} near"
                );
            }
        }
    }
}

#[test]
fn digits_that_tell_nothing_leave_all() {
    let rows = normal(300, DIMENSION, 4);
    // Axes as wide as each other, and codes of few bits.
    for (bits, rotation) in [(4, ROTATIONS[0]), (1, ROTATIONS[1])] {
        let spec = spec(bytes_for(DIMENSION, bits), rotation);
        let quantizer = train(&sample(&rows, DIMENSION, METRICS[0]), &spec);
        let codes = encode(&quantizer, &rows);
        let (_, left) = screened(&quantizer, (&rows[..DIMENSION], &codes), &[0.0]);
        assert!(left[0].iter().all(|own| *own), "{bits}");
        let mut scorer = RaBitQScorer::new(&quantizer, KernelSet::detect().unwrap());
        scorer.prepare_forms(&quantizer, &rows[..DIMENSION], CodeForms::Table);
        assert_eq!(scorer.screened_bytes(), quantizer.code_bytes());
    }
}
