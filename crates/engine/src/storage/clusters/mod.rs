//! Clusters in memory: their means, and where each begins.
//!
//! ```text
//! | magic, version | clusters u32 | groups u32 | starts u32 each, and the nodes |
//! | group starts u32 each, and the clusters | scale f32 | steps of clusters f32 each, or none |
//! | means of clusters | means of groups |
//! ```
//! Nodes are numbered cluster by cluster, clusters group by group: so a cluster is a run of the
//! code table, and a group is a run of means. Means are bytes, rounded, where vectors are bytes.
//! Others, for cosine those of unit vectors, are `f16` for groups, in units of a scale that makes
//! use of its range, and for clusters signed bytes in steps of their own: what they differ by from
//! their group. Codes are made around the means as they are here, so that rounding costs no
//! precision.

mod means;
mod offsets;
mod query;

use std::ops::Range;

use pageway_graph::Clusters;
use pageway_kernels::KernelSet;
use pageway_quant::Centre;
use pageway_types::{ElementType, Metric, NodeId};

use self::means::{Form, Means};
use self::offsets::{Groups, Offsets};
pub(crate) use self::query::MeanQuery;
use crate::spec::Shape;

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
    means: ClusterMeans,
    group_means: Means,
    /// What the rows of whole means are multiplied by.
    scale: f32,
    metric: Metric,
}

/// Means of clusters: of bytes as they are, others beside those of groups.
enum ClusterMeans {
    Whole(Means),
    Beside(Offsets),
}

/// What a table is made from, and what its file holds.
struct Parts {
    starts: Vec<u32>,
    groups: Vec<u32>,
    scale: f32,
    /// None where means are bytes.
    steps: Vec<f32>,
    rows: Vec<u8>,
    group_rows: Vec<u8>,
}

/// Whether means of clusters are kept beside those of groups.
const fn beside(shape: Shape) -> bool {
    matches!(Form::element(shape), ElementType::F16)
}

impl ClusterTable {
    /// The table of clusters that were found.
    pub(crate) fn of(
        clusters: &Clusters,
        shape: Shape,
        kernels: &'static KernelSet,
    ) -> Option<Self> {
        let scale = Form::scale_of(Form::element(shape), &clusters.centroids);
        let form = Form::new(shape, scale, kernels);
        let group_rows = form.rounded(&clusters.group_centroids);
        let (steps, rows) = if beside(shape) {
            let count = clusters.groups.len().checked_sub(1)?;
            let groups = Groups {
                starts: &clusters.groups,
                means: &Means::new(group_rows.clone(), count, form)?,
                dimension: shape.dimension as usize,
            };
            Offsets::rounded(&clusters.centroids, groups)
        } else {
            (Vec::new(), form.rounded(&clusters.centroids))
        };
        let parts = Parts {
            starts: clusters.starts.clone(),
            groups: clusters.groups.clone(),
            scale,
            steps,
            rows,
            group_rows,
        };
        Self::new(parts, shape, kernels)
    }

    /// A table of clusters with one mean each; `None` where the parts do not fit together.
    fn new(parts: Parts, shape: Shape, kernels: &KernelSet) -> Option<Self> {
        let Parts {
            starts,
            groups,
            scale,
            steps,
            rows,
            group_rows,
        } = parts;
        let (clusters, count) = (starts.len().checked_sub(1)?, groups.len().checked_sub(1)?);
        let ascend = |starts: &[u32]| starts.is_sorted() && starts.first() == Some(&0);
        let sound = (scale.is_finite() && scale > 0.0)
            && ascend(&starts)
            && ascend(&groups)
            && groups.last() == Some(&u32::try_from(clusters).ok()?);
        if !sound {
            return None;
        }
        let form = Form::new(shape, scale, kernels);
        let group_means = Means::new(group_rows, count, form)?;
        let means = if beside(shape) {
            let groups = Groups {
                starts: &groups,
                means: &group_means,
                dimension: shape.dimension as usize,
            };
            let offsets = Offsets::new((steps, rows), groups, shape.metric, kernels)?;
            ClusterMeans::Beside(offsets)
        } else {
            ClusterMeans::Whole(Means::new(rows, clusters, form)?)
        };
        Some(Self {
            starts,
            groups,
            means,
            group_means,
            scale,
            metric: shape.metric,
        })
    }

    /// Bytes in memory of so many clusters and groups.
    pub(crate) const fn bytes(clusters: u64, groups: u64, shape: Shape) -> u64 {
        let whole = Form::vectors(shape).row_bytes() as u64 + 4;
        let own = if beside(shape) {
            Offsets::bytes(shape.dimension as usize)
        } else {
            whole
        };
        clusters * (own + 4) + groups * (whole + 4) + 12
    }

    /// Nodes of all clusters.
    pub(crate) fn node_count(&self) -> u32 {
        self.starts.last().copied().unwrap_or(0)
    }

    /// Number of groups.
    pub(crate) fn group_count(&self) -> u32 {
        self.groups.len().saturating_sub(1) as u32
    }

    /// The clusters of a group.
    pub(crate) fn clusters_of(&self, group: u32) -> Range<u32> {
        range(&self.groups, group)
    }

    /// The nodes of a cluster.
    pub(crate) fn nodes_of(&self, cluster: u32) -> Range<u32> {
        range(&self.starts, cluster)
    }

    /// The cluster of a node.
    pub(crate) fn cluster_of(&self, node: NodeId) -> u32 {
        let behind = self.starts.partition_point(|start| *start <= node.0);
        behind.saturating_sub(1) as u32
    }

