//! `pageway open`: how long it takes to open an index, to switch to another, and to a first answer.
//!
//! ```text
//! arguments   what was typed, and the run        report   what `--json` and people see
//! rounds      opening again and again, timed and counted
//! ```

mod arguments;
mod report;
mod rounds;

pub(crate) use arguments::OpenArguments;
