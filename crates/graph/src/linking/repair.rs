//! Links nodes that cannot be reached from the entry.
//!
//! Pruning may take the last edge to a node away, and identical vectors keep one edge between all
//! of them. A search can then never return these nodes. A breadth-first walk from the entry finds
//! them; each one is linked from the nearest node that a search from the entry meets and that has
//! room:
//!
//! 1. a list shorter than the max degree takes one more edge, or
//! 2. an edge that the walk did not use gives way: what the walk reached stays reached.
//! 3. When all near nodes are full of edges that the walk needs (thousands of identical vectors),
//!    a node linked before takes it, oldest first, so that copies form a tree and not a chain.
//!
//! Each link is followed by a walk from the linked node, so a component costs one link as a rule.
//! The whole repair is one pass: every lost node finds a place, because a walk over `n` nodes uses
//! `n - 1` edges, and its last node uses none of its own.
#![expect(
    clippy::indexing_slicing,
    reason = "node ids come from the graph; a slip must stop"
)]

use pageway_types::{Cancelled, NodeId, Progress};
use rayon::prelude::*;

use super::distances::Distances;
use super::worker::Workers;
use crate::error::{GraphError, try_filled, try_reserved};
use crate::graph::{AdjacencyLists, Graph, list_of, push_neighbor};
use crate::search::{Bounds, SearchScratch};
use crate::vectors::VectorSet;

/// Candidate list of the search for a near node.
const LIST_SIZE: u32 = 64;

/// Near nodes that are asked for room.
const NEAR: usize = 16;

/// Lost nodes that search at the same time; bounds the memory for what they find.
const LOST_PER_ROUND: usize = 1 << 14;

/// Nodes between two looks at cancellation.
const NODES_PER_CHECK: usize = 1 << 12;

/// No node: not reached by the walk, or no further near node.
const NONE: NodeId = NodeId(u32::MAX);

/// Makes every node of a graph reachable from its entry and returns the number of edges added.
///
/// For graphs that were put together from parts; builders repair their own. Costs
/// one pass over all edges, eight bytes per node, and a search per lost node.
///
/// # Errors
/// When memory is refused or `progress` cancels. The graph is then sound, but not repaired.
/// Panics when graph and vectors do not belong together.
pub fn repair(
    graph: &mut Graph,
    vectors: &VectorSet<'_>,
    pool: &rayon::ThreadPool,
    progress: &dyn Progress,
) -> Result<u32, GraphError> {
    pool.install(|| repair_in_pool(graph, vectors, progress))
}

/// [`repair`] in the pool of the caller.
pub(crate) fn repair_in_pool(
    graph: &mut Graph,
    vectors: &dyn Distances,
    progress: &dyn Progress,
) -> Result<u32, GraphError> {
    let entry = graph.entry();
    let lists = graph.lists_mut();
    progress.stage("check reachability", lists.count() as u64);
    let mut walk = Walk::new(lists.count())?;
    walk.spread(lists, entry, entry, progress)?;
    if walk.order.len() == lists.count() {
        return Ok(0);
    }
    let mut lost = walk.lost()?;
    let links = Repair {
        vectors,
        entry,
        progress,
    }
    .link_all(lists, &mut walk, &mut lost)?;
    graph.add_repaired(links);
    Ok(links)
}

/// Bytes that a repair holds beside the graph, however many nodes are lost.
pub(crate) fn repair_bytes(count: u64, max_degree: u32, threads: usize) -> u64 {
    let nodes = u32::try_from(count).unwrap_or(u32::MAX);
    let walk = count.saturating_mul(3 * size_of::<NodeId>() as u64);
    let near = (LOST_PER_ROUND * NEAR * size_of::<NodeId>()) as u64;
    let bounds = Bounds {
        count: nodes,
        max_degree,
        list_size: LIST_SIZE,
    };
    let scratch = Workers::<SearchScratch>::bytes(threads, SearchScratch::bytes(bounds));
    walk.saturating_add(near).saturating_add(scratch)
}

