//! When exact distances are paid.

use serde::{Deserialize, Serialize};

use crate::spec::Sizes;
use crate::spec::policy::{Choice, Subject, Words, percent};
use crate::spec::range::within;
use crate::spec::validate::Checked;

/// When exact distances are paid.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
#[non_exhaustive]
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

/// When exact distances are paid.
pub const REFINES: [RefineSpec; 4] = [
    RefineSpec::Inline,
    RefineSpec::Deferred { share: 0.5 },
    RefineSpec::Bounded { deviations: 2.0 },
    RefineSpec::Cascade {
        scored: 1.0,
        read: 0.5,
    },
];

impl RefineSpec {
    /// Whether no read is made for an exact distance alone.
    pub const fn is_inline(self) -> bool {
        matches!(self, Self::Inline)
    }

    /// Whether error bounds decide what is read.
    pub const fn is_bounded(self) -> bool {
        matches!(self, Self::Bounded { .. })
    }

    /// Whether second codes are asked too.
    pub const fn is_cascade(self) -> bool {
        matches!(self, Self::Cascade { .. })
    }

    /// Width of the error bounds, where those decide what is read.
    pub const fn deviations(self) -> Option<f32> {
        match self {
            Self::Bounded { deviations } => Some(deviations),
            Self::Inline | Self::Deferred { .. } | Self::Cascade { .. } => None,
        }
    }

    /// Share of the candidate list that is read, where that alone decides.
    pub const fn share(self) -> Option<f32> {
        match self {
            Self::Deferred { share } => Some(share),
            Self::Inline | Self::Cascade { .. } | Self::Bounded { .. } => None,
        }
    }

    pub(in crate::spec) fn validate(&self) -> Checked {
        match *self {
            Self::Inline => Ok(()),
            Self::Deferred { share } => within("refine share", share, 0.0, 1.0),
            Self::Cascade { scored, read } => {
                within("refine scored", scored, 0.0, 1.0)?;
                within("refine read", read, 0.0, scored)
            }
            Self::Bounded { deviations } => within("refine deviations", deviations, 0.0, 16.0),
        }
    }
}

impl Choice for RefineSpec {
    const ABOUT: &str = "When exact distances are paid: inline, deferred[:share=0.5], \
                         bounded[:deviations=2] or cascade[:scored=1,read=0.5]";

    fn known(_: &Sizes) -> Vec<Self> {
        REFINES.to_vec()
    }

    fn words(self, _: &Subject<'_>) -> Words {
        match self {
            Self::Inline => Words::new(
                "Each vector is scored exactly when its page passes; answers come from those.",
                "No reads of its own.",
            ),
            Self::Deferred { share } => Words::new(
                format!(
                    "At the end, the best {} of the candidate list that were not scored exactly \
                     yet are read and scored, in one batch.",
                    percent(share)
                ),
                "Up to that many reads at the end, together.",
            ),
            Self::Cascade { scored, read } => Words::new(
                format!(
                    "At the end, the best {} of the candidate list are ranked again by both codes; \
                     the best {} of the list are then read and scored exactly, in one batch.",
                    percent(scored),
                    percent(read)
                ),
                "Up to that many reads at the end, together, and a second distance from codes for \
                 each.",
            ),
            Self::Bounded { deviations } => Words::new(
                format!(
                    "At the end, candidates that codes leave undecided are read and scored, in one \
                     batch: those whose distance, give or take {deviations} x sqrt(L / 10 k) \
                     standard deviations of the error of their code, may be on either side of the \
                     last answer's."
                ),
                "As few reads as the codes are good, together; none where they decide everything.",
            ),
        }
    }
}
