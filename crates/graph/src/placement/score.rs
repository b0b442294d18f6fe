//! Distances of many candidates to a few nodes, in parallel.

use pageway_types::{Cancelled, Candidate, NodeId, Progress};
use rayon::prelude::*;

use crate::float::{add_scaled, dot_from};
use crate::vectors::VectorSet;

/// Candidates of one task; their ids and distances lie on its stack.
const CANDIDATES_PER_TASK: usize = 256;

/// A node that distances are taken to, and what they count.
#[derive(Clone, Copy)]
pub(super) struct Pole {
    pub(super) node: NodeId,
    pub(super) weight: f32,
}

/// Sets the distance of every candidate to the weighted sum of its distances to `poles`, in the
/// pool of the caller.
pub(super) fn score(
    vectors: &VectorSet<'_>,
    poles: &[Pole],
    candidates: &mut [Candidate],
    progress: &dyn Progress,
) -> Result<(), Cancelled> {
    let tasks = candidates.par_chunks_mut(CANDIDATES_PER_TASK);
    tasks.try_for_each(|candidates| {
        progress.check()?;
        score_task(vectors, poles, candidates);
        Ok(())
    })
}

fn score_task(vectors: &VectorSet<'_>, poles: &[Pole], candidates: &mut [Candidate]) {
    let mut nodes = [NodeId(0); CANDIDATES_PER_TASK];
    let mut distances = [0.0; CANDIDATES_PER_TASK];
    let (nodes, _) = nodes.split_at_mut(candidates.len());
    let (distances, _) = distances.split_at_mut(candidates.len());
    for (node, candidate) in nodes.iter_mut().zip(candidates.iter_mut()) {
        *node = candidate.node;
        candidate.distance = 0.0;
    }
    for pole in poles {
        vectors.distance_many(pole.node, nodes, distances);
        for (candidate, &distance) in candidates.iter_mut().zip(distances.iter()) {
            candidate.distance += pole.weight * distance;
        }
    }
}

/// Sets the distance of every candidate to half of what [`score`] sets, but for what all have in
/// common, of poles whose weights add up to 0: where it lies along the line between the means of
/// either sign, in the pool of the caller.
pub(super) fn score_along(
    vectors: &VectorSet<'_>,
    poles: &[Pole],
    candidates: &mut [Candidate],
    progress: &dyn Progress,
) -> Result<(), Cancelled> {
    let dimension = vectors.embedded_dimension();
    let (mut row, mut origin) = (vec![0.0; dimension], vec![0.0; dimension]);
    let mut line = vec![0.0; dimension];
    for pole in poles {
        vectors.embed(pole.node, &mut row);
        add_scaled(&mut line, -pole.weight, &row);
        add_scaled(&mut origin, 0.5 * pole.weight.abs(), &row);
    }
    let tasks = candidates.par_chunks_mut(CANDIDATES_PER_TASK);
    tasks.try_for_each_with(row, |row, candidates| {
        progress.check()?;
        for candidate in candidates {
            vectors.embed(candidate.node, row);
            candidate.distance = dot_from(&origin, row, &line);
        }
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::clustered;
    use crate::testing::{Rows, StopAfter};
    use pageway_types::{Guide, NoProgress};

    #[test]
    fn distances_add_up_with_their_weights() {
        let values: Vec<f32> = (0..600).map(|value| value as f32).collect();
        let rows = Rows::f32(1, &values);
        let set = rows.set(Guide::L2);
        let poles = [(0, 1.0), (10, -0.5)].map(|(node, weight)| Pole {
            node: NodeId(node),
            weight,
        });
        let mut candidates: Vec<_> = (0..600)
            .map(|node| Candidate::new(NodeId(node), 7.0))
            .collect();
        score(&set, &poles, &mut candidates, &NoProgress).expect("not cancelled");
        for (at, candidate) in candidates.iter().enumerate() {
            let at = at as f32;
            let expected = at * at - 0.5 * (at - 10.0) * (at - 10.0);
            assert_eq!(candidate.distance, expected);
        }
        let stop = StopAfter::new(0);
        assert_eq!(score(&set, &poles, &mut candidates, &stop), Err(Cancelled));
    }

    #[test]
    fn along_a_line_is_the_order_of_the_distances() {
        let rows = Rows::f32(7, &clustered(400, 7, 5.0, 3));
        for metric in [Guide::L2, Guide::Cosine, Guide::InnerProduct] {
            let set = rows.set(metric);
            let poles = [(3, 0.25), (90, 0.75), (17, -0.5), (301, -0.5)];
            let poles = poles.map(|(node, weight)| Pole {
                node: NodeId(node),
                weight,
            });
            let nodes = (0..400).map(|node| Candidate::new(NodeId(node), 7.0));
            let mut sums: Vec<_> = nodes.collect();
            let mut along = sums.clone();
            score(&set, &poles, &mut sums, &NoProgress).expect("not cancelled");
            score_along(&set, &poles, &mut along, &NoProgress).expect("not cancelled");
            // The cosine is half of squared L2 between rows of length 1.
            let half = if metric == Guide::Cosine { 1.0 } else { 0.5 };
            let common = half * sums[0].distance - along[0].distance;
            for (sum, along) in sums.iter().zip(&along) {
                let expected = half * sum.distance - common;
                let off = (along.distance - expected).abs();
                assert!(off < 1e-4 * (1.0 + expected.abs()), "{metric:?}: {off}");
            }
        }
    }
}
