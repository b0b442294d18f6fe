//! Training: k-means in every sub-space.
//!
//! Sub-spaces are independent, so each is one task for one thread from start to end: no reduction
//! between threads, hence the same bytes on any number of them. Memory beside the sample is one
//! copy of one sub-space's columns per thread.

use pageway_kernels::KernelSet;
use pageway_types::{Cancelled, Guide, Progress, SplitMix64};
use rayon::ThreadPool;
use rayon::prelude::*;

use super::columns::Columns;
use super::sub_spaces::{ComponentOrder, Components, SubSpaces};
use super::unit::inverse_norm;
use super::{CENTROIDS, ProductQuantizer, lloyd, seeding};
use crate::QuantError;

/// Rows whose norms are computed between two looks at `cancelled`.
const NORM_ROWS: usize = 256;

/// Sizes and effort of a product quantizer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PqSpec {
    /// Bytes of a code, which is the number of sub-spaces: 1 to the dimension.
    pub code_bytes: u32,
    /// Most Lloyd rounds per sub-space.
    pub rounds: u32,
    /// Seed of the k-means++ start.
    pub seed: u64,
    /// Which components share a byte.
    pub order: ComponentOrder,
}

impl PqSpec {
    /// Rounds after which the residual hardly moves.
    pub const ROUNDS: u32 = 12;

    /// Codes of `code_bytes`, trained with the usual effort.
    pub const fn new(code_bytes: u32) -> Self {
        Self {
            code_bytes,
            rounds: Self::ROUNDS,
            seed: 0,
            order: ComponentOrder::Natural,
        }
    }
}

/// Rows to train on: a random sample of the set, 256 thousand rows at most to any purpose.
#[derive(Clone, Copy)]
pub struct TrainingSample<'a> {
    /// Rows one after the other, widened but otherwise as they are: training normalises for cosine.
    pub values: &'a [f32],
    /// Components of a row.
    pub dimension: usize,
    /// Guide that the codes will estimate.
    pub metric: Guide,
}

impl TrainingSample<'_> {
    /// Number of rows.
    pub(super) fn count(&self) -> usize {
        self.values.len() / self.dimension
    }
}

/// What every step over the rows of a sub-space needs.
#[derive(Clone, Copy)]
pub(super) struct Context<'a> {
    pub(super) kernels: &'static KernelSet,
    pub(super) progress: &'a dyn Progress,
}

/// One sub-space of the quantizer in the making.
struct Task<'q> {
    stream: u64,
    components: Components,
    mean: &'q mut [f32],
    centroids: &'q mut [f32],
}

impl ProductQuantizer {
    /// Trains a quantizer on the threads of `pool`, one sub-space per thread at a time.
    ///
    /// Reports one stage of `code_bytes * rounds` units. Costs at most `rounds * rows * dimension *
    /// 256` multiply-adds; allocates at most [`ProductQuantizer::train_bytes`].
    ///
    /// # Errors
    /// Impossible sizes, a sample that is empty or holds values out of range, cancellation.
    pub fn train(
        sample: &TrainingSample<'_>,
        spec: &PqSpec,
        kernels: &'static KernelSet,
        pool: &ThreadPool,
        progress: &dyn Progress,
    ) -> Result<Self, QuantError> {
        let dimension = sample.dimension;
        let sub_spaces = SubSpaces::new(dimension, spec.code_bytes as usize, spec.order)?;
        let values = sample.values.len();
        if values == 0 || !values.is_multiple_of(dimension) {
            return Err(QuantError::SampleLength { values, dimension });
        }
        progress.stage(
            "train codes",
            u64::from(spec.code_bytes) * u64::from(spec.rounds),
        );
        let mut quantizer = Self {
            metric: sample.metric,
            sub_spaces,
            mean: vec![0.0; dimension],
            centroids: vec![0.0; dimension * CENTROIDS],
        };
        let context = Context { kernels, progress };
        pool.install(|| {
            let factors = unit_factors(sample, progress)?;
            let tasks: Vec<_> = quantizer.tasks().collect();
            let train = |task| train_sub_space(sample, &factors, spec, context, task);
            tasks.into_par_iter().with_max_len(1).try_for_each(train)
        })?;
        let mut values = quantizer.mean.iter().chain(&quantizer.centroids);
        if values.any(|value| !value.is_finite()) {
            return Err(QuantError::SampleRange);
        }
        Ok(quantizer)
    }

    /// Peak bytes that [`ProductQuantizer::train`] allocates beside a sample of `rows` rows, the
    /// quantizer itself included.
    pub fn train_bytes(rows: usize, dimension: usize, spec: &PqSpec, threads: usize) -> usize {
        let code_bytes = (spec.code_bytes as usize).max(1);
        let width = dimension.div_ceil(code_bytes);
        let copy = rows.saturating_mul(width).saturating_mul(size_of::<f32>());
        let scratch = seeding::bytes(rows, width).max(lloyd::bytes(rows, width));
        let tasks = code_bytes.saturating_mul(size_of::<Task<'_>>());
        copy.saturating_add(scratch)
            .saturating_mul(threads.min(code_bytes))
            .saturating_add(rows.saturating_mul(size_of::<f64>()))
            .saturating_add(tasks)
            .saturating_add(Self::codebook_bytes(dimension))
    }

    fn tasks(&mut self) -> impl Iterator<Item = Task<'_>> {
        let (mut means, mut rows) = (self.mean.as_mut_slice(), self.centroids.as_mut_slice());
        (0..)
            .zip(self.sub_spaces.iter())
            .map(move |(stream, sub_space)| {
                let width = sub_space.run.len();
                let (mean, rest) = std::mem::take(&mut means).split_at_mut(width);
                means = rest;
                let own = width * CENTROIDS;
                let (centroids, rest) = std::mem::take(&mut rows).split_at_mut(own);
                rows = rest;
                Task {
                    stream,
                    components: sub_space.components,
                    mean,
                    centroids,
                }
            })
    }
}

/// Factors that bring the rows to unit length; empty unless the metric is cosine.
fn unit_factors(
    sample: &TrainingSample<'_>,
    progress: &dyn Progress,
) -> Result<Vec<f64>, Cancelled> {
    if sample.metric != Guide::Cosine {
        return Ok(Vec::new());
    }
    let mut factors = vec![0.0; sample.count()];
    let blocks = sample.values.par_chunks(NORM_ROWS * sample.dimension);
    factors
        .par_chunks_mut(NORM_ROWS)
        .zip(blocks)
        .try_for_each(|(factors, block)| {
            for (factor, row) in factors.iter_mut().zip(block.chunks_exact(sample.dimension)) {
                *factor = inverse_norm(row);
            }
            progress.check()
        })?;
    Ok(factors)
}

fn train_sub_space(
    sample: &TrainingSample<'_>,
    factors: &[f64],
    spec: &PqSpec,
    context: Context<'_>,
    task: Task<'_>,
) -> Result<(), QuantError> {
    let mut columns = Columns::copy(sample, &task.components, factors, context.progress)?;
    if sample.metric != Guide::InnerProduct {
        columns.centre(task.mean, context.progress)?;
    }
    let mut rng = SplitMix64::stream(spec.seed, task.stream);
    seeding::seed(&columns, context, &mut rng, task.centroids)?;
    lloyd::refine(&columns, context, spec.rounds, task.centroids)
}
