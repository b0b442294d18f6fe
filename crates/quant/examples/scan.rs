//! Prints what an estimate costs where codes are scanned, in nanoseconds: one code after the other,
//! in blocks, and gathered at random, as they are stored and from a table. Rows are normally
//! distributed with variances that fall from axis to axis.
//!
//! `cargo run --release -p pageway-quant --example scan`
#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "a program that measures and prints"
)]

use std::hint::black_box;
use std::time::Instant;

use pageway_kernels::KernelSet;
use pageway_quant::{
    BLOCK_CODES, Centre, CodeBatch, CodeForms, CodeScorer, RaBitQScorer, RaBitQSpec,
    RaBitQuantizer, Rotation, TrainingSample,
};
use pageway_types::{ElementType, Guide, NoProgress, Place, SplitMix64};

/// Rows that are drawn and encoded.
const ROWS: usize = 2048;

/// Codes of a list that are gathered together.
const GATHERED: usize = 24;

/// Copies of their codes, for codes that no cache holds.
const COPIES: usize = 100;

fn main() {
    for isa in KernelSet::available() {
        for (dimension, code_bytes) in [
            (128, 22),
            (384, 60),
            (384, 197),
            (960, 180),
            (384, 296),
            (960, 560),
        ] {
            let kernels = KernelSet::for_isa(isa).unwrap();
            print!("{isa} {dimension}-d, {code_bytes} bytes: ");
            measure(kernels, dimension, code_bytes);
        }
    }
}

fn measure(kernels: &'static KernelSet, dimension: usize, code_bytes: u32) {
    let rows = normal(dimension);
    let sample = TrainingSample {
        values: &rows,
        dimension,
        metric: Guide::L2,
    };
    let spec = RaBitQSpec {
        rotation: Rotation::Principal,
        ..RaBitQSpec::new(code_bytes)
    };
    let pool = rayon::ThreadPoolBuilder::new().build().unwrap();
    let quantizer = RaBitQuantizer::train(&sample, &spec, kernels, &pool, &NoProgress).unwrap();
    let bytes: Vec<u8> = rows.iter().flat_map(|value| value.to_le_bytes()).collect();
    let mut codes = vec![0; ROWS * quantizer.code_bytes()];
    let mut encoder = quantizer.encoder(ElementType::F32, kernels);
    encoder.encode(&bytes, &mut codes);
    let mut scorer = RaBitQScorer::new(&quantizer, kernels);
    let (query, _) = rows.split_at(dimension);
    scorer.prepare_forms(&quantizer, query, CodeForms::Both);
    let digits = nanoseconds(1, || {
        scorer.prepare_forms(&quantizer, query, CodeForms::Table);
    });
    let bits = nanoseconds(1, || scorer.prepare(&quantizer, query));
    let tables = nanoseconds(1, || scorer.prepare_blocks(&quantizer, query));
    let block_bytes = BLOCK_CODES * quantizer.code_bytes();
    let mut blocks = vec![0; codes.len()];
    for (codes, block) in codes
        .chunks(block_bytes)
        .zip(blocks.chunks_mut(block_bytes))
    {
        quantizer.write_block(codes, block);
    }
    let mut estimates = Vec::new();
    let mut out = [0.0; BLOCK_CODES];
    for copies in [1, COPIES] {
        let (codes, blocks) = (codes.repeat(copies), blocks.repeat(copies));
        let single = nanoseconds(copies * ROWS, || {
            for codes in codes.chunks(2 * block_bytes) {
                let batch = CodeBatch::Inline { codes };
                scorer.score(black_box(batch), &mut estimates);
            }
        });
        let scan = nanoseconds(copies * ROWS, || {
            for block in blocks.chunks(block_bytes) {
                let centre = Centre::default();
                black_box(scorer.score_block(centre, black_box(block), 0.0, &mut out));
            }
        });
        let mut table = codes.clone();
        quantizer.arrange(&mut table);
        let mut random = SplitMix64::new(9);
        let places: Vec<Place> = (0..copies * ROWS)
            .map(|_| Place(random.below((copies * ROWS) as u64) as u32))
            .collect();
        let mut gather = |batch: for<'a> fn(&'a [u8], &'a [Place]) -> CodeBatch<'a>, codes| {
            nanoseconds(copies * ROWS, || {
                for places in places.chunks(GATHERED) {
                    scorer.score(black_box(batch(codes, places)), &mut estimates);
                }
            })
        };
        let stored = gather(|codes, places| CodeBatch::Gather { codes, places }, &codes);
        let arranged = gather(|codes, places| CodeBatch::Table { codes, places }, &table);
        print!("single {single:.2}, in blocks {scan:.2}, ");
        print!("gathered {stored:.2}, from a table {arranged:.2} | ");
    }
    println!("preparing bits {bits:.0}, blocks {tables:.0}, digits {digits:.0}");
}

fn normal(dimension: usize) -> Vec<f32> {
    let mut random = SplitMix64::new(1);
    let mut noise = move || (0..12).map(|_| random.unit()).sum::<f64>() - 6.0;
    let spread = |axis: usize| (-2.0 * axis as f64 / dimension as f64).exp();
    (0..ROWS * dimension)
        .map(|at| (noise() * spread(at % dimension)) as f32)
        .collect()
}

/// Nanoseconds per step of the fastest of nine runs.
fn nanoseconds(steps: usize, mut run: impl FnMut()) -> f64 {
    let mut best = f64::INFINITY;
    for _ in 0..9 {
        let start = Instant::now();
        run();
        best = best.min(start.elapsed().as_secs_f64());
    }
    best * 1e9 / steps as f64
}
