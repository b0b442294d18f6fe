//! Groups of nodes that may overlap.
#![expect(
    clippy::indexing_slicing,
    reason = "groups are cut at their own ends; a slip must stop"
)]

use std::collections::HashSet;

use pageway_types::NodeId;

use crate::error::{GraphError, try_reserved};

/// A node in a group, and whether the group is its own: the one it is nearest to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Member(u32);

impl Member {
    /// The node is below 2^31.
    pub(super) const fn new(node: NodeId, own: bool) -> Self {
        Self(node.0 << 1 | own as u32)
    }

    /// The same node in the group of its leader of rank `rank`.
    pub(super) const fn joining(self, rank: usize) -> Self {
        Self::new(self.node(), self.is_own() && rank == 0)
    }

    pub(super) const fn node(self) -> NodeId {
        NodeId(self.0 >> 1)
    }

    pub(super) const fn is_own(self) -> bool {
        self.0 & 1 == 1
    }
}

/// Groups, one after the other.
pub(super) struct Groups {
    members: Vec<Member>,
    ends: Vec<usize>,
}

impl Groups {
    /// No groups, with room for so many members.
    pub(super) fn new(members: usize) -> Result<Self, GraphError> {
        Ok(Self {
            members: try_reserved(members, "groups")?,
            ends: Vec::new(),
        })
    }

    /// Bytes of groups of so many members. Groups of one member are rare: a byte per member is
    /// plenty for their ends.
    pub(super) const fn bytes(members: u64) -> u64 {
        members.saturating_mul(size_of::<Member>() as u64 + 1)
    }

    /// All nodes of a set but `guests`, in their own group.
    pub(super) fn whole(count: u32, guests: &[NodeId]) -> Result<Self, GraphError> {
        let mut groups = Self::new(count as usize)?;
        let guests: HashSet<NodeId> = guests.iter().copied().collect();
        let nodes = (0..count).map(NodeId);
        let nodes = nodes.filter(|node| !guests.contains(node));
        groups
            .members
            .extend(nodes.map(|node| Member::new(node, true)));
        groups.ends.push(groups.members.len());
        Ok(groups)
    }

    /// Adds room for `size` members in groups of at most `piece`; where it begins.
    pub(super) fn grow(&mut self, size: usize, piece: usize) -> usize {
        let (first, end) = (self.members.len(), self.members.len() + size);
        self.members.resize(end, Member::default());
        let ends = (first..end)
            .step_by(piece)
            .map(|begin| end.min(begin + piece));
        self.ends.extend(ends);
        first
    }

    /// Puts a member where room was added.
    pub(super) fn put(&mut self, at: usize, member: Member) {
        self.members[at] = member;
    }

    /// Members of all groups.
    pub(super) fn members(&self) -> &[Member] {
        &self.members
    }

    /// Every group.
    pub(super) fn iter(&self) -> impl Iterator<Item = &[Member]> {
        let mut first = 0;
        self.ends.iter().map(move |&end| {
            let group = &self.members[first..end];
            first = end;
            group
        })
    }

    /// Every node, in the order of the groups that are their own.
    pub(super) fn own_order(&self, count: u32) -> Result<Vec<NodeId>, GraphError> {
        let mut order = try_reserved(count as usize, "order of nodes")?;
        let own = self.members.iter().filter(|member| member.is_own());
        order.extend(own.map(|member| member.node()));
        Ok(order)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn room_is_cut_into_pieces() {
        let mut groups = Groups::whole(3, &[]).expect("memory");
        assert_eq!(groups.grow(0, 4), 3);
        assert_eq!(groups.grow(9, 4), 3);
        groups.put(11, Member::new(NodeId(7), true).joining(1));
        let sizes: Vec<usize> = groups.iter().map(<[Member]>::len).collect();
        assert_eq!(sizes, [3, 4, 4, 1]);
        assert_eq!(groups.members()[11].node(), NodeId(7));
        assert!(!groups.members()[11].is_own());
        let order = groups.own_order(3).expect("memory");
        assert_eq!(order, [0, 1, 2].map(NodeId));
    }
}
