//! Rows that were deleted: a bit per node of a segment, set while searches go on.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use pageway_types::NodeId;

/// The dead nodes of a segment. Bits are only ever set: a node that is dead stays dead.
///
/// Holds a bit per node.
#[derive(Debug)]
pub(crate) struct DeadSet {
    words: Box<[AtomicU64]>,
    count: AtomicU32,
    nodes: u32,
}

impl DeadSet {
    /// No dead nodes among `nodes`.
    pub(crate) fn new(nodes: u32) -> Self {
        Self::of_words(nodes, std::iter::empty())
    }

    /// The dead nodes of `nodes` whose bits are set in `words`; bits beyond the nodes are dropped.
    pub(crate) fn of_words(nodes: u32, words: impl IntoIterator<Item = u64>) -> Self {
        let length = Self::word_count(nodes);
        let given = words.into_iter().chain(std::iter::repeat(0)).take(length);
        let tail = nodes % u64::BITS;
        let words: Box<[AtomicU64]> = (1..)
            .zip(given)
            .map(|(number, word)| {
                let is_last = number == length && tail > 0;
                let known = if is_last { (1 << tail) - 1 } else { u64::MAX };
                AtomicU64::new(word & known)
            })
            .collect();
        let bits = |word: &AtomicU64| word.load(Ordering::Relaxed).count_ones();
        let count = words.iter().map(bits).sum();
        Self {
            words,
            count: AtomicU32::new(count),
            nodes,
        }
    }

    /// Words of a set over `nodes`.
    const fn word_count(nodes: u32) -> usize {
        nodes.div_ceil(u64::BITS) as usize
    }

    /// Bytes of a set over `nodes`.
    pub(crate) const fn bytes(nodes: u32) -> u64 {
        Self::word_count(nodes) as u64 * 8
    }

    /// Marks a node as dead; false when it was, or is none of the segment.
    pub(crate) fn insert(&self, node: NodeId) -> bool {
        let bit = 1 << (node.0 % u64::BITS);
        let word = self.words.get((node.0 / u64::BITS) as usize);
        let Some(word) = word.filter(|_| node.0 < self.nodes) else {
            return false;
        };
        let is_new = word.fetch_or(bit, Ordering::AcqRel) & bit == 0;
        if is_new {
            self.count.fetch_add(1, Ordering::Release);
        }
        is_new
    }

    /// Whether a node is dead.
    #[inline]
    pub(crate) fn contains(&self, node: NodeId) -> bool {
        self.word((node.0 / u64::BITS) as usize) >> (node.0 % u64::BITS) & 1 == 1
    }

    /// A bit for each of 32 nodes from `first` on, the first of them lowest.
    #[inline]
    pub(crate) fn mask(&self, first: u32) -> u32 {
        let (at, shift) = ((first / u64::BITS) as usize, first % u64::BITS);
        ((u128::from(self.word(at)) | u128::from(self.word(at + 1)) << 64) >> shift) as u32
    }

    /// Dead nodes so far.
    pub(crate) fn len(&self) -> u32 {
        self.count.load(Ordering::Acquire)
    }

    /// The bits, a word for 64 nodes, as they are now.
    pub(crate) fn words(&self) -> impl ExactSizeIterator<Item = u64> + '_ {
        let words = self.words.iter();
        words.map(|word| word.load(Ordering::Acquire))
    }

    /// Nodes that are dead, and not so in another set of as many nodes.
    pub(crate) fn nodes_beyond<'s>(&'s self, other: &'s Self) -> impl Iterator<Item = NodeId> + 's {
        let words = (0u32..).zip(self.words().zip(other.words()));
        let bits = |(number, (own, others)): (u32, (u64, u64))| {
            let bits = (0..u64::BITS).filter(move |bit| (own & !others) >> bit & 1 == 1);
            bits.map(move |bit| NodeId(number * u64::BITS + bit))
        };
        words.flat_map(bits)
    }

    #[inline]
    fn word(&self, at: usize) -> u64 {
        let word = self.words.get(at);
        word.map_or(0, |word| word.load(Ordering::Acquire))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn it_is_the_set_of_what_was_put_in(
            nodes in 1u32..300,
            dead in prop::collection::vec(0u32..320, 0..90),
            first in 0u32..310,
        ) {
            let set = DeadSet::new(nodes);
            let mut known = BTreeSet::new();
            for node in dead {
                let is_new = node < nodes && known.insert(node);
                prop_assert_eq!(set.insert(NodeId(node)), is_new);
            }
            prop_assert_eq!(set.len() as usize, known.len());
            let others = DeadSet::new(nodes);
            let beyond: BTreeSet<u32> = set.nodes_beyond(&others).map(|node| node.0).collect();
            prop_assert_eq!(&beyond, &known);
            others.insert(NodeId(first % nodes));
            prop_assert!(set.nodes_beyond(&others).all(|node| node.0 != first % nodes));
            let again = DeadSet::of_words(nodes, set.words());
            prop_assert_eq!(again.len(), set.len());
            for node in 0..400 {
                prop_assert_eq!(set.contains(NodeId(node)), known.contains(&node));
                prop_assert_eq!(again.contains(NodeId(node)), known.contains(&node));
            }
            for at in 0..32 {
                prop_assert_eq!(set.mask(first) >> at & 1 == 1, known.contains(&(first + at)));
            }
        }
    }

    #[test]
    fn bits_beyond_the_nodes_are_dropped() {
        let set = DeadSet::of_words(70, [u64::MAX, u64::MAX, u64::MAX]);
        assert_eq!(set.len(), 70);
        assert!(!set.contains(NodeId(70)));
        assert_eq!(DeadSet::bytes(70), 16);
    }
}
