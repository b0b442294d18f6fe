//! How long a plan takes and how much disk, before anything runs.
//!
//! Rough on purpose: constants of a two-core machine of 2023, which `pace` corrects by what cells
//! took here.

use std::collections::BTreeSet;

use pageway::Result;
use pageway::spec::Shape;
use serde::Serialize;

use super::{Cell, IndexPlan, disk};
use crate::record::Task;

/// What a plan takes.
#[derive(Clone, PartialEq, Debug, Default, Serialize)]
pub struct Estimate {
    /// Indexes still to be built.
    pub indexes: u64,
    /// Cells still to be measured, repetitions counted.
    pub cells: u64,
    /// Seconds of building.
    pub build_seconds: f64,
    /// Seconds of measuring.
    pub cell_seconds: f64,
    /// Bytes on disk of indexes and copies of data.
    pub disk_bytes: u64,
    /// Bytes that are free there, where the system tells.
    pub free_bytes: Option<u64>,
    /// Designs of indexes that will be refused, with the reason; cells of theirs will fail.
    pub refused: BTreeSet<String>,
}

/// Sizes that costs depend on.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Sizes {
    pub(crate) rows: u64,
    pub(crate) shape: Shape,
    pub(crate) queries: u64,
    pub(crate) cores: u64,
    pub(crate) degree: u32,
}

impl Sizes {
    /// Bytes of a vector.
    fn row_bytes(&self) -> u64 {
        self.shape.vectors().row_bytes() as u64
    }

    /// Bytes of the vectors.
    pub(crate) fn raw_bytes(&self) -> u64 {
        self.rows * self.row_bytes()
    }
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

/// Seconds that building an index takes.
pub(crate) fn build_seconds(index: &IndexPlan, sizes: &Sizes) -> f64 {
    let shared = !index.fresh && index.donors.graph.is_some();
    let graph = GRAPH_SECONDS + sizes.row_bytes() as f64 * GRAPH_BYTE_SECONDS;
    let row = LAYOUT_SECONDS + if shared { 0.0 } else { graph };
    BUILD_SECONDS + index.rows_of(sizes.rows) as f64 * row / sizes.cores.max(1) as f64
}

/// Seconds that measuring a cell once takes.
pub(crate) fn cell_seconds(cell: &Cell, sizes: &Sizes) -> f64 {
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
    PROCESS_SECONDS + candidates as f64 * CANDIDATE_SECONDS
}

/// Bytes on disk of an index.
///
/// # Errors
/// Why it will be refused.
pub(crate) fn index_bytes(index: &IndexPlan, sizes: &Sizes) -> Result<u64> {
    let rows = index.rows_of(sizes.rows);
    disk::index_bytes(index, rows, (sizes.shape, sizes.degree))
}

/// Bytes on disk of an index of another library.
pub(crate) fn library_bytes(sizes: &Sizes) -> u64 {
    disk::library_bytes(sizes.rows, sizes.shape, sizes.degree)
}

impl Estimate {
    /// Whether the disk has room, as far as it tells.
    pub fn fits(&self) -> bool {
        self.free_bytes.is_none_or(|free| self.disk_bytes <= free)
    }

    /// Seconds in all.
    pub fn seconds(&self) -> f64 {
        self.build_seconds + self.cell_seconds
    }
}
