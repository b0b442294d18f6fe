//! The adjacency lists of the segments of a merge, as candidates for the graph over all their rows.
//!
//! ```text
//! segment 0: lists -+
//! segment 1: lists -+-> (node, part, list)... -> of all nodes, or of those of a shard
//! ```
//! They lie in one file, in the order of the nodes of the build; shards read them with their rows.

use pageway_graph::{Graph, Joined};
use pageway_types::{NodeId, Progress};

use super::ordered::OrderedRows;
use super::pipeline::Pipeline;
use super::plan::BuildPlan;
use super::rewrite::KeptLists;
use super::sort::Sorter;
use super::spill::{Spill, SpillReader};
use super::stages::STAGE_BYTES;
use crate::error::{Error, ErrorKind, Result};

/// Bytes for sorting lists by node, and for those that are read together.
const SORTED_BYTES: u64 = 3 << 20;
const READ_BYTES: u64 = 3 << 20;
/// Memory of a row while lists are sorted: its node.
const ROW_BYTES: u64 = size_of::<u32>() as u64;

impl BuildPlan {
    /// Whether memory is enough to read the lists. A graph joined from them takes no more than a
    /// new one.
    pub(super) fn can_join(&self) -> bool {
        let rows = u64::from(self.node_count) * ROW_BYTES;
        STAGE_BYTES + SORTED_BYTES + READ_BYTES + rows <= self.budget_bytes
    }

    /// Bytes of the lists on disk, unsorted and sorted.
    pub(super) fn joined_bytes(&self) -> u64 {
        let list = 4 * u64::from(self.spec.graph.max_degree() + 3);
        2 * u64::from(self.node_count) * list
    }
}

impl Pipeline<'_> {
    /// The lists of segments on disk, in the order of the nodes of this build.
    pub(super) fn joined(&self, kept: KeptLists<'_>) -> Result<JoinedFile> {
        let count = self.plan.node_count;
        self.progress.stage("read lists", count.into());
        let scratch = &self.workspace.scratch;
        let stem = scratch.stem("joined");
        let mut sorter = Sorter::new(&self.workspace.vfs, stem, SORTED_BYTES);
        let nodes = self.ordered_rows().map(OrderedRows::nodes).transpose()?;
        let node_of = |row: u32| match &nodes {
            Some(nodes) => nodes.get(row as usize).copied().ok_or_else(torn),
            None => Ok(row),
        };
        let mut value = Vec::new();
        for (part, number) in (0u16..).zip(0..kept.segments.len()) {
            self.each_kept(kept, number, &mut |rows, lists| {
                for (row, list) in rows.zip(lists) {
                    value.clear();
                    value.extend(part.to_le_bytes());
                    for other in list {
                        value.extend(node_of(other.0)?.to_le_bytes());
                    }
                    sorter.push(&node_of(row)?.to_be_bytes(), &value)?;
                }
                Ok(())
            })?;
        }
        let mut out = scratch.writer("joined")?;
        let mut longest = 0;
        sorter.finish(&mut |node, value| {
            let words = (value.len() - size_of::<u16>()) / size_of::<u32>();
            longest = longest.max(words as u32);
            out.write(node)?;
            out.write(&(words as u32).to_le_bytes())?;
            out.write(value)
        })?;
        Ok(JoinedFile {
            spill: out.finish()?,
            longest,
        })
    }
}

/// Lists of segments: `(node u32 big-endian, length u32, part u16, neighbours u32...)` repeated,
/// nodes ascending.
pub(super) struct JoinedFile {
    spill: Spill,
    longest: u32,
}

/// Lists of some nodes in memory, numbered by their places among these nodes.
pub(super) struct JoinedLists {
    graph: Graph,
    parts: Vec<u16>,
}

impl JoinedLists {
    pub(super) fn as_joined(&self) -> Joined<'_> {
        Joined {
            lists: &self.graph,
            parts: &self.parts,
        }
    }
}

