//! Clusters in memory: their means, and where each begins.
//!
//! ```text
//! | magic, version | clusters u32 | groups u32 | starts u32 each, and the nodes |
//! | group starts u32 each, and the clusters | means |
//!
//! means, where vectors are bytes, but not for cosine:
//! | means of clusters | means of groups |
//! else:
//! | unit of groups f32 | steps of clusters f32 each | differences of clusters |
//! | high bytes of groups | low bytes of groups |
//! ```
//! Nodes are numbered cluster by cluster, clusters group by group: so a cluster is a run of the
//! code table, and a group is a run of means. Means of bytes are bytes, rounded. Others, for cosine
//! those of unit vectors, have two bytes per component for groups, and one for clusters: `split`.
//! Codes are made around the means as they are here, so that rounding costs no precision.

mod means;
mod query;
mod split;
#[cfg(test)]
mod tests;
mod whole;

use std::ops::Range;

use pageway_kernels::KernelSet;
use pageway_quant::Centre;
use pageway_types::{ClusterId, GroupId, Guide, NodeId};

use self::means::Means;
pub(crate) use self::query::MeanQuery;
use crate::error::Result;
use crate::spec::Shape;

/// Means that are compared together.
const TOGETHER: usize = 32;

/// "PWCL", version 1, two bytes of zero.
const HEADER: [u8; 8] = *b"PWCL\x01\0\0\0";

/// Clusters of an index, and groups of those.
///
/// Invariant: starts ascend from 0 to what they divide, and there is a mean for each.
pub(crate) struct ClusterTable {
    /// Where each cluster begins among the nodes, and their number.
    starts: Vec<u32>,
    /// Where each group begins among the clusters, and their number.
    groups: Vec<u32>,
    means: Means,
    metric: Guide,
}

/// Clusters that were found, but for their means.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FoundClusters<'f> {
    /// Where each begins among the nodes, and their number.
    pub(crate) starts: &'f [u32],
    /// Where each group begins among the clusters, and their number.
    pub(crate) groups: &'f [u32],
    /// A mean for each group.
    pub(crate) group_means: &'f [f32],
}

/// Writes the mean of the next cluster.
pub(crate) type NextMean<'n> = &'n mut dyn FnMut(&mut [f32]) -> Result<()>;

