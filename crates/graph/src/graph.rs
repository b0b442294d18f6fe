//! A graph as flat adjacency lists.
//!
//! ```text
//! node 0: [ length | neighbour | neighbour | ... unused ... ]   stride = longest list + 1
//! node 1: [ length | neighbour | ...
//! ```
//! The length sits in front of its list so that both come with the same cache line.
//!
//! Invariants: a length is below the stride; a list holds each node at most once.
#![expect(
    clippy::indexing_slicing,
    reason = "rows are cut from one allocation by its own stride; a slip must stop"
)]

use pageway_kernels::advise_huge_pages;
use pageway_types::NodeId;

use crate::error::{GraphError, try_filled};
use crate::vectors::MAX_COUNT;

/// A finished graph. Each list is in prune order: most valuable neighbour first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Graph {
    lists: AdjacencyLists,
    entry: NodeId,
    repaired: u32,
}

impl Graph {
    pub(crate) fn new(lists: AdjacencyLists, entry: NodeId) -> Self {
        Self {
            lists,
            entry,
            repaired: 0,
        }
    }

    /// A graph from the lists of node 0, 1, 2, and so on, each at most `max_degree` long.
    ///
    /// # Errors
    /// When a list is too long, names itself, a node twice or a node that does not exist, or when
    /// the entry does not exist.
    pub fn from_lists<'l>(
        lists: impl ExactSizeIterator<Item = &'l [NodeId]>,
        max_degree: u32,
        entry: NodeId,
    ) -> Result<Self, GraphError> {
        let count = lists.len();
        check_size(count, max_degree, entry)?;
        let mut rows = AdjacencyLists::new(count, max_degree)?;
        for (node, list) in lists.enumerate() {
            if list.len() > max_degree as usize || !is_sound(list, node, count) {
                return Err(unsound(node));
            }
            write_list(rows.row_mut(NodeId(node as u32)), list);
        }
        Ok(Self::new(rows, entry))
    }

    /// A graph from the slots of its rows, without a copy: the length of each list, the list, and
    /// zeros up to `max_degree + 1` slots.
    ///
    /// # Errors
    /// As [`Graph::from_lists`], and when slots behind a list are not 0.
    pub fn from_slots(
        slots: Vec<NodeId>,
        max_degree: u32,
        entry: NodeId,
    ) -> Result<Self, GraphError> {
        let stride = max_degree as usize + 1;
        let count = slots.len() / stride;
        check_size(count, max_degree, entry)?;
        for (node, row) in slots.chunks(stride).enumerate() {
            let sound = row.len() == stride
                && row[0] <= NodeId(max_degree)
                && is_sound(list_of(row), node, count)
                && row[1 + row[0].index()..].iter().all(|slot| slot.0 == 0);
            if !sound {
                return Err(unsound(node));
            }
        }
        Ok(Self::new(AdjacencyLists { slots, stride }, entry))
    }

    /// The same graph with its nodes in another order: node `order[i]` becomes node `i`. Holds both
    /// graphs and four bytes per node for a while.
    ///
    /// # Errors
    /// When `order` is not a permutation of the nodes, or memory is refused.
    pub fn renumbered(&self, order: &[NodeId]) -> Result<Self, GraphError> {
        let count = self.lists.count();
        let mut places = try_filled(count, NodeId(u32::MAX), "places")?;
        for (new, old) in (0u32..).zip(order) {
            match places.get_mut(old.index()) {
                Some(place) if *place == NodeId(u32::MAX) => *place = NodeId(new),
                _ => return Err(not_a_permutation(count)),
            }
        }
        if order.len() != count {
            return Err(not_a_permutation(count));
        }
        let mut lists = AdjacencyLists::new(count, self.max_degree())?;
        let mut list = Vec::with_capacity(self.lists.capacity());
        for (new, old) in (0u32..).zip(order) {
            list.clear();
            list.extend(
                self.neighbors(*old)
                    .iter()
                    .map(|other| places[other.index()]),
            );
            write_list(lists.row_mut(NodeId(new)), &list);
        }
        Ok(Self {
            lists,
            entry: places[self.entry.index()],
            repaired: self.repaired,
        })
    }

    /// Bytes that the lists of `count` nodes of at most `max_degree` neighbours take.
    pub const fn bytes(count: u64, max_degree: u32) -> u64 {
        count.saturating_mul((max_degree as u64 + 1) * size_of::<NodeId>() as u64)
    }

    /// Neighbours of a node in prune order. Panics when the node is out of range.
    #[inline]
    pub fn neighbors(&self, node: NodeId) -> &[NodeId] {
        self.lists.neighbors(node)
    }

    /// Number of nodes.
    pub fn count(&self) -> u32 {
        self.lists.count() as u32
    }

    /// Longest list allowed.
    pub fn max_degree(&self) -> u32 {
        self.lists.capacity() as u32
    }

    /// Where searches start.
    pub const fn entry(&self) -> NodeId {
        self.entry
    }

    /// Edges that were added because their target could not be reached.
    pub const fn repaired(&self) -> u32 {
        self.repaired
    }

    /// The rows of all nodes: the length of a list, the list, zeros up to `max_degree + 1` slots.
    pub(crate) fn slots(&self) -> &[NodeId] {
        &self.lists.slots
    }

    pub(crate) fn lists(&self) -> &AdjacencyLists {
        &self.lists
    }

    pub(crate) fn lists_mut(&mut self) -> &mut AdjacencyLists {
        &mut self.lists
    }

    pub(crate) fn add_repaired(&mut self, edges: u32) {
        self.repaired += edges;
    }
}

