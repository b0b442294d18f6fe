//! Axis 1: where vectors and codes live.

use serde::{Deserialize, Serialize};

/// Axis 1: where vectors and codes live.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StorageSpec {
    /// Where full vectors live.
    pub vectors: VectorStorage,
    /// Where codes live.
    pub codes: CodeStorage,
    /// How vectors are compressed.
    pub quantizer: QuantizerSpec,
    /// A second, independent code per node: in memory, for a cascade; or beside the list, where
    /// vectors are coded.
    pub second_quantizer: Option<QuantizerSpec>,
    /// What user ids are.
    pub ids: IdStorage,
    /// Whether rows and ids are in memory too, so that what codes decide needs no read.
    #[serde(default)]
    pub ids_in_memory: bool,
}

impl StorageSpec {
    /// Bytes of what lies beside a list: the vector, of `vector_bytes`, a fine code, or nothing.
    pub fn bytes_beside_list(&self, vector_bytes: usize) -> usize {
        match self.vectors {
            VectorStorage::InRecord => vector_bytes,
            VectorStorage::Separate => 0,
            VectorStorage::Coded => self
                .second_quantizer
                .map_or(0, |second| second.code_bytes() as usize),
        }
    }

    /// Takes no axes that vectors have to show, and that memory would have to hold.
    pub fn rotate_codes_at_random(&mut self) {
        self.quantizer = self.quantizer.rotated_at_random();
        self.second_quantizer = self.second_quantizer.map(QuantizerSpec::rotated_at_random);
    }

    /// The second code, where memory holds it.
    pub fn second_codes_in_memory(&self) -> Option<QuantizerSpec> {
        self.second_quantizer
            .filter(|_| self.vectors != VectorStorage::Coded)
    }

    /// Codes held in memory, one per node from node 0, for an index of `node_count`.
    pub const fn codes_in_memory(&self, node_count: u32) -> u32 {
        match self.codes {
            CodeStorage::InPage => 0,
            CodeStorage::Split { memory_nodes } if memory_nodes < node_count => memory_nodes,
            CodeStorage::Memory | CodeStorage::Split { .. } => node_count,
        }
    }
}

impl VectorStorage {
    /// Whether vectors have pages of their own.
    pub const fn has_own_pages(self) -> bool {
        match self {
            Self::InRecord => false,
            Self::Separate | Self::Coded => true,
        }
    }
}

/// Where full vectors live.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum VectorStorage {
    /// Beside the adjacency list, in the record.
    InRecord,
    /// In pages of their own, read only to refine.
    Separate,
    /// In pages of their own too; beside the adjacency list lies a fine code, that of the second
    /// quantizer.
    Coded,
}

/// Where codes live.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CodeStorage {
    /// One table in memory, a row per node.
    Memory,
    /// Beside each adjacency list that names the node; the codes of entry nodes alone in memory.
    InPage,
    /// Those of the hottest nodes in memory, the others beside the lists that name them.
    Split {
        /// Nodes whose codes are in memory; nodes are numbered from hot to cold, a page at a time.
        memory_nodes: u32,
    },
}

/// How vectors are compressed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum QuantizerSpec {
    /// Product quantization, one byte per sub-space.
    Pq {
        /// Bytes per code, which is the number of sub-spaces.
        code_bytes: u32,
    },
    /// Extended `RaBitQ`: some bits per component, an unbiased estimate, and bounds of its error.
    #[serde(rename = "rabitq")]
    RaBitQ {
        /// Bytes per code.
        code_bytes: u32,
        /// What is done to vectors before.
        rotation: RotationSpec,
    },
}

/// What is done to vectors before they are coded bit by bit.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RotationSpec {
    /// A random rotation: every component gets the same number of bits.
    Hadamard,
    /// Rotation to the principal axes of the data: bits go where the variance is.
    Principal,
}

impl QuantizerSpec {
    /// Bytes per code.
    pub const fn code_bytes(self) -> u32 {
        match self {
            Self::Pq { code_bytes } | Self::RaBitQ { code_bytes, .. } => code_bytes,
        }
    }

    /// The same kind of code at another length.
    #[must_use]
    pub const fn with_code_bytes(self, code_bytes: u32) -> Self {
        match self {
            Self::Pq { .. } => Self::Pq { code_bytes },
            Self::RaBitQ { rotation, .. } => Self::RaBitQ {
                code_bytes,
                rotation,
            },
        }
    }

    /// The same code without axes that vectors have to show.
    const fn rotated_at_random(self) -> Self {
        match self {
            Self::Pq { .. } => self,
            Self::RaBitQ { code_bytes, .. } => Self::RaBitQ {
                code_bytes,
                rotation: RotationSpec::Hadamard,
            },
        }
    }
}

/// What a search returns as id.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum IdStorage {
    /// The row number in the data the index was built from.
    RowNumber,
    /// A 64-bit id of the user beside each vector, so that no map stays in memory.
    InRecord,
}
