//! A few nodes in the middle of the clusters of a set, from which every walk may start.
//!
//! A walk begins with those that are nearest to its query: the query-sensitive entries of Ni et
//! al., "DiskANN++", 2023. Their number is small, so they are found by k-means on a sample, and
//! each is the sampled node nearest to a centroid.

use pageway_types::{Candidate, Guide, NodeId, Progress, VectorShape};
use rayon::prelude::*;

use super::sample::sample_nodes;
use crate::error::{GraphError, try_filled};
use crate::float::{normalize, squared_l2};
use crate::partition::kmeans::{Matrix, centroids};
use crate::vectors::VectorSet;

/// Sampled nodes per entry: enough to find the middle of a cluster.
const ROWS_PER_ENTRY: u32 = 128;

/// The nodes nearest to `count` centroids of a sample: ascending and distinct, so there may be
/// fewer than `count`, and at least one.
///
/// Under the cosine vectors count with length 1; under the inner product they are compared by L2,
/// as for the medoid. Costs about `1300 count^2` distances and
/// [`fixed_entries_bytes`] of memory. The same for any number of threads in `pool`.
///
/// # Errors
/// When `count` is 0, memory is refused, or `progress` cancels.
pub fn fixed_entries(
    vectors: &VectorSet<'_>,
    count: u32,
    seed: u64,
    pool: &rayon::ThreadPool,
    progress: &dyn Progress,
) -> Result<Vec<NodeId>, GraphError> {
    if count == 0 {
        return Err(GraphError::Parameter {
            name: "count",
            value: count.to_string(),
            expected: "at least 1",
        });
    }
    let count = count.min(vectors.count());
    progress.stage("entries", u64::from(count));
    let sample = count.saturating_mul(ROWS_PER_ENTRY);
    let nodes = sample_nodes(vectors.count(), sample, seed);
    let values = widened(vectors, &nodes)?;
    let sample = Matrix {
        values: &values,
        dimension: vectors.shape().dimension as usize,
    };
    let mut entries: Vec<NodeId> = pool.install(|| {
        let centroids = centroids(sample, count as usize, seed, progress)?;
        let nearest = centroids.par_chunks_exact(sample.dimension);
        let nearest = nearest.filter_map(|centroid| nearest_of(&nodes, sample, centroid));
        Ok::<_, GraphError>(nearest.collect())
    })?;
    progress.advance(u64::from(count));
    entries.sort_unstable();
    entries.dedup();
    Ok(entries)
}

/// Bytes that [`fixed_entries`] holds beside the vectors.
pub fn fixed_entries_bytes(shape: VectorShape, count: u32) -> u64 {
    let (count, dimension) = (u64::from(count), u64::from(shape.dimension));
    let rows = count * u64::from(ROWS_PER_ENTRY);
    // A row, its node, its distance to the seeds and its centroid.
    let sample = rows.saturating_mul((dimension + 3) * size_of::<f32>() as u64);
    // Centroids of this round and the next, their sums in twice the width, and row counts.
    let centroids = count.saturating_mul((4 * dimension + 2) * size_of::<f32>() as u64);
    sample.saturating_add(centroids)
}

fn widened(vectors: &VectorSet<'_>, nodes: &[NodeId]) -> Result<Vec<f32>, GraphError> {
    let dimension = vectors.shape().dimension as usize;
    let mut values = try_filled(nodes.len().saturating_mul(dimension), 0.0, "sampled rows")?;
    for (row, &node) in values.chunks_exact_mut(dimension).zip(nodes) {
        vectors.widen(node, row);
        if vectors.metric() == Guide::Cosine {
            normalize(row);
        }
    }
    Ok(values)
}

fn nearest_of(nodes: &[NodeId], sample: Matrix<'_>, centroid: &[f32]) -> Option<NodeId> {
    let rows = sample.values.chunks_exact(sample.dimension);
    let distances = rows.map(|row| squared_l2(row, centroid));
    let scored = nodes.iter().zip(distances);
    let candidates = scored.map(|(&node, distance)| Candidate::new(node, distance));
    candidates.min().map(|nearest| nearest.node)
}
