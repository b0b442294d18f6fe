//! Greedy packing: the pages that block neighbour frequency starts from.
//!
//! A page grows from a seed. The next node is always the one with most edges to the page so far;
//! among equals the one with fewest edges left to nodes without a page, which nobody else would
//! take later. The best node that a full page leaves over seeds the next one. One pass, in order,
//! two visits per edge.
#![expect(
    clippy::indexing_slicing,
    reason = "nodes come from the graph; a slip must stop"
)]

use std::cmp::Reverse;

use pageway_types::{NodeId, Progress};

use super::links::Links;
use super::pages::Pages;
use super::paging::Paging;
use crate::error::{GraphError, try_filled, try_reserved};

struct Packing<'p> {
    links: &'p Links<'p>,
    pages: Pages,
    /// Weight of the edges from the open page to each node.
    weight: Vec<u32>,
    /// Edges of each node that may still find their other end a place.
    free: Vec<u32>,
    /// Nodes without a page that the open page has edges to.
    rim: Vec<NodeId>,
    /// No node below this one is without a page.
    lowest: u32,
}

/// Bytes that `pack` holds, its result included.
pub(super) fn bytes(count: u64) -> u64 {
    let rows = 2 * size_of::<u32>() + size_of::<NodeId>();
    Pages::bytes(count).saturating_add(count.saturating_mul(rows as u64))
}

/// Puts every node on a page.
pub(super) fn pack(
    links: &Links<'_>,
    paging: Paging,
    progress: &dyn Progress,
) -> Result<Pages, GraphError> {
    let graph = links.graph();
    let count = graph.count();
    progress.stage("pack pages", u64::from(count));
    let mut free = try_reserved(count as usize, "edges left")?;
    free.extend((0..count).map(|node| graph.neighbors(NodeId(node)).len() as u32));
    let mut packing = Packing {
        links,
        pages: Pages::new(count, paging)?,
        weight: try_filled(count as usize, 0, "edges to the open page")?,
        free,
        rim: try_reserved(count as usize, "rim of the open page")?,
        lowest: 0,
    };
    for page in 0..packing.pages.count() {
        progress.check()?;
        progress.advance(u64::from(packing.fill(page)));
    }
    Ok(packing.pages)
}

impl Packing<'_> {
    /// Fills a page and returns the number of its nodes. The rim is still that of the page before.
    fn fill(&mut self, page: u32) -> u32 {
        let mut seed = self.best_of_rim();
        for &node in &self.rim {
            self.weight[node.index()] = 0;
        }
        self.rim.clear();
        let mut taken = 0;
        while self.pages.has_room(page) {
            let Some(node) = seed.take().or_else(|| self.best_of_rim()) else {
                seed = Some(self.lowest_open());
                continue;
            };
            self.add(node, page);
            taken += 1;
        }
        taken
    }

    fn add(&mut self, node: NodeId, page: u32) {
        self.pages.put(node, page);
        for (neighbor, weight) in self.links.of(node) {
            let at = neighbor.index();
            if weight == 2 {
                self.free[at] -= 1;
            }
            if !self.pages.is_placed(neighbor) {
                if self.weight[at] == 0 {
                    self.rim.push(neighbor);
                }
                self.weight[at] += weight;
            }
        }
    }

    /// The next node to take. Drops those that were taken from the rim.
    fn best_of_rim(&mut self) -> Option<NodeId> {
        let (pages, weight) = (&self.pages, &mut self.weight);
        self.rim.retain(|&node| {
            let open = !pages.is_placed(node);
            if !open {
                weight[node.index()] = 0;
            }
            open
        });
        let rank = |node: &NodeId| {
            let at = node.index();
            (self.weight[at], Reverse(self.free[at]), Reverse(*node))
        };
        self.rim.iter().copied().max_by_key(rank)
    }

    /// The lowest node without a page. There is one: a page has room.
    fn lowest_open(&mut self) -> NodeId {
        while self.pages.is_placed(NodeId(self.lowest)) {
            self.lowest += 1;
        }
        NodeId(self.lowest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::Graph;
    use pageway_types::NoProgress;

    /// Two cliques of three, joined by one edge, their nodes interleaved.
    #[test]
    fn cliques_stay_together() {
        let lists = [[2, 4], [3, 5], [0, 4], [1, 5], [0, 2], [1, 3]];
        let mut lists = lists.map(|list| list.map(NodeId).to_vec());
        lists[0].insert(0, NodeId(1));
        let lists = lists.iter().map(Vec::as_slice);
        let graph = Graph::from_lists(lists, 3, NodeId(0)).expect("a graph");
        let links = Links::new(&graph, &NoProgress).expect("not cancelled");
        let pages = pack(&links, Paging::whole(3), &NoProgress).expect("not cancelled");
        assert_eq!(pages.page_of(), [0, 1, 0, 1, 0, 1]);
    }

    #[test]
    fn nodes_without_edges_fill_up() {
        let lists: [&[NodeId]; 5] = [&[], &[NodeId(4)], &[], &[], &[NodeId(1)]];
        let graph = Graph::from_lists(lists.into_iter(), 1, NodeId(0)).expect("a graph");
        let links = Links::new(&graph, &NoProgress).expect("not cancelled");
        let pages = pack(&links, Paging::whole(2), &NoProgress).expect("not cancelled");
        assert_eq!(pages.page_of(), [0, 0, 1, 2, 1]);
    }
}
