//! A run: data prepared, indexes built, cells measured, everything in a journal.
//!
//! ```text
//! laboratory  the whole of it, in order
//! known       data by name        machine     where it runs        journal    what is kept
//! steps       one at a time       forecast    what is left         child      a process, watched
//! words       commands
//! build       indexes             measure     a cell: search, range, segments, processes,
//!                                             comparator, predict
//! ```
//!
//! Invariants: one cell, one process of its own; rounds of repetitions go over all cells in turn,
//! so that a machine that drifts favours none; a run that was cut short goes on where it stopped.

mod build;
mod child;
mod comparator;
mod context;
mod forecast;
mod journal;
mod known;
mod laboratory;
mod machine;
mod measure;
mod predict;
mod range;
mod segments;
mod steps;
mod text;
mod words;

pub use comparator::Pythons;
pub use laboratory::{Laboratory, RunReport};
