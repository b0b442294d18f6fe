//! Axis 4: the search loop. `Traversal` is a state machine without I/O: it says which pages it
//! wants and is handed bytes. Everything that reads (`driver`) is built around it.
//!
//! ```text
//!   Query + Scratch --> Traversal --want()--> PageRequest --> driver --> PageIo
//!                           ^                                    |
//!                           +-------------supply(bytes)----------+
//! ```

mod bounds;
mod candidates;
pub(crate) mod driver;
mod entry;
mod expand;
mod harvest;
mod held;
mod parts;
mod pipeline;
mod probe;
mod query;
mod ranking;
mod refine;
mod schedule;
mod scratch;
mod searcher;
mod stats;
mod traversal;
mod visited;

pub use driver::{ReadTrace, ReadTurn};
pub(crate) use entry::{Entry, EntryPart};
pub(crate) use parts::{CachePart, CodePart, Parts};
pub(crate) use probe::PROBE_BLOCK;
pub(crate) use query::{Goal, Query};
pub(crate) use scratch::{EntryShape, HarvestShape, Hold, IndexShape, Scratch, ScratchShape};
pub(crate) use searcher::{PageSearcher, Searcher};
pub use stats::{HOP_BUCKETS, QueryStats};
pub(crate) use traversal::{Origin, PageRequest, Traversal};
