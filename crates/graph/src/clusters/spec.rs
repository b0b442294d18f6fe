//! Parameters of clusters, the clusters, and the memory that finding them takes.

use pageway_types::{Guide, NodeId, Progress, VectorShape};
use rayon::prelude::*;

use super::centroids::{Centroids, Sorted};
use super::directory::{Directory, Finder, Kernels};
use super::lloyd::{Source, group, group_count};
use crate::error::GraphError;
use crate::linking::{Workers, check};
use crate::placement::{Paging, arrange, arrange_bytes};
use crate::routing::sample_nodes;
use crate::vectors::VectorSet;

/// Rounds on some of the nodes, and how many of those for each cluster.
const SAMPLED_ROUNDS: usize = 4;
const SAMPLED: usize = 16;

/// Parameters of clusters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClusterSpec {
    /// Nodes of a cluster on average, 1 to 65,536; 32 to 256 is usual.
    pub members: u32,
    /// Fixes where the centroids begin.
    pub seed: u64,
}

impl ClusterSpec {
    /// Clusters of `count` nodes.
    pub const fn clusters(&self, count: u32) -> u32 {
        let members = if self.members == 0 { 1 } else { self.members };
        count.div_ceil(members)
    }

    /// Groups of the clusters of `count` nodes.
    pub fn groups(&self, count: u32) -> u32 {
        group_count(self.clusters(count) as usize) as u32
    }
}

/// How many clusters some vectors get, and how many groups those.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClusterCount {
    /// 1 to as many as there are vectors.
    pub clusters: u32,
    /// 1 to as many as there are clusters.
    pub groups: u32,
}

/// Nodes in clusters, clusters in groups.
#[derive(Clone, Debug, PartialEq)]
pub struct Clusters {
    /// The nodes, cluster by cluster; within a cluster the nearest of each on its page.
    pub order: Vec<NodeId>,
    /// Where each cluster begins in `order`, and the number of nodes.
    pub starts: Vec<u32>,
    /// A mean for each cluster, `dimension` values each.
    pub centroids: Vec<f32>,
    /// Where each group begins among the clusters, and their number.
    pub groups: Vec<u32>,
    /// A mean for each group.
    pub group_centroids: Vec<f32>,
}

/// Finds the clusters of `vectors`, whose order is cut into pages by `paging`.
///
/// k-means with [`ClusterSpec::clusters`] centroids: four rounds on 16 nodes of each, one on all.
/// About `8 * sqrt(clusters)` multiply-adds per component, node and round, in products of matrices.
/// Takes [`clusters_bytes`] beside the vectors.
///
/// # Errors
/// When a parameter is out of range, there is no vector, memory is refused, or `progress` cancels.
pub fn clusters(
    vectors: &VectorSet<'_>,
    (spec, paging): (&ClusterSpec, Paging),
    pool: &rayon::ThreadPool,
    progress: &dyn Progress,
) -> Result<Clusters, GraphError> {
    let count = ClusterCount {
        clusters: spec.clusters(vectors.count()),
        groups: spec.groups(vectors.count()),
    };
    some_clusters(vectors, (spec, count, paging), pool, progress)
}

/// As [`clusters`], but as many as are wanted: for some of the vectors of a larger set, which may
/// begin within a page.
///
/// # Errors
/// As [`clusters`]; when a count is out of range.
pub fn some_clusters(
    vectors: &VectorSet<'_>,
    (spec, count, paging): (&ClusterSpec, ClusterCount, Paging),
    pool: &rayon::ThreadPool,
    progress: &dyn Progress,
) -> Result<Clusters, GraphError> {
    let within = (1..=65_536).contains(&spec.members);
    check(within, "members", spec.members, "1 to 65536")?;
    if vectors.count() == 0 {
        return Err(GraphError::Empty);
    }
    let within = (1..=vectors.count()).contains(&count.clusters);
    check(
        within,
        "clusters",
        count.clusters,
        "1 to one for each vector",
    )?;
    let within = (1..=count.clusters).contains(&count.groups);
    check(within, "groups", count.groups, "1 to one for each cluster")?;
    let within = paging.taken < paging.nodes_per_page;
    check(
        within,
        "places taken",
        paging.taken,
        "fewer than a page has",
    )?;
    pool.install(|| {
        let search = Search {
            vectors,
            kernels: Kernels {
                products: vectors.products(),
                near: vectors.near(),
            },
            paging,
            progress,
        };
        search.run(count, spec.seed)
    })
}

/// Bytes that [`clusters`] holds at most, its outcome included.
pub fn clusters_bytes(
    count: u64,
    shape: VectorShape,
    metric: Guide,
    spec: &ClusterSpec,
    threads: usize,
) -> u64 {
    let lift = usize::from(metric == Guide::InnerProduct);
    let dimension = shape.dimension as usize + lift;
    let nodes = u32::try_from(count).unwrap_or(u32::MAX);
    let (clusters, groups) = (spec.clusters(nodes) as usize, spec.groups(nodes) as usize);
    let centroids = (3 * (clusters + groups) * dimension * size_of::<f32>()) as u64;
    let finder = Finder::bytes(clusters, dimension);
    let arranging = threads as u64 * arrange_bytes();
    // Owners, order twice over, and where clusters begin.
    let sorted = 4 * size_of::<u32>() as u64 * (count + clusters as u64);
    centroids
        + Directory::bytes(clusters, groups, dimension)
        + Workers::<Finder>::bytes(threads, finder)
        + sorted
        + arranging
}

/// A search for clusters.
struct Search<'s> {
    vectors: &'s VectorSet<'s>,
    kernels: Kernels,
    paging: Paging,
    progress: &'s dyn Progress,
}

