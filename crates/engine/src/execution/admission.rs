//! Which nodes a query may answer with: the one place that is asked, by walks, scans, bounds and
//! rankings alike.
//!
//! ```text
//!              leads on   is an answer
//!   hidden        no          no        a row that is its own query, and its
//!                                       copies
//!   admitted      yes         yes
//!   neither       yes         no        a row that was deleted, is outside of the set that is
//!                                       searched, or is its own query and has many copies
//! ```

use pageway_types::NodeId;

use super::dead::DeadSet;

/// Copies that are held out beside a row, at most.
pub(crate) const MOST_COPIES: usize = 3;

/// The rows of an index that a query is, one and perhaps copies: no answers to it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct HeldOut {
    /// Ascending.
    nodes: Vec<NodeId>,
    /// Whether walks go on from them, and do not pass over them as if they were not there.
    leads_on: bool,
}

impl HeldOut {
    /// One row.
    pub fn new(node: NodeId) -> Self {
        Self {
            nodes: vec![node],
            leads_on: false,
        }
    }

    /// The same where others are as good as copies. Of few copies the query is none: all are held
    /// out. Many are answers, and neighbour lists may name the row in their place: it leads on.
    pub(crate) fn beside(self, copies: &[NodeId]) -> Self {
        if copies.len() > MOST_COPIES {
            return Self {
                leads_on: true,
                ..self
            };
        }
        self.and(copies.iter().copied())
    }

    /// The same row and others.
    fn and(mut self, others: impl IntoIterator<Item = NodeId>) -> Self {
        self.nodes.extend(others);
        self.nodes.sort_unstable();
        self.nodes.dedup();
        self
    }

    /// The first of them.
    pub(crate) fn first(&self) -> Option<NodeId> {
        self.nodes.first().copied()
    }

    /// Whether a node is one of them.
    #[inline]
    pub fn contains(&self, node: NodeId) -> bool {
        self.nodes.binary_search(&node).is_ok()
    }

    /// Those of `count` nodes from `first` on.
    fn between(&self, first: u32, count: u32) -> impl Iterator<Item = NodeId> + '_ {
        let is_in = move |node: &NodeId| node.0.checked_sub(first).is_some_and(|at| at < count);
        self.nodes.iter().copied().filter(is_in)
    }
}

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

    /// An empty set with room for so many nodes.
    pub(crate) fn holding(nodes: u32) -> Self {
        Self {
            words: Vec::with_capacity(nodes.div_ceil(64) as usize),
            count: 0,
        }
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

    /// How many dead nodes of a segment whose nodes are numbered from `base` on are in the set.
    pub(crate) fn count_in(&self, base: u32, dead: &DeadSet) -> u64 {
        let of_word = |(at, word): (u32, u64)| {
            let first = base + at * u64::BITS;
            let own = u64::from(self.mask(first)) | u64::from(self.mask(first + 32)) << 32;
            u64::from((own & word).count_ones())
        };
        (0..).zip(dead.words()).map(of_word).sum()
    }

    /// Those of `count` nodes from `first` on that are in the set.
    fn between(&self, first: u32, count: u32) -> impl Iterator<Item = u32> + use<'_> {
        let end = first.saturating_add(count);
        let words = first / 64..end.div_ceil(64);
        let bits = words.flat_map(|at| {
            let mut word = self.words.get(at as usize).copied().unwrap_or(0);
            std::iter::from_fn(move || {
                let bit = word.trailing_zeros();
                word &= word.wrapping_sub(1);
                (bit < 64).then_some(at * 64 + bit)
            })
        });
        bits.filter(move |node| (first..end).contains(node))
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
pub(crate) struct Admission<'q> {
    rule: Rule<'q>,
    /// Nodes that were deleted, where there are any.
    dead: Option<&'q DeadSet>,
}

