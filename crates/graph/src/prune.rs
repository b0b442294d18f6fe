//! RobustPrune: which of many candidates become neighbours.
//!
//! A candidate `c` of node `p` is *occluded* by a neighbour `s` when `s` is so much nearer to `c`
//! than `p` is that a search would go through `s` anyway. Its occlusion factor is the largest
//! `d(p, c) / d(s, c)` over the neighbours chosen so far; a factor above `alpha` rules it out.
//! Candidates are taken nearest first, in rounds that tolerate more and more occlusion: 1.0, 1.2,
//! 1.44 and so on up to `alpha`. Hence the order of the result: the strict picks, near first, then
//! the relaxed ones.
//!
//! Distances are squared (L2) or behave like it, so `alpha` applies to squared distances: 1.2 here
//! is about 1.095 on the distances themselves.
//!
//! A candidate at distance 0 from a neighbour is always occluded: of identical vectors one copy
//! stays.
//!
//! Cost: one distance per pair of a chosen neighbour and a candidate behind it that is still open.
#![expect(
    clippy::indexing_slicing,
    reason = "positions are bounded by the arrays they were counted in; a slip must stop"
)]

use pageway_types::{Candidate, NodeId};

use crate::error::{GraphError, try_filled, try_reserved};

/// Growth of the tolerated occlusion from one round to the next.
const ROUND_FACTOR: f32 = 1.2;

/// What a prune keeps.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PruneSpec {
    /// Neighbours kept at most.
    pub max_degree: u32,
    /// Occlusion tolerated in the end, on squared distances, at least 1.
    pub alpha: f32,
}

/// Memory of one prune, reused by the next.
pub struct Pruner {
    open: Open,
    deferred: Open,
    pairs: Vec<f32>,
    chosen: Vec<NodeId>,
}

/// Candidates that may still be chosen, nearest first, one array per property.
struct Open {
    nodes: Vec<NodeId>,
    distances: Vec<f32>,
    occlusions: Vec<f32>,
}

impl Pruner {
    /// A pruner for at most `max_candidates` candidates at a time.
    ///
    /// # Errors
    /// When the allocator refuses.
    pub fn new(max_candidates: usize) -> Result<Self, GraphError> {
        Ok(Self {
            open: Open::new(max_candidates)?,
            deferred: Open::new(max_candidates)?,
            pairs: try_filled(max_candidates, 0.0, "prune distances")?,
            chosen: try_reserved(max_candidates, "chosen neighbours")?,
        })
    }

    /// Bytes that `new` takes.
    pub(crate) const fn bytes(max_candidates: u64) -> u64 {
        const FLOAT: u64 = size_of::<f32>() as u64;
        const NODE: u64 = size_of::<NodeId>() as u64;
        max_candidates * (2 * (NODE + 2 * FLOAT) + FLOAT + NODE)
    }

    /// Chooses neighbours of a node among `candidates`, in prune order.
    ///
    /// The candidates come nearest first, are distinct, and do not hold the node itself; their
    /// distances are those to the node. Those beyond the size given to `new` are ignored.
    /// `distances` fills in the distances of one candidate to others.
    pub fn prune(
        &mut self,
        candidates: &[Candidate],
        spec: PruneSpec,
        mut distances: impl FnMut(NodeId, &[NodeId], &mut [f32]),
    ) -> &[NodeId] {
        debug_assert!(
            candidates.is_sorted_by_key(|candidate| candidate.distance),
            "candidates come nearest first"
        );
        self.chosen.clear();
        self.open
            .load(&candidates[..candidates.len().min(self.pairs.len())]);
        let mut tolerated = 1.0;
        loop {
            self.round(tolerated, spec, &mut distances);
            if tolerated >= spec.alpha || self.chosen.len() == spec.max_degree as usize {
                return &self.chosen;
            }
            tolerated = (tolerated * ROUND_FACTOR).min(spec.alpha);
            std::mem::swap(&mut self.open, &mut self.deferred);
        }
    }

    /// Chooses open candidates in order; those above the tolerated occlusion wait in `deferred`.
    fn round(
        &mut self,
        tolerated: f32,
        spec: PruneSpec,
        distances: &mut impl FnMut(NodeId, &[NodeId], &mut [f32]),
    ) {
        self.deferred.clear();
        let mut head = 0;
        while head < self.open.nodes.len() && self.chosen.len() < spec.max_degree as usize {
            if self.open.occlusions[head] > tolerated {
                self.deferred.push_from(&self.open, head);
                head += 1;
                continue;
            }
            let node = self.open.nodes[head];
            self.chosen.push(node);
            head += 1;
            let behind = &self.open.nodes[head..];
            let pairs = &mut self.pairs[..behind.len()];
            distances(node, behind, pairs);
            self.open.occlude(head, pairs, spec.alpha);
        }
    }
}

impl Open {
    fn new(capacity: usize) -> Result<Self, GraphError> {
        Ok(Self {
            nodes: try_reserved(capacity, "prune candidates")?,
            distances: try_reserved(capacity, "prune candidates")?,
            occlusions: try_reserved(capacity, "prune candidates")?,
        })
    }

