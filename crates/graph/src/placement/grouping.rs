//! Hop-limited grouping (PageANN, Algorithm 1): a page is a seed and the nearest, by exact
//! distance, of the nodes without a page that it reaches in a few hops.
//!
//! Pages form a chain: the next seed is the best node that the page had no room for. Where a seed
//! reaches too few, the lowest nodes without a page fill up, and seed the next one.
//!
//! Guests stand in for queries. A page that was grouped about one would be found by a search for
//! it, so they share pages of their own, behind all others, and group nothing.
#![expect(
    clippy::indexing_slicing,
    reason = "nodes come from the graph; a slip must stop"
)]

use pageway_types::{Cancelled, Candidate, NodeId, Progress};

use super::pages::Queue;
use super::score::{Pole, score};
use crate::error::{GraphError, try_filled, try_reserved};
use crate::graph::Graph;
use crate::vectors::VectorSet;

struct Grouping<'g> {
    graph: &'g Graph,
    vectors: &'g VectorSet<'g>,
    hops: u32,
    queue: Queue,
    /// The page whose seed reached each node last, counted from 1.
    reached_by: Vec<u32>,
    /// Nodes reached from the seed, in the order of hops.
    reached: Vec<NodeId>,
    /// Those of them without a page, with their distances to the seed.
    near: Vec<Candidate>,
}

/// Bytes that `group` holds beside some KiB per thread, its result included.
pub(super) fn bytes(count: u64) -> u64 {
    let rows = size_of::<u32>() + size_of::<NodeId>() + size_of::<Candidate>();
    Queue::bytes(count).saturating_add(count.saturating_mul(rows as u64))
}

/// Orders the nodes of `graph`, in the pool of the caller.
///
/// About `max_degree` to the power of `hops` distances per page, and as many list entries.
pub(super) fn group(
    graph: &Graph,
    (vectors, guests): (&VectorSet<'_>, &[NodeId]),
    per_page: u32,
    hops: u32,
    progress: &dyn Progress,
) -> Result<Vec<NodeId>, GraphError> {
    let count = graph.count() as usize;
    let others = count - guests.len();
    progress.stage("group nodes", count as u64);
    let mut grouping = Grouping {
        graph,
        vectors,
        hops,
        queue: Queue::new(graph.count())?,
        reached_by: try_filled(count, 0, "marks of nodes")?,
        reached: try_reserved(count, "reached nodes")?,
        near: try_reserved(count, "near nodes")?,
    };
    grouping.queue.hold_back(guests);
    let mut seed = grouping.queue.lowest();
    let mut page = 0;
    while let Some(node) = seed {
        progress.check()?;
        page += 1;
        let before = grouping.queue.len();
        let end = others.min(page as usize * per_page as usize);
        seed = grouping.fill(node, page, end, progress)?;
        progress.advance((grouping.queue.len() - before) as u64);
    }
    for guest in guests {
        grouping.queue.push(*guest);
    }
    progress.advance(guests.len() as u64);
    Ok(grouping.queue.into_order())
}

impl Grouping<'_> {
    /// Places nodes around `seed` until `end` are placed; returns the next seed, if any is left.
    fn fill(
        &mut self,
        seed: NodeId,
        page: u32,
        end: usize,
        progress: &dyn Progress,
    ) -> Result<Option<NodeId>, Cancelled> {
        self.queue.push(seed);
        self.reach(seed, page);
        let pole = Pole {
            node: seed,
            weight: 1.0,
        };
        score(self.vectors, &[pole], &mut self.near, progress)?;
        let room = end - self.queue.len();
        if room < self.near.len() {
            self.near.select_nth_unstable(room);
        }
        let nearest = room.min(self.near.len());
        let (chosen, left) = self.near.split_at_mut(nearest);
        chosen.sort_unstable();
        for candidate in chosen {
            self.queue.push(candidate.node);
        }
        while self.queue.len() < end {
            let Some(lowest) = self.queue.lowest() else {
                break;
            };
            self.queue.push(lowest);
        }
        // The selection left the best of the others first.
        Ok(left
            .first()
            .map(|next| next.node)
            .or_else(|| self.queue.lowest()))
    }

    /// Walks `hops` hops from the seed, through nodes with and without a page.
    fn reach(&mut self, seed: NodeId, page: u32) {
        self.reached.clear();
        self.reached.push(seed);
        self.reached_by[seed.index()] = page;
        let mut hop = 0..1;
        for _ in 0..self.hops {
            for at in hop.clone() {
                for &neighbor in self.graph.neighbors(self.reached[at]) {
                    let mark = &mut self.reached_by[neighbor.index()];
                    if *mark != page {
                        *mark = page;
                        self.reached.push(neighbor);
                    }
                }
            }
            hop = hop.end..self.reached.len();
        }
        self.near.clear();
        let open = self
            .reached
            .iter()
            .filter(|&&node| !self.queue.is_placed(node));
        self.near
            .extend(open.map(|&node| Candidate::new(node, 0.0)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Rows;
    use pageway_types::{Guide, NoProgress};

    /// A ring in the order of ids, and vectors on a line in another order.
    fn grouped(hops: u32, guests: &[NodeId]) -> Vec<NodeId> {
        let lists: Vec<[NodeId; 2]> = (0..12)
            .map(|node| [(node + 1) % 12, (node + 11) % 12].map(NodeId))
            .collect();
        let lists = lists.iter().map(<[NodeId; 2]>::as_slice);
        let graph = Graph::from_lists(lists, 2, NodeId(0)).expect("a graph");
        let values = [0, 9, 1, 8, 7, 6, 5, 10, 11, 4, 2, 3].map(|value: u8| f32::from(value));
        let rows = Rows::f32(1, &values);
        let set = rows.set(Guide::L2);
        group(&graph, (&set, guests), 4, hops, &NoProgress).expect("not cancelled")
    }

    #[test]
    fn a_page_holds_the_nearest_within_its_hops() {
        // All in reach: the line is cut from its end; the chain goes on at the next nearest.
        let line = [0, 2, 10, 11, 9, 6, 5, 4, 3, 1, 7, 8].map(NodeId);
        assert_eq!(grouped(6, &[]), line);
        // In two hops: 0 reaches 2, 10, 11 and 1, with 1 left over; 1 reaches 3 only.
        assert_eq!(grouped(2, &[])[..8], [0, 2, 10, 11, 1, 3, 4, 5].map(NodeId));
    }

    #[test]
    fn guests_come_last_and_group_nothing() {
        let order = grouped(6, &[2, 5].map(NodeId));
        let line = [0, 10, 11, 9, 6, 4, 3, 1, 7, 8, 2, 5].map(NodeId);
        assert_eq!(order, line);
    }
}
