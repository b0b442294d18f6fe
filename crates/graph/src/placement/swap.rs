//! Block neighbour swap (Starling, Algorithm 3 there): nodes of two pages change places while that
//! brings more edges within pages. The overlap can only rise.
//!
//! The paper tries the pages of every two neighbours of every node, which is cubic in the degree.
//! Here a page is tried with the few pages that it has most edges to, and a pair again only when
//! one of the two has changed: a sweep visits the edges of at most `2 * PARTNERS` pages for each
//! page, and fewer with every sweep. What a swap gains counts edges in both directions and is
//! exact, since an edge between two pages stands in a list of one of them.
//!
//! Batches of pages look for partners in parallel while nothing changes; the pairs that would gain
//! are then swapped in order, each looked at again, since the ones before may have changed it.
#![expect(
    clippy::indexing_slicing,
    reason = "slots and pages are counted by this structure; a slip must stop"
)]

use std::cmp::Reverse;
use std::ops::Range;

use pageway_types::{Cancelled, NodeId, Progress};
use rayon::prelude::*;

use super::frequency::{self, Stop};
use super::paging::Paging;
use crate::error::{GraphError, try_filled};
use crate::graph::Graph;

/// Pages that one page is tried with.
const PARTNERS: usize = 16;

/// Pages that look for partners before any of them swaps.
const PAGES_PER_BATCH: usize = 1024;

/// Pages of one task.
const PAGES_PER_TASK: usize = 8;

/// Partners of a page, those it has most edges to first.
type Partners = [Option<u32>; PARTNERS];

/// Bytes that `swap` holds beside some KiB per thread, its result included.
pub(super) fn bytes(count: u64, max_degree: u32) -> u64 {
    let rows = (size_of::<NodeId>() + size_of::<u32>()) as u64;
    let pages = (count.div_ceil(2) + 1).saturating_mul(size_of::<u32>() as u64);
    let batch = count.min(PAGES_PER_BATCH as u64) * size_of::<Partners>() as u64;
    let sweeping = count.saturating_mul(rows).saturating_add(pages);
    frequency::bytes(count, max_degree).max(sweeping.saturating_add(batch))
}

/// Orders the nodes of `graph`, in the pool of the caller.
pub(super) fn swap(
    graph: &Graph,
    paging: Paging,
    stop: Stop,
    progress: &dyn Progress,
) -> Result<Vec<NodeId>, GraphError> {
    let order = frequency::shuffle(graph, paging, stop, progress)?.into_order()?;
    let mut exchange = Exchange::new(graph, order, paging)?;
    let mut inner = exchange.inner_edges();
    for sweep in 1..=stop.rounds {
        let gained = exchange.sweep(sweep, progress)?;
        if gained == 0 || (gained as f64) < f64::from(stop.gain) * inner as f64 {
            break;
        }
        inner += gained;
    }
    Ok(exchange.order)
}

/// What a node gains, in edges within pages, when it goes to the other page of a pair.
#[derive(Clone, Copy)]
struct Move {
    gain: i32,
    node: NodeId,
}

/// Two nodes that change places, and the edges that come within pages by it.
struct Swap {
    gain: i32,
    nodes: [NodeId; 2],
}

/// Buffers of one thread, as long as the lists of one page and the nodes of two.
#[derive(Default)]
struct SwapScratch {
    linked: Vec<u32>,
    moves: Vec<Move>,
}

struct Exchange<'e> {
    graph: &'e Graph,
    paging: Paging,
    order: Vec<NodeId>,
    /// Where each node stands in `order`.
    position: Vec<u32>,
    /// The last sweep that changed each page; 0 before the first.
    changed: Vec<u32>,
}

impl<'e> Exchange<'e> {
    fn new(graph: &'e Graph, order: Vec<NodeId>, paging: Paging) -> Result<Self, GraphError> {
        let mut position = try_filled(order.len(), 0, "positions of nodes")?;
        for (at, node) in (0..).zip(&order) {
            position[node.index()] = at;
        }
        let page_count = paging.pages(order.len() as u32) as usize;
        Ok(Self {
            graph,
            paging,
            order,
            position,
            changed: try_filled(page_count, 0, "changes of pages")?,
        })
    }

    fn inner_edges(&self) -> u64 {
        let inner = |page: u32| {
            let page = &self.order[self.slots(page)];
            let lists = page.iter().map(|&node| self.graph.neighbors(node));
            lists.flatten().filter(|other| page.contains(other)).count() as u64
        };
        let pages = (0..self.changed.len() as u32).into_par_iter();
        pages.with_min_len(PAGES_PER_TASK).map(inner).sum()
    }

