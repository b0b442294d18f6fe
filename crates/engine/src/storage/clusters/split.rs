//! Means of clusters in a byte per component: what they differ by from the means of their groups,
//! which have two.
//!
//! ```text
//! group = unit * (256 * high + low)           unit: the same for all
//!  mean = group + step * row                  step: the largest difference, by 127
//! |query - mean|^2 = |query - group|^2 - 2 step <query, row> + (|mean|^2 - |group|^2)
//!    <query, mean> =  <query, group>   +   step <query, row>
//! ```
//! Means of clusters are nearer to those of their groups than groups are to each other, and have
//! steps of their own: so a byte is fine enough to rank by, where steps of one size for all were
//! too coarse for global image descriptors. Queries have two bytes per component as well
//! ([`MeanQuery`]); sums of products of bytes are exact, whatever the instruction set, and are
//! rounded to `f32` once.

use std::ops::Range;

use pageway_kernels::{KernelSet, PairProductsFn};
use pageway_types::Guide;

use super::query::{MeanQuery, joined, split, unit_of};
use super::{NextMean, TOGETHER};
use crate::error::Result;

/// Largest byte of a difference.
const LARGEST: f32 = 127.0;

/// Rows of signed bytes.
pub(super) struct ByteRows {
    pub(super) bytes: Vec<u8>,
    dimension: usize,
    pair_products: PairProductsFn,
}

impl ByteRows {
    fn new(
        bytes: Vec<u8>,
        (count, dimension): (usize, usize),
        kernels: &KernelSet,
    ) -> Option<Self> {
        (bytes.len() == count.checked_mul(dimension)?).then(|| Self {
            bytes,
            dimension,
            pair_products: kernels.pair_products(),
        })
    }

    /// Inner products of a query with up to [`TOGETHER`] rows, in units of the query.
    fn products(&self, query: &MeanQuery, rows: Range<usize>) -> [f64; TOGETHER] {
        let mut sums = [[0; 2]; TOGETHER];
        let (own, _) = sums.split_at_mut(rows.len());
        let bytes = rows.start * self.dimension..rows.end * self.dimension;
        let rows = self.bytes.get(bytes).unwrap_or(&[]);
        (self.pair_products)([&query.high, &query.low], rows, own);
        sums.map(|[high, low]| 256.0 * f64::from(high) + f64::from(low))
    }

    fn row(&self, at: usize) -> &[u8] {
        let start = at * self.dimension;
        self.bytes.get(start..start + self.dimension).unwrap_or(&[])
    }
}

/// The means of groups.
///
/// Invariant: two rows and a norm for each; the unit and norms are finite, as `f32` too.
pub(super) struct Bases {
    pub(super) high: ByteRows,
    pub(super) low: ByteRows,
    /// Their squared lengths.
    norms: Vec<f64>,
    pub(super) unit: f32,
}

impl Bases {
    /// Bytes in memory of the mean of a group.
    pub(super) const fn bytes(dimension: usize) -> u64 {
        (2 * dimension + size_of::<f64>()) as u64
    }

    /// Rounds means.
    pub(super) fn round(means: &[f32], dimension: usize, kernels: &KernelSet) -> Option<Self> {
        let unit = unit_of(means);
        let (mut high, mut low) = (Vec::new(), Vec::new());
        split(means, unit, (&mut high, &mut low));
        Self::new(unit, (high, low), dimension, kernels)
    }

    /// The means that `round` gave; `None` where their parts do not fit together.
    pub(super) fn new(
        unit: f32,
        (high, low): (Vec<u8>, Vec<u8>),
        dimension: usize,
        kernels: &KernelSet,
    ) -> Option<Self> {
        let rows = (high.len() / dimension, dimension);
        let mut bases = Self {
            high: ByteRows::new(high, rows, kernels)?,
            low: ByteRows::new(low, rows, kernels)?,
            norms: Vec::with_capacity(rows.0),
            unit,
        };
        for group in 0..rows.0 {
            let squares = bases.numbers(group).map(|number| i64::from(number).pow(2));
            let square = squares.sum::<i64>() as f64;
            bases.norms.push(square * f64::from(unit) * f64::from(unit));
        }
        let in_range = |norm: &f64| *norm <= f64::from(f32::MAX);
        (unit.is_finite() && unit >= 0.0 && bases.norms.iter().all(in_range)).then_some(bases)
    }

    fn numbers(&self, group: usize) -> impl Iterator<Item = i32> {
        let pairs = self.high.row(group).iter().zip(self.low.row(group));
        pairs.map(|(high, low)| joined(*high, *low))
    }

    /// Number of groups.
    pub(super) const fn count(&self) -> usize {
        self.norms.len()
    }

    /// Squared length of the mean of a group.
    pub(super) fn norm(&self, group: usize) -> f64 {
        self.norms.get(group).copied().unwrap_or(0.0)
    }

    /// Writes the mean of a group.
    pub(super) fn write(&self, group: usize, out: &mut [f32]) {
        for (out, number) in out.iter_mut().zip(self.numbers(group)) {
            *out = self.unit * number as f32;
        }
    }

