//! Which nodes of a segment lead to which rows of a delta: edges that wait in memory.
//!
//! ```text
//! slots    node and row | free | node and row | ..   a table by node, probed in line
//! linked   a bit for each row that edges lead to; all others are compared one by one
//! ```
//!
//! One thread at a time adds edges, before their row is visible; any number look for rows. Whoever
//! sees a row finds its edges. Nothing is ever taken out: a row that dies is passed over by who
//! compares rows, and all of it goes with its delta.
//!
//! Edges are to nodes by their numbers, which stay while pages of a segment are changed one by one,
//! and are of no use once it is rewritten.

use std::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};

use pageway_types::NodeId;

/// A slot without an edge.
const FREE: u64 = u64::MAX;
/// Of so many slots so many have an edge at most.
const FILL: (usize, usize) = (2, 3);

/// What there is room for: edges of each row, and rows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct LinkRoom {
    pub(crate) degree: u32,
    pub(crate) rows: u32,
}

impl LinkRoom {
    fn slots(self) -> usize {
        let (most, of) = FILL;
        let edges = self.degree as usize * self.rows as usize;
        (edges * of).div_ceil(most).max(1)
    }

    /// Bytes of each row.
    pub(super) fn row_bytes(self) -> u64 {
        let one = Self { rows: 1, ..self };
        one.slots() as u64 * 8 + 1
    }
}

/// Where the numbers of nodes come from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Numbering {
    /// Tells numberings of an open index apart.
    pub(crate) number: u64,
    /// How many nodes there are: more come behind them.
    pub(crate) nodes: u32,
}

/// The neighbours of some rows in a segment.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct RowLinks {
    pub(crate) numbering: Numbering,
    /// Of each row; none of a row that is not linked.
    pub(crate) lists: Vec<Vec<NodeId>>,
}

/// The neighbours of a row that were found before.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub(crate) struct KnownList {
    /// None of a row that was not searched for.
    pub(crate) nodes: Vec<NodeId>,
    /// How many nodes there were: those behind them were not met.
    pub(crate) among: u32,
}

/// Edges from nodes to rows.
#[derive(Debug)]
pub(super) struct Overlay {
    slots: Box<[AtomicU64]>,
    edges: AtomicUsize,
    linked: Box<[AtomicU32]>,
    numbering: OnceLock<u64>,
    /// Nodes that there were as the last row was linked.
    nodes: AtomicU32,
    /// The first row that was linked among so many nodes, wherever these became more.
    steps: Mutex<Vec<(u32, u32)>>,
}

impl Overlay {
    pub(super) fn new(room: LinkRoom) -> Self {
        let words = room.rows.div_ceil(u32::BITS);
        Self {
            slots: (0..room.slots()).map(|_| AtomicU64::new(FREE)).collect(),
            edges: AtomicUsize::new(0),
            linked: (0..words).map(|_| AtomicU32::new(0)).collect(),
            numbering: OnceLock::new(),
            nodes: AtomicU32::new(0),
            steps: Mutex::default(),
        }
    }

    /// Adds the edges of rows from `first` on, where there is room for them, which nobody sees yet.
    pub(super) fn add(&self, first: u32, links: &RowLinks) {
        let Numbering { number, nodes } = links.numbering;
        let known = self.nodes.load(Ordering::Relaxed);
        if *self.numbering.get_or_init(|| number) != number || nodes < known {
            return;
        }
        if nodes > known {
            let mut steps = self.steps.lock().unwrap_or_else(PoisonError::into_inner);
            steps.push((first, nodes));
            self.nodes.store(nodes, Ordering::Release);
        }
        for (row, list) in (first..).zip(&links.lists) {
            let (most, of) = FILL;
            let edges = self.edges.load(Ordering::Relaxed) + list.len();
            let Some(word) = self.linked.get((row / u32::BITS) as usize) else {
                return;
            };
            if list.is_empty() || edges * of > self.slots.len() * most {
                continue;
            }
            for node in list {
                self.put(*node, row);
            }
            self.edges.store(edges, Ordering::Relaxed);
            word.fetch_or(1 << (row % u32::BITS), Ordering::AcqRel);
        }
    }

    fn put(&self, node: NodeId, row: u32) {
        let edge = (u64::from(node.0) << 32) | u64::from(row);
        let free = self
            .line(node)
            .find(|slot| slot.load(Ordering::Relaxed) == FREE);
        if let Some(slot) = free {
            slot.store(edge, Ordering::Release);
        }
    }

    /// The slots that edges of a node lie in, one after the other.
    fn line(&self, node: NodeId) -> impl Iterator<Item = &AtomicU64> {
        let mixed = u64::from(node.0).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32;
        let start = ((mixed * self.slots.len() as u64) >> 32) as usize;
        let (before, behind) = self.slots.split_at(start.min(self.slots.len()));
        behind.iter().chain(before)
    }

    /// Whether nodes of this numbering lead to its rows.
    pub(super) fn is_of(&self, numbering: Numbering) -> bool {
        let known = self.numbering.get() == Some(&numbering.number);
        known && self.nodes.load(Ordering::Acquire) <= numbering.nodes
    }

    /// Appends the rows that a node leads to.
    pub(super) fn rows_of(&self, node: NodeId, out: &mut Vec<u32>) {
        let edges = self.line(node).map(|slot| slot.load(Ordering::Acquire));
        let own = edges.take_while(|edge| *edge != FREE);
        out.extend(own.filter_map(|edge| (edge >> 32 == u64::from(node.0)).then_some(edge as u32)));
    }

