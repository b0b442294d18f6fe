//! Makes every node of a graph on disk reachable from the entry, with two bits per node in memory.
//!
//! The graph of a shard reaches all of its nodes, but from an entry of its own, and the merge
//! shortens lists. So a node may lose its last incoming edge, and no search would ever return it.
//! Lists are read in chunks, and a chunk only while it has lists to follow.
//!
//! 1. Lists of reached nodes are followed until none is left.
//! 2. A node that is not reached is linked from the nearest reached node of its own list, one with
//!    room if there is one, and its list is followed in turn; until no node has such a neighbour.
//! 3. The rest, islands of their own, are linked from the reached node before them.
//!
//! In a full list the link replaces an edge, which moves to the linked node: `host -> other`
//! becomes `host -> node -> other`. So reached nodes stay reached, however they were reached.

use std::ops::Range;

use pageway_types::{NodeId, Progress};

use super::graph_file::{GraphFile, neighbors, push_list};
use crate::error::{Error, ErrorKind, Result};

/// Bytes of a chunk of lists, unless one list is longer.
const CHUNK_BYTES: usize = 256 << 10;
/// Bytes of the counters of a chunk.
const COUNTED_BYTES: u64 = 2 * size_of::<u32>() as u64;

/// Memory of relinking.
pub(super) fn reach_bytes(nodes: u64, max_degree: u32) -> u64 {
    let chunk = chunk_nodes(max_degree) as u64;
    let list = super::graph_file::list_bytes(max_degree) as u64;
    2 * nodes.div_ceil(8) + nodes.div_ceil(chunk) * COUNTED_BYTES + chunk * list
}

/// Links the nodes of `graph` that its entry does not reach; returns the number of links.
pub(super) fn relink(graph: &GraphFile, entry: NodeId, progress: &dyn Progress) -> Result<u64> {
    progress.stage("check reachability", graph.count().into());
    let mut walk = Reach::new(graph, progress);
    walk.reach(entry)?;
    walk.follow_all()?;
    for rule in [Repair::Adopt, Repair::Anchor] {
        while !walk.is_done() && walk.repair(rule)? > 0 {
            walk.follow_all()?;
        }
    }
    if walk.is_done() {
        return Ok(walk.links);
    }
    Err(internal("a graph could not be made to reach every node"))
}

/// How a node that is not reached finds its host.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Repair {
    /// Among its own neighbours.
    Adopt,
    /// Among these; otherwise it is the reached node before it.
    Anchor,
}

struct Reach<'g> {
    graph: &'g GraphFile,
    progress: &'g dyn Progress,
    reached: Bits,
    /// Nodes whose lists were followed.
    followed: Bits,
    /// Reached nodes of each chunk.
    reached_in: Vec<u32>,
    /// Nodes of each chunk whose lists are to be followed.
    waiting_in: Vec<u32>,
    all_reached: u32,
    links: u64,
    chunk: ListsAtHand,
}

/// The lists of a chunk.
struct ListsAtHand {
    nodes: Range<u32>,
    list_bytes: usize,
    lists: Vec<u8>,
}

/// A bit per node.
struct Bits(Vec<u64>);

const fn chunk_nodes(max_degree: u32) -> usize {
    let nodes = CHUNK_BYTES / super::graph_file::list_bytes(max_degree);
    if nodes == 0 { 1 } else { nodes }
}

impl<'g> Reach<'g> {
    fn new(graph: &'g GraphFile, progress: &'g dyn Progress) -> Self {
        let count = graph.count() as usize;
        let chunks = count.div_ceil(chunk_nodes(graph.max_degree()));
        Self {
            graph,
            progress,
            reached: Bits::new(count),
            followed: Bits::new(count),
            reached_in: vec![0; chunks],
            waiting_in: vec![0; chunks],
            all_reached: 0,
            links: 0,
            chunk: ListsAtHand {
                nodes: 0..0,
                list_bytes: graph.list_bytes(),
                lists: Vec::new(),
            },
        }
    }

