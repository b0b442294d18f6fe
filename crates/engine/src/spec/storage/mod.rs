//! Axis 1: where vectors and codes live. A file for each of its policies.

mod codes;
mod ids;
mod quantizer;
mod vectors;

use serde::{Deserialize, Serialize};

pub use codes::{CODES, CodeStorage};
pub use ids::IdStorage;
pub(super) use ids::in_memory_words;
pub(crate) use quantizer::MAX_PRINCIPAL_DIMENSION;
pub use quantizer::{QUANTIZERS, QuantizerSpec, RotationSpec};
pub(super) use quantizer::{length_words, second_words};
pub use vectors::{VECTORS, VectorStorage};

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
        self.second_quantizer.filter(|_| !self.vectors.is_coded())
    }

    /// Codes held in memory, one per node from node 0, for an index of `node_count`.
    pub const fn codes_in_memory(&self, node_count: u32) -> u32 {
        self.codes.in_memory(node_count)
    }
}
