//! Adjacency lists of hot nodes, or of all, packed.
//!
//! A list is about a third of its ids; the rest is what finds it:
//!
//! ```text
//! all nodes   blocks of 16: | start u64 |, nodes: | start within the block u16 |     2.5 bytes
//! some        a table from node to start                                     about 11 bytes
//! ```
//!
//! Invariant: packed lists were made here, so unpacking one that is found gives it back. Their
//! order is lost: what a walk scores of a list does not depend on it.

use pageway_graph::ListCode;
use pageway_types::NodeId;

use super::slots::NodeSlots;
use crate::layout::{Neighbors, PageError, Record, StoredList, UnpackedList};

/// Nodes whose starts count from the same one. The lists of a block take less than 2^16 bytes.
const BLOCK: usize = 16;

/// What lists a cache is for.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct ListShape {
    /// Nodes of the index.
    pub(crate) node_count: u32,
    /// Neighbours of a list, at most.
    pub(crate) max_degree: usize,
    /// Bytes of all lists, packed: as many as they are, or an estimate.
    pub(crate) packed_bytes: u64,
}

impl ListShape {
    /// What is to be expected before there are lists: about, and rather more than less. Nodes are
    /// numbered by a placement that brings neighbours together (`placed`), or are not.
    pub(crate) fn expected(
        node_count: u32,
        max_degree: u32,
        (mean_degree, placed): (f64, bool),
    ) -> Self {
        let list = ListCode::new(node_count).expected_bytes(mean_degree, placed);
        Self {
            node_count,
            max_degree: max_degree as usize,
            packed_bytes: (f64::from(node_count) * list).ceil() as u64,
        }
    }
}

/// Packed lists by node.
#[derive(Debug)]
pub(crate) struct ListCache {
    code: ListCode,
    node_count: u32,
    starts: Starts,
    packed: Vec<u8>,
    room: usize,
    edges: u64,
    /// The list being packed: as a page had it, and sorted.
    unpacked: UnpackedList,
    sorted: Vec<NodeId>,
}

/// Where the list of a node begins in the packed bytes.
#[derive(Debug)]
enum Starts {
    /// Of every node: nodes come in order.
    All { blocks: Vec<u64>, within: Vec<u16> },
    /// Of some, in units of so many bytes.
    Some { slots: NodeSlots, unit: usize },
}

impl ListCache {
    /// A cache of the lists of all nodes, to be put in in their order.
    pub(crate) fn of_all(shape: ListShape) -> Self {
        let nodes = shape.node_count as usize;
        let starts = Starts::All {
            blocks: Vec::with_capacity(nodes.div_ceil(BLOCK)),
            within: Vec::with_capacity(nodes),
        };
        Self::new(shape.node_count, starts, shape.packed_bytes as usize)
    }

    /// A cache that takes at most `bytes`, of `limit` nodes at most.
    pub(crate) fn of_some(shape: ListShape, bytes: u64, limit: usize) -> Self {
        let mean = shape.packed_bytes as f64 / f64::from(shape.node_count);
        let nodes = NodeSlots::capacity_for(bytes, mean, limit);
        let slots = NodeSlots::new(nodes);
        let most = nodes * ListCode::new(shape.node_count).max_bytes(shape.max_degree);
        let left = bytes.saturating_sub(slots.bytes() as u64);
        let room = left.min(most as u64) as usize;
        // Starts are of 32 bits.
        let unit = (room >> 32) + 1;
        Self::new(shape.node_count, Starts::Some { slots, unit }, room)
    }

    fn new(node_count: u32, starts: Starts, room: usize) -> Self {
        Self {
            code: ListCode::new(node_count),
            node_count,
            starts,
            // Takes memory as it is used.
            packed: Vec::with_capacity(room),
            room,
            edges: 0,
            unpacked: UnpackedList::new(),
            sorted: Vec::new(),
        }
    }

    /// Bytes of the lists of all nodes, and of what finds them.
    pub(crate) fn bytes_of_all(shape: ListShape) -> u64 {
        let nodes = u64::from(shape.node_count);
        shape.packed_bytes
            + nodes.div_ceil(BLOCK as u64) * size_of::<u64>() as u64
            + nodes * size_of::<u16>() as u64
    }

    /// Bytes held.
    pub(crate) fn bytes(&self) -> u64 {
        let starts = match &self.starts {
            Starts::All { blocks, within } => size_of_val(&**blocks) + size_of_val(&**within),
            Starts::Some { slots, .. } => slots.bytes(),
        };
        (starts + self.packed.len()) as u64
    }