fn not_a_permutation(count: usize) -> GraphError {
    GraphError::Parameter {
        name: "order",
        value: format!("not a permutation of {count} nodes"),
        expected: "each node once",
    }
}

/// Adjacency lists of equal capacity in one allocation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct AdjacencyLists {
    slots: Vec<NodeId>,
    stride: usize,
}

impl AdjacencyLists {
    pub(crate) fn new(count: usize, capacity: u32) -> Result<Self, GraphError> {
        let stride = capacity as usize + 1;
        let slots = try_filled(count.saturating_mul(stride), NodeId(0), "adjacency lists")?;
        advise_huge_pages(&slots);
        Ok(Self { slots, stride })
    }

    /// Bytes that `new` with the same arguments takes.
    pub(crate) fn bytes(count: u64, capacity: u32) -> u64 {
        count.saturating_mul((u64::from(capacity) + 1) * size_of::<NodeId>() as u64)
    }

    pub(crate) fn count(&self) -> usize {
        self.slots.len() / self.stride
    }

    /// Neighbours that fit in a list.
    pub(crate) fn capacity(&self) -> usize {
        self.stride - 1
    }

    /// Slots from one row to the next.
    pub(crate) fn stride(&self) -> usize {
        self.stride
    }

    #[inline]
    pub(crate) fn neighbors(&self, node: NodeId) -> &[NodeId] {
        list_of(&self.slots[node.index() * self.stride..][..self.stride])
    }

    #[inline]
    pub(crate) fn row_mut(&mut self, node: NodeId) -> &mut [NodeId] {
        &mut self.slots[node.index() * self.stride..][..self.stride]
    }

    /// All rows, one after the other, for tasks that split them.
    pub(crate) fn slots_mut(&mut self) -> &mut [NodeId] {
        &mut self.slots
    }

    /// Moves the rows together so that lists have room for `capacity` neighbours, in place, and
    /// gives the rest of the memory back. No list may be longer than that.
    pub(crate) fn shrink(&mut self, capacity: u32) {
        let (count, from, to) = (self.count(), self.stride, capacity as usize + 1);
        assert!(to <= from, "rows can only move together");
        for node in 0..count {
            let length = self.slots[node * from].index();
            assert!(length < to, "a list longer than its row");
            self.slots
                .copy_within(node * from..node * from + to, node * to);
            // Slots behind a list hold nothing, and equal graphs are to be equal bytes.
            self.slots[node * to + 1 + length..(node + 1) * to].fill(NodeId(0));
        }
        self.slots.truncate(count * to);
        self.slots.shrink_to_fit();
        self.stride = to;
    }
}

fn check_size(count: usize, max_degree: u32, entry: NodeId) -> Result<(), GraphError> {
    if count as u64 >= MAX_COUNT {
        return Err(GraphError::TooMany {
            count: count as u64,
            limit: MAX_COUNT - 1,
        });
    }
    if max_degree == 0 {
        return Err(GraphError::Parameter {
            name: "max_degree",
            value: max_degree.to_string(),
            expected: "at least 1",
        });
    }
    if entry.index() >= count {
        return Err(GraphError::EntryOutOfRange {
            entry,
            count: count as u32,
        });
    }
    Ok(())
}

