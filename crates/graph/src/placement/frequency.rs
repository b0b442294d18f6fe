//! Block neighbour frequency (Starling, Algorithm 1 there): round by round, every node moves to
//! the page that held most of its neighbours in the round before.
//!
//! What differs from the paper, because it keeps more edges within pages:
//! * The start is greedy packing, not padding.
//! * Edges that lead both ways count twice.
//! * Pages take nodes in the order of how many edges they bring, and those that stay before those
//!   that come, not in the order of ids. A node that finds its page full asks for its next best
//!   when the turn comes to that many edges.
//! * The last round counts only if it was worth it, and a gain is a share of what there was.
//!
//! Proposals are made in parallel against the frozen pages, and accepted one by one, in order.
#![expect(
    clippy::indexing_slicing,
    reason = "nodes and pages are counted by these structures; a slip must stop"
)]

use pageway_types::{Cancelled, NodeId, Progress};
use rayon::prelude::*;

use super::links::Links;
use super::overlap::inner_edges;
use super::packing;
use super::pages::{NOWHERE, Pages};
use super::paging::Paging;
use crate::error::{GraphError, try_filled, try_reserved};
use crate::graph::Graph;

/// Nodes that propose between two looks at `progress`.
const NODES_PER_BATCH: usize = 1 << 14;

/// Nodes of one task.
const NODES_PER_TASK: usize = 256;

/// Where a node wants to go, and how many edges it brings. No edges: nowhere.
#[derive(Clone, Copy)]
struct Proposal {
    edges: u32,
    page: u32,
}

/// When to stop.
#[derive(Clone, Copy)]
pub(super) struct Stop {
    /// Rounds at most.
    pub(super) rounds: u32,
    /// Least share that a round has to add to the edges within pages.
    pub(super) gain: f32,
}

/// Bytes that `shuffle` holds beside some KiB per thread, its result included.
pub(super) fn bytes(count: u64, max_degree: u32) -> u64 {
    let rows = size_of::<Proposal>() + size_of::<NodeId>();
    let rounds = Pages::bytes(count)
        .saturating_mul(2)
        .saturating_add(count.saturating_mul(rows as u64));
    let batch = count.min(NODES_PER_BATCH as u64) * size_of::<Proposal>() as u64;
    Links::bytes(count, max_degree)
        .saturating_add(rounds.max(packing::bytes(count)))
        .saturating_add(batch)
}

/// Puts every node on a page, in the pool of the caller.
pub(super) fn shuffle(
    graph: &Graph,
    paging: Paging,
    stop: Stop,
    progress: &dyn Progress,
) -> Result<Pages, GraphError> {
    let links = Links::new(graph, progress)?;
    let held = packing::pack(&links, paging, progress)?;
    let mut shuffle = Shuffle::new(&links, held, progress)?;
    let mut inner = inner_edges(graph, shuffle.held.page_of());
    for _ in 0..stop.rounds {
        shuffle.round()?;
        let next = inner_edges(graph, shuffle.next.page_of());
        let gained = next.saturating_sub(inner) as f64;
        if gained == 0.0 {
            break;
        }
        std::mem::swap(&mut shuffle.held, &mut shuffle.next);
        if gained < f64::from(stop.gain) * inner as f64 {
            break;
        }
        inner = next;
    }
    Ok(shuffle.held)
}

struct Shuffle<'s> {
    links: &'s Links<'s>,
    progress: &'s dyn Progress,
    /// Pages of the round before.
    held: Pages,
    /// Pages of this round.
    next: Pages,
    proposals: Vec<Proposal>,
    /// Nodes whose turn it is.
    turn: Vec<NodeId>,
    /// Proposals of one batch.
    batch: Vec<Proposal>,
}