    /// Nodes held.
    pub(crate) fn len(&self) -> usize {
        match &self.starts {
            Starts::All { within, .. } => within.len(),
            Starts::Some { slots, .. } => slots.len(),
        }
    }

    /// Nodes taken at most.
    pub(crate) fn capacity(&self) -> usize {
        match &self.starts {
            Starts::All { .. } => self.node_count as usize,
            Starts::Some { slots, .. } => slots.capacity(),
        }
    }

    /// Neighbours in all lists held.
    pub(crate) const fn edges(&self) -> u64 {
        self.edges
    }

    /// Appends the list of a record to `out`, packed.
    ///
    /// # Errors
    /// When a neighbour does not exist, or the list makes no sense.
    pub(crate) fn pack(&mut self, record: &Record<'_>, out: &mut Vec<u8>) -> Result<(), PageError> {
        let (neighbors, _) = record.list.unpack(&mut self.unpacked)?;
        self.sorted.clear();
        self.sorted.extend(neighbors.iter());
        self.sorted.sort_unstable();
        self.sorted.dedup();
        let packed = self.code.encode(record.node, &self.sorted, out);
        packed.map_err(|_| PageError::Neighbor {
            node: record.node.0,
            neighbor: self.sorted.last().map_or(0, |last| last.0),
            node_count: self.node_count,
        })
    }

    /// Adds a packed list; false when there is no room. The caller adds no node twice, and all in
    /// order where all are kept.
    pub(crate) fn insert(&mut self, node: NodeId, packed: &[u8]) -> bool {
        let start = match &self.starts {
            Starts::All { .. } => self.packed.len(),
            Starts::Some { unit, .. } => self.packed.len().next_multiple_of(*unit),
        };
        let fits = start + packed.len() <= self.room;
        if !fits || !self.starts.insert(node, start) {
            return false;
        }
        self.packed.resize(start, 0);
        self.packed.extend_from_slice(packed);
        self.edges += ListCode::degree(packed).unwrap_or(0) as u64;
        true
    }

    /// Whether the list of a node is here.
    #[inline]
    pub(crate) fn contains(&self, node: NodeId) -> bool {
        match &self.starts {
            Starts::All { within, .. } => node.index() < within.len(),
            Starts::Some { slots, .. } => slots.find(node).is_some(),
        }
    }

    /// The list of a node, if it is here, unpacked into `list`.
    #[inline]
    pub(crate) fn record<'l>(
        &self,
        node: NodeId,
        list: &'l mut UnpackedList,
    ) -> Option<Record<'l>> {
        let packed = self.packed.get(self.starts.find(node)?..)?;
        let slot = |neighbor: NodeId| neighbor.0.to_le_bytes();
        self.code.decode(node, packed, list, slot).ok()?;
        let neighbors = Neighbors {
            ids: list.as_flattened(),
            codes: &[],
        };
        Some(Record {
            node,
            vector: None,
            list: StoredList::Plain(neighbors),
        })
    }
}

impl Starts {
    fn insert(&mut self, node: NodeId, start: usize) -> bool {
        match self {
            Self::All { blocks, within } => {
                if within.len().is_multiple_of(BLOCK) {
                    blocks.push(start as u64);
                }
                let block = blocks.last().map_or(0, |block| *block as usize);
                let place = u16::try_from(start - block);
                let next = within.len() == node.index();
                let Some(place) = place.ok().filter(|_| next) else {
                    return false;
                };
                within.push(place);
                true
            }
            Self::Some { slots, unit } => slots.insert(node, (start / *unit) as u32),
        }
    }

