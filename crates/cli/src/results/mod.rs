//! Answers of searches as files, in the formats that `pageway ground-truth` writes.
//!
//! ```text
//! nearest   k per query: .ibin                   range     as many as there are: .rangeres
//! partial   a file that gets its name when it is complete
//! ```

mod nearest;
mod partial;
mod range;

pub(crate) use nearest::ResultsFile;
pub(crate) use range::RangeResultsFile;
