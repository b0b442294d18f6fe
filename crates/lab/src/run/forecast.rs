//! What is left of a run: how many steps, how long they take, how much disk.
//!
//! Times begin with the constants of `plan` and are corrected by every step that is done, in this
//! run or, by its journal, before.

use std::collections::{BTreeMap, BTreeSet};

use pageway::Progress;

use super::journal::Done;
use crate::plan::{
    Cell, CutName, Estimate, IndexPlan, Pace, Plan, Sizes, build_seconds, cell_seconds,
    index_bytes, library_bytes,
};
use crate::record::{Record, Task};

/// What is known of the steps of a plan.
pub(super) struct Forecast {
    sizes: BTreeMap<CutName, Sizes>,
    pace: Pace,
}

/// A step.
#[derive(Clone, Copy)]
pub(super) enum Step<'s> {
    Build(&'s IndexPlan),
    Measure(&'s Cell),
}

impl Step<'_> {
    /// Its key in the journal.
    pub(super) fn key(&self) -> String {
        match self {
            Self::Build(index) => format!("build:{}", index.key),
            Self::Measure(cell) => cell.key.clone(),
        }
    }

    fn kind(&self) -> (Task, &str) {
        match self {
            Self::Build(index) => (Task::Build, &index.design),
            Self::Measure(cell) => (cell.task, &cell.settings.design),
        }
    }
}

impl Forecast {
    /// Learns from what was recorded.
    pub(super) fn new(plan: &Plan, sizes: BTreeMap<CutName, Sizes>, records: &[Record]) -> Self {
        let mut forecast = Self {
            sizes,
            pace: Pace::default(),
        };
        let builds = plan.indexes.iter().map(Step::Build);
        let steps = builds.chain(plan.cells.iter().map(Step::Measure));
        let steps: BTreeMap<String, Step<'_>> = steps.map(|step| (step.key(), step)).collect();
        for record in records {
            if let Some(step) = steps.get(&record.cell) {
                forecast.learn(*step, record.process.wall_seconds);
            }
        }
        forecast
    }

    /// Seconds that a step takes; 0 for one over data whose size nobody knows.
    pub(super) fn seconds(&self, step: Step<'_>) -> f64 {
        self.pace.correct(step.kind(), self.planned(step))
    }

    /// Takes notice of a step that is done.
    pub(super) fn learn(&mut self, step: Step<'_>, seconds: f64) {
        let planned = self.planned(step);
        self.pace.learn(step.kind(), planned, seconds);
    }

    fn planned(&self, step: Step<'_>) -> f64 {
        let of = |cut: &CutName| self.sizes.get(cut);
        match step {
            Step::Build(index) => of(&index.cut).map_or(0.0, |sizes| build_seconds(index, sizes)),
            Step::Measure(cell) => of(cell.cut()).map_or(0.0, |sizes| cell_seconds(cell, sizes)),
        }
    }

    /// What is left of a plan, but for copies of data.
    pub(super) fn estimate(&self, plan: &Plan, done: &Done) -> Estimate {
        let mut estimate = Estimate::default();
        let mut libraries = BTreeSet::new();
        for index in &plan.indexes {
            let step = Step::Build(index);
            if let Some(sizes) = self.sizes.get(&index.cut)
                && !done.has(&step.key(), 0)
            {
                estimate.indexes += 1;
                estimate.build_seconds += self.seconds(step);
                match index_bytes(index, sizes) {
                    Ok(bytes) => estimate.disk_bytes += bytes,
                    Err(error) => {
                        let refused = format!("{}: {error}", index.design);
                        estimate.refused.insert(refused);
                    }
                }
            }
        }
        for cell in &plan.cells {
            let left = (0..cell.repeats).filter(|repeat| !done.has(&cell.key, *repeat));
            let left = left.count() as u64;
            let Some(sizes) = self.sizes.get(cell.cut()).filter(|_| left > 0) else {
                continue;
            };
            estimate.cells += left;
            estimate.cell_seconds += left as f64 * self.seconds(Step::Measure(cell));
            let library = (cell.cut(), &cell.settings.design);
            if cell.task == Task::Comparator && libraries.insert(library) {
                estimate.disk_bytes += library_bytes(sizes);
            }
        }
        // Data that are divided are copied for it.
        let mut divided = BTreeSet::new();
        for index in &plan.indexes {
            let parts = index
                .segment
                .filter(|_| !done.has(&Step::Build(index).key(), 0));
            if let Some(((_, count), sizes)) = parts.zip(self.sizes.get(&index.cut))
                && divided.insert((&index.cut, count))
            {
                estimate.disk_bytes += sizes.raw_bytes();
            }
        }
        estimate
    }
}

/// A stage whose units are seconds, as they were thought to be when it began: what is done of them
/// is the share of the time that is over, by what is left now.
pub(super) struct Clocked<'p> {
    progress: &'p dyn Progress,
    total: u64,
    told: u64,
    spent: f64,
}

