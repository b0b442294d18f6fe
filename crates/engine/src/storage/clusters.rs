//! Clusters in memory: their means, and where each begins.
//!
//! ```text
//! | clusters u32 | groups u32 | starts u32 each, and the nodes | group starts u32 each, and the
//! | clusters | scale f32 | means of clusters | means of groups |
//! ```
//! Nodes are numbered cluster by cluster, clusters group by group: so a cluster is a run of the
//! code table, and a group is a run of means. Means of bytes are bytes, rounded; others are `f16`
//! in units of a scale that makes use of its range, for cosine those of unit vectors. Codes are
//! made around the means as they are here, so that rounding costs no precision.

use std::ops::Range;

use half::f16;
use pageway_graph::Clusters;
use pageway_kernels::{DistanceManyFn, KernelSet, WidenFn};
use pageway_quant::Centre;
use pageway_types::{ElementType, Metric, NodeId, VectorShape};

use crate::spec::Shape;

/// Clusters of an index, and groups of those.
///
/// Invariant: starts ascend from 0 to what they divide, and there is a mean for each.
pub(crate) struct ClusterTable {
    /// Where each cluster begins among the nodes, and their number.
    starts: Vec<u32>,
    /// Where each group begins among the clusters, and their number.
    groups: Vec<u32>,
    means: Means,
    group_means: Means,
    /// What the rows of means are multiplied by.
    scale: f32,
    metric: Metric,
    element: ElementType,
    many: DistanceManyFn,
    widen: WidenFn,
}

/// Largest component of a mean as `f16`: sums and differences with queries stay in range.
const LARGEST: f32 = 16_384.0;

/// Rows of means with their squared norms.
struct Means {
    rows: Vec<u8>,
    norms: Vec<f32>,
    row_bytes: usize,
}

impl ClusterTable {
    /// The element type of means.
    pub(crate) const fn element(shape: Shape) -> ElementType {
        match (shape.metric, shape.element) {
            (Metric::L2 | Metric::InnerProduct, ElementType::U8 | ElementType::I8) => shape.element,
            (Metric::Cosine, _) | (_, ElementType::F32 | ElementType::F16) => ElementType::F16,
        }
    }

    const fn shape(shape: Shape) -> VectorShape {
        VectorShape {
            dimension: shape.dimension,
            element: Self::element(shape),
        }
    }

    /// The table of clusters that were found.
    pub(crate) fn of(
        clusters: &Clusters,
        shape: Shape,
        kernels: &'static KernelSet,
    ) -> Option<Self> {
        let element = Self::element(shape);
        let magnitudes = clusters.centroids.iter().map(|v| v.abs());
        let largest = magnitudes.fold(0.0, f32::max);
        let scale = if element == ElementType::F16 && largest > 0.0 {
            largest / LARGEST
        } else {
            1.0
        };
        let rounded = |means: &[f32]| {
            let scaled = means.iter().map(|v| v / scale);
            scaled.flat_map(|v| round(element, v)).collect()
        };
        Self::new(
            scale,
            (clusters.starts.clone(), rounded(&clusters.centroids)),
            (clusters.groups.clone(), rounded(&clusters.group_centroids)),
            shape,
            kernels,
        )
    }

    /// A table of clusters with one mean each; `None` where the parts do not fit together.
    fn new(
        scale: f32,
        (starts, rows): (Vec<u32>, Vec<u8>),
        (groups, group_rows): (Vec<u32>, Vec<u8>),
        shape: Shape,
        kernels: &'static KernelSet,
    ) -> Option<Self> {
        let (clusters, count) = (starts.len().checked_sub(1)?, groups.len().checked_sub(1)?);
        let ascend = |starts: &[u32]| starts.is_sorted() && starts.first() == Some(&0);
        let sound = (scale.is_finite() && scale > 0.0)
            && ascend(&starts)
            && ascend(&groups)
            && groups.last() == Some(&u32::try_from(clusters).ok()?);
        let (element, vectors) = (Self::element(shape), Self::shape(shape));
        // What is nearest by L2 is nearest by cosine, among unit vectors.
        let ranked = match shape.metric {
            Metric::L2 | Metric::Cosine => Metric::L2,
            Metric::InnerProduct => Metric::InnerProduct,
        };
        let widen = kernels.widen(element);
        let table = Self {
            means: Means::new(rows, (clusters, vectors), (widen, scale))?,
            group_means: Means::new(group_rows, (count, vectors), (widen, scale))?,
            starts,
            groups,
            scale,
            metric: shape.metric,
            element,
            many: kernels.distance_many(element, ranked),
            widen,
        };
        sound.then_some(table)
    }

