//! From candidates to a list.

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
        self.thin_candidates(vectors, spec)
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

    /// The list among `self.candidates`, which come in any order: in prune order, then nearest
    /// first what was kept beside.
    pub(crate) fn thin_candidates(&mut self, vectors: &dyn Distances, spec: ListSpec) -> &[NodeId] {
        self.candidates.sort_unstable();
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
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Rows;
    use pageway_types::Guide;

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
