//! What a search returns as id.

use serde::{Deserialize, Serialize};

use crate::spec::Sizes;
use crate::spec::policy::{Choice, Subject, Words};

/// What a search returns as id.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum IdStorage {
    /// The row number in the data the index was built from.
    RowNumber,
    /// A 64-bit id of the user beside each vector, so that no map stays in memory.
    InRecord,
}

impl IdStorage {
    /// Whether users gave ids of their own.
    pub const fn are_given(self) -> bool {
        matches!(self, Self::InRecord)
    }
}

impl Choice for IdStorage {
    const ABOUT: &str = "What a search returns as id: row_number or in_record";

    fn known(_: &Sizes) -> Vec<Self> {
        vec![Self::RowNumber, Self::InRecord]
    }

    fn words(self, of: &Subject<'_>) -> Words {
        let row = if of.spec.nodes_are_rows() {
            "No bytes: nodes are numbered like rows."
        } else {
            "4 bytes of disk per vector, as nodes are numbered by their place; no map in memory."
        };
        match self {
            Self::RowNumber => Words::new("A search returns row numbers of the data.", row),
            Self::InRecord => Words::new(
                "A search returns the user's own ids (build --ids), which lie beside the vectors.",
                "8 bytes of disk per vector, none of memory.",
            ),
        }
    }
}

/// What is said of ids that are in memory too.
pub(in crate::spec) fn in_memory_words(held: bool, _: &Subject<'_>) -> Option<Words> {
    held.then(|| {
        Words::new(
            "Row numbers, and ids where users gave them, are in memory too: an answer that codes \
             decide needs no read.",
            "4 bytes of memory per vector, or 12 with ids.",
        )
    })
}
