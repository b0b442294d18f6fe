//! `pageway search`: queries through an index, with recall, speed, latency and page reads.
//!
//! ```text
//! arguments   what was typed, and the run        report   what `--json` and people see
//! trace       what the queries read, in a file
//! ```

mod arguments;
mod report;
mod trace;

pub(crate) use arguments::SearchArguments;
