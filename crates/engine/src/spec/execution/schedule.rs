//! Which reads are in flight, and what a walk waits for.

use serde::{Deserialize, Serialize};

use crate::spec::Sizes;
use crate::spec::policy::{Choice, Subject, Words};
use crate::spec::range::{MAX_BEAM, within};
use crate::spec::validate::Checked;

/// Which reads are in flight, and what the walk waits for.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
#[non_exhaustive]
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
        /// Whether the first round is of one read and each later one of twice as many, up to
        /// `beam`.
        #[serde(default)]
        doubling: bool,
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
#[non_exhaustive]
pub enum CompletionSpec {
    /// As they were asked for: a slow read holds up others, and answers depend on nothing else.
    InOrder,
    /// As they arrive: no read holds up another, and answers depend a little on the disk.
    AsTheyCome,
}

/// Reads per round, and in a pipeline, unless the caller says.
const BEAM: u32 = 4;
const PIPELINE: u32 = 32;

/// Which reads are in flight.
pub fn schedules(sizes: &Sizes) -> [ScheduleSpec; 4] {
    let beam = sizes.beam.unwrap_or(BEAM);
    let most = sizes.beam.unwrap_or(PIPELINE);
    [
        ScheduleSpec::Lockstep { beam },
        ScheduleSpec::Overlapped {
            beam,
            doubling: false,
        },
        ScheduleSpec::Prefetch { beam },
        ScheduleSpec::Pipelined {
            least: most.min(BEAM),
            most,
            completion: CompletionSpec::AsTheyCome,
        },
    ]
}

impl ScheduleSpec {
    /// Reads in flight at most (W).
    pub const fn beam(self) -> u32 {
        match self {
            Self::Lockstep { beam } | Self::Overlapped { beam, .. } | Self::Prefetch { beam } => {
                beam
            }
            Self::Pipelined { most, .. } => most,
        }
    }

    /// Whether rounds begin with one read and double.
    pub const fn doubles(self) -> bool {
        matches!(self, Self::Overlapped { doubling: true, .. })
    }

    /// Whether there are no rounds.
    pub const fn is_pipeline(self) -> bool {
        matches!(self, Self::Pipelined { .. })
    }

    /// The same with pages taken in the order in which they were asked for.
    #[must_use]
    pub(in crate::spec) const fn in_order(self) -> Self {
        match self {
            Self::Pipelined { least, most, .. } => Self::Pipelined {
                least,
                most,
                completion: CompletionSpec::InOrder,
            },
            Self::Lockstep { .. } | Self::Overlapped { .. } | Self::Prefetch { .. } => self,
        }
    }

    pub(in crate::spec) fn validate(&self) -> Checked {
        within("beam", self.beam(), 1, MAX_BEAM)?;
        match *self {
            Self::Pipelined { least, most, .. } => within("least beam", least, 1, most),
            Self::Lockstep { .. } | Self::Overlapped { .. } | Self::Prefetch { .. } => Ok(()),
        }
    }
}

impl Choice for ScheduleSpec {
    const ABOUT: &str = "Which reads are in flight: lockstep, overlapped[:doubling=false], prefetch \
                         (each of --beam reads) or \
                         pipelined[:least=4,most=32,completion=in_order|as_they_come]";

    fn known(sizes: &Sizes) -> Vec<Self> {
        schedules(sizes).to_vec()
    }

    fn words(self, _: &Subject<'_>) -> Words {
        match self {
            Self::Lockstep { beam } => Words::new(
                format!("Rounds: the best {beam} candidates are read together and waited for."),
                "A round takes as long as its slowest read.",
            ),
            Self::Overlapped { beam, doubling } => {
                let (first, wait) = if doubling {
                    (
                        "1 read, then twice as many each time, up to ",
                        " The first reads wait for each other.",
                    )
                } else {
                    ("", "")
                };
                Words::new(
                    format!(
                        "Rounds of {first}{beam} reads; what a page holds beside what it was read \
                         for is worked on while the next round is in flight."
                    ),
                    format!("The walk learns of those nodes one round late.{wait}"),
                )
            }
            Self::Prefetch { beam } => Words::new(
                format!(
                    "Rounds of {beam} reads begin while candidates whose lists are in memory still \
                     wait; those are expanded while the reads are in flight."
                ),
                "Some reads go to candidates that better ones would have pushed out.",
            ),
            Self::Pipelined {
                least,
                most,
                completion,
            } => {
                let (order, cost) = completion.words();
                Words::new(
                    format!(
                        "No rounds: a read starts whenever fewer than a width are in flight, and \
                         the width grows from {least} to {most} once the walk converges. {order}"
                    ),
                    cost,
                )
            }
        }
    }
}

impl CompletionSpec {
    const fn words(self) -> (&'static str, &'static str) {
        match self {
            Self::InOrder => (
                "Pages are worked on in the order they were asked for.",
                "Some reads turn out needless, and a slow read holds up others.",
            ),
            Self::AsTheyCome => (
                "Pages are worked on as they arrive.",
                "Some reads turn out needless, and an answer may depend on which read was faster.",
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_beam_that_is_asked_for_is_that_of_every_schedule() {
        let sizes = Sizes {
            beam: Some(3),
            ..Sizes::default()
        };
        assert_eq!(schedules(&sizes).map(ScheduleSpec::beam), [3; 4]);
        let beams = schedules(&Sizes::default()).map(ScheduleSpec::beam);
        assert_eq!(beams, [BEAM, BEAM, BEAM, PIPELINE]);
    }
}