struct Repair<'r> {
    vectors: &'r dyn Distances,
    entry: NodeId,
    progress: &'r dyn Progress,
}

impl Repair<'_> {
    fn link_all(
        &self,
        lists: &mut AdjacencyLists,
        walk: &mut Walk,
        lost: &mut [NodeId],
    ) -> Result<u32, GraphError> {
        let bounds = Bounds {
            count: lists.count() as u32,
            max_degree: lists.capacity() as u32,
            list_size: LIST_SIZE,
        };
        let workers = Workers::new(|| SearchScratch::new(bounds))?;
        let mut near = try_filled(LOST_PER_ROUND.min(lost.len()) * NEAR, NONE, "near nodes")?;
        let mut links = 0;
        for round in lost.chunks(LOST_PER_ROUND) {
            self.find_near(round, lists, &workers, &mut near)?;
            for (&node, near) in round.iter().zip(near.chunks_exact(NEAR)) {
                if !walk.reached(node) {
                    let host = walk.attach(lists, near, node);
                    walk.spread(lists, node, host, self.progress)?;
                    links += 1;
                }
            }
        }
        Ok(links)
    }

    /// The nearest nodes that a search from the entry meets, for each lost node.
    fn find_near(
        &self,
        lost: &[NodeId],
        lists: &AdjacencyLists,
        workers: &Workers<SearchScratch>,
        near: &mut [NodeId],
    ) -> Result<(), Cancelled> {
        lost.par_iter()
            .zip(near.par_chunks_exact_mut(NEAR))
            .try_for_each(|(&node, near)| {
                self.progress.check()?;
                workers.with(|search| {
                    search.run(lists, self.entry, |others, out| {
                        self.vectors.distance_many(node, others, out);
                    });
                    near.fill(NONE);
                    for (slot, candidate) in near.iter_mut().zip(search.nearest(NEAR)) {
                        *slot = candidate.node;
                    }
                });
                Ok(())
            })
    }
}

/// A walk over all nodes that can be reached, as a tree of the edges it used.
struct Walk {
    parents: Vec<NodeId>,
    order: Vec<NodeId>,
    host: usize,
}

impl Walk {
    fn new(count: usize) -> Result<Self, GraphError> {
        let order = try_reserved(count, "walk order")?;
        Ok(Self {
            parents: try_filled(count, NONE, "walk parents")?,
            order,
            host: count,
        })
    }

    fn reached(&self, node: NodeId) -> bool {
        self.parents[node.index()] != NONE
    }

    /// Walks on from `start`, which was reached from `parent`.
    fn spread(
        &mut self,
        lists: &AdjacencyLists,
        start: NodeId,
        parent: NodeId,
        progress: &dyn Progress,
    ) -> Result<(), Cancelled> {
        let mut next = self.order.len();
        self.parents[start.index()] = parent;
        self.order.push(start);
        while let Some(&node) = self.order.get(next) {
            if next.is_multiple_of(NODES_PER_CHECK) {
                progress.check()?;
            }
            next += 1;
            for &neighbor in lists.neighbors(node) {
                if !self.reached(neighbor) {
                    self.parents[neighbor.index()] = node;
                    self.order.push(neighbor);
                }
            }
        }
        Ok(())
    }

    /// The nodes not reached, ascending. From here on hosts come from what repairs reach.
    fn lost(&mut self) -> Result<Vec<NodeId>, GraphError> {
        self.host = self.order.len();
        let mut lost = try_reserved(self.parents.len() - self.order.len(), "lost nodes")?;
        lost.extend(
            (0..self.parents.len() as u32)
                .map(NodeId)
                .filter(|&node| !self.reached(node)),
        );
        Ok(lost)
    }

