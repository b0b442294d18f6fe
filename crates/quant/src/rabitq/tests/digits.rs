//! Codes in tables: their estimates are those of single codes but for the rounding of weights.

use pageway_kernels::KernelSet;
use pageway_types::{Place, SplitMix64};

use super::fixture::{METRICS, ROTATIONS, bytes_for, encode, normal, sample, spec, train};
use crate::rabitq::{RaBitQScorer, RaBitQuantizer};
use crate::{CodeBatch, CodeForms, CodeScorer};

/// Estimates of codes as they are stored and of the same in a table, by every instruction set.
fn both(quantizer: &RaBitQuantizer, query: &[f32], codes: &[u8]) -> [Vec<f32>; 2] {
    let mut table = codes.to_vec();
    quantizer.arrange(&mut table);
    let count = codes.len() / quantizer.code_bytes();
    let places: Vec<Place> = (0..count as u32).rev().map(Place).collect();
    let mut of_sets = KernelSet::available().into_iter().map(|isa| {
        let mut scorer = RaBitQScorer::new(quantizer, KernelSet::for_isa(isa).unwrap());
        let (mut stored, mut arranged) = (Vec::new(), Vec::new());
        scorer.prepare_forms(quantizer, query, CodeForms::Both);
        scorer.score(CodeBatch::Inline { codes }, &mut stored);
        let batch = CodeBatch::Table {
            codes: &table,
            places: &places,
        };
        scorer.score(batch, &mut arranged);
        scorer.prepare_forms(quantizer, query, CodeForms::Table);
        let (mut alone, mut errors) = (Vec::new(), Vec::new());
        scorer.score_with_errors(batch, &mut alone, &mut errors);
        assert_eq!(alone, arranged, "{isa}");
        assert!(errors.iter().all(|error| error.is_finite()));
        arranged.reverse();
        [stored, arranged]
    });
    let first = of_sets.next().unwrap();
    of_sets.for_each(|other| assert_eq!(other, first));
    first
}

#[test]
fn tables_of_every_layout_give_the_estimates_of_single_codes() {
    for (number, dimension) in [5, 24, 61, 96].into_iter().enumerate() {
        let rows = normal(300, dimension, 5 + number as u64);
        let query = normal(1, dimension, 6);
        for (bits, rotation) in (1..=8).flat_map(|bits| ROTATIONS.map(|r| (bits, r))) {
            let metric = METRICS[(bits + number) % 3];
            let spec = spec(bytes_for(dimension, bits) + bits % 2, rotation);
            let Ok(()) = spec.validate(dimension) else {
                continue;
            };
            let quantizer = train(&sample(&rows, dimension, metric), &spec);
            let codes = encode(&quantizer, &rows);
            let [stored, arranged] = both(&quantizer, &query, &codes);
            let (mut error, mut spread) = (0.0, 0.0);
            let mean = stored.iter().sum::<f32>() / stored.len() as f32;
            for (stored, arranged) in stored.iter().zip(&arranged) {
                error += (stored - arranged).powi(2);
                spread += (stored - mean).powi(2);
            }
            // Weights of both forms are rounded, each to a hundredth of the largest or less.
            let ratio = (error / spread).sqrt();
            assert!(ratio < 0.02, "{dimension} {bits} {rotation:?}: {ratio}");
        }
    }
}

#[test]
fn arranging_keeps_heads_and_every_bit() {
    let rows = normal(200, 43, 3);
    for bits in 1..=8 {
        let quantizer = train(
            &sample(&rows, 43, METRICS[0]),
            &spec(bytes_for(43, bits), ROTATIONS[1]),
        );
        let (bytes, head) = (quantizer.code_bytes(), quantizer.layout.head_bytes());
        let mut random = SplitMix64::new(bits as u64);
        let mut codes: Vec<u8> = (0..9 * bytes).map(|_| random.next_u64() as u8).collect();
        let spare = 8 * (bytes - head) - quantizer.bits();
        for code in codes.chunks_exact_mut(bytes) {
            code[bytes - 1] &= u8::MAX >> spare;
        }
        let mut arranged = codes.clone();
        quantizer.arrange(&mut arranged);
        for (code, arranged) in codes.chunks(bytes).zip(arranged.chunks(bytes)) {
            assert_eq!(code[..head], arranged[..head]);
            let ones = |code: &[u8]| -> u32 { code.iter().map(|byte| byte.count_ones()).sum() };
            assert_eq!(ones(code), ones(arranged), "{bits}");
        }
    }
}

/// Of rows that agree where one axis is far wider than all others, those others tell.
#[test]
fn one_wide_axis_leaves_the_others_their_weights() {
    let dimension = 48;
    let mut rows = normal(400, dimension, 11);
    for (number, row) in rows.chunks_exact_mut(dimension).enumerate() {
        row[0] = (number % 5) as f32 * 20.0;
    }
    let quantizer = train(
        &sample(&rows, dimension, METRICS[0]),
        &spec(22, ROTATIONS[1]),
    );
    assert_eq!(quantizer.layout.planes(), 8, "as many as there can be");
    let alike: Vec<f32> = rows
        .chunks_exact(dimension)
        .skip(4)
        .step_by(5)
        .flatten()
        .copied()
        .collect();
    let codes = encode(&quantizer, &alike);
    let [stored, arranged] = both(&quantizer, &alike[..dimension], &codes);
    let mean = stored.iter().sum::<f32>() / stored.len() as f32;
    let squares =
        |off: &dyn Fn(usize) -> f32| (0..stored.len()).map(|at| off(at).powi(2)).sum::<f32>();
    let ratio =
        (squares(&|at| stored[at] - arranged[at]) / squares(&|at| arranged[at] - mean)).sqrt();
    assert!(ratio < 0.02, "{ratio}");
}

/// The weight of any axis may be the largest, and any digit be cut into smaller ones.
#[test]
fn weights_have_room_whichever_axis_is_the_largest() {
    for dimension in 1..=7 {
        let rows = normal(300, dimension, 12);
        for bits in 1..=8 {
            let spec = spec(bytes_for(dimension, bits), ROTATIONS[1]);
            if spec.validate(dimension).is_err() {
                continue;
            }
            let quantizer = train(&sample(&rows, dimension, METRICS[0]), &spec);
            let codes = encode(&quantizer, &rows);
            for query in normal(40, dimension, 13).chunks_exact(dimension) {
                let [stored, arranged] = both(&quantizer, query, &codes);
                let off = stored.iter().zip(&arranged).map(|(a, b)| (a - b).abs());
                let most = stored.iter().copied().fold(1.0, f32::max);
                assert!(off.fold(0.0, f32::max) < 0.05 * most, "{dimension} {bits}");
            }
        }
    }
}