impl Search<'_> {
    fn run(&self, wanted: ClusterCount, seed: u64) -> Result<Clusters, GraphError> {
        let count = self.vectors.count();
        let (wanted, in_groups) = (wanted.clusters, wanted.groups as usize);
        let sampled = count.min(wanted.saturating_mul(SAMPLED as u32));
        let rounds = SAMPLED_ROUNDS as u64 * u64::from(sampled);
        self.progress
            .stage("find clusters", rounds + 2 * u64::from(count));
        let mut centroids = self.begin(wanted, seed);
        let (groups, _) = group(&centroids, in_groups, self.kernels, self.progress)?;
        let sample = sample_nodes(count, sampled, seed.rotate_left(32));
        for _ in 0..SAMPLED_ROUNDS {
            self.round(&sample, &mut centroids, &groups)?;
        }
        let all: Vec<NodeId> = (0..count).map(NodeId).collect();
        self.round(&all, &mut centroids, &groups)?;
        self.finish(&centroids, in_groups)
    }

    /// Centroids to begin with: some nodes.
    fn begin(&self, wanted: u32, seed: u64) -> Centroids {
        let dimension = self.vectors.embedded_dimension();
        let nodes = sample_nodes(self.vectors.count(), wanted, seed);
        let mut values = vec![0.0; nodes.len() * dimension];
        for (node, row) in nodes.iter().zip(values.chunks_exact_mut(dimension)) {
            self.vectors.embed(*node, row);
        }
        Centroids { dimension, values }
    }

    fn round(
        &self,
        nodes: &[NodeId],
        centroids: &mut Centroids,
        groups: &Sorted,
    ) -> Result<(), GraphError> {
        self.of(nodes, |source| {
            let nearest = source.nearest(centroids, groups)?;
            source.means(&nearest, centroids);
            Ok(())
        })
    }

    fn of<T>(&self, nodes: &[NodeId], work: impl FnOnce(Source<'_>) -> T) -> T {
        let write = |at: usize, row: &mut [f32]| {
            if let Some(node) = nodes.get(at) {
                self.vectors.embed(*node, row);
            }
        };
        work(Source {
            count: nodes.len(),
            write: &write,
            kernels: self.kernels,
            progress: self.progress,
        })
    }

    /// Groups the centroids as they are now, and gives each node to the nearest.
    fn finish(&self, centroids: &Centroids, in_groups: usize) -> Result<Clusters, GraphError> {
        let (groups, tops) = group(centroids, in_groups, self.kernels, self.progress)?;
        let all: Vec<NodeId> = (0..self.vectors.count()).map(NodeId).collect();
        let nearest = self.of(&all, |source| source.nearest(centroids, &groups))?;
        // Clusters are numbered group by group.
        let mut numbers = vec![0; centroids.count()];
        for (number, cluster) in (0_u32..).zip(&groups.order) {
            if let Some(place) = numbers.get_mut(*cluster as usize) {
                *place = number;
            }
        }
        let renumbered = |cluster: &u32| numbers.get(*cluster as usize).copied().unwrap_or(0);
        let owners: Vec<u32> = nearest.iter().map(renumbered).collect();
        let nodes = Sorted::new(&owners, centroids.count());
        let order = nodes.order.into_iter().map(NodeId).collect();
        let mut clusters = Clusters {
            order,
            starts: nodes.starts,
            centroids: self.without_lift(&centroids.picked(groups.order.into_iter())),
            groups: groups.starts,
            group_centroids: self.without_lift(&tops),
        };
        self.arrange(&mut clusters)?;
        Ok(clusters)
    }

    /// Rows without the component that a set for the inner product has more.
    fn without_lift(&self, rows: &Centroids) -> Vec<f32> {
        let dimension = self.vectors.shape().dimension as usize;
        let rows = rows.values.chunks_exact(rows.dimension);
        rows.flat_map(|row| row.iter().take(dimension))
            .copied()
            .collect()
    }

    /// Orders each cluster along the line through two far members, and then so that the nearest
    /// share a page.
    fn arrange(&self, clusters: &mut Clusters) -> Result<(), GraphError> {
        let mut rest = clusters.order.as_mut_slice();
        let mut pieces = Vec::with_capacity(clusters.starts.len());
        for pair in clusters.starts.windows(2) {
            let length = pair.iter().rev().copied().reduce(|end, start| end - start);
            let (piece, behind) = rest.split_at_mut(length.unwrap_or(0) as usize);
            pieces.push((pair.first().copied().unwrap_or(0), piece));
            rest = behind;
        }
        pieces.into_par_iter().try_for_each(|(start, piece)| {
            self.progress.check()?;
            self.align(piece);
            arrange(self.vectors, piece, self.paging.behind(start.into()))
        })
    }

    fn align(&self, nodes: &mut [NodeId]) {
        let mut distances = vec![0.0; nodes.len()];
        let mut from = |pole: NodeId| {
            self.vectors.distance_many(pole, nodes, &mut distances);
            distances.clone()
        };
        let farthest = |distances: &[f32]| {
            let far = (0..).zip(distances).max_by(|a, b| a.1.total_cmp(b.1));
            far.and_then(|(at, _): (usize, _)| nodes.get(at)).copied()
        };
        let Some(first) = nodes.first().copied() else {
            return;
        };
        let left = farthest(&from(first)).unwrap_or(first);
        let to_left = from(left);
        let right = farthest(&to_left).unwrap_or(left);
        let to_right = from(right);
        let offsets = to_left.iter().zip(&to_right).map(|(a, b)| a - b);
        let mut sorted: Vec<(f32, NodeId)> = offsets.zip(nodes.iter().copied()).collect();
        sorted.sort_unstable_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        for (place, (_, node)) in nodes.iter_mut().zip(sorted) {
            *place = node;
        }
    }
}
