//! The nearest nodes of every node, nearly: a kNN graph by searches on a coarse graph.

use pageway_types::{NodeId, Progress};

use super::spec::NsgSpec;
use crate::error::GraphError;
use crate::graph::{AdjacencyLists, fill_list};
use crate::linking::{InsertSpec, Insertion, ListSpec, Workers, for_each_row};
use crate::prune::PruneSpec;
use crate::search::{Bounds, SearchScratch};
use crate::vectors::VectorSet;

/// Longest list of the coarse graph, and candidate list of its build. Twice the list finds 98 %
/// instead of 92 % of the nearest nodes, costs twice the time, and changes no recall of the NSG.
const GUIDE_DEGREE: u32 = 32;
const GUIDE_LIST: u32 = 32;
/// Of so many nodes in a list one is what a query with the vector of its node finds, where such a
/// query lies apart from it.
const ASKED: usize = 4;

/// How the nearest nodes of `count` nodes are found.
pub(super) struct Near {
    count: u32,
    degree: u32,
    guide: InsertSpec,
}

impl Near {
    pub(super) fn new(count: u32, spec: &NsgSpec) -> Self {
        let prune = PruneSpec {
            max_degree: GUIDE_DEGREE,
            alpha: 1.0,
        };
        Self {
            count,
            degree: spec.knn.min(count.saturating_sub(1)).max(1),
            guide: InsertSpec {
                lists: ListSpec { prune, fill: 0 },
                first_fill: 0,
                build_list: GUIDE_LIST,
                seed: spec.seed,
            },
        }
    }

    /// Length of the lists: `knn`, unless the set is smaller.
    pub(super) const fn degree(&self) -> u32 {
        self.degree
    }

    /// Nearest nodes, nearest first; fewer where the coarse graph leads to fewer.
    pub(super) fn lists(
        &self,
        vectors: &VectorSet<'_>,
        entry: NodeId,
        progress: &dyn Progress,
    ) -> Result<AdjacencyLists, GraphError> {
        let growth = Insertion {
            vectors,
            entry,
            spec: self.guide,
            guests: &[],
            progress,
        };
        let guide = growth.lists()?;
        let mut near = AdjacencyLists::new(self.count as usize, self.degree)?;
        let workers = Workers::new(|| SearchScratch::new(self.bounds()))?;
        progress.stage("find nearest", u64::from(self.count));
        for_each_row(&mut near, &workers, progress, |search, node, row| {
            search.run(&guide, node, |others, out| {
                vectors.distance_many(node, others, out);
            });
            let room = row.len() - 1;
            let is_apart = vectors.is_asked_apart(node);
            let near = if is_apart { room - room / ASKED } else { room };
            fill_list(row, near, others(search, node));
            if is_apart {
                search.run(&guide, node, |others, out| {
                    vectors.asked_many(node, others, out);
                });
                fill_list(row, room, others(search, node));
            }
        })?;
        Ok(near)
    }

    /// Bytes that `lists` holds at its peak; the lists are part of it.
    pub(super) fn bytes(&self, count: u64, threads: usize) -> u64 {
        let scratch = SearchScratch::bytes(self.bounds());
        let finding = AdjacencyLists::bytes(count, GUIDE_DEGREE)
            .saturating_add(AdjacencyLists::bytes(count, self.degree))
            .saturating_add(Workers::<SearchScratch>::bytes(threads, scratch));
        finding.max(self.guide.list_bytes(count, threads))
    }

    /// A node finds itself too.
    const fn bounds(&self) -> Bounds {
        Bounds {
            count: self.count,
            max_degree: GUIDE_DEGREE,
            list_size: self.degree + 1,
        }
    }
}

/// What a search found beside its own node, nearest first.
fn others(search: &SearchScratch, node: NodeId) -> impl Iterator<Item = NodeId> {
    let found = search.nearest(usize::MAX).map(|own| own.node);
    found.filter(move |own| *own != node)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Rows, clustered, pool};
    use pageway_types::{Candidate, Guide, NoProgress};

    fn near(rows: &Rows, knn: u32) -> AdjacencyLists {
        let set = rows.set(Guide::L2);
        let spec = NsgSpec {
            max_degree: 16,
            build_list: 40,
            knn,
            seed: 3,
        };
        let near = Near::new(set.count(), &spec);
        pool(2)
            .install(|| near.lists(&set, NodeId(0), &NoProgress))
            .expect("lists")
    }

    #[test]
    fn most_of_the_nearest_are_found() {
        let rows = Rows::f32(8, &clustered(3000, 8, 1.0, 2));
        let (set, near) = (rows.set(Guide::L2), near(&rows, 20));
        let nodes: Vec<_> = (0..set.count()).map(NodeId).collect();
        let mut distances = vec![0.0; nodes.len()];
        let mut found = 0;
        for &node in nodes.iter().step_by(30) {
            set.distance_many(node, &nodes, &mut distances);
            let scored = nodes.iter().zip(&distances);
            let mut truth: Vec<_> = scored.map(|(&n, &d)| Candidate::new(n, d)).collect();
            truth.retain(|candidate| candidate.node != node);
            truth.sort();
            let list = near.neighbors(node);
            assert_eq!(list.len(), 20);
            assert!(!list.contains(&node));
            let hit = |truth: &&Candidate| list.contains(&truth.node);
            found += truth[..20].iter().filter(hit).count();
        }
        assert!(found > 100 * 20 * 95 / 100, "{found}");
    }

    #[test]
    fn small_sets_know_everybody_else() {
        let rows = Rows::f32(2, &clustered(5, 2, 1.0, 2));
        let near = near(&rows, 20);
        assert_eq!(near.capacity(), 4);
        for node in (0..5).map(NodeId) {
            let mut list = near.neighbors(node).to_vec();
            list.push(node);
            list.sort();
            assert_eq!(list, (0..5).map(NodeId).collect::<Vec<_>>());
        }
    }
}
