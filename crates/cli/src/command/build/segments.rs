//! Into how many segments rows are cut, and how.

use std::path::PathBuf;
use std::str::FromStr;

use clap::Args;
use pageway::{
    BuildInput, BuildOptions, BuildStep, Error, Result, SegmentCut, SegmentLimits, StepKind,
};

/// How rows become segments.
#[derive(Debug, Args)]
pub(super) struct SegmentArguments {
    /// Segments: runs of rows, built one after the other within the same memory and searched
    /// together; 'starling' for as many as take 2 GB of memory and 10 GB of disk each, at most
    #[arg(long, value_name = "N", default_value = "1")]
    segments: WishedSegments,

    /// How rows are cut into segments: by arrival, or by space, so that near rows are in one
    /// segment and a query asks those that it is near. Rows without ids have their numbers as such
    #[arg(long, value_name = "HOW", default_value_t = SegmentCut::default())]
    cut: SegmentCut,

    /// Do one step of the build, with the same options each: prepare, then every segment by its
    /// number from 0, in any order and as many at a time as you like, then join. What an earlier
    /// process finished is not done again
    #[arg(long, value_name = "STEP", requires = "work", conflicts_with_all = ["dry_run", "plan"])]
    step: Option<StepKind>,

    /// Directory where what steps finish waits for the last; all machines of the build see it
    #[arg(long, value_name = "DIR", requires = "step")]
    work: Option<PathBuf>,
}

/// A number, or limits that it follows from.
#[derive(Clone, Copy, Debug)]
enum WishedSegments {
    Count(u32),
    Within(SegmentLimits),
}

impl FromStr for WishedSegments {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        if text == "starling" {
            return Ok(Self::Within(SegmentLimits::STARLING));
        }
        let count = text.parse().map(Self::Count);
        count.map_err(|_| Error::invalid(format!("'{text}': give a number, or starling")))
    }
}

impl SegmentArguments {
    /// The step that is asked for, where one is.
    pub(super) fn step(&self) -> Option<BuildStep> {
        let (kind, work) = (self.step?, self.work.clone()?);
        Some(BuildStep::new(work, kind))
    }

    /// The options with these segments.
    pub(super) fn over(
        &self,
        options: BuildOptions,
        input: &BuildInput<'_>,
    ) -> Result<BuildOptions> {
        let options = options.with_cut(self.cut);
        let segments = match self.segments {
            WishedSegments::Count(count) => count,
            WishedSegments::Within(limits) => limits.segments(input, &options)?,
        };
        Ok(options.with_segments(segments))
    }
}
