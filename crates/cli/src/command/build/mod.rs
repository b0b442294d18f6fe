//! `pageway build`: a file of vectors becomes an index.
//!
//! ```text
//! arguments   what was typed, and the run        report   what `--json` and people see
//! ```

mod arguments;
mod report;

pub(crate) use arguments::BuildArguments;