    /// Appends those of `visible` rows that nothing leads to.
    pub(super) fn others(&self, visible: u32, out: &mut Vec<u32>) {
        let words = (0..visible).step_by(u32::BITS as usize);
        for (at, first) in words.enumerate() {
            let word = self.linked.get(at);
            let mut free = !word.map_or(0, |word| word.load(Ordering::Acquire));
            while free != 0 {
                let row = first + free.trailing_zeros();
                free &= free - 1;
                if row >= visible {
                    break;
                }
                out.push(row);
            }
        }
    }

    /// The nodes that lead to each of some rows, ascending; none where its edges are of another
    /// numbering.
    pub(super) fn lists(&self, rows: &[u32], numbering: Numbering) -> Vec<KnownList> {
        if !self.is_of(numbering) {
            return vec![KnownList::default(); rows.len()];
        }
        let edges = self.slots.iter().map(|slot| slot.load(Ordering::Acquire));
        let own = edges.filter(|edge| *edge != FREE);
        let mut all: Vec<(u32, NodeId)> = own
            .map(|edge| (edge as u32, NodeId((edge >> 32) as u32)))
            .collect();
        all.sort_unstable();
        let steps = self.steps.lock().unwrap_or_else(PoisonError::into_inner);
        let list = |row: &u32| {
            let start = all.partition_point(|(own, _)| own < row);
            let own = all.get(start..).unwrap_or_default().iter();
            let own = own.take_while(|(own, _)| own == row);
            let step = steps.iter().rfind(|(first, _)| first <= row);
            KnownList {
                nodes: own.map(|edge| edge.1).collect(),
                among: step.map_or(0, |step| step.1),
            }
        };
        rows.iter().map(list).collect()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use proptest::prelude::*;

    use super::*;

    fn numbering(number: u64, nodes: u32) -> Numbering {
        Numbering { number, nodes }
    }

    proptest! {
        #[test]
        fn it_is_the_edges_that_were_put_in(
            lists in prop::collection::vec(prop::collection::btree_set(0u32..40, 0..8), 1..40),
        ) {
            let room = LinkRoom { degree: 8, rows: lists.len() as u32 };
            let overlay = Overlay::new(room);
            let mut known: BTreeMap<u32, BTreeSet<u32>> = BTreeMap::new();
            for (row, list) in (0u32..).zip(&lists) {
                for node in list {
                    known.entry(*node).or_default().insert(row);
                }
                let own = RowLinks {
                    numbering: numbering(3, 40 + row / 10),
                    lists: vec![list.iter().map(|node| NodeId(*node)).collect()],
                };
                overlay.add(row, &own);
            }
            for node in 0..45 {
                let mut rows = Vec::new();
                overlay.rows_of(NodeId(node), &mut rows);
                let rows: BTreeSet<u32> = rows.into_iter().collect();
                prop_assert_eq!(rows, known.get(&node).cloned().unwrap_or_default());
            }
            for visible in 0..=lists.len() as u32 {
                let mut others = Vec::new();
                overlay.others(visible, &mut others);
                let empty = (0..visible).filter(|row| lists[*row as usize].is_empty());
                prop_assert_eq!(others, empty.collect::<Vec<u32>>());
            }
            let rows: Vec<u32> = (0..lists.len() as u32).collect();
            for (row, list) in overlay.lists(&rows, numbering(3, 50)).into_iter().enumerate() {
                let own: BTreeSet<u32> = list.nodes.iter().map(|node| node.0).collect();
                prop_assert_eq!(&own, &lists[row]);
                prop_assert_eq!(list.among, 40 + row as u32 / 10);
            }
            let others = overlay.lists(&rows, numbering(4, 50));
            prop_assert!(others.iter().all(|list| list.nodes.is_empty()));
        }
    }

    #[test]
    fn what_has_no_room_or_another_numbering_is_not_linked() {
        let overlay = Overlay::new(LinkRoom { degree: 2, rows: 3 });
        let links = |number, nodes, lists: &[&[u32]]| RowLinks {
            numbering: numbering(number, nodes),
            lists: lists
                .iter()
                .map(|list| list.iter().map(|node| NodeId(*node)).collect())
                .collect(),
        };
        overlay.add(0, &links(1, 5, &[&[7, 9]]));
        overlay.add(1, &links(2, 6, &[&[7]]));
        let mut rows = Vec::new();
        overlay.rows_of(NodeId(7), &mut rows);
        assert_eq!(rows, [0]);
        assert!(overlay.is_of(numbering(1, 5)) && overlay.is_of(numbering(1, 8)));
        assert!(!overlay.is_of(numbering(1, 4)) && !overlay.is_of(numbering(2, 8)));
        // Six edges are what there is room for.
        overlay.add(1, &links(1, 5, &[&[1, 2, 3, 4, 5], &[1, 2, 3, 4], &[1]]));
        let mut others = Vec::new();
        overlay.others(4, &mut others);
        assert_eq!(others, [1, 3]);
        let lists = overlay.lists(&[0, 1, 2], numbering(1, 6));
        let lengths: Vec<usize> = lists.iter().map(|list| list.nodes.len()).collect();
        assert_eq!(lengths, [2, 0, 4]);
        assert_eq!(overlay.lists(&[0], numbering(1, 4)), [KnownList::default()]);
        // Who searched before more nodes came is not linked behind those who saw them.
        overlay.add(3, &links(1, 4, &[&[1]]));
        assert!(overlay.is_of(numbering(1, 5)));
        let empty = Overlay::new(LinkRoom { degree: 2, rows: 0 });
        assert!(!empty.is_of(numbering(0, 0)));
        empty.rows_of(NodeId(7), &mut rows);
    }
}