    /// Adds an edge to `lost` from one of the near nodes, or from another with room; returns it.
    fn attach(&mut self, lists: &mut AdjacencyLists, near: &[NodeId], lost: NodeId) -> NodeId {
        let capacity = lists.capacity();
        let known = near.iter().copied().take_while(|&node| node != NONE);
        let short = known
            .clone()
            .find(|&node| lists.neighbors(node).len() < capacity);
        if let Some(host) = short {
            push_neighbor(lists.row_mut(host), lost);
            return host;
        }
        for host in known {
            if self.replace_spare_edge(lists.row_mut(host), host, lost) {
                return host;
            }
        }
        self.attach_to_any(lists, lost)
    }

    fn attach_to_any(&mut self, lists: &mut AdjacencyLists, lost: NodeId) -> NodeId {
        let capacity = lists.capacity();
        while let Some(&host) = self.order.get(self.host) {
            if lists.neighbors(host).len() < capacity {
                push_neighbor(lists.row_mut(host), lost);
                return host;
            }
            self.host += 1;
        }
        let last = self.order[self.order.len() - 1];
        let row = lists.row_mut(last);
        if list_of(row).len() < capacity {
            push_neighbor(row, lost);
        } else {
            let replaced = self.replace_spare_edge(row, last, lost);
            assert!(
                replaced,
                "the walk used an edge of the last node it reached"
            );
        }
        last
    }

    /// Replaces the least valuable edge of `host` that the walk did not use.
    fn replace_spare_edge(&self, row: &mut [NodeId], host: NodeId, lost: NodeId) -> bool {
        let spare = list_of(row)
            .iter()
            .rposition(|other| self.parents[other.index()] != host);
        if let Some(at) = spare {
            row[1 + at] = lost;
        }
        spare.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linking::testing::{assert_sound, reached};
    use crate::testing::{Rows, pool};
    use pageway_types::{Guide, NoProgress};
    use proptest::prelude::*;

    fn ids(ids: &[u32]) -> Vec<NodeId> {
        ids.iter().copied().map(NodeId).collect()
    }

    #[test]
    fn repair_takes_no_edge_that_is_needed() {
        // 0 reaches 1 and 2 through full lists; 3 and 4 know each other only.
        let lists = [
            ids(&[1, 2]),
            ids(&[2, 0]),
            ids(&[1, 0]),
            ids(&[4]),
            ids(&[3]),
        ];
        let lists = lists.iter().map(Vec::as_slice);
        let mut graph = Graph::from_lists(lists, 2, NodeId(0)).expect("a graph");
        let rows = Rows::f32(1, &[0.0, 1.0, 2.0, 3.0, 4.0]);
        let set = rows.set(Guide::L2);
        let added = repair(&mut graph, &set, &pool(2), &NoProgress).expect("a repair");
        assert_eq!((added, graph.repaired()), (1, 1));
        assert_eq!(
            graph.neighbors(NodeId(2)),
            ids(&[1, 3]),
            "nearest, least valuable edge"
        );
        assert_sound(&graph, 5, 2);
        assert_eq!(
            repair(&mut graph, &set, &pool(1), &NoProgress).expect("a repair"),
            0
        );
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn repair_reaches_every_node_of_any_graph(
            lists in prop::collection::vec(prop::collection::hash_set(0_usize..1000, 0..4), 1..80),
            values in prop::collection::vec(0_u8..5, 80),
            max_degree in 1_u32..4,
        ) {
            let count = lists.len();
            let lists: Vec<Vec<NodeId>> = (0..count).map(|node| {
                let targets = lists[node].iter().map(|id| NodeId((id % count) as u32));
                let mut list: Vec<_> = targets.collect();
                list.sort();
                list.dedup();
                list.retain(|other| other.index() != node);
                list.truncate(max_degree as usize);
                list
            }).collect();
            let slices = lists.iter().map(Vec::as_slice);
            let mut graph = Graph::from_lists(slices, max_degree, NodeId(0)).expect("a graph");
            let rows = Rows::u8(1, values[..count].to_vec());
            let lost = count - reached(&graph);
            let added = repair(&mut graph, &rows.set(Guide::L2), &pool(2), &NoProgress);
            prop_assert!(added.expect("a repair") as usize <= lost);
            assert_sound(&graph, count as u32, max_degree);
        }
    }
}
