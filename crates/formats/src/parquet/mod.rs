//! Parquet: a column of lists of numbers, read a page at a time.
//!
//! ```text
//! columns   which column holds the vectors, which the ids
//! rows      values and levels of a row group -> rows
//! bytes     what the parquet library reads from
//! write     answers and vectors into a file
//! ```

mod bytes;
mod columns;
mod rows;
mod write;

pub(crate) use rows::ParquetRows;
pub use write::{AnswersFile, VectorsFile};
