//! Where walks start.

use pageway_graph::{HashTable, NavigationGraph, NavigationScratch};
use pageway_quant::normalise;
use pageway_types::{Candidate, ClusterId, NodeId};

use crate::error::Result;
use crate::storage::{ClusterTable, EntryCodes, MeanQuery};

/// How the first candidates are found, without a read.
pub(crate) enum Entry {
    /// The same for every query.
    Nodes,
    /// The best of a search in a small graph.
    Navigation {
        graph: NavigationGraph,
        list_size: usize,
    },
    /// Those whose hash is near that of the query; of its unit vector where `unit`.
    Hash {
        table: HashTable,
        limit: usize,
        unit: bool,
    },
    /// All nodes of the nearest clusters; see `probe`.
    Clusters(ClusterTable),
}

/// Where walks start, and the codes of the nodes they start at where the code table lacks them.
pub(crate) struct EntryPart {
    pub(crate) entry: Entry,
    /// Nodes that are always good to start at: the medoid, or several.
    pub(crate) nodes: Vec<NodeId>,
    pub(crate) codes: EntryCodes,
}

/// What finding entries needs per query, reused.
#[derive(Default)]
pub(crate) struct EntryScratch {
    navigation: Option<NavigationScratch>,
    candidates: Vec<Candidate>,
    hits: Vec<NodeId>,
    unit: Vec<f32>,
    pub(super) probe: MeanQuery,
    /// Keys of clusters: while they are ranked, of groups before them; after a scan, of those that
    /// were looked into, by number.
    pub(super) clusters: Vec<u64>,
    /// Those whose nodes were scored.
    pub(super) scored: ClusterMarks,
}

/// A bit for each cluster.
#[derive(Default)]
pub(super) struct ClusterMarks {
    words: Vec<u64>,
}

impl ClusterMarks {
    /// Bytes of so many clusters.
    pub(super) const fn bytes(clusters: usize) -> usize {
        clusters.div_ceil(64) * size_of::<u64>()
    }

    /// Marks none of so many clusters.
    pub(super) fn forget(&mut self, clusters: u32) {
        self.words.clear();
        self.words.resize(clusters.div_ceil(64) as usize, 0);
    }

    /// Marks a cluster; whether it was not.
    pub(super) fn insert(&mut self, cluster: ClusterId) -> bool {
        let (at, bit) = (cluster.index() / 64, 1 << (cluster.index() % 64));
        let Some(word) = self.words.get_mut(at) else {
            return true;
        };
        let is_new = *word & bit == 0;
        *word |= bit;
        is_new
    }
}

impl EntryScratch {
    /// A scratch for one query at a time.
    pub(crate) fn new(part: &EntryPart) -> Result<Self> {
        let navigation = match &part.entry {
            Entry::Navigation { graph, list_size } => {
                Some(NavigationScratch::new(graph, *list_size as u32)?)
            }
            Entry::Nodes | Entry::Hash { .. } | Entry::Clusters(_) => None,
        };
        Ok(Self {
            navigation,
            ..Self::default()
        })
    }
}

impl EntryPart {
    /// The clusters of the nodes, where candidates are scanned and not walked to.
    pub(crate) fn clusters(&self) -> Option<&ClusterTable> {
        match &self.entry {
            Entry::Clusters(table) => Some(table),
            Entry::Nodes | Entry::Navigation { .. } | Entry::Hash { .. } => None,
        }
    }

    /// Shows the nodes that this query starts at.
    pub(crate) fn find(
        &self,
        (raw, widened): (&[u8], &[f32]),
        scratch: &mut EntryScratch,
        mut visit: impl FnMut(NodeId),
    ) {
        match &self.entry {
            Entry::Nodes => self.nodes.iter().for_each(|node| visit(*node)),
            Entry::Clusters(_) => {}
            Entry::Navigation { graph, list_size } => {
                scratch.candidates.clear();
                if let Some(navigation) = &mut scratch.navigation {
                    graph.search(raw, *list_size, navigation, &mut scratch.candidates);
                }
                scratch.candidates.iter().for_each(|best| visit(best.node));
            }
            Entry::Hash { table, limit, unit } => {
                scratch.hits.clear();
                let query = if *unit {
                    scratch.unit.clear();
                    scratch.unit.extend_from_slice(widened);
                    normalise(&mut scratch.unit);
                    &scratch.unit
                } else {
                    widened
                };
                table.lookup(query, *limit, &mut scratch.hits);
                scratch.hits.iter().for_each(|node| visit(*node));
                // Where no bucket is near, and to be sure of the rest.
                self.nodes.iter().for_each(|node| visit(*node));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cluster_is_new_once() {
        let mut marks = ClusterMarks::default();
        assert!(
            marks.insert(ClusterId(3)) && marks.insert(ClusterId(3)),
            "no room"
        );
        marks.forget(70);
        for cluster in [0, 63, 64, 69].map(ClusterId) {
            assert!(marks.insert(cluster) && !marks.insert(cluster));
        }
        marks.forget(70);
        assert!(marks.insert(ClusterId(64)));
        assert_eq!(ClusterMarks::bytes(70), 16);
    }
}
