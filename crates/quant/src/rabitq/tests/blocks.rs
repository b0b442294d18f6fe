//! Codes in blocks: their estimates and errors are those of single codes.

use pageway_kernels::{BLOCK_CODES, KernelSet};
use pageway_types::{ElementType, Guide};

use super::fixture::{METRICS, ROTATIONS, bytes_for, kernels, normal, sample, spec, train};
use crate::Centre;
use crate::rabitq::encoder::{dot, squared_l2};
use crate::rabitq::{RaBitQScorer, RaBitQSpec, RaBitQuantizer};

/// Codes of 77 rows around one of them, in blocks and as they are, scored by every instruction set.
fn assert_same(quantizer: &RaBitQuantizer, rows: &[f32], query: &[f32]) {
    let (dimension, stride) = (quantizer.dimension(), quantizer.code_bytes());
    let (mean, rows) = rows.split_at(dimension);
    let bytes: Vec<u8> = rows.iter().flat_map(|v| v.to_le_bytes()).collect();
    let mut codes = vec![0; rows.len() / dimension * stride];
    let mut encoder = quantizer.encoder(ElementType::F32, kernels());
    encoder.encode_around(mean, &bytes, &mut codes);
    let centre = Centre {
        distance: squared_l2(query, mean) as f32,
        product: dot(query, mean) as f32,
    };
    for isa in KernelSet::available() {
        let mut scorer = RaBitQScorer::new(quantizer, KernelSet::for_isa(isa).unwrap());
        scorer.prepare(quantizer, query);
        scorer.prepare_blocks(quantizer, query);
        let (mut wanted, mut errors) = (Vec::new(), Vec::new());
        scorer.score_around_with_errors(centre, &codes, &mut wanted, &mut errors);
        let limit = wanted[wanted.len() / 2];
        let blocks = codes.chunks(BLOCK_CODES * stride);
        let wanted = wanted.chunks(BLOCK_CODES).zip(errors.chunks(BLOCK_CODES));
        for (codes, (wanted, errors)) in blocks.zip(wanted) {
            let mut block = vec![0xdd; BLOCK_CODES * stride];
            quantizer.write_block(codes, &mut block);
            let mut out = [f32::NAN; BLOCK_CODES];
            let marks = scorer.score_block(centre, &block, limit, &mut out);
            for (at, wanted) in wanted.iter().enumerate() {
                assert_eq!(out[at].to_bits(), wanted.to_bits(), "{isa} {at}");
                assert_eq!(marks >> at & 1 == 1, *wanted <= limit, "{isa} {at}");
                let error = scorer.block_error(centre, &block, at, out[at]);
                assert_eq!(error.to_bits(), errors[at].to_bits(), "{isa} {at}");
            }
        }
    }
}

#[test]
fn blocks_of_every_layout_give_the_estimates_of_single_codes() {
    for (number, dimension) in [5, 24, 61, 96].into_iter().enumerate() {
        let rows = normal(300, dimension, 5 + number as u64);
        let query = normal(1, dimension, 6);
        for rotation in ROTATIONS {
            for bits in 1..=8 {
                let metric = METRICS[(bits + number) % 3];
                // Centroids of the quantizer take bytes of the code, which blocks keep.
                let spec = RaBitQSpec {
                    centroids: [1, 7, 1][bits % 3],
                    ..spec(bytes_for(dimension, bits) + bits % 2, rotation)
                };
                let Ok(()) = spec.validate(dimension) else {
                    continue;
                };
                let trained = train(&sample(&rows, dimension, Guide::L2), &spec);
                let rows = &rows[..78 * dimension];
                let origin = vec![0.5; dimension];
                assert_same(&trained.around(metric, &origin), rows, &query);
            }
        }
    }
}

#[test]
fn nothing_is_marked_before_blocks_are_prepared() {
    let rows = normal(50, 16, 1);
    let quantizer = train(&sample(&rows, 16, Guide::L2), &RaBitQSpec::new(8));
    let mut scorer = RaBitQScorer::new(&quantizer, kernels());
    let (block, mut out) = (vec![0; BLOCK_CODES * 8], [1.5; BLOCK_CODES]);
    let mut score = |scorer: &RaBitQScorer| {
        scorer.score_block(Centre::default(), &block, f32::INFINITY, &mut out)
    };
    // Two bits for each axis, behind the factors.
    assert_eq!(quantizer.code_bytes(), 8);
    assert_eq!(score(&scorer), 0);
    scorer.prepare(&quantizer, &rows[..16]);
    assert_eq!(score(&scorer), 0);
    scorer.prepare_blocks(&quantizer, &rows[..16]);
    assert_eq!(score(&scorer), u32::MAX);
}
