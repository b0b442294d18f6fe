//! Nodes that are among each other's nearest share a page.
//!
//! ```text
//! an order in which near nodes are near -> the nearest of each node: a graph of few edges
//! -> neighbour swap over that: pages    -> pages by their middle nodes: near the order again
//! ```
//! A search wants the nearest of one place. In hundreds of dimensions those are near it, but less
//! near each other, and every line that cuts a set parts some: of 80,000 sentences, five to a page,
//! the true ten of a query lie on 9.0 pages after cuts alone and on 7.4 after swaps. The order of
//! pages keeps neighbours close in number, which lists of few bits need.
//!
//! The nearest are taken from the lists of a graph, whose pruning spares them, or within a run of
//! nodes that lie together anyway, by all distances.
#![expect(
    clippy::indexing_slicing,
    reason = "orders are permutations made here; a slip must stop"
)]

use std::ops::Range;

use pageway_types::{Candidate, NoProgress, NodeId, Progress};
use rayon::prelude::*;

use super::frequency::Stop;
use super::paging::Paging;
use super::{bisection, swap};
use crate::error::{GraphError, try_filled, try_reserved};
use crate::graph::{AdjacencyLists, Graph, write_list};
use crate::vectors::VectorSet;

/// Neighbours of a node that want to share its page: with 5, 9 or 15 the true ten of a query lie on
/// as many pages within a hundredth.
const NEAREST: u32 = 5;

/// When swaps end.
const STOP: Stop = Stop {
    rounds: 8,
    gain: 0.01,
};

/// Nodes whose lists one task writes.
const NODES_PER_TASK: usize = 256;

/// Nodes of a run that are compared with each other, about.
const RUN: usize = 256;

/// Bytes that `place` holds beside some KiB per thread, its result included.
pub(super) fn bytes(count: u64) -> u64 {
    let order = count.saturating_mul(size_of::<NodeId>() as u64);
    bisection::bytes(count).max(order.saturating_add(paging_bytes(count)))
}

/// Bytes that [`arrange`] holds for each thread.
pub(crate) fn arrange_bytes() -> u64 {
    let nodes = 2 * RUN as u64;
    let ranked = nodes * size_of::<(f32, Candidate)>() as u64;
    ranked + paging_bytes(nodes)
}

/// Bytes that the nearest of `count` nodes take, and pages by them.
fn paging_bytes(count: u64) -> u64 {
    let page = size_of::<(NodeId, &[NodeId])>() + 2 * size_of::<NodeId>();
    let sorting = count.saturating_mul(page as u64);
    Graph::bytes(count, NEAREST).saturating_add(swap::bytes(count, NEAREST).max(sorting))
}

/// Orders the nodes of `graph`, in the pool of the caller.
pub(super) fn place(
    graph: &Graph,
    vectors: &VectorSet<'_>,
    (per_page, seed): (u32, u64),
    progress: &dyn Progress,
) -> Result<Vec<NodeId>, GraphError> {
    let order = bisection::cluster(vectors, per_page, seed, progress)?;
    let near = nearest_listed(graph, vectors, &order, progress)?;
    let mut places = pages_of(&near, Paging::whole(per_page), progress)?;
    for place in &mut places {
        *place = order[place.index()];
    }
    Ok(places)
}

/// Orders nodes that lie together, cut by `paging`, and are near each other where their places are.
pub(crate) fn arrange(
    vectors: &VectorSet<'_>,
    nodes: &mut [NodeId],
    paging: Paging,
) -> Result<(), GraphError> {
    let mut ranked = Ranked::default();
    for run in runs(nodes.len(), paging) {
        let paging = paging.behind(run.start as u64);
        let nodes = &mut nodes[run];
        if paging.pages(nodes.len() as u32) <= 1 {
            continue;
        }
        let mut lists = AdjacencyLists::new(nodes.len(), NEAREST)?;
        for (at, &node) in (0..).zip(nodes.iter()) {
            let near = ranked.nearest(vectors, node, nodes, |other| NodeId(other as u32));
            write_list(lists.row_mut(NodeId(at)), near);
        }
        let near = Graph::new(lists, NodeId(0));
        let places = pages_of(&near, paging, &NoProgress)?;
        let placed: Vec<NodeId> = places.iter().map(|place| nodes[place.index()]).collect();
        nodes.copy_from_slice(&placed);
    }
    Ok(())
}