    /// Bytes in memory of so many clusters and groups.
    pub(crate) const fn bytes(clusters: u64, groups: u64, shape: Shape) -> u64 {
        let row_bytes = Self::shape(shape).row_bytes() as u64;
        (clusters + groups) * (row_bytes + 8) + 12
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

    /// Writes a query as it is compared with means: raw, or as `f16` in their units, for cosine its
    /// unit vector. Gives the squared length of what it wrote, in the units of the vectors.
    pub(crate) fn comparable(&self, raw: &[u8], widened: &[f32], out: &mut Vec<u8>) -> f32 {
        out.clear();
        let squares = widened.iter().map(|v| f64::from(*v) * f64::from(*v));
        let square = squares.sum::<f64>();
        if self.element != ElementType::F16 {
            out.extend_from_slice(raw);
            return square as f32;
        }
        let unit = self.metric == Metric::Cosine && square > 0.0;
        let length = if unit { square.sqrt() } else { 1.0 };
        let scale = (f64::from(self.scale) * length).recip() as f32;
        out.extend(
            widened
                .iter()
                .flat_map(|v| round(ElementType::F16, v * scale)),
        );
        if unit { 1.0 } else { square as f32 }
    }

    /// Distances of a comparable query to the means of some clusters, as clusters are ranked by.
    pub(crate) fn compare(&self, query: &[u8], clusters: &[NodeId], out: &mut [f32]) {
        self.measure(&self.means, query, clusters, out);
    }

    /// The same for groups.
    pub(crate) fn compare_groups(&self, query: &[u8], groups: &[NodeId], out: &mut [f32]) {
        self.measure(&self.group_means, query, groups, out);
    }

    fn measure(&self, means: &Means, query: &[u8], numbers: &[NodeId], out: &mut [f32]) {
        (self.many)(query, &means.rows, means.row_bytes, numbers, out);
        for out in out {
            *out *= self.scale * self.scale;
        }
    }

    /// What a query of squared length `square` knows of the mean of a cluster, by its distance as
    /// `compare` gave it.
    pub(crate) fn centre(&self, cluster: u32, distance: f32, square: f32) -> Centre {
        let norm = self.means.norms.get(cluster as usize);
        let both = square + norm.copied().unwrap_or(0.0);
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

    /// Writes the mean of a cluster.
    pub(crate) fn mean(&self, cluster: u32, out: &mut [f32]) {
        (self.widen)(self.means.row(cluster as usize), out);
        for out in out {
            *out *= self.scale;
        }
    }

    /// The bytes that `from_bytes` reads.
    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        let counts = [self.starts.len() as u32 - 1, self.group_count()];
        let words = counts.iter().chain(&self.starts).chain(&self.groups);
        let mut bytes: Vec<u8> = words.flat_map(|word| word.to_le_bytes()).collect();
        bytes.extend_from_slice(&self.scale.to_le_bytes());
        bytes.extend_from_slice(&self.means.rows);
        bytes.extend_from_slice(&self.group_means.rows);
        bytes
    }

    /// Reads what `to_bytes` wrote; `None` where that is not what it is.
    pub(crate) fn from_bytes(
        bytes: &[u8],
        shape: Shape,
        kernels: &'static KernelSet,
    ) -> Option<Self> {
        let (counts, rest) = bytes.split_at_checked(8)?;
        let [clusters, groups] = *words(counts).as_slice() else {
            return None;
        };
        let (clusters, groups) = (clusters as usize, groups as usize);
        let (starts, rest) = rest.split_at_checked(clusters.checked_add(1)?.checked_mul(4)?)?;
        let (group_starts, rest) = rest.split_at_checked(groups.checked_add(1)?.checked_mul(4)?)?;
        let (scale, rest) = rest.split_first_chunk::<4>()?;
        let means = clusters.checked_mul(Self::shape(shape).row_bytes())?;
        let (rows, group_rows) = rest.split_at_checked(means)?;
        Self::new(
            f32::from_le_bytes(*scale),
            (words(starts), rows.to_vec()),
            (words(group_starts), group_rows.to_vec()),
            shape,
            kernels,
        )
    }
}

impl Means {
    fn new(
        rows: Vec<u8>,
        (count, shape): (usize, VectorShape),
        (widen, scale): (WidenFn, f32),
    ) -> Option<Self> {
        let row_bytes = shape.row_bytes();
        if rows.len() != count.checked_mul(row_bytes)? {
            return None;
        }
        let mut values = vec![0.0_f32; shape.dimension as usize];
        let norm = |row| {
            (widen)(row, &mut values);
            let values = values.iter().map(|v| f64::from(v * scale));
            values.map(|v| v * v).sum::<f64>() as f32
        };
        let norms: Vec<f32> = rows.chunks_exact(row_bytes).map(norm).collect();
        let finite = norms.iter().all(|norm| norm.is_finite());
        finite.then_some(Self {
            rows,
            norms,
            row_bytes,
        })
    }

