//! Statistics of the adjacency lists that a build writes.

use pageway_graph::ListCode;
use pageway_types::NodeId;

use crate::error::Result;
use crate::manifest::GraphStatistics;

/// Counts lists.
#[derive(Default)]
pub(super) struct Census {
    lists: u64,
    edges: u64,
    max_degree: u32,
    packed: Option<Packed>,
}

/// Packs lists to find their size in memory.
struct Packed {
    code: ListCode,
    sorted: Vec<NodeId>,
    out: Vec<u8>,
    bytes: u64,
}

impl Census {
    /// Also counts the packed bytes of the lists of `node_count` nodes.
    pub(super) fn with_packed(node_count: u32) -> Self {
        Self {
            packed: Some(Packed {
                code: ListCode::new(node_count),
                sorted: Vec::new(),
                out: Vec::new(),
                bytes: 0,
            }),
            ..Self::default()
        }
    }

    /// Counts the list of a node.
    pub(super) fn count(&mut self, node: NodeId, list: &[NodeId]) -> Result<()> {
        self.lists += 1;
        self.edges += list.len() as u64;
        self.max_degree = self.max_degree.max(list.len() as u32);
        if let Some(packed) = &mut self.packed {
            packed.sorted.clear();
            packed.sorted.extend_from_slice(list);
            packed.sorted.sort_unstable();
            packed.out.clear();
            packed.code.encode(node, &packed.sorted, &mut packed.out)?;
            packed.bytes += packed.out.len() as u64;
        }
        Ok(())
    }

    /// The counts.
    pub(super) fn statistics(&self) -> GraphStatistics {
        GraphStatistics {
            mean_degree: self.edges as f64 / self.lists.max(1) as f64,
            max_degree: self.max_degree,
            packed_bytes: self.packed.as_ref().map(|packed| packed.bytes),
            ..GraphStatistics::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_statistics_are_those_of_the_lists() {
        let lists = [&[2, 1][..], &[], &[0, 1, 3, 2], &[0]];
        for packs in [false, true] {
            let mut census = if packs {
                Census::with_packed(5)
            } else {
                Census::default()
            };
            for (node, list) in (0..).map(NodeId).zip(lists) {
                let list: Vec<NodeId> = list.iter().copied().map(NodeId).collect();
                census.count(node, &list).unwrap();
            }
            let found = census.statistics();
            assert_eq!((found.mean_degree, found.max_degree), (1.75, 4));
            // Lengths, classes in half bytes, mantissas.
            let least = 4 + (1 + 2 + 1);
            assert_eq!(found.packed_bytes.is_some(), packs);
            assert!(
                found
                    .packed_bytes
                    .is_none_or(|bytes| (least..20).contains(&bytes))
            );
        }
    }
}
