//! Experiments of a run, each to its section: one file each, and one row of the table below.

use super::document::Section;
use crate::record::Run;

mod beam;
mod build;
mod cache;
mod comparators;
mod compression;
mod devices;
mod dimensions;
mod execution;
mod growth;
mod k;
mod layout;
mod memory;
mod open;
mod page_size;
mod range;
mod recall;
mod refinement;
mod segments;
mod space;
mod threads;

/// From a run to the section of one experiment; nothing when it has no records.
type ToSection = fn(&Run) -> Option<Section>;

/// Name of each experiment and its section, in the order of the report.
const EXPERIMENTS: &[(&str, ToSection)] = &[
    ("recall", recall::section),
    ("build", build::section),
    ("page_size", page_size::section),
    ("beam", beam::section),
    ("space", space::section),
    ("execution", execution::section),
    ("threads", threads::section),
    ("memory", memory::section),
    ("dimensions", dimensions::section),
    ("layout", layout::section),
    ("cache", cache::section),
    ("compression", compression::section),
    ("refinement", refinement::section),
    ("open", open::section),
    ("range", range::section),
    ("k", k::section),
    ("segments", segments::section),
    ("growth", growth::section),
    ("devices", devices::section),
    ("comparators", comparators::section),
];

/// The sections of the experiments that a run has records of.
pub(crate) fn sections(run: &Run) -> Vec<Section> {
    EXPERIMENTS
        .iter()
        .filter_map(|(_, section)| section(run))
        .collect()
}
