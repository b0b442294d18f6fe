//! The steps of a run, one at a time: indexes, then rounds over all cells.

use pageway::lab::clock;
use pageway::{Progress, Result};

use super::build::{self, Ensured};
use super::context::Context;
use super::forecast::{Clocked, Forecast, Step};
use super::journal::Journal;
use super::laboratory::RunReport;
use super::measure;
use crate::plan::Cell;

/// What steps change.
pub(super) struct Steps<'s> {
    pub(super) journal: Journal,
    pub(super) forecast: Forecast,
    pub(super) report: RunReport,
    /// Hears of the time that is left.
    pub(super) progress: &'s dyn Progress,
}

impl Steps<'_> {
    /// Builds the indexes that are missing.
    pub(super) fn build_all(&mut self, context: &Context<'_>) -> Result<()> {
        let is_left = |index: &&_| !self.journal.has(&Step::Build(index).key(), 0);
        let left = context.plan.indexes.iter().filter(is_left);
        let mut left: Vec<Step<'_>> = left.map(Step::Build).collect();
        let mut clocked = Clocked::begin(self.progress, "build (s)", self.seconds(&left));
        for index in &context.plan.indexes {
            context.progress.check()?;
            let (step, started) = (Step::Build(index), clock::now());
            let ensured = build::ensure(context, index, &mut self.journal)?;
            self.report.indexes += u64::from(ensured == Ensured::Built);
            self.report.failed_indexes += u64::from(ensured == Ensured::Failed);
            if ensured != Ensured::There {
                left.retain(|other| other.key() != step.key());
                self.step(step, started.elapsed().as_secs_f64(), (&mut clocked, &left));
            }
        }
        Ok(())
    }

    /// Rounds over all cells: the n-th repetition of each, then the next.
    pub(super) fn measure_all(&mut self, context: &Context<'_>) -> Result<()> {
        let cells = &context.plan.cells;
        let rounds = 0..cells.iter().map(|cell| cell.repeats).max().unwrap_or(0);
        let of_round = |round: u32| cells.iter().map(move |cell| (round, cell));
        let is_left = |(round, cell): &(u32, &Cell)| {
            *round < cell.repeats && !self.journal.has(&cell.key, *round)
        };
        let left: Vec<(u32, &Cell)> = rounds.flat_map(of_round).filter(is_left).collect();
        let steps: Vec<Step<'_>> = left.iter().map(|(_, cell)| Step::Measure(cell)).collect();
        let mut clocked = Clocked::begin(self.progress, "measure (s)", self.seconds(&steps));
        for (at, (round, cell)) in left.iter().enumerate() {
            context.progress.check()?;
            let started = clock::now();
            let record = measure::measure(context, cell, *round)?;
            self.report.cells += 1;
            self.report.failed += u64::from(record.error.is_some());
            self.journal.append(&record)?;
            let behind = steps.get(at + 1..).unwrap_or_default();
            let seconds = started.elapsed().as_secs_f64();
            self.step(Step::Measure(cell), seconds, (&mut clocked, behind));
        }
        Ok(())
    }

    fn step(
        &mut self,
        step: Step<'_>,
        seconds: f64,
        (clocked, left): (&mut Clocked<'_>, &[Step<'_>]),
    ) {
        self.forecast.learn(step, seconds);
        clocked.step(seconds, self.seconds(left));
    }

    fn seconds(&self, steps: &[Step<'_>]) -> f64 {
        steps.iter().map(|step| self.forecast.seconds(*step)).sum()
    }
}