    /// Tries every page with its partners. Returns the edges that came within pages.
    fn sweep(&mut self, sweep: u32, progress: &dyn Progress) -> Result<u64, Cancelled> {
        let pages: Range<u32> = 0..self.changed.len() as u32;
        progress.stage("swap nodes", u64::from(pages.end));
        let (mut gained, mut found, mut scratch) = (0, Vec::new(), SwapScratch::default());
        for first in pages.step_by(PAGES_PER_BATCH) {
            progress.check()?;
            let end = (self.changed.len() as u32).min(first + PAGES_PER_BATCH as u32);
            (first..end)
                .into_par_iter()
                .with_min_len(PAGES_PER_TASK)
                .map_init(SwapScratch::default, |scratch, page| {
                    self.promising(page, sweep, scratch)
                })
                .collect_into_vec(&mut found);
            for (page, partners) in (first..end).zip(&found) {
                for &partner in partners.iter().flatten() {
                    gained += self.exchange([page, partner], sweep, &mut scratch);
                }
            }
            progress.advance(u64::from(end - first));
        }
        Ok(gained)
    }

    /// The partners of a page that it gains by a swap with.
    fn promising(&self, page: u32, sweep: u32, scratch: &mut SwapScratch) -> Partners {
        self.partners(page, &mut scratch.linked).map(|partner| {
            partner.filter(|&partner| {
                let newest = self.changed[page as usize].max(self.changed[partner as usize]);
                newest + 1 >= sweep
                    && self
                        .best_swap([page, partner], &mut scratch.moves)
                        .is_some()
            })
        })
    }

    /// The pages that `page` has most edges to, the lowest first among equals.
    fn partners(&self, page: u32, linked: &mut Vec<u32>) -> Partners {
        let nodes = self.order[self.slots(page)].iter();
        let neighbors = nodes.flat_map(|&node| self.graph.neighbors(node));
        let pages =
            neighbors.map(|other| self.paging.page_at(self.position[other.index()] as usize));
        linked.clear();
        linked.extend(pages.filter(|&other| other != page));
        linked.sort_unstable();
        let mut best = [None; PARTNERS];
        for group in linked.chunk_by(|a, b| a == b) {
            let mut entry = Some((group.len(), Reverse(group[0])));
            for place in &mut best {
                if entry > *place {
                    std::mem::swap(&mut entry, place);
                }
            }
        }
        best.map(|entry| entry.map(|(_, Reverse(other))| other))
    }

    fn slots(&self, page: u32) -> Range<usize> {
        self.paging.places(page, self.order.len())
    }

    /// Swaps nodes of two pages while one swap gains; returns the edges that came within them.
    fn exchange(&mut self, pages: [u32; 2], sweep: u32, scratch: &mut SwapScratch) -> u64 {
        let mut gained = 0;
        while let Some(swap) = self.best_swap(pages, &mut scratch.moves) {
            let [one, other] = swap.nodes.map(NodeId::index);
            let [at, to] = [one, other].map(|node| self.position[node] as usize);
            self.order.swap(at, to);
            self.position.swap(one, other);
            for page in pages {
                self.changed[page as usize] = sweep;
            }
            gained += swap.gain as u64;
        }
        gained
    }

    /// The swap between two pages that gains most, if any does.
    fn best_swap(&self, pages: [u32; 2], moves: &mut Vec<Move>) -> Option<Swap> {
        self.weigh_moves(pages, moves);
        let (here, there) = moves.split_at_mut(self.slots(pages[0]).len());
        for side in [&mut *here, &mut *there] {
            side.sort_unstable_by_key(|one| (Reverse(one.gain), one.node));
        }
        let (mut best, mut most) = (None, 0);
        for one in here.iter() {
            for other in there.iter() {
                // Gains fall from here on, and edges between the two only take away.
                if one.gain + other.gain <= most {
                    break;
                }
                let nodes = [one.node, other.node];
                let gain = one.gain + other.gain - 2 * self.edges_between(nodes);
                if gain > most {
                    most = gain;
                    best = Some(Swap { gain, nodes });
                }
            }
        }
        best
    }

