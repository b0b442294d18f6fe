//! Greedy best-first search.
#![expect(
    clippy::indexing_slicing,
    reason = "buffers are sized for the longest list of the graph; a slip must stop"
)]

use pageway_types::{Candidate, NodeId};

use super::candidates::CandidateList;
use super::visited::VisitedSet;
use crate::error::{GraphError, try_filled, try_reserved};
use crate::graph::{AdjacencyLists, Graph};
use crate::vectors::VectorSet;

/// Expansions that a search may add to its list size before it stops. Real searches add some
/// tens; the bound is what makes scratch memory a constant.
const EXTRA_EXPANSIONS: u32 = 750;

/// Sizes that bound one search.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bounds {
    /// Nodes of the graph.
    pub(crate) count: u32,
    /// Longest adjacency list while searching.
    pub(crate) max_degree: u32,
    /// Candidates kept.
    pub(crate) list_size: u32,
}

impl Bounds {
    pub(crate) fn expansions(self) -> usize {
        (self.list_size.saturating_add(EXTRA_EXPANSIONS)).min(self.count) as usize
    }

    /// The lists of all expanded nodes and the entry; or all nodes, and the list that comes next.
    fn visited(self) -> usize {
        let max_degree = self.max_degree as usize;
        self.expansions()
            .saturating_mul(max_degree)
            .saturating_add(1)
            .min((self.count as usize).saturating_add(max_degree))
    }
}

/// Memory of one search, reused by the next.
pub(crate) struct SearchScratch {
    list: CandidateList,
    visited: VisitedSet,
    distances: Vec<f32>,
    expanded: Vec<Candidate>,
    max_expansions: usize,
}

impl SearchScratch {
    pub(crate) fn new(bounds: Bounds) -> Result<Self, GraphError> {
        Ok(Self {
            list: CandidateList::new(bounds.list_size as usize)?,
            visited: VisitedSet::new(bounds.count as usize, bounds.visited())?,
            distances: try_filled(bounds.max_degree.max(1) as usize, 0.0, "distances")?,
            expanded: try_reserved(bounds.expansions(), "expanded nodes")?,
            max_expansions: bounds.expansions(),
        })
    }

    /// Bytes that `new` with the same bounds takes.
    pub(crate) fn bytes(bounds: Bounds) -> u64 {
        CandidateList::bytes(u64::from(bounds.list_size))
            + VisitedSet::bytes(u64::from(bounds.count), bounds.visited() as u64)
            + u64::from(bounds.max_degree.max(1)) * size_of::<f32>() as u64
            + (bounds.expansions() * size_of::<Candidate>()) as u64
    }

    /// Searches keep `list_size` candidates from now on, no more than the scratch was made for.
    pub(crate) fn set_list_size(&mut self, list_size: usize) {
        self.list.set_limit(list_size);
    }

    /// Searches from `entry`. `score` fills in the distances of the nodes it is given.
    pub(crate) fn run(
        &mut self,
        lists: &AdjacencyLists,
        entry: NodeId,
        mut score: impl FnMut(&[NodeId], &mut [f32]),
    ) {
        self.list.clear();
        self.visited.clear();
        self.expanded.clear();
        self.admit(&[entry], &mut score);
        while self.expanded.len() < self.max_expansions {
            let Some(next) = self.list.expand_next() else {
                break;
            };
            self.expanded.push(next);
            self.admit(lists.neighbors(next.node), &mut score);
        }
    }

    #[inline]
    fn admit(&mut self, nodes: &[NodeId], score: &mut impl FnMut(&[NodeId], &mut [f32])) {
        let fresh = self.visited.insert_many(nodes);
        let distances = &mut self.distances[..fresh.len()];
        score(fresh, distances);
        self.list.offer_many(fresh, distances);
    }

    /// Every node that the last search expanded, in the order of expansion.
    pub(crate) fn expanded(&self) -> &[Candidate] {
        &self.expanded
    }

    /// The nearest nodes that the last search met, nearest first.
    pub(crate) fn nearest(&self, count: usize) -> impl Iterator<Item = Candidate> {
        self.list.nearest(count)
    }
}

/// The `k` nodes nearest to `query` that a greedy search with `list_size` candidates finds, and
/// the number of nodes it expanded. Distances are in the metric of the vectors.
///
/// For tests and measurements: it allocates its scratch, about `count / 8` bytes, on every call.
///
/// # Errors
/// When the allocator refuses. Panics when the graph and the vectors do not belong together.
pub fn greedy_search(
    graph: &Graph,
    vectors: &VectorSet<'_>,
    query: &[u8],
    list_size: u32,
    k: usize,
) -> Result<(Vec<Candidate>, usize), GraphError> {
    let max_degree = graph.max_degree();
    let bounds = Bounds {
        count: graph.count(),
        max_degree,
        list_size: list_size.max(1),
    };
    let mut scratch = SearchScratch::new(bounds)?;
    scratch.run(graph.lists(), graph.entry(), |nodes, out| {
        vectors.query_distance_many(query, nodes, out);
    });
    Ok((scratch.nearest(k).collect(), scratch.expanded().len()))
}
