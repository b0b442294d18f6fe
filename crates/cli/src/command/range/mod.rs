//! `pageway range`: all vectors within a radius of each query.
//!
//! ```text
//! arguments   what was typed, and the run        report   what `--json` and people see
//! ```

mod arguments;
mod report;

pub(crate) use arguments::RangeArguments;
