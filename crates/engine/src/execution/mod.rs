//! Axis 4: the search loop. A `Traversal` is a state machine without I/O over one segment: it says
//! which pages it wants and is handed bytes. A `Search` is a query over all segments, a traversal
//! each. Everything that reads (`driver`) is built around it.
//!
//! ```text
//!   Query + Scratches --> Search --want()--> PageRequest --> driver --> PageIo
//!                           ^                                   |
//!                           +------------supply(bytes)----------+
//! ```

mod admission;
mod among;
mod beside;
mod bounds;
mod candidates;
mod dead;
pub(crate) mod driver;
mod early;
mod entry;
mod expand;
mod given;
mod harvest;
mod held;
mod key;
mod ladder;
mod lift;
mod list_end;
mod list_rule;
mod met;
mod parts;
mod pipeline;
mod probes;
mod query;
mod ranking;
mod refine;
mod route;
mod scan;
mod schedule;
mod scratch;
mod search;
mod segment;
mod stats;
mod tolerance;
mod traversal;
mod visited;
mod walk;
mod widen;

pub(crate) use admission::Admission;
pub(crate) use admission::MOST_COPIES;
pub use admission::{HeldOut, NodeSet};
pub(crate) use among::WalkAmong;
pub(crate) use dead::DeadSet;
pub use driver::{ReadPlace, ReadTrace, ReadTurn};
pub(crate) use entry::{Entry, EntryPart};
pub(crate) use given::GivenRows;
pub(crate) use ladder::{Ladder, LadderNote, QueryLadder};
pub(crate) use lift::Lift;
pub(crate) use list_rule::{LOOKED_AT, ListRule, ListStep, between, local_dimension, whole};
pub(crate) use met::MetRows;
pub(crate) use parts::{AnyParts, CachePart, CodePart, FixedPart, Parts};
pub(crate) use probes::PROBE_BLOCK;
pub(crate) use query::{CallLists, Gathering, Goal, Query, QuerySizes};
pub(crate) use ranking::{AnswerOrder, Neighbor, answer_order};
pub(crate) use scratch::{CodeShape, EntryShape, HarvestShape, Hold, IndexShape, Scratch};
pub(crate) use search::{Finished, Search};
pub(crate) use segment::{LoadedSegment, Segment, gather_rows};
pub(crate) use stats::{EXACT_COST, PAGE_COST};
pub use stats::{HOP_BUCKETS, QueryStats};
pub use tolerance::Tolerance;
pub(crate) use traversal::{Origin, PageRequest, Traversal};
