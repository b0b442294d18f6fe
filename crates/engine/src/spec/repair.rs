//! Axis 5: what becomes of edges to nodes that died, where pages are changed one by one.

use serde::{Deserialize, Serialize};

use super::Sizes;
use super::policy::{Choice, Subject, Words};

/// What becomes of edges to nodes that died, where new rows go into the segment that is there;
/// elsewhere a merge leaves them out.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum RepairSpec {
    /// They stay until many died. Then all pages are written, and neighbours of dead nodes take
    /// their places.
    #[default]
    Sweep,
    /// At the next flush, those of the nodes that a search for a dead node finds: after IP-DiskANN
    /// (Xu et al., 2025).
    Local,
    /// At the next flush, all of them: the nearest neighbour of the dead node takes its place,
    /// after Greator (2025).
    Replace,
}

impl RepairSpec {
    /// Whether edges stay until all pages are written.
    #[expect(
        clippy::trivially_copy_pass_by_ref,
        reason = "serde passes a reference"
    )]
    pub(crate) fn is_sweep(&self) -> bool {
        *self == Self::Sweep
    }
}

impl Choice for RepairSpec {
    const ABOUT: &str = "What becomes of edges to dead nodes: sweep, local or replace";

    fn known(_: &Sizes) -> Vec<Self> {
        vec![Self::Sweep, Self::Local, Self::Replace]
    }

    fn is_used(self, of: &Subject<'_>) -> bool {
        of.spec.update.changes_pages()
    }

    fn words(self, _: &Subject<'_>) -> Words {
        match self {
            Self::Sweep => Words::new(
                "Edges to dead nodes stay until one in sixteen died.",
                "Then all pages are written, and neighbours of the dead take their places; until \
                 then dead nodes lead on.",
            ),
            Self::Local => Words::new(
                "A search for each dead node finds who names it.",
                "A flush writes the pages of those alone: each gets the three nearest of what was \
                 found, and so do neighbours of the dead node. Nobody else is looked at.",
            ),
            Self::Replace => Words::new(
                "The nearest neighbour of a dead node takes its place.",
                "A flush after deletes reads all lists, and writes the pages of those that named \
                 a dead node.",
            ),
        }
    }
}
