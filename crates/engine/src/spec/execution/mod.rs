//! Axis 4: how a query walks. A file for each of its policies.

mod entry;
mod harvest;
mod refine;
mod schedule;
mod stop;

use serde::{Deserialize, Serialize};

use super::policy::{Subject, Words, percent};

pub use entry::{ENTRIES, EntrySpec};
pub use harvest::{HARVESTS, HarvestSpec};
pub use refine::{REFINES, RefineSpec};
pub use schedule::{CompletionSpec, ScheduleSpec, schedules};
pub use stop::{STOPS, StopSpec};

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

/// What is said of a slack, where there is one.
pub(super) fn slack_words(slack: f32, _: &Subject<'_>) -> Option<Words> {
    (slack > 0.0).then(|| {
        Words::new(
            format!(
                "A candidate whose list is in memory for good comes before one that needs a read, \
                 if its distance by codes is at most {} farther.",
                percent(slack)
            ),
            "Some hops that a nearer candidate would have made needless; answers depend a little \
             on what memory holds.",
        )
    })
}
