//! Building an index: each segment (`pipeline`), then one calibration and one commit (`whole`).
//!
//! ```text
//!  vectors -> check rows -> hold rows, or put them in order by parts -> train codes -> graph
//!  (whole, or shards merged) -> encode -> records -> hot nodes -> calibrate -> manifest
//! ```
//!
//! Memory is planned before anything is written (`plan`, `budget`, `stages`), nothing is visible
//! before the manifest is committed (`workspace`), and the same data, options and seed give the
//! same bytes on any number of threads.

mod addition;
mod arrangement;
mod attributes;
mod budget;
mod calibrate;
mod census;
mod choose;
mod climb;
mod clusters;
mod code_distances;
mod code_error;
mod codebook;
mod codes;
mod copy;
mod course;
mod cut;
mod deal;
mod disk;
mod donor;
mod encode;
mod entry;
mod fingerprint;
mod finish;
mod gather;
mod graph;
mod graph_file;
mod held;
mod held_out;
mod ids;
mod joined;
mod level;
mod link;
mod links;
mod measure;
mod measuring;
mod named;
mod order;
mod ordered;
mod outliers;
mod outline;
mod parts;
mod patch;
mod phases;
#[cfg(test)]
mod piecewise;
mod pipeline;
mod places;
mod plan;
mod questions;
mod raw_rows;
mod reach;
mod recalibrate;
#[cfg(test)]
mod renumbering;
mod replicas;
mod report;
mod rewrite;
mod sample;
mod scratch;
mod segment_limits;
mod shards;
mod sort;
mod spill;
mod stages;
mod steps;
mod stored;
mod thrift;
mod unmeasured;
mod whole;
mod windows;
mod wishes;
mod workspace;
mod write;

pub(crate) use addition::{
    Added, Addition, AdditionLimits, AdditionSize, CALIBRATION_QUERIES, added_spec, check_addition,
};
pub(crate) use attributes::DocumentsById;
pub(crate) use choose::memory_with_lists;
pub(crate) use copy::{copy_file, link_or_copy};
pub use held_out::HeldOutRows;
pub(crate) use ids::IdFile;
pub(crate) use link::{Linker, found_per_row};
pub use outline::BuildOutline;
pub(crate) use patch::{SegmentPatch, overwrite, patch_bytes};
pub use recalibrate::CalibrateOptions;
pub use report::BuildReport;
pub(crate) use rewrite::{KeptLists, KeptRows};
pub use segment_limits::SegmentLimits;
pub(crate) use stages::rewrite_bytes;
pub use steps::{BuildStep, StepKind, StepReport};