impl JoinedFile {
    /// The lists of some ascending nodes. Of the neighbours that are among these nodes, each list
    /// keeps the first, as many as a graph of `max_degree` takes.
    pub(super) fn of(
        &self,
        nodes: &[u32],
        (entry, max_degree): (NodeId, u32),
    ) -> Result<JoinedLists> {
        let longest = self.longest.min(Joined::longest(max_degree));
        let stride = longest as usize + 1;
        let mut slots = vec![NodeId(0); nodes.len() * stride];
        let mut parts = Vec::with_capacity(nodes.len());
        let mut reader = self.spill.reader();
        let mut wanted = nodes.iter().zip(slots.chunks_exact_mut(stride));
        let mut list = Vec::new();
        let mut next = wanted.next();
        while let Some((node, slots)) = next {
            let (own, part) = read_list(&mut reader, &mut list)?;
            if own != *node {
                next = Some((node, slots));
                continue;
            }
            let among = list
                .iter()
                .filter_map(|other| nodes.binary_search(other).ok());
            if let Some((length, slots)) = slots.split_first_mut() {
                for (slot, place) in slots.iter_mut().zip(among) {
                    *slot = NodeId(place as u32);
                    length.0 += 1;
                }
            }
            parts.push(part);
            next = wanted.next();
        }
        let graph = Graph::from_slots(slots, longest, entry)?;
        Ok(JoinedLists { graph, parts })
    }
}

/// Reads a list: its node and part.
fn read_list(reader: &mut SpillReader<'_>, list: &mut Vec<u32>) -> Result<(u32, u16)> {
    let mut head = [0; 10];
    if !reader.read(&mut head)? {
        return Err(torn());
    }
    let [a, b, c, d, e, f, g, h, part @ ..] = head;
    list.clear();
    for _ in 0..u32::from_le_bytes([e, f, g, h]) {
        let mut word = [0; 4];
        if !reader.read(&mut word)? {
            return Err(torn());
        }
        list.push(u32::from_le_bytes(word));
    }
    Ok((u32::from_be_bytes([a, b, c, d]), u16::from_le_bytes(part)))
}

fn torn() -> Error {
    let what = "the lists of segments that are joined are not those of their rows";
    Error::new(ErrorKind::Internal, what)
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::sync::Arc;

    use pageway_store::{OsVfs, Vfs};

    use super::super::spill::{BUFFER_BYTES, SpillWriter};
    use super::*;

    fn file(dir: &Path, lists: &[(u16, &[u32])]) -> JoinedFile {
        let vfs: Arc<dyn Vfs> = Arc::new(OsVfs);
        let mut out = SpillWriter::create(&vfs, &dir.join("lists"), BUFFER_BYTES).unwrap();
        for (node, (part, list)) in (0u32..).zip(lists) {
            out.write(&node.to_be_bytes()).unwrap();
            out.write(&(list.len() as u32).to_le_bytes()).unwrap();
            out.write(&part.to_le_bytes()).unwrap();
            for other in *list {
                out.write(&other.to_le_bytes()).unwrap();
            }
        }
        JoinedFile {
            spill: out.finish().unwrap(),
            longest: 4,
        }
    }

    #[test]
    fn a_shard_has_the_lists_of_its_nodes_by_its_numbers() {
        let dir = tempfile::tempdir().unwrap();
        let lists: [(u16, &[u32]); 5] = [
            (0, &[4, 2]),
            (0, &[0, 2, 4, 3]),
            (1, &[]),
            (1, &[1, 4]),
            (2, &[3, 1, 0]),
        ];
        let file = file(dir.path(), &lists);
        let shown = |nodes: &[u32], max_degree| {
            let known = file.of(nodes, (NodeId(0), max_degree)).unwrap();
            let lists = (0..nodes.len() as u32).map(|node| {
                let list = known.graph.neighbors(NodeId(node)).iter();
                list.map(|other| other.0).collect::<Vec<_>>()
            });
            (lists.collect::<Vec<_>>(), known.parts)
        };
        let all = lists.map(|(_, list)| list.to_vec()).to_vec();
        assert_eq!(shown(&[0, 1, 2, 3, 4], 4), (all, vec![0, 0, 1, 1, 2]));
        assert_eq!(
            shown(&[0, 2, 4], 4),
            (vec![vec![2, 1], vec![], vec![0]], vec![0, 1, 2])
        );
        // A graph of degree 1 takes one and a half of a list, rounded down.
        assert_eq!(shown(&[1, 3, 4], 1).0, [vec![2], vec![0], vec![1]]);
        assert_eq!(shown(&[0, 1, 2, 3], 2).0[1], [0, 2, 3]);
        assert!(shown(&[2], 4).0.concat().is_empty());
        assert!(file.of(&[4, 5], (NodeId(0), 4)).is_err());
    }
}