impl ClusterTable {
    /// The table of clusters that were found, whose means `next` gives from first to last; `None`
    /// where means are out of the range of `f32`.
    pub(crate) fn of(
        found: FoundClusters<'_>,
        next: NextMean<'_>,
        (shape, kernels): (Shape, &'static KernelSet),
    ) -> Result<Option<Self>> {
        let means = Means::round(found, next, (shape, kernels))?;
        Ok(means.map(|means| Self {
            starts: found.starts.to_vec(),
            groups: found.groups.to_vec(),
            means,
            metric: shape.metric.guide(),
        }))
    }

    /// Bytes in memory of so many clusters and groups.
    pub(crate) const fn bytes(clusters: u64, groups: u64, shape: Shape) -> u64 {
        let starts = (clusters + 1 + groups + 1) * size_of::<u32>() as u64;
        starts + Means::bytes(clusters, groups, shape)
    }

    /// Nodes of all clusters.
    pub(crate) fn node_count(&self) -> u32 {
        self.starts.last().copied().unwrap_or(0)
    }

    /// Nodes of a cluster, mean.
    pub(crate) fn mean_nodes(&self) -> f64 {
        f64::from(self.node_count()) / f64::from(self.cluster_count().max(1))
    }

    /// Number of clusters.
    pub(crate) fn cluster_count(&self) -> u32 {
        self.starts.len().saturating_sub(1) as u32
    }

    /// Number of groups.
    pub(crate) fn group_count(&self) -> u32 {
        self.groups.len().saturating_sub(1) as u32
    }

    /// The clusters of a group.
    pub(crate) fn clusters_of(&self, group: GroupId) -> Range<u32> {
        range(&self.groups, group.0)
    }

    /// The nodes of a cluster.
    pub(crate) fn nodes_of(&self, cluster: ClusterId) -> Range<u32> {
        range(&self.starts, cluster.0)
    }

    /// The cluster of a node.
    pub(crate) fn cluster_of(&self, node: NodeId) -> ClusterId {
        let behind = self.starts.partition_point(|start| *start <= node.0);
        ClusterId(behind.saturating_sub(1) as u32)
    }

    /// The group of a cluster.
    fn group_of(&self, cluster: ClusterId) -> GroupId {
        let behind = self.groups.partition_point(|start| *start <= cluster.0);
        GroupId(behind.saturating_sub(1) as u32)
    }

    /// Takes a query in the form that it is compared with means in, and compares it with the means
    /// of groups: by inner product, or by L2; what is nearest by that is nearest by cosine, among
    /// unit vectors.
    pub(crate) fn take(&self, raw: &[u8], widened: &[f32], query: &mut MeanQuery) {
        match self.means {
            Means::Whole { .. } => query.take(raw, widened),
            Means::Split { .. } => query.split(widened, self.metric == Guide::Cosine),
        }
        let mut distances = std::mem::take(&mut query.groups);
        distances.clear();
        distances.resize(self.group_count() as usize, 0.0);
        let blocks = (0..).step_by(TOGETHER).zip(distances.chunks_mut(TOGETHER));
        for (first, out) in blocks {
            let numbers = first..first + out.len();
            match &self.means {
                Means::Whole { groups, .. } => groups.compare(query, numbers, out),
                Means::Split { groups, .. } => groups.compare((query, self.metric), numbers, out),
            }
        }
        query.groups = distances;
    }

    /// Distances of a query to the means of clusters of one group, as clusters are ranked by: of as
    /// many as `out` has places, from `first` on.
    pub(crate) fn compare(
        &self,
        (query, group): (&MeanQuery, GroupId),
        first: ClusterId,
        out: &mut [f32],
    ) {
        let group = query.groups.get(group.index()).copied().unwrap_or(0.0);
        let blocks = (first.index()..).step_by(TOGETHER);
        for (first, out) in blocks.zip(out.chunks_mut(TOGETHER)) {
            let numbers = first..first + out.len();
            match &self.means {
                Means::Whole { clusters, .. } => clusters.compare(query, numbers, out),
                Means::Split { clusters, .. } => {
                    clusters.compare((query, self.metric, group), numbers, out);
                }
            }
        }
    }

    /// What a query knows of the mean of a cluster, by its distance as `compare` gave it.
    pub(crate) fn centre(&self, query: &MeanQuery, cluster: ClusterId, distance: f32) -> Centre {
        let both = query.square + self.norm(cluster);
        match self.metric {
            Guide::L2 | Guide::Cosine => Centre {
                distance,
                product: (both - distance) / 2.0,
            },
            Guide::InnerProduct => Centre {
                distance: (both + 2.0 * distance).max(0.0),
                product: -distance,
            },
        }
    }

    /// The same, where the cluster was not compared.
    pub(crate) fn centre_of(&self, query: &MeanQuery, cluster: ClusterId) -> Centre {
        let (group, mut distance) = (self.group_of(cluster), [0.0]);
        self.compare((query, group), cluster, &mut distance);
        let [distance] = distance;
        self.centre(query, cluster, distance)
    }

    /// Squared length of the mean of a cluster.
    fn norm(&self, cluster: ClusterId) -> f32 {
        match &self.means {
            Means::Whole { clusters, .. } => clusters.norm(cluster.index()),
            Means::Split { clusters, groups } => {
                let group = groups.norm(self.group_of(cluster).index());
                (group + f64::from(clusters.gain(cluster.index()))) as f32
            }
        }
    }

    /// Writes the mean of a cluster.
    pub(crate) fn mean(&self, cluster: ClusterId, out: &mut [f32]) {
        match &self.means {
            Means::Whole { clusters, .. } => clusters.write(cluster.index(), out),
            Means::Split { clusters, groups } => {
                groups.write(self.group_of(cluster).index(), out);
                clusters.add(cluster.index(), out);
            }
        }
    }

    /// Shows the bytes that `from_bytes` reads, piece by piece.
    pub(crate) fn write(&self, out: &mut dyn FnMut(&[u8]) -> Result<()>) -> Result<()> {
        let counts = [self.cluster_count(), self.group_count()];
        let words = counts.iter().chain(&self.starts).chain(&self.groups);
        out(&HEADER)?;
        for word in words {
            out(&word.to_le_bytes())?;
        }
        self.means.write(out)
    }

    /// Reads what `write` showed; `None` where that is not what it is.
    pub(crate) fn from_bytes(
        bytes: &[u8],
        shape: Shape,
        kernels: &'static KernelSet,
    ) -> Option<Self> {
        let (counts, rest) = bytes.strip_prefix(&HEADER)?.split_at_checked(8)?;
        let [clusters, groups] = *words(counts).as_slice() else {
            return None;
        };
        let bytes_of = |count: u32| (count as usize).checked_add(1)?.checked_mul(4);
        let (starts, rest) = rest.split_at_checked(bytes_of(clusters)?)?;
        let (group_starts, rest) = rest.split_at_checked(bytes_of(groups)?)?;
        let (starts, groups) = (words(starts), words(group_starts));
        let ascend = |starts: &[u32]| starts.is_sorted() && starts.first() == Some(&0);
        if !ascend(&starts) || !ascend(&groups) || groups.last() != Some(&clusters) {
            return None;
        }
        Some(Self {
            means: Means::read(rest, &groups, (shape, kernels))?,
            starts,
            groups,
            metric: shape.metric.guide(),
        })
    }
}

fn range(starts: &[u32], at: u32) -> Range<u32> {
    let at = at as usize;
    match starts.get(at..at + 2) {
        Some([start, end]) => *start..*end,
        _ => 0..0,
    }
}

fn words(bytes: &[u8]) -> Vec<u32> {
    let (words, _) = bytes.as_chunks::<4>();
    words.iter().map(|word| u32::from_le_bytes(*word)).collect()
}
