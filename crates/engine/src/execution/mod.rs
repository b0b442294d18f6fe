//! Axis 4: the search loop. `Traversal` is a state machine without I/O: it says which pages it
//! wants and is handed bytes. Everything that reads (`driver`) is built around it.
//!
//! ```text
//!   Query + Scratch --> Traversal --want()--> PageRequest --> driver --> PageIo
//!                           ^                                    |
//!                           +-------------supply(bytes)----------+
//! ```

mod candidates;
pub(crate) mod driver;
mod parts;
mod query;
mod ranking;
mod scratch;
mod stats;
mod traversal;
mod visited;

pub(crate) use parts::Parts;
pub(crate) use query::Query;
pub(crate) use scratch::{Scratch, ScratchShape};
pub use stats::{HOP_BUCKETS, QueryStats};
pub(crate) use traversal::{PageRequest, Traversal};
