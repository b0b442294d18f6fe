//! Axis 5: how rows that are in no segment yet are found.

use serde::{Deserialize, Serialize};

use super::policy::{Choice, Subject, Words};
use super::{IndexSpec, Sizes};

/// How rows that are in no segment yet are found, where new rows go into the segment that is
/// there; elsewhere all of them are compared.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum DeltaSpec {
    /// All of them are compared.
    #[default]
    Scan,
    /// An insert searches the segment for the neighbours of its row, which lead to the row from
    /// then on: after `OdinANN` (Guo and Lu, 2026).
    Linked,
}

impl DeltaSpec {
    /// Whether all rows are compared.
    #[expect(
        clippy::trivially_copy_pass_by_ref,
        reason = "serde passes a reference"
    )]
    pub(crate) fn is_scan(&self) -> bool {
        *self == Self::Scan
    }
}

impl IndexSpec {
    /// Whether an insert searches for the neighbours of its row.
    pub(crate) fn links_rows(&self) -> bool {
        self.delta == DeltaSpec::Linked && self.patches_pages()
    }
}

impl Choice for DeltaSpec {
    const ABOUT: &str = "How rows that are in no segment yet are found: scan or linked";

    fn known(_: &Sizes) -> Vec<Self> {
        vec![Self::Scan, Self::Linked]
    }

    fn is_used(self, of: &Subject<'_>) -> bool {
        of.spec.update.changes_pages()
    }

    fn words(self, _: &Subject<'_>) -> Words {
        match self {
            Self::Scan => Words::new(
                "Every row that came since the last flush is compared.",
                "An insert reads nothing; a flush searches for the neighbours of each row.",
            ),
            Self::Linked => Words::new(
                "An insert searches for the neighbours of its row, and they lead to it.",
                "A search compares the rows that are beside the nodes it came to. The insert waits \
                 for its search, which the flush is spared; rows of a log that was replayed are \
                 compared one by one until the next flush.",
            ),
        }
    }
}
