//! A graph on disk, for builds whose memory does not hold it.
//!
//! ```text
//! node 0: [ length | neighbour | neighbour | ... zeros ]   max_degree + 1 words of 4 bytes each
//! node 1: [ length | neighbour | ...
//! ```
//! Lists are read from first to last, or some at a time; a list can be written again in its place.

use std::ops::Range;

use pageway_graph::Graph;
use pageway_types::NodeId;

use super::spill::{Spill, SpillWriter};
use super::write::ListStream;
use crate::error::{Error, ErrorKind, Result};

/// Bytes that are read at a time.
const READ_BYTES: usize = 256 << 10;

/// Adjacency lists of all nodes, in their order.
pub(super) struct GraphFile {
    spill: Spill,
    count: u32,
    max_degree: u32,
}

/// Bytes of a list that may have `max_degree` neighbours.
pub(super) const fn list_bytes(max_degree: u32) -> usize {
    4 * (max_degree as usize + 1)
}

/// Appends a list as it lies in the file.
///
/// # Errors
/// When it is longer than it may be.
pub(super) fn push_list(list: &[NodeId], max_degree: u32, out: &mut Vec<u8>) -> Result<()> {
    if list.len() > max_degree as usize {
        return Err(internal("a list is longer than the graph allows"));
    }
    let end = out.len() + list_bytes(max_degree);
    out.extend_from_slice(&(list.len() as u32).to_le_bytes());
    for neighbor in list {
        out.extend_from_slice(&neighbor.0.to_le_bytes());
    }
    out.resize(end, 0);
    Ok(())
}

/// The neighbours of a list as it lies in the file.
pub(super) fn neighbors(list: &[u8]) -> impl Iterator<Item = NodeId> {
    let (words, _) = list.as_chunks::<4>();
    let length = words.first().map_or(0, |word| u32::from_le_bytes(*word));
    let rest = words.iter().skip(1).take(length as usize);
    rest.map(|word| NodeId(u32::from_le_bytes(*word)))
}

impl GraphFile {
    /// Writes the lists of `count` nodes.
    pub(super) fn write(
        mut out: SpillWriter,
        lists: &mut impl ListStream,
        (count, max_degree): (u32, u32),
    ) -> Result<Self> {
        let (mut list, mut bytes) = (Vec::new(), Vec::new());
        for _ in 0..count {
            lists.next_list(&mut list)?;
            bytes.clear();
            push_list(&list, max_degree, &mut bytes)?;
            out.write(&bytes)?;
        }
        Ok(Self::of(out.finish()?, count, max_degree))
    }

    /// A file that was written before.
    pub(super) fn of(spill: Spill, count: u32, max_degree: u32) -> Self {
        Self {
            spill,
            count,
            max_degree,
        }
    }

    /// Longest list.
    pub(super) const fn max_degree(&self) -> u32 {
        self.max_degree
    }

    /// Number of nodes.
    pub(super) const fn count(&self) -> u32 {
        self.count
    }

    /// Bytes of a list.
    pub(super) const fn list_bytes(&self) -> usize {
        list_bytes(self.max_degree)
    }

    /// The file, to be kept.
    pub(super) fn spill(&self) -> &Spill {
        &self.spill
    }

    /// Fills `out` with the lists of the nodes from `first` on.
    pub(super) fn read(&self, first: u64, out: &mut [u8]) -> Result<()> {
        self.spill.read_at(out, first * self.list_bytes() as u64)
    }

    /// Writes the list of a node again, as `push_list` gives it.
    pub(super) fn write_list(&self, node: NodeId, list: &[u8]) -> Result<()> {
        let offset = u64::from(node.0) * self.list_bytes() as u64;
        self.spill.write_at(list, offset)
    }

    /// The lists of some nodes, from first to last.
    pub(super) fn lists(&self, nodes: Range<u32>) -> GraphLists<'_> {
        GraphLists {
            graph: self,
            next: nodes.start,
            end: nodes.end,
            buffer: Vec::new(),
            at: 0,
        }
    }

    /// The whole graph, in memory.
    pub(super) fn load(&self, entry: NodeId) -> Result<Graph> {
        self.window(0..self.count, entry)
    }

    /// The subgraph of some nodes, numbered from 0.
    pub(super) fn window(&self, nodes: Range<u32>, entry: NodeId) -> Result<Graph> {
        let mut lists = self.lists(nodes.clone());
        let (mut all, mut ends) = (Vec::new(), Vec::with_capacity(nodes.len()));
        let mut list = Vec::new();
        for _ in nodes.clone() {
            lists.next_list(&mut list)?;
            let inside = list.iter().filter(|other| nodes.contains(&other.0));
            all.extend(inside.map(|other| NodeId(other.0 - nodes.start)));
            ends.push(all.len());
        }
        let starts = std::iter::once(0).chain(ends.iter().copied());
        let slices = starts.zip(&ends);
        let slices: Vec<&[NodeId]> = slices
            .map(|(start, end)| all.get(start..*end).unwrap_or_default())
            .collect();
        Ok(Graph::from_lists(
            slices.into_iter(),
            self.max_degree,
            entry,
        )?)
    }

    /// Overlap ratio OR(G) of the order of nodes: see [`pageway_graph::overlap_ratio`].
    pub(super) fn overlap(&self, nodes_per_page: u32) -> Result<f64> {
        let mut lists = self.lists(0..self.count);
        let (mut list, mut sum, mut first) = (Vec::new(), 0.0, 0);
        while first < self.count {
            let page = first..self.count.min(first + nodes_per_page);
            let mut edges = 0;
            for _ in page.clone() {
                lists.next_list(&mut list)?;
                edges += list.iter().filter(|other| page.contains(&other.0)).count();
            }
            let pairs = page.len() * (page.len() - 1);
            sum += edges as f64 / pairs.max(1) as f64;
            first = page.end;
        }
        Ok(sum / f64::from(self.count.div_ceil(nodes_per_page).max(1)))
    }
}

/// Lists from first to last.
pub(super) struct GraphLists<'g> {
    graph: &'g GraphFile,
    next: u32,
    end: u32,
    buffer: Vec<u8>,
    at: usize,
}

impl GraphLists<'_> {
    fn refill(&mut self) -> Result<()> {
        let bytes = self.graph.list_bytes();
        let count = (READ_BYTES / bytes)
            .max(1)
            .min((self.end - self.next) as usize);
        if count == 0 {
            return Err(internal("a graph on disk was read beyond its end"));
        }
        self.buffer.resize(count * bytes, 0);
        self.at = 0;
        self.graph.read(self.next.into(), &mut self.buffer)?;
        self.next += count as u32;
        Ok(())
    }
}

impl ListStream for GraphLists<'_> {
    fn next_list(&mut self, list: &mut Vec<NodeId>) -> Result<()> {
        if self.at == self.buffer.len() {
            self.refill()?;
        }
        let end = self.at + self.graph.list_bytes();
        list.clear();
        list.extend(neighbors(self.buffer.get(self.at..end).unwrap_or_default()));
        self.at = end;
        Ok(())
    }
}

fn internal(what: &str) -> Error {
    Error::new(ErrorKind::Internal, what)
}