/// Whether a list of `node` holds existing nodes, each once and not its own.
fn is_sound(list: &[NodeId], node: usize, count: usize) -> bool {
    let exists = |other: &NodeId| other.index() < count && other.index() != node;
    let mut places = list.iter().enumerate();
    list.iter().all(exists) && places.all(|(at, other)| !list[..at].contains(other))
}

fn unsound(node: usize) -> GraphError {
    GraphError::Parameter {
        name: "lists",
        value: format!("list of node {node}"),
        expected: "distinct existing neighbours, at most max_degree of them",
    }
}

/// The list that a row holds.
#[inline]
pub(crate) fn list_of(row: &[NodeId]) -> &[NodeId] {
    &row[1..=row[0].index()]
}

/// Replaces the list that a row holds.
#[inline]
pub(crate) fn write_list(row: &mut [NodeId], list: &[NodeId]) {
    row[1..=list.len()].copy_from_slice(list);
    row[0] = NodeId(list.len() as u32);
}

/// Adds a neighbour behind the others. The row has room for it.
#[inline]
pub(crate) fn push_neighbor(row: &mut [NodeId], neighbor: NodeId) {
    let length = row[0].index() + 1;
    row[length] = neighbor;
    row[0] = NodeId(length as u32);
}

/// Adds those of `others` that a list lacks until it has `length`, for which the row has room.
pub(crate) fn fill_list(row: &mut [NodeId], length: usize, others: impl Iterator<Item = NodeId>) {
    for other in others {
        if list_of(row).len() >= length {
            return;
        }
        if !list_of(row).contains(&other) {
            push_neighbor(row, other);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ids(ids: &[u32]) -> Vec<NodeId> {
        ids.iter().copied().map(NodeId).collect()
    }

    #[test]
    fn shrinking_keeps_every_list() {
        let mut lists = AdjacencyLists::new(3, 5).expect("memory");
        let expected = [ids(&[1, 2]), ids(&[]), ids(&[1])];
        write_list(lists.row_mut(NodeId(0)), &ids(&[9, 9, 9, 9, 9]));
        for (node, list) in (0..).zip(&expected) {
            write_list(lists.row_mut(NodeId(node)), list);
        }
        push_neighbor(lists.row_mut(NodeId(1)), NodeId(0));
        lists.shrink(2);
        assert_eq!((lists.count(), lists.capacity()), (3, 2));
        assert_eq!(lists.neighbors(NodeId(0)), expected[0]);
        assert_eq!(lists.neighbors(NodeId(1)), ids(&[0]));
        assert_eq!(lists.neighbors(NodeId(2)), expected[2]);
    }

    #[test]
    fn slots_make_the_same_graph_or_none() {
        let lists = [ids(&[1, 2]), ids(&[0]), ids(&[])];
        let lists = lists.iter().map(Vec::as_slice);
        let graph = Graph::from_lists(lists, 2, NodeId(1)).expect("sound");
        let rebuild = |slots| Graph::from_slots(slots, 2, NodeId(1));
        assert_eq!(rebuild(graph.slots().to_vec()).expect("sound"), graph);
        for (at, wrong) in [(0, 3), (1, 0), (2, 1), (2, 3), (5, 7)] {
            let mut slots = graph.slots().to_vec();
            slots[at] = NodeId(wrong);
            assert!(rebuild(slots).is_err(), "slot {at} = {wrong}");
        }
        assert!(rebuild(graph.slots()[..8].to_vec()).is_err());
    }

    #[test]
    fn unsound_lists_are_refused() {
        let build = |lists: &[Vec<NodeId>], entry| {
            Graph::from_lists(lists.iter().map(Vec::as_slice), 2, NodeId(entry))
        };
        assert!(build(&[ids(&[1]), ids(&[0])], 1).is_ok());
        assert!(build(&[ids(&[1]), ids(&[0])], 2).is_err());
        assert!(build(&[ids(&[0])], 0).is_err(), "itself");
        assert!(build(&[ids(&[1])], 0).is_err(), "out of range");
        assert!(build(&[ids(&[1, 1]), ids(&[])], 0).is_err(), "twice");
        let long = ids(&[1, 2, 3]);
        assert!(
            build(&[long, ids(&[]), ids(&[]), ids(&[])], 0).is_err(),
            "too long"
        );
    }
}