    /// The group of a cluster.
    fn group_of(&self, cluster: u32) -> u32 {
        let behind = self.groups.partition_point(|start| *start <= cluster);
        behind.saturating_sub(1) as u32
    }

    /// Takes a query in the forms that it is compared with means in.
    pub(crate) fn take(&self, raw: &[u8], widened: &[f32], query: &mut MeanQuery) {
        match self.means {
            ClusterMeans::Whole(_) => query.take_raw(raw, widened),
            ClusterMeans::Beside(_) => {
                query.take(widened, self.scale, self.metric == Metric::Cosine);
            }
        }
    }

    /// Distances of a query to the means of some groups, as groups are ranked by.
    pub(crate) fn compare_groups(&self, query: &MeanQuery, groups: &[NodeId], out: &mut [f32]) {
        self.group_means.compare(query, groups, out);
    }

    /// The same for some clusters of one group, by what that gave for the group.
    pub(crate) fn compare(
        &self,
        (query, group): (&MeanQuery, f32),
        clusters: &[NodeId],
        out: &mut [f32],
    ) {
        match &self.means {
            ClusterMeans::Whole(means) => means.compare(query, clusters, out),
            ClusterMeans::Beside(offsets) => offsets.compare((query, group), clusters, out),
        }
    }

    /// What a query knows of the mean of a cluster, by its distance as `compare` gave it.
    pub(crate) fn centre(&self, query: &MeanQuery, cluster: u32, distance: f32) -> Centre {
        let both = query.square + self.norm(cluster);
        match self.metric {
            Metric::L2 | Metric::Cosine => Centre {
                distance,
                product: (both - distance) / 2.0,
            },
            Metric::InnerProduct => Centre {
                distance: (both + 2.0 * distance).max(0.0),
                product: -distance,
            },
        }
    }

    /// The same, where the cluster was not compared.
    pub(crate) fn centre_of(&self, query: &MeanQuery, cluster: u32) -> Centre {
        let (mut group, mut distance) = ([0.0], [0.0]);
        if let ClusterMeans::Beside(_) = self.means {
            self.compare_groups(query, &[NodeId(self.group_of(cluster))], &mut group);
        }
        let [group] = group;
        self.compare((query, group), &[NodeId(cluster)], &mut distance);
        let [distance] = distance;
        self.centre(query, cluster, distance)
    }

    /// Squared norm of the mean of a cluster.
    fn norm(&self, cluster: u32) -> f32 {
        match &self.means {
            ClusterMeans::Whole(means) => means.norm(cluster as usize),
            ClusterMeans::Beside(offsets) => {
                let group = self.group_means.norm(self.group_of(cluster) as usize);
                group + offsets.gain(cluster as usize)
            }
        }
    }

    /// Writes the mean of a cluster.
    pub(crate) fn mean(&self, cluster: u32, out: &mut [f32]) {
        match &self.means {
            ClusterMeans::Whole(means) => means.write(cluster as usize, out),
            ClusterMeans::Beside(offsets) => {
                self.group_means.write(self.group_of(cluster) as usize, out);
                offsets.add(cluster as usize, out);
            }
        }
    }

    /// The bytes that `from_bytes` reads.
    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        let (steps, rows) = match &self.means {
            ClusterMeans::Whole(means) => (&[] as &[f32], &means.rows),
            ClusterMeans::Beside(offsets) => (offsets.steps.as_slice(), &offsets.rows),
        };
        let counts = [self.starts.len() as u32 - 1, self.group_count()];
        let words = counts
            .iter()
            .chain(&self.starts)
            .chain(&self.groups)
            .copied();
        let numbers = std::iter::once(&self.scale).chain(steps);
        let words = words.chain(numbers.map(|number| number.to_bits()));
        let mut bytes = HEADER.to_vec();
        bytes.extend(words.flat_map(u32::to_le_bytes));
        bytes.extend_from_slice(rows);
        bytes.extend_from_slice(&self.group_means.rows);
        bytes
    }

    /// Reads what `to_bytes` wrote; `None` where that is not what it is.
    pub(crate) fn from_bytes(
        bytes: &[u8],
        shape: Shape,
        kernels: &'static KernelSet,
    ) -> Option<Self> {
        let (counts, rest) = bytes.strip_prefix(&HEADER)?.split_at_checked(8)?;
        let [clusters, groups] = *words(counts).as_slice() else {
            return None;
        };
        let (clusters, groups) = (clusters as usize, groups as usize);
        let (starts, rest) = rest.split_at_checked(clusters.checked_add(1)?.checked_mul(4)?)?;
        let (group_starts, rest) = rest.split_at_checked(groups.checked_add(1)?.checked_mul(4)?)?;
        let (scale, rest) = rest.split_first_chunk::<4>()?;
        let (steps, component) = if beside(shape) {
            (clusters.checked_mul(4)?, 1)
        } else {
            (0, Form::element(shape).bytes())
        };
        let (steps, rest) = rest.split_at_checked(steps)?;
        let row_bytes = component * shape.dimension as usize;
        let (rows, group_rows) = rest.split_at_checked(clusters.checked_mul(row_bytes)?)?;
        let parts = Parts {
            starts: words(starts),
            groups: words(group_starts),
            scale: f32::from_le_bytes(*scale),
            steps: words(steps).into_iter().map(f32::from_bits).collect(),
            rows: rows.to_vec(),
            group_rows: group_rows.to_vec(),
        };
        Self::new(parts, shape, kernels)
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

#[cfg(test)]
mod tests;