    fn clear(&mut self) {
        self.nodes.clear();
        self.distances.clear();
        self.occlusions.clear();
    }

    fn load(&mut self, candidates: &[Candidate]) {
        self.clear();
        self.nodes
            .extend(candidates.iter().map(|candidate| candidate.node));
        self.distances
            .extend(candidates.iter().map(|candidate| candidate.distance));
        self.occlusions.resize(candidates.len(), 0.0);
    }

    fn push_from(&mut self, other: &Self, at: usize) {
        self.nodes.push(other.nodes[at]);
        self.distances.push(other.distances[at]);
        self.occlusions.push(other.occlusions[at]);
    }

    /// Raises the occlusion of the candidates from `head` on, `pairs` being their distances to a
    /// new neighbour, and drops those above `alpha`.
    #[inline]
    fn occlude(&mut self, head: usize, pairs: &[f32], alpha: f32) {
        let nodes = &mut self.nodes[head..];
        let distances = &mut self.distances[head..];
        let occlusions = &mut self.occlusions[head..];
        let mut kept = 0;
        for (at, &pair) in pairs.iter().enumerate() {
            let factor = if pair > 0.0 {
                distances[at] / pair
            } else {
                f32::INFINITY
            };
            let occlusion = occlusions[at].max(factor);
            nodes[kept] = nodes[at];
            distances[kept] = distances[at];
            occlusions[kept] = occlusion;
            kept += usize::from(occlusion <= alpha);
        }
        self.nodes.truncate(head + kept);
        self.distances.truncate(head + kept);
        self.occlusions.truncate(head + kept);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    type Vectors = Vec<[i16; 2]>;

    fn squared(a: [i16; 2], b: [i16; 2]) -> f32 {
        let [x, y] = [a[0] - b[0], a[1] - b[1]].map(f32::from);
        x * x + y * y
    }

    /// The textbook: occlusion factors over all candidates, round by round.
    fn textbook(vectors: &Vectors, candidates: &[Candidate], spec: PruneSpec) -> Vec<NodeId> {
        let at = |candidate: &Candidate| vectors[candidate.node.index()];
        let mut occlusions = vec![0.0_f32; candidates.len()];
        let mut chosen = Vec::new();
        let mut tolerated = 1.0_f32;
        loop {
            for (i, candidate) in candidates.iter().enumerate() {
                if chosen.len() == spec.max_degree as usize {
                    return chosen;
                }
                if occlusions[i] > tolerated {
                    continue;
                }
                occlusions[i] = f32::INFINITY;
                chosen.push(candidate.node);
                for (j, other) in candidates.iter().enumerate().skip(i + 1) {
                    let pair = squared(at(candidate), at(other));
                    let factor = if pair == 0.0 {
                        f32::INFINITY
                    } else {
                        other.distance / pair
                    };
                    occlusions[j] = occlusions[j].max(factor);
                }
            }
            if tolerated >= spec.alpha {
                return chosen;
            }
            tolerated = (tolerated * 1.2).min(spec.alpha);
        }
    }

    fn candidates_of(vectors: &Vectors) -> Vec<Candidate> {
        let others = (1..vectors.len())
            .map(|node| Candidate::new(NodeId(node as u32), squared(vectors[0], vectors[node])));
        let mut candidates: Vec<_> = others.collect();
        candidates.sort();
        candidates
    }

    proptest! {
        #[test]
        fn agrees_with_the_textbook(
            vectors in prop::collection::vec(prop::array::uniform2(-9_i16..9), 1..40),
            max_degree in 1_u32..12,
            alpha in prop::sample::select(vec![1.0_f32, 1.2, 1.3, 1.44, 2.0]),
        ) {
            let spec = PruneSpec { max_degree, alpha };
            let candidates = candidates_of(&vectors);
            let mut pruner = Pruner::new(candidates.len()).expect("memory");
            for _ in 0..2 {
                let chosen = pruner.prune(&candidates, spec, |node, others, out| {
                    for (other, out) in others.iter().zip(out) {
                        *out = squared(vectors[node.index()], vectors[other.index()]);
                    }
                });
                prop_assert_eq!(chosen, textbook(&vectors, &candidates, spec));
            }
        }
    }

    #[test]
    fn one_copy_of_identical_vectors_stays() {
        let vectors = vec![[0, 0], [5, 0], [5, 0], [5, 0], [-5, 0]];
        let candidates = candidates_of(&vectors);
        let mut pruner = Pruner::new(8).expect("memory");
        let spec = PruneSpec {
            max_degree: 4,
            alpha: 2.0,
        };
        let chosen = pruner.prune(&candidates, spec, |node, others, out| {
            for (other, out) in others.iter().zip(out) {
                *out = squared(vectors[node.index()], vectors[other.index()]);
            }
        });
        assert_eq!(chosen, [NodeId(1), NodeId(4)]);
    }
}
