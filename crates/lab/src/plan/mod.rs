//! A suite becomes indexes to build and cells to measure.
//!
//! ```text
//! settings    one combination of all axes          expand    experiments -> settings
//! index       what must be built for them, once    cell      what is measured on it
//! estimate    time and disk, before anything runs        disk      bytes of an index
//! pace        what steps take, corrected by those that are done
//! ```
//!
//! Invariants: cells and indexes are known by readable keys made of their settings alone, the same
//! in every run, so that a run that was cut short goes on where it stopped; a cell that several
//! experiments want is there once.

mod cell;
mod disk;
mod estimate;
mod expand;
mod index;
mod pace;
mod settings;

use pageway::Result;

pub(crate) use cell::{Cell, WorkloadName};
pub use estimate::Estimate;
pub(crate) use estimate::{Sizes, build_seconds, cell_seconds, index_bytes, library_bytes};
pub(crate) use index::{CutName, IndexPlan};
pub(crate) use pace::Pace;
pub(crate) use settings::Settings;

use crate::suite::Suite;

/// Everything a suite asks for.
#[derive(Clone, PartialEq, Debug, Default)]
pub(crate) struct Plan {
    /// What is built, donors of graphs and codebooks before those that take from them.
    pub(crate) indexes: Vec<IndexPlan>,
    /// What is measured, in the order of a round; designs alternate.
    pub(crate) cells: Vec<Cell>,
}

impl Plan {
    /// The plan of a suite.
    ///
    /// # Errors
    /// `InvalidInput` for a design that does not exist.
    pub(crate) fn of(suite: &Suite) -> Result<Self> {
        let mut plan = Self::default();
        for experiment in &suite.experiments {
            for settings in expand::settings(suite, experiment) {
                plan.add(suite, experiment, settings)?;
            }
        }
        Ok(plan)
    }

    /// Cuts and queries that its cells need; cuts that are built alone, with as many queries as the
    /// suite has.
    pub(crate) fn workloads(&self, queries: u64) -> Vec<WorkloadName> {
        let mut all: Vec<WorkloadName> = self.cells.iter().map(Cell::workload).collect();
        all.extend(self.cuts().into_iter().map(|cut| (cut, queries)));
        all.sort();
        all.dedup();
        all
    }

    /// Cuts of data that it needs.
    pub(crate) fn cuts(&self) -> Vec<CutName> {
        let mut cuts: Vec<CutName> = Vec::new();
        let indexes = self.indexes.iter().map(|index| &index.cut);
        for cut in indexes.chain(self.cells.iter().map(|cell| &cell.settings.cut)) {
            if !cuts.contains(cut) {
                cuts.push(cut.clone());
            }
        }
        cuts
    }

    /// Leaves out what needs a cut that there is not: rows or dimensions beyond the data.
    pub(crate) fn keep_cuts(&mut self, exists: &dyn Fn(&CutName) -> bool) {
        self.cells.retain(|cell| exists(&cell.settings.cut));
        self.indexes.retain(|index| exists(&index.cut));
        for cell in &mut self.cells {
            let known = |key: &String| self.indexes.iter().any(|index| &index.key == key);
            cell.indexes.retain(known);
        }
    }

    /// The index of a key.
    pub(crate) fn index(&self, key: &str) -> Option<&IndexPlan> {
        self.indexes.iter().find(|index| index.key == key)
    }

    /// The cells of a workload.
    pub(crate) fn cells_of(&self, workload: &WorkloadName) -> impl Iterator<Item = &Cell> {
        self.cells
            .iter()
            .filter(move |cell| &cell.workload() == workload)
    }
}