    /// Distances of a query to the means of up to [`TOGETHER`] groups, as they are ranked by.
    pub(super) fn compare(
        &self,
        (query, metric): (&MeanQuery, Guide),
        groups: Range<usize>,
        out: &mut [f32],
    ) {
        let unit = query.unit * f64::from(self.unit);
        let (high, low) = (
            self.high.products(query, groups.clone()),
            self.low.products(query, groups.clone()),
        );
        let products = high
            .into_iter()
            .zip(low)
            .map(|(a, b)| unit * (256.0 * a + b));
        for ((out, product), group) in out.iter_mut().zip(products).zip(groups) {
            let distance = match metric {
                Guide::L2 | Guide::Cosine => query.rounded + self.norm(group) - 2.0 * product,
                Guide::InnerProduct => -product,
            };
            *out = distance as f32;
        }
    }
}

/// The means of clusters, beside those of their groups.
///
/// Invariant: a row, a step and a gain for each cluster; steps and gains are finite.
pub(super) struct Offsets {
    pub(super) rows: ByteRows,
    pub(super) steps: Vec<f32>,
    /// Squared lengths of means, less those of the means of their groups.
    gains: Vec<f32>,
}

impl Offsets {
    /// Bytes in memory of the mean of a cluster.
    pub(super) const fn bytes(dimension: usize) -> u64 {
        (dimension + 2 * size_of::<f32>()) as u64
    }

    /// Rounds means of clusters, which begin among them where `starts` says for each group.
    pub(super) fn round(
        next: NextMean<'_>,
        (starts, bases): (&[u32], &Bases),
        kernels: &KernelSet,
    ) -> Result<Option<Self>> {
        let (count, dimension) = (
            starts.last().map_or(0, |end| *end as usize),
            bases.high.dimension,
        );
        let mut steps = Vec::with_capacity(count);
        let mut bytes = Vec::with_capacity(count * dimension);
        let mut mean = vec![0.0; dimension];
        each_base(starts, bases, |_, base| {
            next(&mut mean)?;
            let differences = mean.iter().zip(base).map(|(mean, base)| mean - base);
            let largest = differences.clone().map(f32::abs).fold(0.0, f32::max);
            let step = largest / LARGEST;
            let divisor = if step > 0.0 { step } else { 1.0 };
            let numbers = differences.map(|v| (v / divisor).round().clamp(-LARGEST, LARGEST));
            bytes.extend(numbers.map(|number| number as i8 as u8));
            steps.push(step);
            Ok(())
        })?;
        Ok(Self::new((steps, bytes), (starts, bases), kernels))
    }

    /// The means that `round` gave; `None` where their parts do not fit together.
    pub(super) fn new(
        (steps, bytes): (Vec<f32>, Vec<u8>),
        (starts, bases): (&[u32], &Bases),
        kernels: &KernelSet,
    ) -> Option<Self> {
        let (clusters, dimension) = (*starts.last()? as usize, bases.high.dimension);
        if steps.len() != clusters || bases.count() + 1 != starts.len() {
            return None;
        }
        let mut offsets = Self {
            rows: ByteRows::new(bytes, (clusters, dimension), kernels)?,
            steps,
            gains: Vec::with_capacity(clusters),
        };
        let mut own = vec![0.0; dimension];
        let summed = each_base(starts, bases, |cluster, base| {
            own.fill(0.0);
            offsets.add(cluster, &mut own);
            let pairs = own.iter().map(|v| f64::from(*v)).zip(base);
            let gains = pairs.map(|(own, base)| own * (own + 2.0 * f64::from(*base)));
            offsets.gains.push(gains.sum::<f64>() as f32);
            Ok(())
        });
        summed.ok()?;
        let finite = |values: &[f32]| values.iter().all(|value| value.is_finite());
        (finite(&offsets.steps) && finite(&offsets.gains)).then_some(offsets)
    }

    /// Adds what the mean of a cluster differs by to the mean of its group.
    pub(super) fn add(&self, cluster: usize, mean: &mut [f32]) {
        let step = self.step(cluster);
        for (mean, byte) in mean.iter_mut().zip(self.rows.row(cluster)) {
            *mean += step * f32::from(*byte as i8);
        }
    }

    fn step(&self, cluster: usize) -> f32 {
        self.steps.get(cluster).copied().unwrap_or(0.0)
    }

    /// Squared length of the mean of a cluster, less that of the mean of its group.
    pub(super) fn gain(&self, cluster: usize) -> f32 {
        self.gains.get(cluster).copied().unwrap_or(0.0)
    }

    /// Distances of a query to the means of up to [`TOGETHER`] clusters of a group, as they are
    /// ranked by; from its distance to the mean of the group.
    pub(super) fn compare(
        &self,
        (query, metric, group): (&MeanQuery, Guide, f32),
        clusters: Range<usize>,
        out: &mut [f32],
    ) {
        let products = self.rows.products(query, clusters.clone());
        let steps = self.steps.get(clusters.clone()).unwrap_or(&[]);
        let gains = self.gains.get(clusters).unwrap_or(&[]);
        for (((out, product), step), gain) in out.iter_mut().zip(products).zip(steps).zip(gains) {
            let product = (query.unit * product) as f32 * step;
            *out = match metric {
                Guide::L2 | Guide::Cosine => group + (gain - 2.0 * product),
                Guide::InnerProduct => group - product,
            };
        }
    }
}

/// Shows each cluster with the mean of its group.
fn each_base(
    starts: &[u32],
    bases: &Bases,
    mut show: impl FnMut(usize, &[f32]) -> Result<()>,
) -> Result<()> {
    let mut base = vec![0.0; bases.high.dimension];
    for (group, bounds) in starts.windows(2).enumerate() {
        let &[start, end] = bounds else { continue };
        bases.write(group, &mut base);
        (start..end).try_for_each(|cluster| show(cluster as usize, &base))?;
    }
    Ok(())
}
