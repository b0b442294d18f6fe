//! Axis 4: how a query walks.

use serde::{Deserialize, Serialize};

/// Axis 4: how a query walks.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ExecutionSpec {
    /// Where a walk starts.
    pub entry: EntrySpec,
    /// Which reads are in flight, and what the walk waits for.
    pub schedule: ScheduleSpec,
    /// Which records of a page that was read are used.
    pub harvest: HarvestSpec,
    /// When exact distances are paid.
    pub refine: RefineSpec,
    /// When a walk ends.
    #[serde(default)]
    pub stop: StopSpec,
    /// Share of its distance by which a candidate that needs a read may be nearer than one that
    /// needs none, and is still chosen later; 0 where only distances count.
    #[serde(default)]
    pub slack: f32,
}

impl ExecutionSpec {
    /// Whether a query keeps pages that it read.
    pub(crate) fn keeps_pages(&self) -> bool {
        self.harvest == HarvestSpec::Held || self.defers_harvest()
    }

    /// Whether pages are worked on in the order they were asked for.
    pub(crate) fn takes_in_order(&self) -> bool {
        matches!(
            self.schedule,
            ScheduleSpec::Pipelined {
                completion: CompletionSpec::InOrder,
                ..
            }
        )
    }

    /// Whether pages are harvested while the next reads are in flight.
    pub(crate) fn defers_harvest(&self) -> bool {
        matches!(self.schedule, ScheduleSpec::Overlapped { .. })
    }
}

/// Where a walk starts.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum EntrySpec {
    /// At the vector nearest to the mean of all.
    Medoid,
    /// At the best of several nodes, each nearest to the centre of a cluster.
    Fixed {
        /// How many.
        count: u32,
    },
    /// At the best nodes of a small graph over a sample, in memory.
    Navigation {
        /// Nodes per sampled node.
        one_in: u32,
        /// Longest adjacency list of the small graph.
        max_degree: u32,
        /// Candidate list of its searches: so many nodes start the walk.
        list_size: u32,
    },
    /// At the best nodes of the upper layers of an HNSW graph, in memory.
    UpperLayers {
        /// Candidate list in the lowest of them.
        list_size: u32,
    },
    /// At sampled nodes whose hash is near that of the query (PageANN).
    Hash {
        /// Nodes per sampled node.
        one_in: u32,
        /// Bits that may differ.
        radius: u32,
        /// Nodes scored at most.
        limit: u32,
    },
    /// At all nodes of the nearest clusters: the only entry of a graph of clusters.
    Clusters,
}

/// Which reads are in flight, and what the walk waits for.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum ScheduleSpec {
    /// Rounds: read the best `beam` candidates together, wait for all of them (DiskANN).
    Lockstep {
        /// Reads per round (W).
        beam: u32,
    },
    /// Rounds, and what a page holds beside its target is worked on while the next round is in
    /// flight (Starling, PageANN).
    Overlapped {
        /// Reads per round (W).
        beam: u32,
    },
    /// Rounds that start while candidates whose lists are in memory still wait to be expanded;
    /// those are expanded while the reads are in flight (Gorgeous).
    Prefetch {
        /// Reads per round (W).
        beam: u32,
    },
    /// A read for the best candidate as soon as fewer than a width are in flight; the width adapts
    /// (PipeANN).
    Pipelined {
        /// Width at first and at least.
        least: u32,
        /// Width at most (W).
        most: u32,
        /// Order in which pages are worked on.
        completion: CompletionSpec,
    },
}

/// Order in which the pages of a pipeline are worked on.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CompletionSpec {
    /// As they were asked for: a slow read holds up others, and answers depend on nothing else.
    InOrder,
    /// As they arrive: no read holds up another, and answers depend a little on the disk.
    AsTheyCome,
}

impl ScheduleSpec {
    /// Reads in flight at most (W).
    pub const fn beam(self) -> u32 {
        match self {
            Self::Lockstep { beam } | Self::Overlapped { beam } | Self::Prefetch { beam } => beam,
            Self::Pipelined { most, .. } => most,
        }
    }
}

/// Which records of a page that was read are used.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
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

/// When exact distances are paid.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum RefineSpec {
    /// As pages pass: each harvested record is scored exactly.
    Inline,
    /// At the end, for the best candidates that were not scored exactly yet, in one batch.
    Deferred {
        /// Share of the candidate list (sigma).
        share: f32,
    },
    /// At the end: the best candidates are scored by the second codes too, and the best by the mean
    /// of both are read (DGAI).
    Cascade {
        /// Share of the candidate list that is scored by the second codes.
        scored: f32,
        /// Share of the candidate list that is read.
        read: f32,
    },
    /// At the end, in one batch: candidates that the error bounds of their codes leave undecided.
    Bounded {
        /// Width of the bounds, in standard deviations of the error of a code, where the list
        /// holds ten candidates for each answer; it grows with the root of the list.
        deviations: f32,
    },
}

/// When a walk ends. Range searches end as under `Exhausted`.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
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
