//! Training the quantizer on a sample, and encoding all rows with it, a block at a time.

use pageway_quant::{Quantizer, TrainingSample, TrainingSpec, normalise};
use pageway_types::{Metric, NodeId, Progress, RowId, VectorRead, VectorShape};
use rayon::ThreadPool;
use rayon::prelude::*;

use super::clusters::BuiltClusters;
use super::order::NodeOrder;
use super::outliers::tame;
use super::plan::BuildPlan;
use super::sample::sample_rows;
use super::stages::BLOCK_BYTES;
use crate::error::Result;
use crate::resolve;
use crate::storage::ClusterTable;

/// Rows that one task encodes.
const ROWS_PER_TASK: usize = 256;

/// A sample of rows, widened, with outliers tamed.
pub(super) fn widened_sample(vectors: &dyn VectorRead, plan: &BuildPlan) -> Result<Vec<f32>> {
    let mut values = widened_rows(vectors, plan)?;
    tame(&mut values, vectors.shape().dimension as usize);
    Ok(values)
}

fn widened_rows(vectors: &dyn VectorRead, plan: &BuildPlan) -> Result<Vec<f32>> {
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

/// The differences of a sample of rows from their cluster means, and the means; of unit vectors
/// under cosine.
pub(super) struct ResidualSample {
    pub(super) values: Vec<f32>,
    pub(super) origin: Vec<f32>,
}

/// Takes that sample.
pub(super) fn residual_sample(
    vectors: &dyn VectorRead,
    plan: &BuildPlan,
    clusters: &BuiltClusters,
) -> Result<ResidualSample> {
    let mut values = widened_rows(vectors, plan)?;
    let dimension = vectors.shape().dimension as usize;
    let (mut mean, mut sums) = (vec![0.0; dimension], vec![0.0_f64; dimension]);
    let rows = sample_rows(vectors.count(), plan.sample_rows, plan.spec.seed);
    for (row, values) in rows.iter().zip(values.chunks_exact_mut(dimension)) {
        if plan.spec.shape.metric == Metric::Cosine {
            normalise(values);
        }
        let node = clusters.order.node_of(RowId(*row as u32));
        let table = &clusters.table;
        table.mean(table.cluster_of(node), &mut mean);
        for ((value, mean), sum) in values.iter_mut().zip(&mean).zip(&mut sums) {
            *value -= mean;
            *sum += f64::from(*mean);
        }
    }
    tame(&mut values, dimension);
    let count = rows.len().max(1) as f64;
    let origin = sums.iter().map(|sum| (sum / count) as f32).collect();
    Ok(ResidualSample { values, origin })
}

/// Trains a quantizer on a sample.
pub(super) fn train(
    sample: &[f32],
    (plan, spec): (&BuildPlan, &TrainingSpec),
    pool: &ThreadPool,
    progress: &dyn Progress,
) -> Result<Quantizer> {
    let shape = plan.spec.shape;
    let dimension = shape.dimension as usize;
    let sample = TrainingSample {
        values: sample,
        dimension,
        metric: shape.metric.guide(),
    };
    let kernels = resolve::kernels()?;
    Ok(Quantizer::train(&sample, spec, kernels, pool, progress)?)
}

/// Encodes `rows`, raw rows of `shape`, into as many codes, on the threads of `pool`.
pub(super) fn encode_rows(
    (quantizer, shape): (&Quantizer, VectorShape),
    rows: &[u8],
    codes: &mut [u8],
    pool: &ThreadPool,
) -> Result<()> {
    let kernels = resolve::kernels()?;
    let tasks = rows
        .par_chunks(ROWS_PER_TASK * shape.row_bytes())
        .zip(codes.par_chunks_mut(ROWS_PER_TASK * quantizer.code_bytes()));
    pool.install(|| {
        tasks.for_each_init(
            || quantizer.encoder(shape.element, kernels),
            |encoder, (rows, codes)| encoder.encode(rows, codes),
        );
    });
    Ok(())
}

/// Encodes rows in the order of nodes.
#[derive(Clone, Copy)]
pub(super) struct Encoding<'e> {
    pub(super) vectors: &'e dyn VectorRead,
    pub(super) order: &'e NodeOrder,
    /// Clusters whose means codes are made around.
    pub(super) around: Option<&'e ClusterTable>,
    pub(super) quantizer: &'e Quantizer,
    pub(super) pool: &'e ThreadPool,
}

impl Encoding<'_> {
    /// Encodes the nodes `0 .. count`, in order, and shows their codes a block at a time.
    pub(super) fn run(
        &self,
        count: u64,
        progress: &dyn Progress,
        out: &mut dyn FnMut(&[u8]) -> Result<()>,
    ) -> Result<()> {
        let shape = self.vectors.shape();
        let (row_bytes, code_bytes) = (shape.row_bytes(), self.quantizer.code_bytes());
        progress.stage("encode", count);
        let block = (BLOCK_BYTES / row_bytes).max(1) as u64;
        let (mut rows, mut codes) = (Vec::new(), Vec::new());
        let mut first = 0;
        while first < count {
            progress.check()?;
            let end = count.min(first + block);
            let nodes = (end - first) as usize;
            rows.resize(nodes * row_bytes, 0);
            self.read(first, &mut rows)?;
            codes.resize(nodes * code_bytes, 0);
            match self.around {
                Some(table) => self.encode_around((table, first as u32), &rows, &mut codes)?,
                None => encode_rows((self.quantizer, shape), &rows, &mut codes, self.pool)?,
            }
            out(&codes)?;
            progress.advance(end - first);
            first = end;
        }
        Ok(())
    }

    /// Encodes the rows of nodes from `first` on, cluster by cluster.
    fn encode_around(
        &self,
        (table, first): (&ClusterTable, u32),
        mut rows: &[u8],
        mut codes: &mut [u8],
    ) -> Result<()> {
        let (shape, code_bytes) = (self.vectors.shape(), self.quantizer.code_bytes());
        let end = first + (rows.len() / shape.row_bytes()) as u32;
        let (mut node, mut tasks) = (first, Vec::new());
        while node < end {
            let cluster = table.cluster_of(NodeId(node));
            let behind = table.nodes_of(cluster).end.min(end).max(node + 1);
            let nodes = (behind - node) as usize;
            let (own, rest) = rows.split_at(nodes * shape.row_bytes());
            let (out, others) = codes.split_at_mut(nodes * code_bytes);
            tasks.push((cluster, own, out));
            (node, rows, codes) = (behind, rest, others);
        }
        let kernels = resolve::kernels()?;
        let scratch = || {
            let mean = vec![0.0; shape.dimension as usize];
            (self.quantizer.encoder(shape.element, kernels), mean)
        };
        self.pool.install(|| {
            let tasks = tasks.into_par_iter();
            tasks.for_each_init(scratch, |(encoder, mean), (cluster, rows, codes)| {
                table.mean(cluster, mean);
                encoder.encode_around(mean, rows, codes);
            });
        });
        Ok(())
    }

    /// Reads the rows of nodes from `first` on.
    pub(super) fn read(&self, first: u64, out: &mut [u8]) -> Result<()> {
        if self.order.is_sequential() {
            return Ok(self.vectors.read(first, out)?);
        }
        let row_bytes = self.vectors.shape().row_bytes();
        for (node, row) in (first as u32..).zip(out.chunks_exact_mut(row_bytes)) {
            let number = self.order.row_of(NodeId(node));
            self.vectors.read(number.0.into(), row)?;
        }
        Ok(())
    }
}