    fn is_done(&self) -> bool {
        self.all_reached == self.graph.count()
    }

    fn chunk_of(&self, node: u32) -> usize {
        node as usize / chunk_nodes(self.graph.max_degree())
    }

    fn nodes_of(&self, chunk: usize) -> Range<u32> {
        let nodes = chunk_nodes(self.graph.max_degree());
        let end = ((chunk + 1) * nodes).min(self.graph.count() as usize);
        (chunk * nodes) as u32..end as u32
    }

    /// Notes that a node is reached.
    fn reach(&mut self, node: NodeId) -> Result<()> {
        if node.0 >= self.graph.count() {
            return Err(internal("a list leads to a node that is not there"));
        }
        if !self.reached.set(node.0) {
            return Ok(());
        }
        self.all_reached += 1;
        let chunk = self.chunk_of(node.0);
        for counts in [&mut self.reached_in, &mut self.waiting_in] {
            if let Some(count) = counts.get_mut(chunk) {
                *count += 1;
            }
        }
        Ok(())
    }

    fn waits(&self, chunk: usize) -> bool {
        self.waiting_in.get(chunk).is_some_and(|count| *count > 0)
    }

    /// Follows lists until none is left.
    fn follow_all(&mut self) -> Result<()> {
        loop {
            let before = self.all_reached;
            let mut followed = false;
            for chunk in 0..self.waiting_in.len() {
                if self.waits(chunk) {
                    self.read(chunk)?;
                    self.follow(chunk)?;
                    followed = true;
                }
            }
            self.progress.advance((self.all_reached - before).into());
            if !followed {
                return Ok(());
            }
        }
    }

    /// Follows lists of the chunk at hand until none of it is left.
    fn follow(&mut self, chunk: usize) -> Result<()> {
        let mut list = Vec::new();
        while self.waits(chunk) {
            for node in self.nodes_of(chunk) {
                if !self.reached.has(node) || !self.followed.set(node) {
                    continue;
                }
                if let Some(count) = self.waiting_in.get_mut(chunk) {
                    *count -= 1;
                }
                list.clear();
                list.extend(neighbors(self.chunk.list(node)));
                list.iter().try_for_each(|other| self.reach(*other))?;
            }
        }
        Ok(())
    }

    fn read(&mut self, chunk: usize) -> Result<()> {
        self.progress.check()?;
        let nodes = self.nodes_of(chunk);
        if self.chunk.nodes != nodes {
            self.chunk
                .lists
                .resize(nodes.len() * self.chunk.list_bytes, 0);
            self.graph.read(nodes.start.into(), &mut self.chunk.lists)?;
            self.chunk.nodes = nodes;
        }
        Ok(())
    }

    /// Links nodes that are not reached, chunk by chunk; returns how many were newly reached.
    fn repair(&mut self, rule: Repair) -> Result<u32> {
        let before = self.all_reached;
        for chunk in 0..self.reached_in.len() {
            let nodes = self.nodes_of(chunk);
            if self.reached_in.get(chunk).copied() == Some(nodes.len() as u32) {
                continue;
            }
            self.read(chunk)?;
            for node in nodes {
                if !self.reached.has(node) && self.link(NodeId(node), rule)? {
                    self.follow(chunk)?;
                }
            }
        }
        let reached = self.all_reached - before;
        self.progress.advance(reached.into());
        Ok(reached)
    }

