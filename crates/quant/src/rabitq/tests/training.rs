//! What training refuses, when it stops and what memory it takes.

use pageway_types::{Cancelled, Guide, NoProgress, Progress, SplitMix64};

use super::fixture::{ROTATIONS, kernels, normal, pool, sample, spec, train};
use crate::QuantError;
use crate::rabitq::{RaBitQScorer, RaBitQSpec, RaBitQuantizer, Rotation};

#[test]
fn refuses_what_cannot_be_trained() {
    let run = |values: &[f32], dimension, spec: &RaBitQSpec| {
        let sample = sample(values, dimension, Guide::L2);
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
        let sample = sample(&values, 16, Guide::L2);
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

/// Twins that are nearer to each other than to others, and nearer still to their mean.
fn twins() -> Vec<f32> {
    let mut random = SplitMix64::stream(31, 0);
    let mut noise = |count: usize| -> Vec<f64> {
        let unit = |_| (0..12).map(|_| random.unit()).sum::<f64>() - 6.0;
        (0..count).map(unit).collect()
    };
    let (shared, own) = (noise(128 * 48), noise(256 * 48));
    let shared = shared.chunks_exact(48).flat_map(|row| [row, row]);
    let pairs = shared.flatten().zip(&own);
    pairs.map(|(a, b)| (0.55 * a + 0.83 * b) as f32).collect()
}

#[test]
fn a_row_at_the_mean_does_not_tell_what_near_rows_share() {
    let outside = |values: &[f32]| {
        let sample = sample(values, 48, Guide::L2);
        let quantizer = train(&sample, &spec(6, Rotation::Principal));
        (quantizer.outside.common, quantizer.outside.spread)
    };
    let mut values = twins();
    let without = outside(&values);
    let column = |axis: usize| values.iter().skip(axis).step_by(48).sum::<f32>() / 256.0;
    let mean: Vec<f32> = (0..48).map(|axis| column(axis) + 1e-4).collect();
    values.extend(mean);
    let with = outside(&values);
    assert!(without.0 > 0.1 && without.1 < 0.03, "{without:?}");
    let near = |a: f32, b: f32| (a - b).abs() < 0.003;
    assert!(
        near(with.0, without.0) && near(with.1, without.1),
        "{with:?} {without:?}"
    );
}
