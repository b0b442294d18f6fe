//! `pageway search`: queries through an index, with recall, speed, latency and page reads.
//!
//! ```text
//! arguments   what was typed, and the run        report   what `--json` and people see
//! ```

mod arguments;
mod report;

pub(crate) use arguments::SearchArguments;
