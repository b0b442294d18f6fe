//! The vocabulary every other crate speaks: ids, metrics, element types, candidates, progress,
//! randomness.
//!
//! No I/O and no unsafe code. Everything here is small, `Copy` where it can be, and means one
//! thing.

mod candidate;
mod element;
mod id;
mod id_set;
mod metric;
mod progress;
mod split_mix;
mod suggest;
mod vectors;

pub use candidate::Candidate;
pub use element::{ElementType, VectorShape};
pub use id::{ClusterId, GroupId, NodeId, Number, PageId, Place, RowId};
pub use id_set::IdSet;
pub use metric::{Guide, Metric};
pub use progress::{Cancelled, NoProgress, Progress, Quiet};
pub use split_mix::SplitMix64;
pub use suggest::{did_you_mean, suggestion};
pub use vectors::VectorRead;
