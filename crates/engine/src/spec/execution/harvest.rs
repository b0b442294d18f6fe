//! Which records of a page that was read are used.

use serde::{Deserialize, Serialize};

use crate::spec::Sizes;
use crate::spec::policy::{Choice, Subject, Words, percent};
use crate::spec::range::within;
use crate::spec::validate::Checked;

/// Which records of a page that was read are used.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
#[non_exhaustive]
pub enum HarvestSpec {
    /// Those the page was read for.
    Target,
    /// All are scored, and the nearest are expanded (Starling).
    Near {
        /// Share of the other records that is expanded (sigma).
        share: f32,
    },
    /// All are scored and expanded (PageANN).
    All,
    /// Those the page was read for; others, from a copy that the query keeps, when their turn comes
    /// (Gorgeous, DGAI).
    Held,
}

/// Which records of a page are used.
pub const HARVESTS: [HarvestSpec; 4] = [
    HarvestSpec::Target,
    HarvestSpec::Near { share: 0.3 },
    HarvestSpec::All,
    HarvestSpec::Held,
];

impl HarvestSpec {
    /// Whether nothing but what a page was read for is used.
    pub const fn is_target(self) -> bool {
        matches!(self, Self::Target)
    }

    /// Whether all vectors of a page are scored.
    pub const fn scores_pages(self) -> bool {
        matches!(self, Self::Near { .. } | Self::All)
    }

    /// Whether all that a page holds is expanded.
    pub const fn is_all(self) -> bool {
        matches!(self, Self::All)
    }

    pub(in crate::spec) fn validate(self) -> Checked {
        match self {
            Self::Near { share } => within("harvest share", share, 0.0, 1.0),
            Self::Target | Self::All | Self::Held => Ok(()),
        }
    }
}

impl Choice for HarvestSpec {
    const ABOUT: &str = "Which records of a page are used: target, near[:share=0.3], all or held";

    fn known(_: &Sizes) -> Vec<Self> {
        HARVESTS.to_vec()
    }

    fn words(self, _: &Subject<'_>) -> Words {
        match self {
            Self::Target => Words::new(
                "Of a page, the walk uses the records it was read for.",
                "The other bytes of the page were moved for nothing.",
            ),
            Self::Near { share } => Words::new(
                format!(
                    "All vectors of a page are scored exactly, and the nearest {} of those it was \
                     not read for are expanded too.",
                    percent(share)
                ),
                "An exact distance for each vector of a page.",
            ),
            Self::All => Words::new(
                "All vectors of a page are scored exactly and expanded.",
                "An exact distance for each vector of a page, and all neighbours are ranked.",
            ),
            Self::Held => Words::new(
                "A query keeps the pages it has read: when the turn of another node on them comes, \
                 it needs no read.",
                "Memory for some pages per query in flight.",
            ),
        }
    }
}
