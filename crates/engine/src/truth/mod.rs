//! Exact nearest neighbours: computed, read, written, and compared with what a search found.
//!
//! ```text
//! table    Truth: k ids and distances per query
//! exact    brute force under a memory cap          nearest   the k nearest of one query, in place
//! scan     all queries against a block of rows     range     everything within a radius
//! screen   rows that need no comparison
//! file     TruthFile: .ibin (both kinds), .ivecs   writer    .ibin with ids and distances
//! recall   recall@k, ties at the k-th distance,    error     what can be wrong
//!          of all queries and of the worst
//! ```

mod error;
mod exact;
mod file;
mod nearest;
mod range;
mod recall;
mod scan;
mod screen;
mod table;
mod writer;

pub use error::TruthError;
pub use exact::{ExactOptions, ExactQuestion, exact, exact_bytes, exact_bytes_min};
pub use file::TruthFile;
pub use range::{
    RangeFound, RangeQuestion, RangeScore, RangeTruth, RangeTruthFile, average_precision,
    exact_range, exact_range_bytes, write_range_truth,
};
pub use recall::{Found, recall, recall_p5, recalls};
pub use table::Truth;
pub use writer::write_truth;

#[cfg(test)]
mod tests;
