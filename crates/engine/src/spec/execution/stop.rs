//! When a walk ends.

use serde::{Deserialize, Serialize};

use crate::spec::Sizes;
use crate::spec::policy::{Choice, Subject, Words};
use crate::spec::range::within;
use crate::spec::validate::Checked;

/// When a walk ends. Range searches end as under `Exhausted`.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
#[non_exhaustive]
pub enum StopSpec {
    /// When every candidate of the list was expanded.
    #[default]
    Exhausted,
    /// When those within a horizon were: within (L / p)^(1 / growth) times the estimate of the p-th
    /// best candidate, p twice the results asked for, at least 20. Queries that have few nodes
    /// there end early.
    Horizon {
        /// How fast the number of nodes grows with the distance: with this power of it.
        growth: f32,
    },
}

/// When a walk ends.
pub const STOPS: [StopSpec; 2] = [StopSpec::Exhausted, StopSpec::Horizon { growth: 15.0 }];

impl StopSpec {
    /// How many candidates a horizon is measured by for `k` results. The `k` nearest alone may be
    /// all but copies of the query, and their distances then say nothing about others'.
    pub(crate) fn measured_by(k: usize) -> usize {
        (2 * k).max(20)
    }

    /// Share of the distance of the last of those by which other candidates may lie beyond it.
    pub(crate) fn slack(self, list_size: usize, k: usize) -> f32 {
        match self {
            Self::Exhausted => f32::INFINITY,
            Self::Horizon { growth } => {
                let nodes = list_size as f32 / Self::measured_by(k) as f32;
                nodes.max(1.0).powf(1.0 / growth) - 1.0
            }
        }
    }

    pub(in crate::spec) fn validate(self) -> Checked {
        match self {
            Self::Exhausted => Ok(()),
            Self::Horizon { growth } => within("stop growth", growth, 1.0, 1000.0),
        }
    }
}

impl Choice for StopSpec {
    const ABOUT: &str = "When a walk ends: exhausted or horizon[:growth=15]";

    fn known(_: &Sizes) -> Vec<Self> {
        STOPS.to_vec()
    }

    fn words(self, _: &Subject<'_>) -> Words {
        match self {
            Self::Exhausted => Words::new(
                "A walk ends when every candidate of its list was expanded.",
                "As many hops for an easy query as for a hard one.",
            ),
            Self::Horizon { growth } => Words::new(
                format!(
                    "A walk ends when the candidates within a horizon were expanded: (L / p)^(1 / \
                     {growth}) times the distance of the p-th best, p twice the results asked for, \
                     at least 20."
                ),
                "Easy queries end early; for the same recall the list is a little longer.",
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_longer_list_looks_farther_and_a_short_one_has_no_horizon() {
        let stop = StopSpec::Horizon { growth: 2.0 };
        assert_eq!(stop.slack(80, 10), 1.0);
        assert_eq!(stop.slack(80, 1), 1.0, "by 20 candidates, whatever k");
        assert_eq!(stop.slack(800, 100), 1.0);
        assert_eq!(stop.slack(8, 10), 0.0, "up to the last candidate");
        assert_eq!(StopSpec::Exhausted.slack(80, 10), f32::INFINITY);
    }
}
