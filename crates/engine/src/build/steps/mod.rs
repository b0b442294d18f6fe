//! A build in steps, each in a process of its own, on one machine or on several that see the same
//! files.
//!
//! ```text
//! prepare    WORK/BUILD/common/     order and region of each segment, quantizers   common.rs
//! segment I  WORK/BUILD/segment-I/  an index of it, which nodes are held out       segment.rs
//! join       the index              files linked, one calibration, one commit      join.rs
//! ```
//!
//! BUILD tells the build from others: what a step finished is found under it and never done again.
//! The index has the bytes of one that was built at once.

mod common;
mod join;
mod segment;
mod step;
mod work;

pub use step::{BuildStep, StepKind, StepReport};