    #[inline]
    fn find(&self, node: NodeId) -> Option<usize> {
        match self {
            Self::All { blocks, within } => {
                let block = blocks.get(node.index() / BLOCK)?;
                let place = within.get(node.index())?;
                Some(*block as usize + usize::from(*place))
            }
            Self::Some { slots, unit } => Some(slots.find(node)? as usize * *unit),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NODES: u32 = 1000;

    fn shape(packed_bytes: u64) -> ListShape {
        ListShape {
            node_count: NODES,
            max_degree: 5,
            packed_bytes,
        }
    }

    /// The ids of a list, as a page would have them: not sorted.
    fn ids(node: u32) -> Vec<[u8; 4]> {
        let neighbor = |at: u32| (node * 31 + (5 - at) * 97 * at) % NODES;
        let list = (0..node % 6).map(neighbor);
        list.map(u32::to_le_bytes).collect()
    }

    /// The neighbours of that list, each once.
    fn sorted(node: u32) -> Vec<u32> {
        let mut list: Vec<u32> = ids(node).into_iter().map(u32::from_le_bytes).collect();
        list.sort_unstable();
        list.dedup();
        list
    }

    fn fill(cache: &mut ListCache, nodes: impl Iterator<Item = u32>) -> usize {
        let mut packed = Vec::new();
        let mut held = 0;
        for node in nodes {
            let ids = ids(node);
            let record = Record {
                node: NodeId(node),
                vector: None,
                list: StoredList::Plain(Neighbors {
                    ids: ids.as_flattened(),
                    codes: &[],
                }),
            };
            packed.clear();
            cache.pack(&record, &mut packed).unwrap();
            held += usize::from(cache.insert(NodeId(node), &packed));
        }
        held
    }

    fn check(cache: &ListCache, node: u32) {
        let mut list = UnpackedList::new();
        let found = cache.record(NodeId(node), &mut list).unwrap();
        let mut again = UnpackedList::new();
        let (found, _) = found.list.unpack(&mut again).unwrap();
        let found: Vec<u32> = found.iter().map(|neighbor| neighbor.0).collect();
        assert_eq!(found, sorted(node), "{node}");
        assert!(cache.contains(NodeId(node)));
    }

    #[test]
    fn all_lists_come_back() {
        let mut cache = ListCache::of_all(shape(1 << 20));
        assert_eq!(fill(&mut cache, 0..NODES), 1000);
        (0..NODES).for_each(|node| check(&cache, node));
        let mut list = UnpackedList::new();
        assert!(cache.record(NodeId(NODES), &mut list).is_none());
        assert!(!cache.contains(NodeId(NODES)));
        let packed = cache.packed.len() as u64;
        assert_eq!(cache.bytes(), ListCache::bytes_of_all(shape(packed)));
        assert_eq!(cache.bytes() - packed, 1000 * 2 + 63 * 8);
        let edges: usize = (0..NODES).map(|node| sorted(node).len()).sum();
        assert_eq!(cache.edges(), edges as u64);
    }

    #[test]
    fn some_lists_come_back() {
        let hot = |n: u32| n * 7 % NODES;
        let mut cache = ListCache::of_some(shape(8000), 1 << 20, 300);
        assert_eq!(fill(&mut cache, (0..300).map(hot)), 300);
        (0..300).for_each(|n| check(&cache, hot(n)));
        let mut list = UnpackedList::new();
        for n in 300..NODES {
            assert!(cache.record(NodeId(hot(n)), &mut list).is_none());
            assert!(!cache.contains(NodeId(hot(n))));
        }
    }

    #[test]
    fn starts_beyond_32_bits_are_counted_in_larger_units() {
        let mut cache = ListCache::of_some(shape(8000), 1 << 20, 300);
        if let Starts::Some { unit, .. } = &mut cache.starts {
            *unit = 9;
        }
        assert_eq!(fill(&mut cache, 0..300), 300);
        (0..300).for_each(|node| check(&cache, node));
    }

    #[test]
    fn never_takes_more_than_its_bytes() {
        for bytes in [0, 10, 100, 999, 4321] {
            let mut cache = ListCache::of_some(shape(6000), bytes, 1000);
            let held = fill(&mut cache, 0..NODES);
            assert!(cache.bytes() <= bytes, "{bytes}");
            assert_eq!(cache.len(), held);
            assert!(bytes < 999 || held > 30, "{bytes}: {held}");
        }
        let mut cache = ListCache::of_all(shape(500));
        let held = fill(&mut cache, 0..NODES);
        assert!((50..NODES as usize).contains(&held), "{held}");
        (0..held as u32).for_each(|node| check(&cache, node));
    }

    #[test]
    fn a_neighbor_that_does_not_exist_is_refused() {
        let mut cache = ListCache::of_all(ListShape {
            node_count: 10,
            ..shape(1000)
        });
        let ids = [[3, 0, 0, 0], [10, 0, 0, 0], [1, 0, 0, 0]];
        let record = Record {
            node: NodeId(0),
            vector: None,
            list: StoredList::Plain(Neighbors {
                ids: ids.as_flattened(),
                codes: &[],
            }),
        };
        let refused = cache.pack(&record, &mut Vec::new());
        let expected = PageError::Neighbor {
            node: 0,
            neighbor: 10,
            node_count: 10,
        };
        assert_eq!(refused, Err(expected));
    }
}
