//! Which step of a build is to be done, and what it did.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use serde::Serialize;

use crate::build::BuildReport;
use crate::error::{Error, Result};

/// A step of a build, and where what steps finish waits for the last.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BuildStep {
    /// Directory that every process of the build sees.
    pub work: PathBuf,
    /// Which step.
    pub kind: StepKind,
}

impl BuildStep {
    /// A step of the builds in `work`.
    pub fn new(work: impl Into<PathBuf>, kind: StepKind) -> Self {
        Self {
            work: work.into(),
            kind,
        }
    }
}

/// The steps of a build.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum StepKind {
    /// What segments have in common: which rows are in which, and what codes mean.
    Prepare,
    /// The segment with this number, from 0.
    Segment(u32),
    /// The index, of all segments.
    Join,
}

impl fmt::Display for StepKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Prepare => f.write_str("prepare"),
            Self::Segment(number) => write!(f, "{number}"),
            Self::Join => f.write_str("join"),
        }
    }
}

impl FromStr for StepKind {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        match text {
            "prepare" => Ok(Self::Prepare),
            "join" => Ok(Self::Join),
            number => number.parse().map(Self::Segment).map_err(|_| {
                Error::invalid(format!(
                    "unknown step '{text}': give prepare, the number of a segment, or join"
                ))
            }),
        }
    }
}

/// What a step did.
#[derive(Clone, PartialEq, Debug, Serialize)]
#[non_exhaustive]
pub struct StepReport {
    /// The step, as it was asked for.
    pub step: String,
    /// Whether an earlier process had finished it.
    pub done_before: bool,
    /// Segments of the build.
    pub segments: u32,
    /// Vectors: of the segment, or of all.
    pub nodes: u64,
    /// Memory that each step may take.
    pub build_memory_bytes: u64,
    /// Seconds by stage, in order.
    pub seconds: Vec<(&'static str, f64)>,
    /// What the user should know.
    pub warnings: Vec<String>,
    /// Of the index, once it is there.
    pub index: Option<BuildReport>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_known_by_what_they_are_called() {
        for kind in [StepKind::Prepare, StepKind::Segment(12), StepKind::Join] {
            assert_eq!(kind.to_string().parse::<StepKind>().unwrap(), kind);
        }
        let refused = "-1".parse::<StepKind>().unwrap_err();
        assert!(refused.context().contains("unknown step '-1'"), "{refused}");
    }
}
