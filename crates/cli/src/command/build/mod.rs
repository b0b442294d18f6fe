//! `pageway build`: a file of vectors becomes an index.
//!
//! ```text
//! arguments   what was typed, and the run        report    what `--json` and people see
//! segments    how many, and how cut               outline   the same of a build that is not run
//! step        one step of a build
//! ```

mod arguments;
mod outline;
mod report;
mod segments;
mod step;

pub(crate) use arguments::BuildArguments;
