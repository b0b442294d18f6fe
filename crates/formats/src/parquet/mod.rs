//! Parquet: a column of lists of numbers, or columns of attributes, read a page at a time.
//!
//! ```text
//! documents rows as documents: columns are fields
//! value     a value as one of JSON
//! columns   which column holds the vectors, which the ids
//! rows      values and levels of a row group -> rows
//! bytes     what the parquet library reads from
//! write     answers and vectors into a file
//! ```

mod bytes;
mod columns;
mod documents;
mod rows;
mod value;
mod write;

pub(crate) use documents::Documents;
pub(crate) use rows::ParquetRows;
pub use write::{AnswersFile, VectorsFile};