impl<'s> Shuffle<'s> {
    fn new(
        links: &'s Links<'s>,
        held: Pages,
        progress: &'s dyn Progress,
    ) -> Result<Self, GraphError> {
        let count = links.graph().count();
        let nowhere = Proposal {
            edges: 0,
            page: NOWHERE,
        };
        Ok(Self {
            links,
            progress,
            next: Pages::new(count, held.paging())?,
            held,
            proposals: try_filled(count as usize, nowhere, "proposals")?,
            turn: try_reserved(count as usize, "nodes that propose")?,
            batch: try_reserved(NODES_PER_BATCH.min(count as usize), "batch of proposals")?,
        })
    }

    fn round(&mut self) -> Result<(), Cancelled> {
        let count = self.links.graph().count();
        self.progress.stage("shuffle pages", u64::from(count));
        self.next.clear();
        self.turn.clear();
        self.turn.extend((0..count).map(NodeId));
        self.propose()?;
        let most = self.proposals.iter().map(|proposal| proposal.edges).max();
        for edges in (1..=most.unwrap_or(0)).rev() {
            self.take_turn(edges);
            self.accept(edges)?;
        }
        self.settle();
        Ok(())
    }

    /// Collects the nodes that bring `edges` edges: those that want to stay where they are, so
    /// that pages keep their core, then the others. Those placed bring none any more.
    fn take_turn(&mut self, edges: u32) {
        self.turn.clear();
        let page_of = self.held.page_of();
        for stays in [true, false] {
            let nodes = (0..).map(NodeId).zip(page_of.iter().zip(&self.proposals));
            let matching = nodes.filter(|(_, (page, proposal))| {
                proposal.edges == edges && (proposal.page == **page) == stays
            });
            self.turn.extend(matching.map(|(node, _)| node));
        }
    }

    /// Places the nodes whose turn it is, or finds them a page that they bring fewer edges to.
    fn accept(&mut self, edges: u32) -> Result<(), Cancelled> {
        while !self.turn.is_empty() {
            let (next, proposals) = (&mut self.next, &mut self.proposals);
            let before = self.turn.len();
            self.turn.retain(|&node| {
                let proposal = &mut proposals[node.index()];
                let full = !next.has_room(proposal.page);
                if !full {
                    next.put(node, proposal.page);
                    proposal.edges = 0;
                }
                full
            });
            self.progress.advance((before - self.turn.len()) as u64);
            self.propose()?;
            let proposals = &self.proposals;
            self.turn
                .retain(|node| proposals[node.index()].edges == edges);
        }
        Ok(())
    }

    /// Has the nodes whose turn it is propose the best page with room.
    fn propose(&mut self) -> Result<(), Cancelled> {
        let (links, held, next) = (self.links, &self.held, &self.next);
        for nodes in self.turn.chunks(NODES_PER_BATCH) {
            self.progress.check()?;
            let tasks = nodes.par_iter().with_min_len(NODES_PER_TASK);
            tasks
                .map_init(Vec::new, |pages, &node| {
                    best_page(links, node, (held, next), pages)
                })
                .collect_into_vec(&mut self.batch);
            for (&node, &proposal) in nodes.iter().zip(&self.batch) {
                self.proposals[node.index()] = proposal;
            }
        }
        Ok(())
    }

    /// Places the nodes that no page wanted: beside neighbours that moved, or where there is room.
    fn settle(&mut self) {
        let (mut pages, mut lowest) = (Vec::new(), 0);
        for node in (0..self.links.graph().count()).map(NodeId) {
            if self.next.is_placed(node) {
                continue;
            }
            let wanted = best_page(self.links, node, (&self.next, &self.next), &mut pages);
            let page = if wanted.edges > 0 {
                wanted.page
            } else {
                while !self.next.has_room(lowest) {
                    lowest += 1;
                }
                lowest
            };
            self.next.put(node, page);
            self.progress.advance(1);
        }
    }
}