    /// Links a node, if it has a host.
    fn link(&mut self, node: NodeId, rule: Repair) -> Result<bool> {
        let own: Vec<NodeId> = neighbors(self.chunk.list(node.0)).collect();
        let max_degree = self.graph.max_degree() as usize;
        let (mut full, mut host) = (None, None);
        for other in own.iter().filter(|other| self.reached.has(other.0)) {
            let list = self.list(*other)?;
            if list.len() < max_degree {
                host = Some((*other, list));
                break;
            }
            full.get_or_insert((*other, list));
        }
        let mut host = host.or(full);
        if host.is_none() && rule == Repair::Anchor {
            let before = (0..node.0).rev().find(|other| self.reached.has(*other));
            let after = || (node.0..self.graph.count()).find(|other| self.reached.has(*other));
            let anchor = before.or_else(after).map(NodeId);
            host = anchor
                .map(|anchor| Ok::<_, Error>((anchor, self.list(anchor)?)))
                .transpose()?;
        }
        let Some(host) = host else {
            return Ok(false);
        };
        self.insert(host, (node, own))?;
        self.reach(node)?;
        Ok(true)
    }

    /// Adds an edge from a host to a node; an edge that has to go moves to the node.
    fn insert(
        &mut self,
        (host, mut list): (NodeId, Vec<NodeId>),
        (node, mut own): (NodeId, Vec<NodeId>),
    ) -> Result<()> {
        let max_degree = self.graph.max_degree() as usize;
        // The list may be waiting to be followed, and lead there already.
        if list.contains(&node) {
            return Ok(());
        }
        self.links += 1;
        if list.len() < max_degree {
            list.push(node);
            return self.write(host, &list);
        }
        let shared = list.iter().rposition(|other| own.contains(other));
        let gives_way = shared.or(list.len().checked_sub(1));
        let Some(gives_way) = gives_way.and_then(|at| list.get_mut(at)) else {
            return Ok(());
        };
        let other = std::mem::replace(gives_way, node);
        self.write(host, &list)?;
        if own.contains(&other) {
            return Ok(());
        }
        // No node was reached over the edges of this one so far, so they can be cut.
        own.truncate(max_degree - 1);
        own.push(other);
        self.write(node, &own)
    }

    fn list(&self, node: NodeId) -> Result<Vec<NodeId>> {
        if self.chunk.nodes.contains(&node.0) {
            return Ok(neighbors(self.chunk.list(node.0)).collect());
        }
        let mut list = vec![0; self.chunk.list_bytes];
        self.graph.read(node.0.into(), &mut list)?;
        Ok(neighbors(&list).collect())
    }

    fn write(&mut self, node: NodeId, list: &[NodeId]) -> Result<()> {
        let mut bytes = Vec::with_capacity(self.chunk.list_bytes);
        push_list(list, self.graph.max_degree(), &mut bytes)?;
        self.graph.write_list(node, &bytes)?;
        if let Some(own) = self.chunk.list_mut(node.0) {
            own.copy_from_slice(&bytes);
        }
        Ok(())
    }
}

impl ListsAtHand {
    fn place(&self, node: u32) -> Range<usize> {
        let at = node.wrapping_sub(self.nodes.start) as usize;
        let start = at.saturating_mul(self.list_bytes);
        start..start.saturating_add(self.list_bytes)
    }

    /// The list of a node; empty if it is not in this chunk.
    fn list(&self, node: u32) -> &[u8] {
        self.lists.get(self.place(node)).unwrap_or_default()
    }

    fn list_mut(&mut self, node: u32) -> Option<&mut [u8]> {
        let place = self.place(node);
        self.lists.get_mut(place)
    }
}

impl Bits {
    fn new(count: usize) -> Self {
        Self(vec![0; count.div_ceil(64)])
    }

    fn has(&self, at: u32) -> bool {
        let word = self.0.get(at as usize / 64).copied().unwrap_or(0);
        word >> (at % 64) & 1 == 1
    }

    /// Sets a bit; true if it was not set.
    fn set(&mut self, at: u32) -> bool {
        let Some(word) = self.0.get_mut(at as usize / 64) else {
            return false;
        };
        let before = *word;
        *word |= 1 << (at % 64);
        *word != before
    }
}

fn internal(what: &str) -> Error {
    Error::new(ErrorKind::Internal, what)
}

#[cfg(test)]
mod tests;
