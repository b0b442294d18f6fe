//! What a cache takes first.

use serde::{Deserialize, Serialize};

use crate::spec::Sizes;
use crate::spec::policy::{Choice, Subject, Words};

/// What a cache takes first.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum SelectionSpec {
    /// Breadth-first from where walks start: by hops.
    BreadthFirst,
    /// By how often walks for sampled queries expand a node.
    Visits,
}

/// What a cache takes first.
pub const SELECTIONS: [SelectionSpec; 2] = [SelectionSpec::BreadthFirst, SelectionSpec::Visits];

impl SelectionSpec {
    /// Whether searches at build decide.
    pub const fn counts_visits(self) -> bool {
        matches!(self, Self::Visits)
    }
}

impl Choice for SelectionSpec {
    const ABOUT: &str = "What a cache takes first: breadth_first, or visits of sampled queries";

    fn known(_: &Sizes) -> Vec<Self> {
        SELECTIONS.to_vec()
    }

    fn is_used(self, of: &Subject<'_>) -> bool {
        of.spec.cache.has_selection()
    }

    fn words(self, _: &Subject<'_>) -> Words {
        match self {
            Self::BreadthFirst => Words::new(
                "The cache takes first what lies the fewest hops from where walks start.",
                "One pass over the graph at build.",
            ),
            Self::Visits => Words::new(
                "The cache takes first what walks for sampled queries expanded most often.",
                "Searches at build, for rows of the data or for the queries that were given.",
            ),
        }
    }
}
