//! Means of clusters in a byte per component: what they differ by from the means of their groups.
//!
//! ```text
//! mean = group + step * bytes      step: the largest component of the difference, by 127
//! |query - mean|^2 = |query - group|^2 - 2 step <query, bytes> + (|mean|^2 - |group|^2)
//!    <query, mean> =  <query, group>   +   step <query, bytes>
//! ```
//! A cluster is nearer to its group than groups are to each other, and has steps of its own: so they
//! are fine enough to rank by, where one step for all was too coarse for global image descriptors.
//! The query is two rows of bytes; sums of products are exact.

use pageway_kernels::{DistanceManyFn, KernelSet};
use pageway_types::{ElementType, Metric, NodeId};

use super::means::Means;
use super::query::MeanQuery;

/// Rows that are read twice before others are: they stay in the nearest cache.
const TOGETHER: usize = 32;

/// Largest byte of a difference.
const LARGEST: f32 = 127.0;

/// The means of clusters, beside those of their groups.
///
/// Invariant: a row, a step and a gain for each cluster; steps and gains are finite.
pub(super) struct Offsets {
    pub(super) rows: Vec<u8>,
    pub(super) steps: Vec<f32>,
    /// Squared norms of means, less those of the means of their groups.
    gains: Vec<f32>,
    dimension: usize,
    products: DistanceManyFn,
    /// What gains, and steps times negated products, are multiplied by where clusters are ranked.
    weights: (f32, f32),
}

/// Clusters by groups: where each group begins among them, and the means of groups as stored.
#[derive(Clone, Copy)]
pub(super) struct Groups<'g> {
    pub(super) starts: &'g [u32],
    pub(super) means: &'g Means,
    pub(super) dimension: usize,
}

impl Groups<'_> {
    /// Shows each cluster with the mean of its group.
    fn each(self, mut show: impl FnMut(usize, &[f32])) {
        let mut base = vec![0.0; self.dimension];
        for (group, bounds) in self.starts.windows(2).enumerate() {
            let &[start, end] = bounds else { continue };
            self.means.write(group, &mut base);
            (start..end).for_each(|cluster| show(cluster as usize, &base));
        }
    }
}

impl Offsets {
    /// Bytes in memory of a cluster.
    pub(super) const fn bytes(dimension: usize) -> u64 {
        (dimension + 2 * size_of::<f32>()) as u64
    }

    /// Steps and rows for means of clusters.
    pub(super) fn rounded(means: &[f32], groups: Groups<'_>) -> (Vec<f32>, Vec<u8>) {
        let mut steps = Vec::with_capacity(means.len() / groups.dimension);
        let mut rows = Vec::with_capacity(means.len());
        groups.each(|cluster, base| {
            let mean = means.get(cluster * base.len()..).unwrap_or(&[]);
            let differences = mean.iter().zip(base).map(|(mean, base)| mean - base);
            let largest = differences.clone().map(f32::abs).fold(0.0, f32::max);
            let step = largest / LARGEST;
            let divisor = if step > 0.0 { step } else { 1.0 };
            let numbers = differences.map(|v| (v / divisor).round().clamp(-LARGEST, LARGEST));
            rows.extend(numbers.map(|number| number as i8 as u8));
            steps.push(step);
        });
        (steps, rows)
    }

    /// The means that `rounded` gave; `None` where there is not one for each cluster of `groups`,
    /// or one is not finite.
    pub(super) fn new(
        (steps, rows): (Vec<f32>, Vec<u8>),
        groups: Groups<'_>,
        metric: Metric,
        kernels: &KernelSet,
    ) -> Option<Self> {
        let clusters = groups.starts.last().copied()? as usize;
        if steps.len() != clusters || rows.len() != clusters.checked_mul(groups.dimension)? {
            return None;
        }
        let mut offsets = Self {
            rows,
            steps,
            gains: Vec::with_capacity(clusters),
            dimension: groups.dimension,
            products: kernels.distance_many(ElementType::I8, Metric::InnerProduct),
            weights: match metric {
                Metric::L2 | Metric::Cosine => (1.0, 2.0),
                Metric::InnerProduct => (0.0, 1.0),
            },
        };
        let mut own = vec![0.0; groups.dimension];
        groups.each(|cluster, base| {
            own.fill(0.0);
            offsets.add(cluster, &mut own);
            let pairs = own.iter().map(|v| f64::from(*v)).zip(base);
            let gains = pairs.map(|(own, base)| own * (own + 2.0 * f64::from(*base)));
            offsets.gains.push(gains.sum::<f64>() as f32);
        });
        let sound = |values: &[f32]| values.iter().all(|value| value.is_finite());
        (sound(&offsets.steps) && sound(&offsets.gains)).then_some(offsets)
    }

    /// Adds to the mean of its group what the mean of a cluster differs by.
    pub(super) fn add(&self, cluster: usize, mean: &mut [f32]) {
        let row = self.rows.get(cluster * self.dimension..).unwrap_or(&[]);
        let step = self.step(cluster);
        for (mean, byte) in mean.iter_mut().zip(row) {
            *mean += step * f32::from(*byte as i8);
        }
    }

    /// Squared norm of the mean of a cluster, less that of the mean of its group.
    pub(super) fn gain(&self, cluster: usize) -> f32 {
        self.gains.get(cluster).copied().unwrap_or(0.0)
    }

    fn step(&self, cluster: usize) -> f32 {
        self.steps.get(cluster).copied().unwrap_or(0.0)
    }

    /// Distances of a query to the means of some clusters of a group, as clusters are ranked by,
    /// from its distance to the mean of the group.
    pub(super) fn compare(
        &self,
        (query, group): (&MeanQuery, f32),
        clusters: &[NodeId],
        out: &mut [f32],
    ) {
        let mut lows = [0.0; TOGETHER];
        let (of_gain, of_product) = self.weights;
        let of_product = of_product * query.unit;
        for (clusters, out) in clusters.chunks(TOGETHER).zip(out.chunks_mut(TOGETHER)) {
            let (lows, _) = lows.split_at_mut(clusters.len());
            (self.products)(&query.high, &self.rows, self.dimension, clusters, out);
            (self.products)(&query.low, &self.rows, self.dimension, clusters, lows);
            for ((out, low), cluster) in out.iter_mut().zip(lows).zip(clusters) {
                let at = cluster.index();
                let negated = 256.0 * *out + *low;
                *out = group + of_gain * self.gain(at) + of_product * self.step(at) * negated;
            }
        }
    }
}
