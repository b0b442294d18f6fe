//! Nodes to encode, drawn from a seed.

use pageway_types::{ElementType, Metric, NodeId, SplitMix64};

use crate::error::Result;
use crate::layout::{NodeFeed, VectorPart};
use crate::presets::{Preset, Sizes};
use crate::spec::{IdStorage, IndexSpec, PlacementSpec, QuantizerSpec, Shape};

/// What varies between specs of one preset.
#[derive(Clone, Copy, Debug)]
pub(in crate::layout) struct Variation {
    pub(in crate::layout) dimension: u32,
    pub(in crate::layout) max_degree: u32,
    pub(in crate::layout) code_bytes: u32,
    pub(in crate::layout) page_bytes: u32,
    pub(in crate::layout) user_ids: bool,
    pub(in crate::layout) by_id: bool,
}

/// SIFT with 48 neighbours.
pub(in crate::layout) const SIFT: Variation = Variation {
    dimension: 128,
    max_degree: 48,
    code_bytes: 32,
    page_bytes: 4096,
    user_ids: false,
    by_id: true,
};

impl Variation {
    pub(in crate::layout) fn spec(self, preset: Preset) -> IndexSpec {
        let shape = Shape {
            dimension: self.dimension,
            element: ElementType::U8,
            metric: Metric::L2,
        };
        let sizes = Sizes {
            max_degree: self.max_degree,
            page_bytes: self.page_bytes,
            user_ids: self.user_ids,
            ..Sizes::default()
        };
        let mut spec = preset.spec(shape, &sizes);
        // Presets divide the bytes of a code in their own ways.
        let code_bytes = self.code_bytes;
        spec.storage.quantizer = QuantizerSpec::Pq { code_bytes };
        spec.layout.placement = if self.by_id {
            PlacementSpec::ById
        } else {
            PlacementSpec::Bnp
        };
        spec
    }
}

/// The nodes of an index.
pub(in crate::layout) struct DrawnFeed {
    pub(in crate::layout) lists: Vec<Vec<NodeId>>,
    pub(in crate::layout) replicas: Vec<Vec<NodeId>>,
    pub(in crate::layout) vectors: Vec<Vec<u8>>,
    pub(in crate::layout) codes: Vec<Vec<u8>>,
    pub(in crate::layout) fine_codes: Vec<Vec<u8>>,
    rows: Vec<u32>,
    pub(in crate::layout) user_ids: Vec<u64>,
}

impl DrawnFeed {
    pub(in crate::layout) fn new(spec: &IndexSpec, node_count: u32, seed: u64) -> Self {
        let mut random = SplitMix64::new(seed);
        let nodes = 0..node_count;
        let max_degree = spec.graph.max_degree();
        let count = u64::from(node_count);
        let mut bytes = |length: usize| -> Vec<Vec<u8>> {
            let mut one = || (0..length).map(|_| random.next_u64() as u8).collect();
            nodes.clone().map(|_| one()).collect()
        };
        let vectors = bytes(spec.shape.vectors().row_bytes());
        let codes = bytes(spec.storage.quantizer.code_bytes() as usize);
        let second = spec.storage.second_quantizer;
        let fine_codes = bytes(second.map_or(0, QuantizerSpec::code_bytes) as usize);
        let mut lists = || -> Vec<Vec<NodeId>> {
            let mut one = || {
                let degree = random.below(u64::from(max_degree) + 1);
                let neighbor = |_| NodeId(random.below(count) as u32);
                (0..degree).map(neighbor).collect()
            };
            nodes.clone().map(|_| one()).collect()
        };
        let (lists, replicas) = (lists(), lists());
        let are_rows = spec.nodes_are_rows();
        let row = |node| {
            if are_rows {
                node
            } else {
                node_count - 1 - node
            }
        };
        let rows: Vec<u32> = nodes.clone().map(row).collect();
        let given = spec.storage.ids == IdStorage::InRecord;
        let mut user_id = |row: &u32| {
            if given {
                random.next_u64()
            } else {
                u64::from(*row)
            }
        };
        Self {
            user_ids: rows.iter().map(&mut user_id).collect(),
            rows,
            lists,
            replicas,
            vectors,
            codes,
            fine_codes,
        }
    }

    pub(in crate::layout) fn part(&self, node: NodeId) -> VectorPart<'_> {
        VectorPart {
            bytes: &self.vectors[node.index()],
            row: self.rows[node.index()],
            user_id: self.user_ids[node.index()],
        }
    }

    /// Codes of `nodes`, back to back.
    pub(in crate::layout) fn codes_of(&self, nodes: &[NodeId]) -> Vec<u8> {
        let codes = nodes.iter().map(|node| &self.codes[node.index()]);
        codes.flatten().copied().collect()
    }
}

impl NodeFeed for DrawnFeed {
    fn vector(&self, node: NodeId) -> Result<VectorPart<'_>> {
        Ok(self.part(node))
    }

    fn neighbors(&self, node: NodeId) -> Result<&[NodeId]> {
        Ok(&self.lists[node.index()])
    }

    fn fine_code(&self, node: NodeId) -> Result<&[u8]> {
        Ok(&self.fine_codes[node.index()])
    }

    fn code(&self, node: NodeId) -> Result<&[u8]> {
        Ok(&self.codes[node.index()])
    }

    fn replicas(&self, node: NodeId) -> Result<&[NodeId]> {
        Ok(&self.replicas[node.index()])
    }
}
