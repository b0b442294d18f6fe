//! The filter suite: searches among rows that match, against brute force over those, by how many
//! match and where they lie.
//!
//! ```text
//! ranks    synthetic attributes: ranks of rows by distance to a few queries, and at random
//! tags     tags that come with rows and queries, as filters
//! axes     how many rows match, and how they lie to the queries
//! cell     the questions of each, with exact answers
//! suite    designs built once each, and searched cell by cell
//! tally    what the answers of a cell come to
//! record   a line for each design and cell, and their sums
//! others   questions in files, for other libraries
//! ```

mod axes;
mod cell;
mod others;
mod ranks;
mod record;
mod suite;
mod tags;
mod tally;

pub use axes::{Correlation, Selectivity};
pub use cell::{Asked, FilterCell, FilterCells, FilterQuestion};
pub use others::write_questions;
pub use record::{DesignRecord, FilterRecord, FilterSummary, WorstCell};
pub use suite::FilterSuite;
