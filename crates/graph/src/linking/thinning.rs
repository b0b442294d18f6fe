//! From candidates to a list.

use std::ops::Range;

use pageway_types::{Candidate, NodeId};

use super::distances::Distances;
use crate::error::{GraphError, try_filled, try_reserved};
use crate::prune::{PruneSpec, Pruner};

/// Candidates that one prune looks at; farther ones are cut off first.
const MAX_CANDIDATES: usize = 750;

/// What becomes of candidates.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct ListSpec {
    /// The choice of neighbours.
    pub(crate) prune: PruneSpec,
    /// Lists that this leaves shorter are filled up to here with the nearest candidates that were
    /// not chosen. At most the max degree.
    pub(crate) fill: u32,
}

/// What one thread needs to make lists of any sets of nodes.
pub(crate) struct Thinning {
    pruner: Pruner,
    pub(crate) candidates: Vec<Candidate>,
    pub(crate) nodes: Vec<NodeId>,
    distances: Vec<f32>,
}

impl Thinning {
    /// For at most `candidates` nodes at a time.
    pub(crate) fn new(candidates: usize) -> Result<Self, GraphError> {
        Ok(Self {
            pruner: Pruner::new(MAX_CANDIDATES.min(candidates))?,
            candidates: try_reserved(candidates, "candidates")?,
            nodes: try_reserved(candidates, "candidates")?,
            distances: try_filled(candidates, 0.0, "candidates")?,
        })
    }

    /// Bytes that `new` with the same argument takes.
    pub(crate) fn bytes(candidates: usize) -> u64 {
        const EACH: usize = size_of::<Candidate>() + size_of::<NodeId>() + size_of::<f32>();
        Pruner::bytes(MAX_CANDIDATES.min(candidates) as u64) + (candidates * EACH) as u64
    }

    /// The list of `node` among `self.nodes`, which do not hold it.
    pub(crate) fn thin(
        &mut self,
        vectors: &dyn Distances,
        node: NodeId,
        spec: ListSpec,
    ) -> &[NodeId] {
        self.candidates.clear();
        self.add_nodes(vectors, node);
        self.thin_candidates(vectors, node, spec)
    }

    /// Adds `self.nodes` to the candidates for the list of `node`.
    pub(crate) fn add_nodes(&mut self, vectors: &dyn Distances, node: NodeId) {
        #[expect(
            clippy::indexing_slicing,
            reason = "sized for every set; a slip must stop"
        )]
        let distances = &mut self.distances[..self.nodes.len()];
        vectors.distance_many(node, &self.nodes, distances);
        let scored = self.nodes.iter().zip(&*distances);
        self.candidates
            .extend(scored.map(|(&node, &distance)| Candidate::new(node, distance)));
    }

    /// Drops those of some candidates, by their places, that are farther than all of others.
    pub(crate) fn drop_beyond(&mut self, some: Range<usize>, others: Range<usize>) {
        let others = self.candidates.get(others).unwrap_or_default().iter();
        let reach = others.map(|candidate| candidate.distance);
        let reach = reach.fold(0.0, f32::max);
        let mut place = 0;
        self.candidates.retain(|candidate| {
            place += 1;
            !some.contains(&(place - 1)) || candidate.distance <= reach
        });
    }

    /// The list of `node` among `self.candidates`, which come in any order: in prune order, then
    /// nearest first what was kept beside.
    pub(crate) fn thin_candidates(
        &mut self,
        vectors: &dyn Distances,
        node: NodeId,
        spec: ListSpec,
    ) -> &[NodeId] {
        self.candidates.sort_unstable();
        self.turn_copies(vectors, node);
        let chosen = self
            .pruner
            .prune(&self.candidates, spec.prune, |node, others, out| {
                vectors.distance_many(node, others, out);
            });
        let missing = (spec.fill as usize).saturating_sub(chosen.len());
        if missing == 0 {
            return chosen;
        }
        let candidates = self.candidates.iter().map(|candidate| candidate.node);
        let others = candidates.filter(|node| !chosen.contains(node));
        self.nodes.clear();
        self.nodes.extend_from_slice(chosen);
        self.nodes.extend(others.take(missing));
        &self.nodes
    }

    /// Puts the copies of `node` in the order of a ring that it is in. Pruning keeps the first: the
    /// next of the ring, so that all copies are reached from each; the least number would leave
    /// those behind it to themselves.
    fn turn_copies(&mut self, vectors: &dyn Distances, node: NodeId) {
        let mut own = [0.0];
        vectors.distance_many(node, &[node], &mut own);
        let end = self
            .candidates
            .partition_point(|candidate| candidate.distance <= own[0]);
        let copies = self.candidates.get_mut(..end).unwrap_or_default();
        let before = copies.partition_point(|copy| copy.distance < own[0]);
        let copies = copies.get_mut(before..).unwrap_or_default();
        let smaller = copies.partition_point(|copy| copy.node < node);
        copies.rotate_left(smaller);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Rows;
    use pageway_types::Guide;

    #[test]
    fn each_copy_names_the_next() {
        let rows = Rows::f32(2, &[1.0, 2.0, 1.0, 2.0, 5.0, 5.0, 1.0, 2.0]);
        for guide in [Guide::L2, Guide::Cosine] {
            let set = rows.set(guide);
            let mut thinning = Thinning::new(4).expect("memory");
            let prune = PruneSpec {
                max_degree: 2,
                alpha: 1.2,
            };
            let next = [1, 3, 0].map(NodeId);
            for (node, next) in [0, 1, 3].map(NodeId).into_iter().zip(next) {
                let others = (0..4).map(NodeId).filter(|other| *other != node);
                thinning.nodes.clear();
                thinning.nodes.extend(others);
                let list = thinning.thin(&set, node, ListSpec { prune, fill: 0 });
                assert_eq!(list.first(), Some(&next), "{guide:?}");
            }
        }
    }

    #[test]
    fn what_is_beyond_others_is_dropped() {
        let mut thinning = Thinning::new(8).expect("memory");
        let candidates = [3.0, 9.0, 4.0, 1.0, 5.0, 8.0].into_iter().zip(0..);
        let candidates = candidates.map(|(far, node)| Candidate::new(NodeId(node), far));
        thinning.candidates.extend(candidates);
        thinning.drop_beyond(0..3, 3..5);
        let left = thinning.candidates.iter().map(|own| own.node.0);
        assert_eq!(left.collect::<Vec<_>>(), [0, 2, 3, 4, 5]);
    }

    #[test]
    fn what_pruning_leaves_free_is_filled_with_the_nearest() {
        let rows = Rows::f32(1, &[0.0, 1.0, 2.0, -3.0, 4.0]);
        let set = rows.set(Guide::L2);
        let mut thinning = Thinning::new(4).expect("memory");
        let mut thin = |max_degree, fill| {
            let prune = PruneSpec {
                max_degree,
                alpha: 1.0,
            };
            thinning.nodes.clear();
            thinning.nodes.extend([4, 3, 2, 1].map(NodeId));
            thinning
                .thin(&set, NodeId(0), ListSpec { prune, fill })
                .to_vec()
        };
        assert_eq!(thin(3, 0), [1, 3].map(NodeId));
        assert_eq!(thin(3, 2), [1, 3].map(NodeId));
        assert_eq!(thin(3, 3), [1, 3, 2].map(NodeId));
        assert_eq!(thin(1, 1), [1].map(NodeId));
        assert_eq!(thin(9, 9), [1, 3, 2, 4].map(NodeId));
    }
}
