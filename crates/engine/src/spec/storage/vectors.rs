//! Where full vectors live.

use serde::{Deserialize, Serialize};

use super::QuantizerSpec;
use crate::spec::Sizes;
use crate::spec::policy::{Choice, Subject, Words, count};

/// Where full vectors live.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum VectorStorage {
    /// Beside the adjacency list, in the record.
    InRecord,
    /// In pages of their own, read only to refine.
    Separate,
    /// In pages of their own too; beside the adjacency list lies a fine code, that of the second
    /// quantizer.
    Coded,
}

/// Where full vectors live.
pub const VECTORS: [VectorStorage; 3] = [
    VectorStorage::InRecord,
    VectorStorage::Separate,
    VectorStorage::Coded,
];

impl VectorStorage {
    /// Whether vectors have pages of their own.
    pub const fn has_own_pages(self) -> bool {
        match self {
            Self::InRecord => false,
            Self::Separate | Self::Coded => true,
        }
    }

    /// Whether nothing of a vector lies beside its list.
    pub const fn is_separate(self) -> bool {
        matches!(self, Self::Separate)
    }

    /// Whether a fine code lies beside each list.
    pub const fn is_coded(self) -> bool {
        matches!(self, Self::Coded)
    }
}

impl Choice for VectorStorage {
    const ABOUT: &str = "Where full vectors lie: in_record, separate (with codec split), or coded: \
                         separate too, with a fine code of --second-code-bytes in the record";

    fn known(_: &Sizes) -> Vec<Self> {
        VECTORS.to_vec()
    }

    fn words(self, of: &Subject<'_>) -> Words {
        let bytes = count(of.spec.shape.vectors().row_bytes() as u64);
        match self {
            Self::InRecord => Words::new(
                "A full vector lies on the page of its adjacency list, so that one read gives exact \
                 distance and neighbours.",
                format!("Each list that is read brings {bytes} bytes of vector with it."),
            ),
            Self::Separate => Words::new(
                "Full vectors lie on pages of their own, so that more lists share a page.",
                format!("Exact distances take reads of their own, for {bytes} bytes each."),
            ),
            Self::Coded => {
                let second = of.spec.storage.second_quantizer;
                let code_bytes = second.map_or(0, QuantizerSpec::code_bytes);
                Words::new(
                    "Beside each list lies a fine code; full vectors lie on pages of their own, \
                     read only where the error bounds of the code leave an answer undecided.",
                    format!(
                        "{code_bytes} bytes of code beside each list; few reads at the end, for \
                         {bytes} bytes each."
                    ),
                )
            }
        }
    }
}
