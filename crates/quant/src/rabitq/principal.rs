//! Principal axes: directions without covariance, by falling variance.
//!
//! The covariance is that of some rows, evenly spread. Of few rows it says little, so the variances
//! are drawn towards their mean by `(dimension / rows)^2`, all the way for as many rows as
//! components.

use pageway_kernels::KernelSet;
use pageway_types::Progress;
use rayon::prelude::*;

use super::centroids::Centroids;
use super::eigen;
use super::rows::{BLOCK_ROWS, Rows};
use crate::QuantError;

/// Rows whose covariance is taken.
const ROWS: usize = 16_384;

/// Axes by falling variance.
pub(super) struct Axes {
    pub(super) variances: Vec<f64>,
    /// A row for each component, a column for each axis.
    vectors: Vec<f64>,
    /// Columns by falling variance.
    order: Vec<usize>,
}

impl Axes {
    /// The first `kept` axes: a row for each component.
    pub(super) fn matrix(&self, kept: usize) -> Vec<f32> {
        let order = self.order.get(..kept).unwrap_or(&self.order);
        let mut matrix = Vec::with_capacity(kept * self.order.len());
        for row in self.vectors.chunks_exact(self.order.len().max(1)) {
            let values = order.iter().filter_map(|column| row.get(*column));
            matrix.extend(values.map(|value| *value as f32));
        }
        matrix
    }
}

/// Bytes that [`axes`] takes at most, its outcome included.
pub(super) fn bytes(rows: usize, dimension: usize, threads: usize) -> usize {
    let block = BLOCK_ROWS.min(rows) * size_of::<f32>();
    let per_thread = (block + dimension.saturating_mul(size_of::<f32>())).saturating_mul(threads);
    block
        .saturating_mul(dimension)
        .saturating_add(per_thread)
        .saturating_add(eigen::bytes(dimension))
}

/// Units of progress that [`axes`] reports.
pub(super) fn steps(dimension: usize) -> u64 {
    ROWS.div_ceil(BLOCK_ROWS) as u64 + eigen::steps(dimension)
}

/// The principal axes of rows around their centroids, on the current pool.
pub(super) fn axes(
    rows: Rows<'_>,
    centroids: &Centroids,
    kernels: &'static KernelSet,
    progress: &dyn Progress,
) -> Result<Axes, QuantError> {
    let dimension = rows.dimension();
    let covariance = covariance(rows, centroids, kernels, progress)?;
    if covariance.iter().any(|value| !value.is_finite()) {
        return Err(QuantError::SampleRange);
    }
    let eigen = eigen::decompose(covariance, dimension, progress)?;
    let taken = rows.count().min(ROWS) as f64;
    let value = |axis: &usize| {
        eigen
            .values
            .get(*axis)
            .map_or(0.0, |sum| sum.max(0.0) / taken)
    };
    let mut order: Vec<usize> = (0..dimension).collect();
    order.sort_by(|a, b| value(b).total_cmp(&value(a)).then(a.cmp(b)));
    let drawn = (dimension as f64 / taken).powi(2).min(1.0);
    let middle = order.iter().map(value).sum::<f64>() / dimension as f64;
    let variances = order.iter().map(|axis| {
        let variance = value(axis);
        // Falls as the variances do, to the last bit.
        (1.0 - drawn) * variance + drawn * middle
    });
    Ok(Axes {
        variances: variances.collect(),
        vectors: eigen.vectors,
        order,
    })
}

/// The covariance times the number of rows, all `dimension^2` values of it. Blocks of rows are
/// summed in `f32`, value by value in the order of rows, blocks in `f64`: the same bits on any
/// number of threads.
fn covariance(
    rows: Rows<'_>,
    centroids: &Centroids,
    kernels: &'static KernelSet,
    progress: &dyn Progress,
) -> Result<Vec<f64>, QuantError> {
    let dimension = rows.dimension();
    let mut covariance = vec![0.0f64; dimension * dimension];
    let mut block = Vec::with_capacity(BLOCK_ROWS.min(rows.count()) * dimension);
    let mut row = vec![0.0; dimension];
    let numbers: Vec<usize> = rows.spread(ROWS).collect();
    for numbers_of_block in numbers.chunks(BLOCK_ROWS) {
        progress.check()?;
        block.clear();
        for number in numbers_of_block {
            rows.copy(*number, &mut row);
            centroids.take_from(kernels, &mut row);
            block.extend(&row);
        }
        covariance
            .par_chunks_exact_mut(dimension)
            .enumerate()
            .for_each_init(
                || (Vec::with_capacity(BLOCK_ROWS), vec![0.0; dimension]),
                |(column, products), (component, sums)| {
                    column.clear();
                    column.extend(block.iter().skip(component).step_by(dimension));
                    kernels.project()(column, &block, products);
                    for (sum, product) in sums.iter_mut().zip(products) {
                        *sum += f64::from(*product);
                    }
                },
            );
        progress.advance(1);
    }
    let blocks = numbers.len().div_ceil(BLOCK_ROWS);
    progress.advance((ROWS.div_ceil(BLOCK_ROWS) - blocks) as u64);
    Ok(covariance)
}
