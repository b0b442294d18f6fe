//! The numbers of nodes: by row, or by a placement that puts near nodes on one page and hot pages
//! first.

use std::ops::Range;
use std::sync::Arc;

use pageway_graph::{Graph, Placement, PlacementSpec as GraphPlacement, VectorSet, place};
use pageway_types::{NodeId, Progress, RowId};
use rayon::ThreadPool;

use super::ordered::OrderedRows;
use crate::error::Result;
use crate::source::IdRead;
use crate::spec::{IndexSpec, PlacementSpec};

/// Which row each node is.
pub(super) enum NodeOrder {
    /// Node and row have the same number.
    Rows,
    /// The same, because the rows were put in the order of nodes; this tells their numbers in the
    /// data.
    Ordered(Arc<OrderedRows>),
    /// A permutation, both ways.
    Placed {
        /// Row of each node: its number in the graph before it was placed.
        rows: Vec<NodeId>,
        /// Node of each row.
        nodes: Vec<NodeId>,
    },
}

impl NodeOrder {
    /// Bytes of a permutation of `count` nodes.
    pub(super) const fn bytes(count: u64) -> u64 {
        count * 2 * size_of::<NodeId>() as u64
    }

    /// Nodes in the order of `rows`.
    pub(super) fn placed(rows: Vec<NodeId>) -> Self {
        let mut nodes = vec![NodeId(0); rows.len()];
        for (node, row) in (0u32..).zip(&rows) {
            if let Some(slot) = nodes.get_mut(row.index()) {
                *slot = NodeId(node);
            }
        }
        Self::Placed { rows, nodes }
    }

    /// Whether the rows of ascending nodes ascend too.
    pub(super) const fn is_sequential(&self) -> bool {
        matches!(self, Self::Rows | Self::Ordered(_))
    }

    /// Writes the row numbers of some nodes in the data of the user.
    pub(super) fn numbers(&self, nodes: Range<u32>, out: &mut Vec<u32>) -> Result<()> {
        if let Self::Ordered(rows) = self {
            return rows.numbers(nodes, out);
        }
        out.clear();
        out.extend(nodes.map(|node| self.row_of(NodeId(node)).0));
        Ok(())
    }

    /// Writes the ids of some nodes: from `ids`, which follow the rows of the build, or their row
    /// numbers in the data of the user.
    pub(super) fn user_ids(
        &self,
        (ids, nodes): (Option<&dyn IdRead>, Range<u32>),
        numbers: &[u32],
        out: &mut Vec<u64>,
    ) -> Result<()> {
        out.clear();
        out.extend(numbers.iter().map(|row| u64::from(*row)));
        let Some(ids) = ids else {
            return Ok(());
        };
        if self.is_sequential() {
            return ids.read(nodes.start.into(), out);
        }
        out.iter_mut()
            .try_for_each(|id| ids.read(*id, std::slice::from_mut(id)))
    }

    /// The nodes of rows, given by their numbers in the data of the user.
    pub(super) fn nodes_of(&self, rows: &[RowId]) -> Result<Vec<NodeId>> {
        match self {
            Self::Ordered(ordered) => ordered.nodes_of(rows),
            Self::Rows | Self::Placed { .. } => {
                Ok(rows.iter().map(|row| self.node_of(*row)).collect())
            }
        }
    }

    /// Row of a node among the rows of the build.
    #[inline]
    pub(super) fn row_of(&self, node: NodeId) -> RowId {
        let same = RowId(node.0);
        match self {
            Self::Rows | Self::Ordered(_) => same,
            Self::Placed { rows, .. } => rows
                .get(node.index())
                .copied()
                .map_or(same, row_of_unplaced),
        }
    }

    /// Node of a row of the build.
    #[inline]
    pub(super) fn node_of(&self, row: RowId) -> NodeId {
        let same = NodeId(row.0);
        match self {
            Self::Rows | Self::Ordered(_) => same,
            Self::Placed { nodes, .. } => nodes.get(row.index()).copied().unwrap_or(same),
        }
    }
}