    /// Fills `moves`: the nodes of the first page, then those of the second, by their slots.
    fn weigh_moves(&self, pages: [u32; 2], moves: &mut Vec<Move>) {
        let [here, there] = pages.map(|page| self.slots(page));
        let nodes = self.order[here.clone()]
            .iter()
            .chain(&self.order[there.clone()]);
        moves.clear();
        moves.extend(nodes.map(|&node| Move { gain: 0, node }));
        let slot_of = |node: NodeId| {
            let at = self.position[node.index()] as usize;
            if here.contains(&at) {
                Some(at - here.start)
            } else {
                there.contains(&at).then(|| at - there.start + here.len())
            }
        };
        for slot in 0..moves.len() {
            let neighbors = self.graph.neighbors(moves[slot].node).iter();
            for other in neighbors.filter_map(|&neighbor| slot_of(neighbor)) {
                let apart = (slot < here.len()) != (other < here.len());
                let gain = if apart { 1 } else { -1 };
                moves[slot].gain += gain;
                moves[other].gain += gain;
            }
        }
    }

    fn edges_between(&self, [one, other]: [NodeId; 2]) -> i32 {
        let there = self.graph.neighbors(one).contains(&other);
        let back = self.graph.neighbors(other).contains(&one);
        i32::from(there) + i32::from(back)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::SplitMix64;
    use pageway_types::NoProgress;

    fn random_graph(count: u32, degree: usize, seed: u64) -> Graph {
        let mut random = SplitMix64::new(seed);
        let lists: Vec<Vec<NodeId>> = (0..count)
            .map(|node| {
                let mut list: Vec<_> = (0..degree)
                    .map(|_| NodeId(random.below(u64::from(count)) as u32))
                    .filter(|other| other.0 != node)
                    .collect();
                list.sort_unstable();
                list.dedup();
                list
            })
            .collect();
        let lists = lists.iter().map(Vec::as_slice);
        Graph::from_lists(lists, degree as u32, NodeId(0)).expect("a graph")
    }

    /// What a swap promises is what counting all edges again gives, and no swap gives more.
    #[test]
    fn the_best_swap_gains_what_it_says() {
        for seed in 0..40 {
            let graph = random_graph(11, 5, seed);
            let order: Vec<NodeId> = (0..11).map(NodeId).collect();
            let inner = |order: Vec<NodeId>| {
                Exchange::new(&graph, order, Paging::whole(4))
                    .expect("memory")
                    .inner_edges() as i64
            };
            let exchange = Exchange::new(&graph, order.clone(), Paging::whole(4)).expect("memory");
            let before = inner(order.clone());
            for (pages, here, there) in [([0, 1], 0..4, 4..8), ([2, 0], 8..11, 0..4)] {
                let swaps = here.flat_map(|one| there.clone().map(move |other| (one, other)));
                let most = swaps.map(|(one, other)| {
                    let mut order = order.clone();
                    order.swap(one, other);
                    inner(order) - before
                });
                let most = most.max().filter(|&gain| gain > 0);
                let found = exchange.best_swap(pages, &mut Vec::new());
                assert_eq!(found.as_ref().map(|swap| i64::from(swap.gain)), most);
                if let Some(swap) = found {
                    let mut order = order.clone();
                    order.swap(swap.nodes[0].index(), swap.nodes[1].index());
                    assert_eq!(Some(inner(order) - before), most);
                }
            }
        }
    }

    #[test]
    fn a_sweep_gains_what_it_says() {
        let graph = random_graph(500, 9, 1);
        let order = (0..500).map(NodeId).collect();
        let mut exchange = Exchange::new(&graph, order, Paging::whole(6)).expect("memory");
        for sweep in 1..5 {
            let before = exchange.inner_edges();
            let gained = exchange.sweep(sweep, &NoProgress).expect("not cancelled");
            assert_eq!(exchange.inner_edges(), before + gained);
            assert!(gained > 0 || sweep > 1);
        }
    }

    #[test]
    fn partners_are_the_pages_with_most_edges() {
        let lists = [[2, 4, 6], [4, 7, 8], [0, 1, 3]];
        let mut lists = lists.map(|list| list.map(NodeId).to_vec()).to_vec();
        lists.resize(9, Vec::new());
        let lists = lists.iter().map(Vec::as_slice);
        let graph = Graph::from_lists(lists, 3, NodeId(0)).expect("a graph");
        let order = (0..9).map(NodeId).collect();
        let exchange = Exchange::new(&graph, order, Paging::whole(2)).expect("memory");
        let partners = exchange.partners(0, &mut Vec::new());
        let partners: Vec<u32> = partners.into_iter().flatten().collect();
        assert_eq!(partners, [2, 3, 1, 4]);
    }
}
