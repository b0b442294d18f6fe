//! `pageway slice`: some rows and dimensions of a file of vectors.

use std::ops::Range;
use std::path::PathBuf;
use std::str::FromStr;

use clap::Args;
use pageway::source::Selection;
use pageway::{Result, VectorRead};

use super::convert::Copy;
use crate::output::Outcome;
use crate::session::Session;
use crate::system;
use crate::table::ReadArguments;

const EXAMPLES: &str = "\
Examples:
  pageway slice base.fbin first-million.fbin --rows 0..1000000
  pageway slice base.npy tail.npy --rows 9000..
  pageway slice base.fbin short.fbin --dimensions 0..64

Ranges begin at 0 and do not contain their end. An end left out means all that follow. The formats
follow from the extensions, as in convert.";

/// Cut rows and dimensions out of a file of vectors.
#[derive(Debug, Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct SliceArguments {
    /// File to read
    #[arg(value_name = "FROM")]
    from: PathBuf,

    /// File to write; one of that name is replaced at the end
    #[arg(value_name = "TO")]
    to: PathBuf,

    /// Rows to keep, such as 0..1000
    #[arg(long, value_name = "FIRST..END", default_value = "..")]
    rows: Span,

    /// Dimensions to keep, such as 0..64
    #[arg(long, value_name = "FIRST..END", default_value = "..")]
    dimensions: Span,

    #[command(flatten)]
    vectors: ReadArguments,
}

impl SliceArguments {
    /// Slices.
    pub(crate) fn run(&self, session: &Session) -> Result<Outcome> {
        let file = system::open_vectors(&self.from, &self.vectors.wish(), &session.progress)?;
        let mut selection = Selection::whole(&file, file.name());
        selection.rows = self.rows.over(file.count());
        let dimensions = self.dimensions.over(file.shape().dimension.into());
        let narrow = |bound: u64| u32::try_from(bound).unwrap_or(u32::MAX);
        selection.dimensions = narrow(dimensions.start)..narrow(dimensions.end);
        let copy = Copy {
            from: &self.from,
            to: &self.to,
            element: None,
        };
        copy.run(&file, &selection, session)
    }
}

/// `FIRST..END`, where both may be left out.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Span {
    first: u64,
    end: Option<u64>,
}

impl Span {
    fn over(self, count: u64) -> Range<u64> {
        self.first..self.end.unwrap_or(count)
    }
}

impl FromStr for Span {
    type Err = String;

    fn from_str(text: &str) -> std::result::Result<Self, String> {
        let refuse = || format!("'{text}' is not a range: write FIRST..END, such as 0..1000");
        let (first, end) = text.split_once("..").ok_or_else(refuse)?;
        let bound = |digits: &str| match digits {
            "" => Ok(None),
            digits => digits
                .replace('_', "")
                .parse()
                .map(Some)
                .map_err(|_| refuse()),
        };
        let (first, end) = (bound(first)?.unwrap_or(0), bound(end)?);
        if end.is_some_and(|end| end <= first) {
            return Err(format!(
                "the range '{text}' is empty: the end must be above the start"
            ));
        }
        Ok(Self { first, end })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_parse() {
        let span = |text: &str| text.parse::<Span>().map(|span| span.over(10));
        assert_eq!(span("2..5"), Ok(2..5));
        assert_eq!(span("2.."), Ok(2..10));
        assert_eq!(span("..5"), Ok(0..5));
        assert_eq!(span(".."), Ok(0..10));
        assert_eq!(span("1_000..2_000"), Ok(1000..2000));
        for text in ["", "5", "5..5", "7..2", "a..b", "-1..2", "1...2"] {
            assert!(span(text).is_err(), "{text}");
        }
    }
}
