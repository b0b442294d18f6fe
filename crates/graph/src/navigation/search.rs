//! Searching a navigation graph: greedily down the layers, best-first in the bottom one.

use pageway_types::{Candidate, NodeId};

use super::NavigationGraph;
use crate::error::{GraphError, try_reserved};
use crate::search::{Bounds, SearchScratch};

/// Memory of one search, reused by the next; one per thread.
pub struct NavigationScratch {
    search: SearchScratch,
    positions: Vec<NodeId>,
}

impl NavigationScratch {
    /// Room for searches of `graph` with up to `list_size` candidates.
    ///
    /// # Errors
    /// When memory is refused.
    pub fn new(graph: &NavigationGraph, list_size: u32) -> Result<Self, GraphError> {
        let bounds = bounds(graph.nodes.len() as u32, graph.max_degree(), list_size);
        Ok(Self {
            search: SearchScratch::new(bounds)?,
            positions: try_reserved(bounds.max_degree as usize, "positions")?,
        })
    }

    /// Bytes that `new` takes for a graph over `sample` nodes.
    pub fn bytes(sample: u32, max_degree: u32, list_size: u32) -> u64 {
        let bounds = bounds(sample, max_degree, list_size);
        let positions = u64::from(bounds.max_degree) * size_of::<NodeId>() as u64;
        SearchScratch::bytes(bounds).saturating_add(positions)
    }
}

fn bounds(sample: u32, max_degree: u32, list_size: u32) -> Bounds {
    Bounds {
        count: sample,
        max_degree,
        list_size: list_size.max(1),
    }
}

impl NavigationGraph {
    /// Appends to `out` the best `list_size` sampled nodes that a search with as many candidates
    /// meets, nearest first, with their exact distances; all of a smaller sample.
    ///
    /// `query` is one row of raw elements, of the type that the graph is for. `list_size` is cut to
    /// what `scratch` was made for. Costs some hundred distances and, once `out` has its size, no
    /// allocation. Panics when `scratch` was made for a smaller graph or `query` is no row.
    pub fn search(
        &self,
        query: &[u8],
        list_size: usize,
        scratch: &mut NavigationScratch,
        out: &mut Vec<Candidate>,
    ) {
        let start = self.descend(query, scratch);
        let search = &mut scratch.search;
        search.set_list_size(list_size);
        search.run(self.bottom.lists(), start, |positions, distances| {
            self.score(query, positions, distances);
        });
        let found = search.nearest(list_size);
        out.extend(found.map(|near| Candidate::new(self.node(near.node), near.distance)));
    }

    /// The position at which the bottom layer is entered.
    fn descend(&self, query: &[u8], scratch: &mut NavigationScratch) -> NodeId {
        let NavigationScratch { search, positions } = scratch;
        let Some(top) = self.upper.first() else {
            return self.bottom.entry();
        };
        search.set_list_size(1);
        let mut position = top.position(top.graph.entry());
        for layer in &self.upper {
            let start = layer.member(position);
            search.run(layer.graph.lists(), start, |members, distances| {
                positions.clear();
                positions.extend(members.iter().map(|&member| layer.position(member)));
                self.score(query, positions, distances);
            });
            let nearest = search.nearest(1).next();
            position = nearest.map_or(position, |near| layer.position(near.node));
        }
        position
    }
}