/// Among the pages that hold neighbours of `node` and have room, the one with most edges to it.
///
/// Among equals the page where the node is, so that rounds come to rest, then the lowest.
fn best_page(
    links: &Links<'_>,
    node: NodeId,
    (held, room): (&Pages, &Pages),
    pages: &mut Vec<(u32, u32)>,
) -> Proposal {
    pages.clear();
    let page_of = held.page_of();
    let around = links
        .of(node)
        .map(|(neighbor, weight)| (page_of[neighbor.index()], weight));
    pages.extend(around.filter(|&(page, _)| page != NOWHERE && room.has_room(page)));
    pages.sort_unstable();
    let own = page_of[node.index()];
    let mut best = Proposal {
        edges: 0,
        page: NOWHERE,
    };
    for group in pages.chunk_by(|(a, _), (b, _)| a == b) {
        let (page, edges) = (group[0].0, group.iter().map(|(_, weight)| weight).sum());
        if edges > best.edges || edges == best.edges && page == own {
            best = Proposal { edges, page };
        }
    }
    best
}

#[cfg(test)]
mod tests {
    use super::*;
    use pageway_types::NoProgress;

    /// Node 0 lists all others; only 4 lists it back.
    fn star() -> Graph {
        let around = [1, 2, 3, 4, 5].map(NodeId);
        let back = [NodeId(0)];
        let lists = [&around[..], &[], &[], &[], &back, &[]];
        Graph::from_lists(lists.into_iter(), 5, NodeId(0)).expect("a graph")
    }

    fn pages(page_of: [u32; 6]) -> Pages {
        let mut pages = Pages::new(6, Paging::whole(2)).expect("memory");
        for (node, page) in (0..).map(NodeId).zip(page_of) {
            pages.put(node, page);
        }
        pages
    }

    #[test]
    fn a_node_wants_the_page_with_most_edges_that_has_room() {
        let graph = star();
        let links = Links::new(&graph, &NoProgress).expect("not cancelled");
        let mut room = Pages::new(6, Paging::whole(2)).expect("memory");
        let want = |held: &Pages, room: &Pages| {
            let best = best_page(&links, NodeId(0), (held, room), &mut Vec::new());
            (best.edges, best.page)
        };
        // Page 0 holds node 1, page 1 nodes 2 and 3, page 2 node 4, which counts twice, and 5.
        let held = pages([0, 0, 1, 1, 2, 2]);
        assert_eq!(want(&held, &room), (3, 2));
        room.put(NodeId(4), 2);
        room.put(NodeId(5), 2);
        assert_eq!(want(&held, &room), (2, 1));
        // Two edges to each page: the node stays where it is, or takes the lowest.
        let held = pages([1, 0, 0, 2, 1, 2]);
        room.clear();
        assert_eq!(want(&held, &room), (2, 1));
        room.put(NodeId(0), 1);
        room.put(NodeId(4), 1);
        assert_eq!(want(&held, &room), (2, 0));
    }

    #[test]
    fn a_round_gathers_cliques_and_places_the_rest() {
        // Two cliques of three, and two nodes that nobody knows.
        let lists = [
            &[1, 2][..],
            &[0, 2],
            &[0, 1],
            &[4, 5],
            &[3, 5],
            &[3, 4],
            &[],
            &[],
        ];
        let lists = lists.map(|list| list.iter().copied().map(NodeId).collect::<Vec<_>>());
        let lists = lists.iter().map(Vec::as_slice);
        let graph = Graph::from_lists(lists, 2, NodeId(0)).expect("a graph");
        let links = Links::new(&graph, &NoProgress).expect("not cancelled");
        let mut held = Pages::new(8, Paging::whole(3)).expect("memory");
        for (node, page) in (0..).map(NodeId).zip([0, 0, 1, 1, 1, 0, 2, 2]) {
            held.put(node, page);
        }
        let mut shuffle = Shuffle::new(&links, held, &NoProgress).expect("memory");
        shuffle.round().expect("not cancelled");
        assert_eq!(shuffle.next.page_of(), [0, 0, 0, 1, 1, 1, 2, 2]);
    }
}
