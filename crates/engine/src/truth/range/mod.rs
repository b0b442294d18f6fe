//! Everything within a radius: computed, read, written, and compared with what a search found.
//!
//! ```text
//! table       RangeTruth: ids and distances per query, as many as there are
//! exact       brute force under a memory cap
//! file        RangeTruthFile and write_range_truth: .rangeres
//! precision   average precision of a range search
//! ```

mod exact;
mod file;
mod precision;
mod table;
#[cfg(test)]
mod tests;

pub use exact::{RangeQuestion, exact_range, exact_range_bytes};
pub use file::{RangeTruthFile, write_range_truth};
pub use precision::{RangeFound, RangeScore, average_precision};
pub use table::RangeTruth;
