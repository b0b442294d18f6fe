//! Which nodes a query may answer with: the one place that is asked, by walks, scans, bounds and
//! rankings alike.
//!
//! ```text
//!              leads on   is an answer
//!   hidden        no          no        a row that is its own query
//!   admitted      yes         yes
//!   neither       yes         no        a row outside of the set that is searched
//! ```

use pageway_types::NodeId;

/// A set of nodes of an index, by number.
///
/// Holds a bit per node.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct NodeSet {
    words: Vec<u64>,
    count: u64,
}

impl NodeSet {
    /// The set of `nodes`.
    pub fn new(nodes: impl IntoIterator<Item = NodeId>) -> Self {
        let mut set = Self::default();
        for node in nodes {
            set.insert(node);
        }
        set
    }

    /// Adds a node; false when it was there.
    pub fn insert(&mut self, node: NodeId) -> bool {
        let (word, bit) = (node.0 as usize / 64, 1 << (node.0 % 64));
        if word >= self.words.len() {
            self.words.resize(word + 1, 0);
        }
        let Some(word) = self.words.get_mut(word) else {
            return false;
        };
        let is_new = *word & bit == 0;
        *word |= bit;
        self.count += u64::from(is_new);
        is_new
    }

    /// Whether a node is in the set.
    #[inline]
    pub fn contains(&self, node: NodeId) -> bool {
        let word = self.words.get(node.0 as usize / 64).copied().unwrap_or(0);
        word >> (node.0 % 64) & 1 == 1
    }

    /// Nodes in the set.
    pub fn len(&self) -> u64 {
        self.count
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// A bit for each of 32 nodes from `first` on, the first of them lowest.
    #[inline]
    fn mask(&self, first: u32) -> u32 {
        let (at, shift) = (first as usize / 64, first % 64);
        let word = |at: usize| u128::from(self.words.get(at).copied().unwrap_or(0));
        ((word(at) | word(at + 1) << 64) >> shift) as u32
    }
}

/// What may be an answer of one query, by the numbers of one segment.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) enum Admission<'q> {
    /// Every node.
    #[default]
    All,
    /// Every node but one, which is passed over as if it were not there.
    AllBut(NodeId),
    /// Those of a set, which numbers the nodes from `base` on.
    Within { set: &'q NodeSet, base: u32 },
}

impl Admission<'_> {
    /// The same for a segment whose nodes are numbered from `base` on, `count` of them.
    pub(crate) fn of_segment(self, base: u32, count: u32) -> Self {
        match self {
            Self::All => Self::All,
            Self::AllBut(node) => match node.0.checked_sub(base) {
                Some(own) if own < count => Self::AllBut(NodeId(own)),
                _ => Self::All,
            },
            Self::Within { set, .. } => Self::Within { set, base },
        }
    }

    /// Whether a node is passed over as if it were not there.
    #[inline]
    pub(crate) fn hides(self, node: NodeId) -> bool {
        matches!(self, Self::AllBut(hidden) if hidden == node)
    }

    /// Whether a node may be an answer.
    #[inline]
    pub(crate) fn admits(self, node: NodeId) -> bool {
        match self {
            Self::All => true,
            Self::AllBut(hidden) => hidden != node,
            Self::Within { set, base } => set.contains(NodeId(base + node.0)),
        }
    }

    /// Which of 32 nodes from `first` on may be answers, the first of them lowest.
    #[inline]
    pub(crate) fn mask(self, first: u32) -> u32 {
        match self {
            Self::All => u32::MAX,
            Self::AllBut(hidden) => match hidden.0.checked_sub(first) {
                Some(at) if at < u32::BITS => !(1 << at),
                _ => u32::MAX,
            },
            Self::Within { set, base } => set.mask(base + first),
        }
    }

    /// Whether every node that leads on may be an answer.
    #[inline]
    pub(crate) fn is_open(self) -> bool {
        !matches!(self, Self::Within { .. })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn masks_say_what_single_nodes_say(
            nodes in prop::collection::btree_set(0u32..300, 0..80),
            base in 0u32..100,
            first in 0u32..250,
            hidden in 0u32..300,
        ) {
            let set = NodeSet::new(nodes.iter().map(|node| NodeId(*node)));
            prop_assert_eq!(set.len(), nodes.len() as u64);
            let admissions = [
                Admission::All,
                Admission::AllBut(NodeId(hidden)),
                Admission::Within { set: &set, base },
            ];
            for admission in admissions {
                for at in 0..32 {
                    let bit = admission.mask(first) >> at & 1 == 1;
                    prop_assert_eq!(bit, admission.admits(NodeId(first + at)));
                }
            }
            for node in 0..400 {
                prop_assert_eq!(set.contains(NodeId(node)), nodes.contains(&node));
            }
        }
    }

    #[test]
    fn a_hidden_node_is_hidden_in_its_own_segment_alone() {
        let admission = Admission::AllBut(NodeId(25));
        let own = |base, count| admission.of_segment(base, count);
        assert!(own(20, 10).hides(NodeId(5)) && !own(20, 10).admits(NodeId(5)));
        assert!(!own(0, 20).hides(NodeId(5)) && own(0, 20).admits(NodeId(19)));
        assert!(matches!(own(26, 10), Admission::All));
        assert!(admission.is_open());
    }

    #[test]
    fn a_node_is_counted_once() {
        let mut set = NodeSet::default();
        assert!(set.is_empty());
        assert!(set.insert(NodeId(70)) && !set.insert(NodeId(70)));
        assert_eq!((set.len(), set.is_empty()), (1, false));
    }
}
