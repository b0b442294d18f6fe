//! Training the quantizer on a sample, and encoding all rows with it, a block at a time.

use pageway_quant::{ProductQuantizer, TrainingSample};
use pageway_store::{BlobWriter, FileEntry};
use pageway_types::{Progress, VectorRead};
use rayon::ThreadPool;
use rayon::prelude::*;

use super::budget::{BLOCK_BYTES, BuildPlan};
use super::sample::sample_rows;
use crate::error::Result;
use crate::resolve;
use crate::source::RowBlocks;

/// Rows that one task encodes.
const ROWS_PER_TASK: usize = 256;

/// A sample of rows, widened.
pub(super) fn widened_sample(vectors: &dyn VectorRead, plan: &BuildPlan) -> Result<Vec<f32>> {
    let shape = vectors.shape();
    let widen = resolve::kernels()?.widen(shape.element);
    let dimension = shape.dimension as usize;
    let rows = sample_rows(vectors.count(), plan.sample_rows, plan.spec.seed);
    let mut values = vec![0.0; rows.len() * dimension];
    let mut row_bytes = vec![0; shape.row_bytes()];
    for (row, out) in rows.iter().zip(values.chunks_exact_mut(dimension)) {
        vectors.read(*row, &mut row_bytes)?;
        widen(&row_bytes, out);
    }
    Ok(values)
}

/// Trains a quantizer on a sample.
pub(super) fn train(
    sample: &[f32],
    plan: &BuildPlan,
    pool: &ThreadPool,
    progress: &dyn Progress,
) -> Result<ProductQuantizer> {
    let shape = plan.spec.shape;
    let dimension = shape.dimension as usize;
    let sample = TrainingSample {
        values: sample,
        dimension,
        metric: shape.metric,
    };
    let kernels = resolve::kernels()?;
    Ok(ProductQuantizer::train(
        &sample,
        &plan.quantizer(),
        kernels,
        pool,
        progress,
    )?)
}

/// Encodes every row, in order, into `out`.
pub(super) fn encode(
    vectors: &dyn VectorRead,
    quantizer: &ProductQuantizer,
    mut out: BlobWriter,
    pool: &ThreadPool,
    progress: &dyn Progress,
) -> Result<FileEntry> {
    let shape = vectors.shape();
    let kernels = resolve::kernels()?;
    let code_bytes = quantizer.code_bytes();
    progress.stage("encode", vectors.count());
    let mut blocks = RowBlocks::new(vectors, 0..vectors.count(), BLOCK_BYTES);
    let mut codes = Vec::new();
    while let Some(block) = blocks.next_block()? {
        progress.check()?;
        let rows = block.rows.len() / shape.row_bytes();
        codes.resize(rows * code_bytes, 0);
        let tasks = block
            .rows
            .par_chunks(ROWS_PER_TASK * shape.row_bytes())
            .zip(codes.par_chunks_mut(ROWS_PER_TASK * code_bytes));
        pool.install(|| {
            tasks.for_each_init(
                || quantizer.encoder(shape.element, kernels),
                |encoder, (rows, codes)| encoder.encode(rows, codes),
            );
        });
        out.write(&codes)?;
        progress.advance(rows as u64);
    }
    Ok(out.finish()?)
}