/// The placement of a spec, as the graph knows it; `None` for the order of the data.
pub(super) fn placement(spec: &IndexSpec) -> Option<Placement> {
    Some(match spec.layout.placement {
        PlacementSpec::ById => return None,
        PlacementSpec::Bnp => Placement::Bnp,
        PlacementSpec::Bnf { rounds, gain } => Placement::Bnf { rounds, gain },
        PlacementSpec::Bns { rounds, gain } => Placement::Bns { rounds, gain },
        PlacementSpec::Grouped { hops } => Placement::Grouped { hops },
        PlacementSpec::Clustered => Placement::Clustered,
        PlacementSpec::Nearest => Placement::Nearest,
    })
}

/// Chooses the order of nodes; `guests` stand in for queries.
pub(super) fn order_nodes(
    spec: &IndexSpec,
    nodes_per_page: u32,
    (graph, vectors, guests): (&Graph, &VectorSet<'_>, &[NodeId]),
    pool: &ThreadPool,
    progress: &dyn Progress,
) -> Result<NodeOrder> {
    if spec.nodes_are_rows() {
        return Ok(NodeOrder::Rows);
    }
    let mut rows = match placement(spec) {
        Some(placement) => {
            let wanted = GraphPlacement {
                placement,
                nodes_per_page,
                seed: spec.seed,
            };
            place(graph, vectors, (&wanted, guests), pool, progress)?
        }
        None => (0..graph.count()).map(NodeId).collect(),
    };
    if spec.storage.codes.is_split() {
        rows = hot_pages_first(graph, &rows, nodes_per_page as usize);
    }
    Ok(NodeOrder::placed(rows))
}

/// The row of a node of a graph whose nodes have not been placed.
pub(super) const fn row_of_unplaced(node: NodeId) -> RowId {
    RowId(node.0)
}

/// Pages whose nodes are named most often come first; a last page that is not full stays last.
fn hot_pages_first(graph: &Graph, rows: &[NodeId], nodes_per_page: usize) -> Vec<NodeId> {
    let mut named = vec![0u32; rows.len()];
    for node in 0..graph.count() {
        for neighbor in graph.neighbors(NodeId(node)) {
            if let Some(count) = named.get_mut(neighbor.index()) {
                *count += 1;
            }
        }
    }
    let heat = |page: &&[NodeId]| -> u64 {
        page.iter()
            .map(|row| u64::from(named.get(row.index()).copied().unwrap_or(0)))
            .sum()
    };
    let (full, rest) = rows.split_at(rows.len() / nodes_per_page * nodes_per_page);
    let mut pages: Vec<&[NodeId]> = full.chunks_exact(nodes_per_page).collect();
    pages.sort_by_key(|page| std::cmp::Reverse(heat(page)));
    pages.into_iter().chain([rest]).flatten().copied().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hot_pages_come_first_and_stay_whole() {
        let lists: Vec<Vec<NodeId>> = [&[4u32, 5][..], &[4], &[5, 4], &[4], &[5], &[4], &[0]]
            .iter()
            .map(|list| list.iter().copied().map(NodeId).collect())
            .collect();
        let graph = Graph::from_lists(lists.iter().map(Vec::as_slice), 3, NodeId(0)).unwrap();
        let rows: Vec<NodeId> = (0..7).map(NodeId).collect();
        let ordered: Vec<u32> = hot_pages_first(&graph, &rows, 2)
            .iter()
            .map(|r| r.0)
            .collect();
        assert_eq!(ordered, [4, 5, 0, 1, 2, 3, 6]);
        let order = NodeOrder::placed(hot_pages_first(&graph, &rows, 2));
        for row in 0..7 {
            assert_eq!(order.row_of(order.node_of(RowId(row))), RowId(row));
        }
    }
}
