//! Rows dealt to the shards of a partition, block by block.

use pageway_graph::Partition;
use pageway_quant::normalise;
use pageway_types::{Metric, Progress, VectorRead};
use rayon::ThreadPool;

use super::codes::widened_sample;
use super::plan::BuildPlan;
use crate::error::Result;
use crate::resolve;
use crate::source::RowBlocks;

/// Rows that are dealt at a time, in bytes.
const DEAL_BYTES: usize = 256 << 10;

/// Deals rows.
#[derive(Clone, Copy)]
pub(super) struct Deal<'d> {
    pub(super) vectors: &'d dyn VectorRead,
    pub(super) metric: Metric,
    pub(super) pool: &'d ThreadPool,
    pub(super) progress: &'d dyn Progress,
    /// The name of the stage in progress reports.
    pub(super) stage: &'static str,
}

/// Rows of a block, and the shards of each.
pub(super) struct Dealt<'d> {
    /// Number of the first row.
    pub(super) first: u64,
    pub(super) rows: &'d [u8],
    /// The shards of each row, as many as it has copies.
    pub(super) shards: &'d [u32],
}

impl Deal<'_> {
    /// Rows that a partition is planned by.
    pub(super) fn sample(&self, plan: &BuildPlan) -> Result<Vec<f32>> {
        let mut sample = widened_sample(self.vectors, plan)?;
        self.normalise(&mut sample);
        Ok(sample)
    }

    /// Calls `visit` with all rows and their shards, in order. Returns the number of rows of each
    /// shard.
    ///
    /// # Errors
    /// As reading is; what `visit` gives.
    pub(super) fn run(
        &self,
        partition: &Partition,
        visit: &mut dyn FnMut(Dealt<'_>) -> Result<()>,
    ) -> Result<Vec<u64>> {
        let mut assigner = partition.assigner(resolve::kernels()?)?;
        let (count, row_bytes) = (self.vectors.count(), self.vectors.shape().row_bytes());
        self.progress.stage(self.stage, count);
        let mut blocks = RowBlocks::new(self.vectors, 0..count, DEAL_BYTES);
        let (mut widened, mut shards) = (Vec::new(), Vec::new());
        while let Some(block) = blocks.next_block()? {
            self.progress.check()?;
            self.widen(block.rows, &mut widened)?;
            shards.clear();
            assigner.assign(&widened, self.pool, &mut shards)?;
            visit(Dealt {
                first: block.first,
                rows: block.rows,
                shards: &shards,
            })?;
            self.progress.advance((block.rows.len() / row_bytes) as u64);
        }
        Ok(assigner.loads().to_vec())
    }

    fn widen(&self, rows: &[u8], values: &mut Vec<f32>) -> Result<()> {
        let shape = self.vectors.shape();
        let widen = resolve::kernels()?.widen(shape.element);
        let (row_bytes, dimension) = (shape.row_bytes(), shape.dimension as usize);
        values.resize(rows.len() / row_bytes * dimension, 0.0);
        let rows = rows.chunks_exact(row_bytes);
        for (row, out) in rows.zip(values.chunks_exact_mut(dimension)) {
            widen(row, out);
        }
        self.normalise(values);
        Ok(())
    }

    /// Shards are assigned by L2; under cosine, of unit vectors.
    fn normalise(&self, values: &mut [f32]) {
        if self.metric == Metric::Cosine {
            let rows = values.chunks_exact_mut(self.vectors.shape().dimension as usize);
            rows.for_each(normalise);
        }
    }
}
