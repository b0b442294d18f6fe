//! Makes every node of merged shard graphs reachable from the entry, without holding their lists.
//!
//! The graph of a shard reaches all of its nodes, but from an entry of its own, and the merge cuts
//! lists: a node may lose its last way in, and no search would ever return it. The lists are too
//! large for memory, so they are read in passes, in node order. What stays in memory is the tree of
//! the walk: for each node, which one reached it first.
//!
//! 1. Passes follow the lists until one reaches nothing new.
//! 2. A node that is not reached is linked from the nearest node of its own list that is, and leads
//!    on; again until a pass reaches nothing new.
//! 3. In one last pass, a node without such a neighbour is linked from the entry or, when that is
//!    full, from a node linked before, oldest first.
//!
//! Invariants:
//! * No node has more children in the tree than the max degree. A link therefore fits the list of
//!   its host: an edge that the tree does not use gives way, and what is reached stays reached.
//! * The last pass finds a host for every node: the node reached last has no children yet.
#![expect(
    clippy::indexing_slicing,
    reason = "ids are checked as lists are read; a slip must stop"
)]

use pageway_types::{NodeId, Progress};

use super::write::ListStream;
use crate::error::{Error, ErrorKind, Result};

/// Memory per node: the tree, and links for one node in four, in a vector that grows.
pub(super) const NODE_BYTES: u64 = (size_of::<Step>() + size_of::<Link>() / 2) as u64;

/// Passes that follow, and passes that link, at most: sparse graphs as deep as this take more links
/// instead of more passes.
const PASSES: usize = 64;
/// Nodes between two looks at the progress.
const BATCH: usize = 4096;
/// The parent of nodes that are not reached; no node has this id.
const NOBODY: NodeId = NodeId(u32::MAX);

/// What is to be reached.
#[derive(Clone, Copy, Debug)]
pub(super) struct ReachSpec {
    pub(super) entry: NodeId,
    pub(super) node_count: u32,
    /// Longest list; at least 1.
    pub(super) max_degree: u32,
}

/// Reads the lists in passes, each opened by `open`, and links what they do not reach.
pub(super) fn relink<S: ListStream>(
    spec: ReachSpec,
    open: impl Fn() -> Result<S>,
    progress: &dyn Progress,
) -> Result<Relinked> {
    progress.stage("check reachability", spec.node_count.into());
    let mut walk = ReachPass::new(spec);
    for (rule, passes) in [
        (Repair::Follow, PASSES),
        (Repair::Adopt, PASSES),
        (Repair::Anchor, 1),
    ] {
        for _ in 0..passes {
            if walk.reached == walk.tree.len() || walk.pass(rule, &mut open()?, progress)? == 0 {
                break;
            }
        }
    }
    walk.finish()
}

/// The links that make every node reachable.
pub(super) struct Relinked {
    tree: Vec<Step>,
    /// Ascending by host.
    links: Vec<Link>,
    max_degree: usize,
}

/// Lists with their links in place.
pub(super) struct PatchedLists<'r, S> {
    lists: S,
    relinked: &'r Relinked,
    next: u32,
    /// Links of the nodes before `next`.
    used: usize,
}

/// How the tree came to a node.
#[derive(Clone, Copy)]
struct Step {
    parent: NodeId,
    degree: u16,
    children: u16,
}

/// An edge beside those of the lists.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Link {
    host: NodeId,
    node: NodeId,
}

/// What a pass does with a node that is not reached.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Repair {
    /// Leaves it.
    Follow,
    /// Links it from a neighbour.
    Adopt,
    /// Links it, from a neighbour or from elsewhere.
    Anchor,
}

struct ReachPass {
    entry: NodeId,
    tree: Vec<Step>,
    links: Vec<Link>,
    max_degree: u16,
    reached: usize,
    newest: NodeId,
    /// Entry and linked nodes that can host no more.
    full_anchors: usize,
}

impl ReachPass {
    fn new(spec: ReachSpec) -> Self {
        let step = Step {
            parent: NOBODY,
            degree: 0,
            children: 0,
        };
        let mut walk = Self {
            entry: spec.entry,
            tree: vec![step; spec.node_count as usize],
            links: Vec::new(),
            max_degree: spec.max_degree as u16,
            reached: 1,
            newest: spec.entry,
            full_anchors: 0,
        };
        walk.tree[spec.entry.index()].parent = spec.entry;
        walk
    }

    /// Reads all lists once; the number of nodes that were reached.
    fn pass(
        &mut self,
        rule: Repair,
        lists: &mut impl ListStream,
        progress: &dyn Progress,
    ) -> Result<usize> {
        let before = self.reached;
        let mut reported = before;
        let mut list = Vec::new();
        for node in 0..self.tree.len() {
            if node % BATCH == 0 {
                progress.check()?;
                progress.advance((self.reached - reported) as u64);
                reported = self.reached;
            }
            lists.next_list(&mut list)?;
            self.visit(NodeId(node as u32), &list, rule)?;
        }
        progress.advance((self.reached - reported) as u64);
        Ok(self.reached - before)
    }