    fn row(&self, at: usize) -> &[u8] {
        let start = at * self.row_bytes;
        self.rows.get(start..start + self.row_bytes).unwrap_or(&[])
    }
}

/// A component of a mean in an element type, the nearest that there is.
fn round(element: ElementType, value: f32) -> impl Iterator<Item = u8> {
    let value = match element {
        ElementType::F32 => value,
        ElementType::F16 => value.clamp(f16::MIN.to_f32(), f16::MAX.to_f32()),
        ElementType::U8 | ElementType::I8 => value.round(),
    };
    let bytes = match element {
        ElementType::F32 => value.to_le_bytes(),
        ElementType::F16 => {
            let [low, high] = f16::from_f32(value).to_le_bytes();
            [low, high, 0, 0]
        }
        ElementType::U8 => [value as u8, 0, 0, 0],
        ElementType::I8 => [value as i8 as u8, 0, 0, 0],
    };
    bytes.into_iter().take(element.bytes())
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
mod tests {
    use super::*;

    fn shape(element: ElementType, metric: Metric) -> Shape {
        Shape {
            dimension: 2,
            element,
            metric,
        }
    }

    fn table(element: ElementType, metric: Metric) -> ClusterTable {
        let clusters = Clusters {
            order: (0..7).map(NodeId).collect(),
            starts: vec![0, 3, 3, 7],
            centroids: vec![1.0, 2.0, 0.4, 0.6, 3.0, 4.0],
            groups: vec![0, 2, 3],
            group_centroids: vec![1.0, 1.0, 3.0, 4.0],
        };
        let kernels = KernelSet::detect().unwrap();
        ClusterTable::of(&clusters, shape(element, metric), kernels).unwrap()
    }

    #[test]
    fn ranges_follow_each_other() {
        let table = table(ElementType::U8, Metric::L2);
        assert_eq!((table.node_count(), table.group_count()), (7, 2));
        assert_eq!((table.clusters_of(0), table.clusters_of(1)), (0..2, 2..3));
        assert_eq!((table.nodes_of(0), table.nodes_of(1)), (0..3, 3..3));
        assert_eq!(table.nodes_of(2), 3..7);
        assert_eq!(table.nodes_of(3), 0..0);
        let of: Vec<u32> = (0..7).map(|node| table.cluster_of(NodeId(node))).collect();
        assert_eq!(of, [0, 0, 0, 2, 2, 2, 2]);
        let mut mean = [0.0; 2];
        table.mean(1, &mut mean);
        assert_eq!(mean, [0.0, 1.0], "rounded");
    }

    #[test]
    fn centres_are_told_by_distance_and_product() {
        let (raw, query) = ([3_u8, 5], [3.0_f32, 5.0]);
        for metric in [Metric::L2, Metric::InnerProduct, Metric::Cosine] {
            let table = table(ElementType::U8, metric);
            let mut bytes = Vec::new();
            let square = table.comparable(&raw, &query, &mut bytes);
            let mut out = [0.0; 2];
            table.compare(&bytes, &[NodeId(0), NodeId(2)], &mut out);
            let scale = if metric == Metric::Cosine {
                34.0_f32.sqrt()
            } else {
                1.0
            };
            let unit = query.map(|value| value / scale);
            for (cluster, (distance, mean)) in
                [(0, (out[0], [1.0, 2.0])), (2, (out[1], [3.0, 4.0]))]
            {
                let centre = table.centre(cluster, distance, square);
                let product = unit[0] * mean[0] + unit[1] * mean[1];
                let (a, b) = (unit[0] - mean[0], unit[1] - mean[1]);
                assert!(
                    (centre.product - product).abs() < 1e-3,
                    "{metric} {centre:?}"
                );
                assert!(
                    (centre.distance - (a * a + b * b)).abs() < 1e-3,
                    "{metric} {centre:?}"
                );
            }
        }
    }

    #[test]
    fn bytes_come_back_and_damage_is_seen() {
        let kernels = KernelSet::detect().unwrap();
        for element in ElementType::ALL {
            let shape = shape(element, Metric::L2);
            let bytes = table(element, Metric::L2).to_bytes();
            let read = |bytes: &[u8]| ClusterTable::from_bytes(bytes, shape, kernels);
            assert_eq!(read(&bytes).unwrap().to_bytes(), bytes);
            for cut in 0..bytes.len() {
                assert!(read(&bytes[..cut]).is_none(), "{cut}");
            }
            for (at, wrong) in [(0, 2), (4, 9), (8, 1), (12, 9), (24, 1), (32, 4)] {
                let mut bytes = bytes.clone();
                bytes[at] = wrong;
                assert!(read(&bytes).is_none(), "{at}");
            }
        }
    }
}