/// What the caller says of it.
#[derive(Clone, Copy, Debug, Default)]
enum Rule<'q> {
    /// Every node.
    #[default]
    All,
    /// Every node but some, by numbers that nodes have from `base` on.
    AllBut { held: &'q HeldOut, base: u32 },
    /// Those of a set, which numbers the nodes from `base` on.
    Within { set: &'q NodeSet, base: u32 },
}

impl<'q> Admission<'q> {
    /// Every node but some.
    pub(crate) fn all_but(held: &'q HeldOut) -> Self {
        Self {
            rule: Rule::AllBut { held, base: 0 },
            dead: None,
        }
    }

    /// The nodes of a set.
    pub(crate) fn within(set: &'q NodeSet) -> Self {
        Self {
            rule: Rule::Within { set, base: 0 },
            dead: None,
        }
    }

    /// The nodes of its set, by the numbers of a segment of so many nodes; none without a set.
    pub(super) fn listed(self, count: u32) -> impl Iterator<Item = NodeId> + use<'q> {
        let (set, base) = match self.rule {
            Rule::Within { set, base } => (Some(set), base),
            Rule::All | Rule::AllBut { .. } => (None, 0),
        };
        let nodes = set
            .into_iter()
            .flat_map(move |set| set.between(base, count));
        nodes
            .map(move |node| NodeId(node - base))
            .filter(move |node| self.admits(*node))
    }

    /// The same for a segment whose nodes are numbered from `base` on, `count` of them, some of
    /// which may be `dead`.
    pub(crate) fn of_segment(self, base: u32, count: u32, dead: Option<&'q DeadSet>) -> Self {
        let rule = match self.rule {
            Rule::All => Rule::All,
            Rule::AllBut { held, .. } => match held.between(base, count).next() {
                Some(_) => Rule::AllBut { held, base },
                None => Rule::All,
            },
            Rule::Within { set, .. } => Rule::Within { set, base },
        };
        let dead = dead.filter(|dead| dead.len() > 0);
        Self { rule, dead }
    }

    /// Whether a node is passed over as if it were not there.
    #[inline]
    pub(crate) fn hides(self, node: NodeId) -> bool {
        match self.rule {
            Rule::AllBut { held, base } => !held.leads_on && held.contains(NodeId(base + node.0)),
            Rule::All | Rule::Within { .. } => false,
        }
    }

    /// Whether a node may be an answer.
    #[inline]
    pub(crate) fn admits(self, node: NodeId) -> bool {
        let admitted = match self.rule {
            Rule::All => true,
            Rule::AllBut { held, base } => !held.contains(NodeId(base + node.0)),
            Rule::Within { set, base } => set.contains(NodeId(base + node.0)),
        };
        admitted && !self.dead.is_some_and(|dead| dead.contains(node))
    }

    /// Which of 32 nodes from `first` on may be answers, the first of them lowest.
    #[inline]
    pub(crate) fn mask(self, first: u32) -> u32 {
        let admitted = match self.rule {
            Rule::All => u32::MAX,
            Rule::AllBut { held, base } => {
                let hidden = held.between(base + first, u32::BITS);
                hidden.fold(u32::MAX, |mask, node| {
                    mask & !(1 << (node.0 - base - first))
                })
            }
            Rule::Within { set, base } => set.mask(base + first),
        };
        self.dead
            .map_or(admitted, |dead| admitted & !dead.mask(first))
    }

    /// Whether every node that leads on may be an answer, but for those that died.
    #[inline]
    pub(crate) fn is_open(self) -> bool {
        !matches!(self.rule, Rule::Within { .. })
    }

    /// Whether every node may be an answer.
    #[inline]
    pub(crate) fn is_all(self) -> bool {
        matches!(self.rule, Rule::All) && self.dead.is_none()
    }

    /// Whether some nodes that lead on died.
    #[inline]
    pub(crate) fn has_dead(self) -> bool {
        self.dead.is_some()
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
            hidden in prop::collection::vec(0u32..300, 1..5),
            dead in prop::collection::btree_set(0u32..300, 0..80),
        ) {
            let set = NodeSet::new(nodes.iter().map(|node| NodeId(*node)));
            prop_assert_eq!(set.len(), nodes.len() as u64);
            let gone = DeadSet::new(290);
            for node in &dead {
                gone.insert(NodeId(*node));
            }
            let held = HeldOut::new(NodeId(hidden[0])).and(hidden.iter().map(|own| NodeId(*own)));
            let rules = [
                Admission::default(),
                Admission::all_but(&held),
                Admission::within(&set),
            ];
            let both = |rule| [(rule, None), (rule, Some(&gone))];
            for (rule, dead) in rules.into_iter().flat_map(both) {
                let admission = rule.of_segment(base, 290, dead);
                for at in 0..32 {
                    let node = NodeId(first + at);
                    let bit = admission.mask(first) >> at & 1 == 1;
                    prop_assert_eq!(bit, admission.admits(node));
                    prop_assert!(!(bit && admission.hides(node)));
                    prop_assert!(!bit || dead.is_none_or(|dead| !dead.contains(node)));
                }
            }
            let own = Admission::within(&set).of_segment(base, 290, Some(&gone));
            let lost = dead.iter().filter(|own| **own < 290 && set.contains(NodeId(base + **own)));
            prop_assert_eq!(set.count_in(base, &gone), lost.count() as u64);
            let listed: Vec<u32> = own.listed(290).map(|node| node.0).collect();
            let admitted = (0..290).filter(|node| own.admits(NodeId(*node)));
            prop_assert_eq!(listed, admitted.collect::<Vec<u32>>());
            prop_assert_eq!(Admission::default().listed(290).count(), 0);
            for node in 0..400 {
                prop_assert_eq!(set.contains(NodeId(node)), nodes.contains(&node));
            }
        }
    }

    #[test]
    fn a_hidden_node_is_hidden_in_its_own_segment_alone() {
        let held = HeldOut::new(NodeId(25)).and([NodeId(3), NodeId(25)]);
        let admission = Admission::all_but(&held);
        let own = |base, count| admission.of_segment(base, count, None);
        assert!(own(20, 10).hides(NodeId(5)) && !own(20, 10).admits(NodeId(5)));
        assert!(!own(0, 20).hides(NodeId(5)) && own(0, 20).admits(NodeId(19)));
        assert!(own(0, 20).hides(NodeId(3)) && !own(20, 10).hides(NodeId(3)));
        assert!(matches!(own(26, 10).rule, Rule::All));
        let copied = HeldOut::new(NodeId(25)).beside(&[NodeId(7); MOST_COPIES + 1]);
        let copied = Admission::all_but(&copied).of_segment(20, 10, None);
        assert!(
            !copied.hides(NodeId(5)) && !copied.admits(NodeId(5)),
            "it leads on"
        );
        assert!(admission.is_open());
    }

    #[test]
    fn a_set_without_dead_nodes_is_none() {
        let none = DeadSet::new(10);
        let admission = |dead| Admission::default().of_segment(0, 10, Some(dead));
        assert!(!admission(&none).has_dead());
        none.insert(NodeId(3));
        assert!(admission(&none).has_dead() && !admission(&none).admits(NodeId(3)));
    }

    #[test]
    fn a_node_is_counted_once() {
        let mut set = NodeSet::default();
        assert!(set.is_empty());
        assert!(set.insert(NodeId(70)) && !set.insert(NodeId(70)));
        assert_eq!((set.len(), set.is_empty()), (1, false));
    }
}
