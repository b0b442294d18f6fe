//! `pageway search`: queries through an index, with recall, speed, latency and page reads.
//!
//! ```text
//! arguments   what is asked        trace   what the queries read, in a file
//! ```

mod arguments;
mod trace;

pub(crate) use arguments::SearchArguments;
