//! Into how many segments rows are cut, and how.

use std::str::FromStr;

use clap::Args;
use pageway::{BuildInput, BuildOptions, Error, Result, SegmentCut, SegmentLimits};

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