impl<'p> Clocked<'p> {
    /// Begins a stage that is thought to take so long.
    pub(super) fn begin(progress: &'p dyn Progress, name: &'static str, seconds: f64) -> Self {
        let total = seconds.ceil().max(1.0) as u64;
        progress.stage(name, total);
        Self {
            progress,
            total,
            told: 0,
            spent: 0.0,
        }
    }

    /// A step took `seconds`; those that are left will take `left`.
    pub(super) fn step(&mut self, seconds: f64, left: f64) {
        self.spent += seconds;
        let share = self.spent / (self.spent + left).max(f64::MIN_POSITIVE);
        let now = (self.total as f64 * share) as u64;
        self.progress.advance(now.saturating_sub(self.told));
        self.told = self.told.max(now);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use pageway::spec::Shape;
    use pageway::{ElementType, Metric};
    use serde_json::json;

    use super::*;
    use crate::suite::Suite;

    const SUITE: &str = r#"
name = "small"
description = "d"
[fixed]
repeats = 2
[axes]
data = ["demo"]
designs = ["diskann", "starling"]
list_size = [20, 30]
[[experiment]]
name = "recall"
"#;

    fn plan() -> (Plan, BTreeMap<CutName, Sizes>) {
        let plan = Plan::of(&Suite::parse(SUITE, "small").unwrap()).unwrap();
        let shape = Shape {
            dimension: 128,
            element: ElementType::U8,
            metric: Metric::L2,
        };
        let of_cut = Sizes {
            rows: 100_000,
            shape,
            queries: 1000,
            cores: 2,
            degree: 48,
        };
        let sizes = plan.cuts().into_iter().map(|cut| (cut, of_cut)).collect();
        (plan, sizes)
    }

    fn record(cell: &Cell, repeat: u32, seconds: f64) -> Record {
        serde_json::from_value(json!({
            "cell": cell.key, "experiments": [], "task": "search", "data": "demo",
            "design": cell.settings.design, "axes": {}, "repeat": repeat, "command": [],
            "result": {}, "error": null, "process": {"wall_seconds": seconds}, "started_unix": 0
        }))
        .unwrap()
    }

    #[test]
    fn what_was_measured_corrects_what_is_left() {
        let (plan, sizes) = plan();
        let blind = Forecast::new(&plan, sizes.clone(), &[]);
        let before = blind.estimate(&plan, &Done::of(&[]));
        assert_eq!((before.indexes, before.cells), (2, 8));
        assert!(before.disk_bytes > 2 * 100_000 * (128 + 4 * 48));
        assert!(before.refused.is_empty(), "{before:?}");
        let planned: Vec<f64> = plan
            .cells
            .iter()
            .map(|cell| blind.planned(Step::Measure(cell)))
            .collect();
        assert_eq!(before.cell_seconds, 2.0 * planned.iter().sum::<f64>());

        let slow = plan.cells.iter().zip(&planned);
        let records: Vec<Record> = slow
            .map(|(cell, planned)| record(cell, 0, 3.0 * planned))
            .collect();
        let wise = Forecast::new(&plan, sizes, &records);
        let after = wise.estimate(&plan, &Done::of(&records));
        assert_eq!((after.indexes, after.cells), (2, 4));
        let share = after.cell_seconds / before.cell_seconds;
        assert!(
            (share - 1.5).abs() < 1e-9,
            "half of the cells, thrice as long: {share}"
        );
    }

    #[test]
    fn what_will_be_refused_is_told_once() {
        let (mut plan, sizes) = plan();
        for index in plan
            .indexes
            .iter_mut()
            .filter(|index| index.design == "diskann")
        {
            index.settings.page_size = 5000;
        }
        let told = Forecast::new(&plan, sizes, &[]).estimate(&plan, &Done::of(&[]));
        assert_eq!(told.refused.len(), 1, "{told:?}");
        assert!(
            told.refused.iter().all(|own| own.starts_with("diskann: ")),
            "{told:?}"
        );
    }

    #[derive(Default)]
    struct Heard(Mutex<(u64, u64)>);

    impl Progress for Heard {
        fn stage(&self, _: &'static str, total: u64) {
            self.0.lock().unwrap().0 = total;
        }
        fn advance(&self, units: u64) {
            self.0.lock().unwrap().1 += units;
        }
    }

    #[test]
    fn the_share_that_is_done_is_that_of_the_time() {
        let heard = Heard::default();
        let mut clocked = Clocked::begin(&heard, "measure", 100.0);
        let now = || *heard.0.lock().unwrap();
        clocked.step(10.0, 30.0);
        assert_eq!(now(), (100, 25), "it goes faster than planned");
        clocked.step(10.0, 180.0);
        assert_eq!(now(), (100, 25), "it never goes back");
        clocked.step(180.0, 0.0);
        assert_eq!(now(), (100, 100));
    }
}
