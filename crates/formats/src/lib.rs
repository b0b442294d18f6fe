//! Vectors from Parquet, JSON lines and index files of other libraries, and attributes from Parquet
//! and CSV, as sources that can be read in any order.
//!
//! ```text
//! open       a file by its extension             gather    rows in order -> Vectors, ids
//! stream     rows that come in order             number    a number as an element
//! parquet/   a column of lists, by row group     json_lines   a list per line
//! attributes/   columns and cells -> documents
//! reader     bytes of a file, from the front   library/     rows of other libraries' indexes
//! ```
//!
//! Rows come in order and a build reads them in any: they are kept in memory up to 16 MiB, and in
//! a file beyond that, whose name is gone as soon as it is written. No file is held whole. Formats
//! that the engine reads itself are handed to it.
//!
//! Invariants: lengths that a file claims are compared with its size before memory is taken; every
//! complaint names the file and the row or line.

mod attributes;
mod gather;
mod json_lines;
mod library;
mod number;
mod open;
mod parquet;
mod reader;
mod stream;

pub use attributes::{AttributesWish, open_attributes};
pub use gather::{Opened, Vectors};
pub use library::Origin;
pub use number::widen;
pub use open::{EXTENSIONS, Wish, open, open_index};
pub use parquet::{AnswersFile, VectorsFile};