    fn visit(&mut self, node: NodeId, list: &[NodeId], rule: Repair) -> Result<()> {
        if let Some(stranger) = list.iter().find(|other| other.index() >= self.tree.len()) {
            return Err(Error::new(
                ErrorKind::Internal,
                format!(
                    "node {} of the merged graph leads to {}",
                    node.0, stranger.0
                ),
            ));
        }
        if rule == Repair::Follow {
            self.tree[node.index()].degree = list.len() as u16;
        }
        if !self.is_reached(node) {
            let Some(host) = self.host(list, rule) else {
                return Ok(());
            };
            self.link(host, node);
        }
        for other in list {
            if !self.is_reached(*other) && self.can_host(node) {
                self.reach(*other, node);
            }
        }
        Ok(())
    }

    fn host(&mut self, list: &[NodeId], rule: Repair) -> Option<NodeId> {
        let neighbor = || {
            let reached = list.iter().copied().filter(|node| self.is_reached(*node));
            let has_room = |node: &NodeId| self.tree[node.index()].degree < self.max_degree;
            let roomy = reached.clone().find(has_room);
            roomy.or_else(|| reached.clone().find(|node| self.can_host(*node)))
        };
        match rule {
            Repair::Follow => None,
            Repair::Adopt => neighbor(),
            Repair::Anchor => neighbor().or_else(|| Some(self.anchor())),
        }
    }

    /// A host for a node that knows nobody who is reached.
    fn anchor(&mut self) -> NodeId {
        loop {
            let anchor = match self.full_anchors.checked_sub(1) {
                None => self.entry,
                Some(at) => match self.links.get(at) {
                    Some(link) => link.node,
                    None => return self.newest,
                },
            };
            if self.can_host(anchor) {
                return anchor;
            }
            self.full_anchors += 1;
        }
    }

    fn is_reached(&self, node: NodeId) -> bool {
        self.tree[node.index()].parent != NOBODY
    }

    /// True when the list of `node` holds an edge that the tree does not use, or room for one.
    fn can_host(&self, node: NodeId) -> bool {
        self.tree[node.index()].children < self.max_degree
    }

    fn link(&mut self, host: NodeId, node: NodeId) {
        let degree = &mut self.tree[host.index()].degree;
        *degree = self.max_degree.min(*degree + 1);
        self.links.push(Link { host, node });
        self.reach(node, host);
    }

    fn reach(&mut self, node: NodeId, parent: NodeId) {
        self.tree[node.index()].parent = parent;
        self.tree[parent.index()].children += 1;
        self.reached += 1;
        self.newest = node;
    }

    fn finish(mut self) -> Result<Relinked> {
        if self.reached != self.tree.len() {
            return Err(Error::new(
                ErrorKind::Internal,
                "the merged graph could not be made to reach every node",
            ));
        }
        self.links.sort_unstable();
        Ok(Relinked {
            tree: self.tree,
            links: self.links,
            max_degree: self.max_degree.into(),
        })
    }
}

impl Relinked {
    /// Nodes that were linked.
    pub(super) fn count(&self) -> usize {
        self.links.len()
    }

    /// The same lists as in the passes, read once more, with the links in place.
    pub(super) fn patch<S: ListStream>(&self, lists: S) -> PatchedLists<'_, S> {
        PatchedLists {
            lists,
            relinked: self,
            next: 0,
            used: 0,
        }
    }

    /// Takes `excess` edges that the tree does not use out of the list of `node`, worst first.
    fn cut(&self, node: NodeId, list: &mut Vec<NodeId>, mut excess: usize) {
        for at in (0..list.len()).rev() {
            if excess == 0 {
                return;
            }
            if self.tree[list[at].index()].parent != node {
                list.remove(at);
                excess -= 1;
            }
        }
    }
}

impl<S: ListStream> ListStream for PatchedLists<'_, S> {
    fn next_list(&mut self, list: &mut Vec<NodeId>) -> Result<()> {
        self.lists.next_list(list)?;
        let node = NodeId(self.next);
        self.next += 1;
        let links = &self.relinked.links[self.used..];
        let own = links.iter().take_while(|link| link.host == node);
        let linked: Vec<NodeId> = own.map(|link| link.node).collect();
        self.used += linked.len();
        // A host that was not followed yet may lead to the linked node by itself.
        let known = |other: &&NodeId| list.contains(other);
        let fresh = linked.len() - linked.iter().filter(known).count();
        let excess = (list.len() + fresh).saturating_sub(self.relinked.max_degree);
        self.relinked.cut(node, list, excess);
        for other in linked {
            if !list.contains(&other) {
                list.push(other);
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