/// The places of `count` nodes in runs of whole pages, of [`RUN`] nodes or a page more.
fn runs(count: usize, paging: Paging) -> impl Iterator<Item = Range<usize>> {
    let per_run = (RUN as u32).div_ceil(paging.nodes_per_page);
    let firsts = (0..paging.pages(count as u32)).step_by(per_run as usize);
    firsts.map(move |first| {
        let last = paging.places(first + per_run - 1, count);
        paging.places(first, count).start..last.end
    })
}

/// The nearest neighbours of each node in its list. Node `n` is that of `order[n]`.
fn nearest_listed(
    graph: &Graph,
    vectors: &VectorSet<'_>,
    order: &[NodeId],
    progress: &dyn Progress,
) -> Result<Graph, GraphError> {
    progress.stage("find the nearest", order.len() as u64);
    let mut places = try_filled(order.len(), NodeId(0), "places of nodes")?;
    for (place, node) in (0..).zip(order) {
        places[node.index()] = NodeId(place);
    }
    let mut lists = AdjacencyLists::new(order.len(), NEAREST)?;
    let stride = lists.stride();
    let rows = lists.slots_mut().par_chunks_mut(stride * NODES_PER_TASK);
    let tasks = rows.zip(order.par_chunks(NODES_PER_TASK));
    tasks.try_for_each_init(Ranked::default, |ranked, (rows, nodes)| {
        progress.check()?;
        for (row, &node) in rows.chunks_exact_mut(stride).zip(nodes) {
            let list = graph.neighbors(node);
            let place_of = |at: usize| places[list[at].index()];
            write_list(row, ranked.nearest(vectors, node, list, place_of));
        }
        progress.advance(nodes.len() as u64);
        Ok::<(), GraphError>(())
    })?;
    Ok(Graph::new(lists, NodeId(0)))
}

/// Buffers for the nearest of one node.
#[derive(Default)]
struct Ranked {
    distances: Vec<f32>,
    near: Vec<Candidate>,
    places: Vec<NodeId>,
}

impl Ranked {
    /// The places of the nearest of `others` to a node, itself left out. `place_of` has the place
    /// of each of them, by its number there.
    fn nearest(
        &mut self,
        vectors: &VectorSet<'_>,
        node: NodeId,
        others: &[NodeId],
        place_of: impl Fn(usize) -> NodeId,
    ) -> &[NodeId] {
        self.distances.resize(others.len(), 0.0);
        vectors.distance_many(node, others, &mut self.distances);
        let apart = (0..).zip(others).filter(|(_, other)| **other != node);
        self.near.clear();
        let placed = apart.map(|(at, _)| Candidate::new(place_of(at), self.distances[at]));
        self.near.extend(placed);
        if self.near.len() > NEAREST as usize {
            self.near.select_nth_unstable(NEAREST as usize);
            self.near.truncate(NEAREST as usize);
        }
        self.near.sort_unstable();
        self.places.clear();
        self.places.extend(self.near.iter().map(|one| one.node));
        &self.places
    }
}

/// An order of nodes that brings those that `near` links onto one page.
fn pages_of(
    near: &Graph,
    paging: Paging,
    progress: &dyn Progress,
) -> Result<Vec<NodeId>, GraphError> {
    let order = swap::swap(near, paging, STOP, progress)?;
    by_middle(&order, paging)
}

