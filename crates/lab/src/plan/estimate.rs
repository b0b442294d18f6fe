//! How long a plan takes and how much disk, before anything runs.
//!
//! Rough on purpose: constants of a two-core machine of 2023, which a run corrects by what its
//! first cells took.

use serde::Serialize;

use super::{Cell, IndexPlan};
use crate::record::Task;

/// What a plan takes.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize)]
pub struct Estimate {
    /// Indexes still to be built.
    pub indexes: u64,
    /// Cells still to be measured, repetitions counted.
    pub cells: u64,
    /// Seconds of building.
    pub build_seconds: f64,
    /// Seconds of measuring.
    pub cell_seconds: f64,
    /// Bytes of the indexes.
    pub disk_bytes: u64,
}

/// Sizes that costs depend on.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Sizes {
    pub(crate) rows: u64,
    pub(crate) row_bytes: u64,
    pub(crate) queries: u64,
    pub(crate) cores: u64,
    pub(crate) degree: u64,
}

/// Seconds that a process takes to start and to end.
const PROCESS_SECONDS: f64 = 0.08;
/// Seconds of a build, whatever its size: training, calibration.
const BUILD_SECONDS: f64 = 1.5;
/// Core seconds per row of a graph: of the walk, and of each byte of its vectors.
const GRAPH_SECONDS: f64 = 150e-6;
const GRAPH_BYTE_SECONDS: f64 = 0.1e-6;
/// Core seconds per row of everything else.
const LAYOUT_SECONDS: f64 = 40e-6;
/// Seconds per query and candidate.
const CANDIDATE_SECONDS: f64 = 12e-6;
/// Index bytes of the bytes that vectors and lists have: the mean over designs, of which those that
/// repeat lists take three times as many as others.
const INDEX_SHARE: f64 = 1.5;

impl Estimate {
    /// Adds an index.
    pub(crate) fn add_index(&mut self, index: &IndexPlan, sizes: &Sizes) {
        let part = index.segment.map_or(1, |(_, count)| u64::from(count));
        let rows = (sizes.rows / part.max(1)) as f64;
        let shared = !index.fresh && index.donors.graph.is_some();
        let graph = GRAPH_SECONDS + sizes.row_bytes as f64 * GRAPH_BYTE_SECONDS;
        let row = LAYOUT_SECONDS + if shared { 0.0 } else { graph };
        let row_bytes = (sizes.row_bytes + 4 * sizes.degree) as f64;
        self.indexes += 1;
        self.build_seconds += BUILD_SECONDS + rows * row / sizes.cores.max(1) as f64;
        self.disk_bytes += (rows * row_bytes * INDEX_SHARE) as u64;
    }

    /// Adds repetitions of a cell.
    pub(crate) fn add_cell(&mut self, cell: &Cell, repeats: u64, sizes: &Sizes) {
        let search = &cell.settings.search;
        let used = match search.queries {
            0 => sizes.queries,
            wanted => wanted.min(sizes.queries),
        };
        let queries = match cell.task {
            Task::Open | Task::Build => 0,
            Task::Segments => used * u64::from(search.segments.unwrap_or(1)),
            Task::Processes => used * u64::from(search.processes.unwrap_or(1)),
            Task::Search | Task::Range | Task::Model | Task::Comparator => used,
        };
        let candidates = queries * u64::from(search.list_size);
        let once = PROCESS_SECONDS + candidates as f64 * CANDIDATE_SECONDS;
        self.cells += repeats;
        self.cell_seconds += once * repeats as f64;
    }

    /// Seconds in all.
    pub fn seconds(&self) -> f64 {
        self.build_seconds + self.cell_seconds
    }
}
