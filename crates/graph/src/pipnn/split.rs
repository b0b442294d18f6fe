//! A group divided by the leaders that its members chose.
#![expect(
    clippy::indexing_slicing,
    reason = "sets are numbered here; a slip must stop"
)]

use super::groups::{Groups, Member};
use super::sizes::LeafSizes;

/// No leader.
pub(super) const NONE: u16 = u16::MAX;

/// A group with the choices of its members, nearest leader first, as many for each.
pub(super) struct Split<'s> {
    pub(super) group: &'s [Member],
    pub(super) choices: &'s [u16],
    pub(super) sizes: &'s LeafSizes,
}

/// Where the next member of a set goes.
struct Place {
    is_leaf: bool,
    at: usize,
}

impl Split<'_> {
    /// Adds what becomes of the group: to the leaves where it is small enough, else to `next`.
    pub(super) fn divide(&self, leaders: usize, next: &mut Groups, leaves: &mut Groups) {
        let (sets, count) = self.sets(leaders);
        let mut lengths = vec![0; count];
        self.for_each(&sets, |set, _| lengths[set] += 1);
        let leaf = self.sizes.leaf;
        let mut place = |length: usize| {
            // What all members chose tells none of them apart: likely they are equal.
            let is_leaf = length <= leaf || length == self.group.len();
            let at = if is_leaf {
                leaves.grow(length, leaf)
            } else {
                next.grow(length, length)
            };
            Place { is_leaf, at }
        };
        let mut places: Vec<Place> = lengths.into_iter().map(&mut place).collect();
        self.for_each(&sets, |set, member| {
            let place = &mut places[set];
            let to = if place.is_leaf {
                &mut *leaves
            } else {
                &mut *next
            };
            to.put(place.at, member);
            place.at += 1;
        });
    }

    /// The set that members of each leader join, and the number of sets: one per leader, but
    /// leaders with few members share one as long as it fits a leaf.
    fn sets(&self, leaders: usize) -> (Vec<u16>, usize) {
        let mut chosen = vec![0; leaders];
        for &choice in self.choices.iter().filter(|choice| **choice != NONE) {
            chosen[usize::from(choice)] += 1;
        }
        let (mut count, mut shared, mut room) = (0, 0, 0);
        let set_of = |members: usize| {
            let small = members < self.sizes.least_group();
            if small && members <= room {
                room -= members;
                return shared;
            }
            if small {
                (shared, room) = (count, self.sizes.leaf - members);
            }
            count += 1;
            count - 1
        };
        let sets = chosen.into_iter().map(set_of).collect();
        (sets, count.into())
    }

    /// Calls `visit` with every set and each of its members, once.
    fn for_each(&self, sets: &[u16], mut visit: impl FnMut(usize, Member)) {
        let fanout = self.choices.len() / self.group.len();
        for (member, choices) in self.group.iter().zip(self.choices.chunks_exact(fanout)) {
            let choices = choices.iter().take_while(|choice| **choice != NONE);
            let joined = choices.map(|choice| sets[usize::from(*choice)]);
            for (rank, set) in joined.clone().enumerate() {
                if !joined.clone().take(rank).any(|other| other == set) {
                    visit(set.into(), member.joining(rank));
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::spec::PiPnnSpec;
    use super::*;
    use pageway_types::NodeId;

    fn divide(count: u32, choices: &[u16], leaders: usize) -> (Groups, Groups) {
        let spec = PiPnnSpec {
            leaf: 16,
            ..PiPnnSpec::new(8, 1.2, 0)
        };
        let whole = Groups::whole(count, &[]).expect("memory");
        let mut parts = [0, 0].map(|members| Groups::new(members).expect("memory"));
        let [next, leaves] = &mut parts;
        let split = Split {
            group: whole.members(),
            choices,
            sizes: &LeafSizes::new(count.into(), 1, &spec),
        };
        split.divide(leaders, next, leaves);
        let [next, leaves] = parts;
        (next, leaves)
    }

    fn nodes(groups: &Groups) -> Vec<Vec<u32>> {
        let ids = |group: &[Member]| group.iter().map(|member| member.node().0).collect();
        groups.iter().map(ids).collect()
    }

    #[test]
    fn leaders_with_one_member_share_a_set() {
        // Leaders 0 and 2 have one member each, leader 1 has none, leader 3 the rest.
        let (next, leaves) = divide(4, &[0, 3, 2, 3, 3, NONE, 3, NONE], 4);
        assert_eq!(nodes(&leaves), [vec![0, 1], vec![0, 1, 2, 3]]);
        assert!(nodes(&next).is_empty());
        let own = leaves.own_order(4).expect("memory");
        assert_eq!(own, [0, 1, 2, 3].map(NodeId));
        let own: Vec<bool> = leaves
            .members()
            .iter()
            .map(|member| member.is_own())
            .collect();
        assert_eq!(own, [true, true, false, false, true, true]);
    }

    #[test]
    fn a_member_joins_a_shared_set_once() {
        let (_, leaves) = divide(2, &[0, 1, 1, 0], 2);
        assert_eq!(
            leaves.members().len(),
            4,
            "two members are no few of a leaf of 16"
        );
        let (_, leaves) = divide(1, &[0, 1], 2);
        assert_eq!(nodes(&leaves), [[0]]);
    }

    #[test]
    fn large_sets_go_on_and_inseparable_ones_are_cut() {
        let choices: Vec<u16> = (0..40).map(|node| u16::from(node >= 20)).collect();
        let (next, leaves) = divide(40, &choices, 2);
        assert_eq!(
            nodes(&next),
            [(0..20).collect::<Vec<_>>(), (20..40).collect()]
        );
        assert!(nodes(&leaves).is_empty());
        let (next, leaves) = divide(40, &[0; 40], 2);
        assert!(nodes(&next).is_empty());
        let lengths: Vec<usize> = leaves.iter().map(<[Member]>::len).collect();
        assert_eq!(lengths, [16, 16, 8]);
    }
}