/// The same pages in the order of the middle ones of their nodes. Pages that are not full, at
/// either end, stay there.
fn by_middle(order: &[NodeId], paging: Paging) -> Result<Vec<NodeId>, GraphError> {
    let is_full = |page: &[NodeId]| page.len() == paging.nodes_per_page as usize;
    let count = paging.pages(order.len() as u32);
    let pages = (0..count).map(|page| &order[paging.places(page, order.len())]);
    let mut sorted = try_reserved(count as usize, "pages to sort")?;
    sorted.extend((0..count).zip(pages).map(|(number, page)| {
        let place = match number {
            _ if is_full(page) => 1,
            0 => 0,
            _ => 2,
        };
        (place, middle(page), page)
    }));
    sorted.sort_by_key(|(place, middle, _)| (*place, *middle));
    let mut order = try_reserved(order.len(), "pages in order")?;
    order.extend(sorted.iter().flat_map(|(_, _, page)| *page));
    Ok(order)
}

/// The middle one of the nodes of a page by number; the lower of two.
fn middle(page: &[NodeId]) -> NodeId {
    let mut nodes = page.to_vec();
    nodes.sort_unstable();
    nodes[(nodes.len() - 1) / 2]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Rows, clustered};
    use pageway_types::Guide;

    #[test]
    fn pages_follow_their_middle_nodes() {
        let order = [5, 9, 1, 0, 2, 8, 3, 4, 6, 7].map(NodeId);
        let sorted = by_middle(&order, Paging::whole(3)).expect("memory");
        assert_eq!(sorted, [0, 2, 8, 3, 4, 6, 5, 9, 1, 7].map(NodeId));
        let paging = Paging {
            nodes_per_page: 3,
            taken: 2,
        };
        let sorted = by_middle(&order, paging).expect("memory");
        assert_eq!(sorted, [5, 9, 1, 0, 2, 8, 3, 4, 6, 7].map(NodeId));
    }

    #[test]
    fn runs_end_where_pages_do() {
        for (count, per_page, taken) in [(1000, 7, 3), (10, 3, 2), (600, 300, 250), (0, 4, 1)] {
            let paging = Paging {
                nodes_per_page: per_page,
                taken,
            };
            let mut next = 0;
            for run in runs(count, paging) {
                assert_eq!(run.start, next);
                next = run.end;
                let is_end = paging.behind(next as u64).taken == 0;
                assert!(is_end || next == count);
                assert!(run.len() < RUN + per_page as usize);
            }
            assert_eq!(next, count);
        }
    }

    #[test]
    fn near_nodes_come_together() {
        let rows = Rows::f32(8, &clustered(300, 8, 5.0, 2));
        let set = rows.set(Guide::L2);
        let paging = Paging {
            nodes_per_page: 4,
            taken: 1,
        };
        let apart = |nodes: &[NodeId]| -> f32 {
            let pages = (0..paging.pages(300)).map(|page| &nodes[paging.places(page, 300)]);
            let of_page = |page: &[NodeId]| -> f32 {
                let pairs = page
                    .iter()
                    .flat_map(|one| page.iter().map(move |other| (one, other)));
                pairs.map(|(one, other)| set.distance(*one, *other)).sum()
            };
            pages.map(of_page).sum()
        };
        let by_number: Vec<NodeId> = (0..300).map(NodeId).collect();
        let mut nodes = by_number.clone();
        arrange(&set, &mut nodes, paging).expect("memory");
        assert!(apart(&nodes) < 0.5 * apart(&by_number));
        nodes.sort_unstable();
        assert_eq!(nodes, by_number);
    }

    #[test]
    fn few_or_equal_nodes_stay_whole() {
        let rows = Rows::f32(3, &clustered(600, 3, 0.0, 1));
        for count in [0, 1, 2, 5, 600] {
            let mut nodes: Vec<NodeId> = (0..count).map(NodeId).collect();
            arrange(&rows.set(Guide::L2), &mut nodes, Paging::whole(4)).expect("memory");
            nodes.sort_unstable();
            assert!(nodes.into_iter().eq((0..count).map(NodeId)));
        }
    }
}
