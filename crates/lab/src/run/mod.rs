//! A run: data prepared, indexes built, cells measured, everything in a journal.
//!
//! ```text
//! laboratory  the whole of it, in order
//! known       data by name        machine     where it runs        journal    what is kept
//! build       indexes             measure     a cell: search, range, segments, processes,
//! child       a process, watched from outside              comparator, predict
//! ```
//!
//! Invariants: one cell, one process of its own; rounds of repetitions go over all cells in turn,
//! so that a machine that drifts favours none; a run that was cut short goes on where it stopped.

mod build;
mod child;
mod comparator;
mod context;
mod journal;
mod known;
mod laboratory;
mod machine;
mod measure;
mod predict;
mod range;
mod segments;
mod text;

pub use comparator::Pythons;
pub use laboratory::{Laboratory, RunReport};
