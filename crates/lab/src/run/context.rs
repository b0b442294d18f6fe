//! What every step of a run needs: where things are, what is planned, whether to stop.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use pageway::{Description, Error, ErrorKind, Progress, Result};
use serde_json::Value;

use super::child::Watch;
use super::comparator::Pythons;
use super::measure::Measured;
use crate::data::{Place, Workload};
use crate::plan::{CutName, IndexPlan, Plan, WorkloadName};
use crate::record::{Record, Task};
use crate::suite::Suite;

/// Data by cut and queries.
pub(crate) type Workloads = BTreeMap<WorkloadName, Workload>;

/// What every step of a run needs.
pub(crate) struct Context<'r> {
    /// What is to be measured.
    pub(crate) suite: &'r Suite,
    /// The same, cell by cell.
    pub(crate) plan: Plan,
    /// The data, by cut.
    pub(crate) workloads: Workloads,
    /// The command `pageway`.
    pub(crate) program: PathBuf,
    /// The command `pageway-lab`.
    pub(crate) lab: PathBuf,
    /// Pythons with the libraries to compare with.
    pub(crate) python: Pythons,
    /// Directory of the run.
    pub(crate) out: PathBuf,
    /// Where data and indexes lie.
    pub(crate) work: PathBuf,
    /// Where data are kept.
    pub(crate) place: Place,
    /// Directories of libraries whose build failed in this run, and what it gave.
    pub(crate) failed_builds: RefCell<BTreeMap<PathBuf, Measured>>,
    /// The wish to stop.
    pub(crate) progress: &'r dyn Progress,
}

impl Context<'_> {
    /// The data of a cut, and queries.
    pub(crate) fn workload(&self, name: &WorkloadName) -> Result<&Workload> {
        let missing = || internal(format!("no data was prepared for {}", name.0.label()));
        self.workloads.get(name).ok_or_else(missing)
    }

    /// The workload that an index is built for.
    pub(crate) fn build_workload(&self, index: &IndexPlan) -> Result<&Workload> {
        self.workload(&(index.cut.clone(), self.suite.fixed.queries))
    }

    /// A planned index.
    pub(crate) fn index(&self, key: &str) -> Result<&IndexPlan> {
        let missing = || internal(format!("index {key} was not planned"));
        self.plan.index(key).ok_or_else(missing)
    }

    /// How a cell is waited for.
    pub(crate) fn watch(&self) -> Watch<'_> {
        let seconds = self.suite.fixed.timeout_seconds;
        Watch {
            timeout: (seconds > 0).then(|| Duration::from_secs(seconds)),
            ..self.patient()
        }
    }

    /// How an index is waited for, which takes as long as its data are large.
    pub(crate) fn patient(&self) -> Watch<'_> {
        Watch {
            progress: self.progress,
            timeout: None,
        }
    }

    /// Directory of an index.
    pub(crate) fn directory(&self, index: &IndexPlan) -> PathBuf {
        self.work.join("index").join(index.directory())
    }

    /// A command of pageway, which answers as JSON.
    pub(crate) fn command(&self, verb: &str) -> Vec<String> {
        command_of(&self.program, verb)
    }

    /// A command of the lab itself, likewise.
    pub(crate) fn lab_command(&self, verb: &str) -> Vec<String> {
        command_of(&self.lab, verb)
    }

    /// Adds rows and dimensions of the data to the axes of a record.
    pub(crate) fn complete(record: &mut Record, workload: &Workload) {
        let prepared = &workload.prepared;
        let numbers = [
            ("rows", prepared.rows),
            ("dimensions", prepared.dimensions.into()),
            ("raw_bytes", prepared.raw_bytes),
            ("queries", workload.query_count),
        ];
        for (name, number) in numbers {
            record.axes.insert(name.to_owned(), number.into());
        }
        let metric = prepared.metric.to_string();
        record.axes.insert("metric".to_owned(), metric.into());
    }
}

fn command_of(program: &std::path::Path, verb: &str) -> Vec<String> {
    let program = program.display().to_string();
    vec![program, verb.to_owned(), "--json".to_owned()]
}

pub(crate) fn internal(words: String) -> Error {
    Error::new(ErrorKind::Internal, words)
}

/// What an index is, as JSON, without its calibration, which is as long as all the rest; null where
/// its manifest cannot be read.
pub(crate) fn description(directory: &std::path::Path) -> Value {
    let described: Result<Description> = pageway::describe(directory);
    let json = described
        .ok()
        .and_then(|found| serde_json::to_value(found).ok());
    let mut json = json.unwrap_or(Value::Null);
    if let Value::Object(fields) = &mut json {
        fields.remove("calibration");
    }
    json
}

/// A blank record of a task.
pub(crate) fn blank(task: Task, cell: &str, cut: &CutName, design: &str) -> Record {
    Record {
        cell: cell.to_owned(),
        experiments: Vec::new(),
        task,
        data: cut.label(),
        design: design.to_owned(),
        axes: BTreeMap::new(),
        repeat: 0,
        command: Vec::new(),
        result: Value::Null,
        error: None,
        process: crate::record::ProcessUse::default(),
        started_unix: 0,
    }
}
