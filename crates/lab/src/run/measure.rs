//! Measuring a cell: its command, its child process or processes, its result.

use pageway::Result;
use serde_json::{Value, json};

use super::child::{self, Ended, Running};
use super::context::{Context, blank};
use super::machine::unix_now;
use super::words::CommandWords;
use super::{comparator, predict, range, segments};
use crate::files;
use crate::plan::Cell;
use crate::record::{ProcessUse, Record, Task};

/// What a measurement gave.
#[derive(Clone, Debug)]
pub(super) struct Measured {
    pub(super) command: Vec<String>,
    pub(super) result: std::result::Result<Value, String>,
    pub(super) process: ProcessUse,
}

impl From<Ended> for Measured {
    fn from(ended: Ended) -> Self {
        Self {
            result: ended.json(),
            command: ended.command,
            process: ended.process,
        }
    }
}

/// Measures one repetition of a cell.
pub(super) fn measure(context: &Context<'_>, cell: &Cell, repeat: u32) -> Result<Record> {
    let mut record = blank(cell.task, &cell.key, cell.cut(), &cell.settings.design);
    record.experiments.clone_from(&cell.experiments);
    record.axes = cell.settings.axes();
    record.repeat = repeat;
    record.started_unix = unix_now()?;
    Context::complete(&mut record, context.workload(&cell.workload())?);
    if let Some(error) = missing(context, cell)? {
        record.error = Some(error);
        return Ok(record);
    }
    let measured = match cell.task {
        Task::Build | Task::Search => run(context, &search(context, cell)?),
        Task::Open => run(context, &open(context, cell)?),
        Task::Processes => processes(context, cell),
        Task::Range => range::measure(context, cell),
        Task::Segments => segments::measure(context, cell),
        Task::Model => predict::measure(context, cell),
        Task::Comparator => comparator::measure(context, cell),
    }?;
    record.command = measured.command;
    record.process = measured.process;
    match measured.result {
        Ok(result) => record.result = result,
        Err(error) => record.error = Some(error),
    }
    Ok(record)
}

/// Why a cell cannot be measured: an index of it that could not be built.
fn missing(context: &Context<'_>, cell: &Cell) -> Result<Option<String>> {
    for key in &cell.indexes {
        let place = context.directory(context.index(key)?);
        if !files::exists(&place.join("MANIFEST"))? {
            return Ok(Some(format!(
                "index {key} could not be built: see its own record"
            )));
        }
    }
    Ok(None)
}

/// Runs a command to its end.
pub(super) fn run(context: &Context<'_>, command: &[String]) -> Result<Measured> {
    Ok(child::run(command, context.watch())?.into())
}

/// Directory of the first index of a cell.
pub(super) fn directory(context: &Context<'_>, cell: &Cell) -> Result<String> {
    let none = || super::context::internal(format!("{}: no index", cell.key));
    let key = cell.indexes.first().ok_or_else(none)?;
    Ok(context.directory(context.index(key)?).display().to_string())
}

/// The command of a search.
pub(super) fn search(context: &Context<'_>, cell: &Cell) -> Result<Vec<String>> {
    let index = directory(context, cell)?;
    let workload = context.workload(&cell.workload())?;
    let truth = workload.prepared.truth.display();
    Ok(search_of(context, cell, &index)?.with("--truth", truth))
}

/// The command of a search of one of several indexes, without a truth.
pub(super) fn search_of(context: &Context<'_>, cell: &Cell, index: &str) -> Result<Vec<String>> {
    let settings = &cell.settings.search;
    let workload = context.workload(&cell.workload())?;
    let command = context
        .command("search")
        .with("--index", index)
        .with("--queries", workload.prepared.queries.display())
        .with("--memory", &settings.memory)
        .with("-k", settings.k);
    Ok(with_effort(command, cell))
}

/// Adds how hard and how wide a search is.
pub(super) fn with_effort(command: Vec<String>, cell: &Cell) -> Vec<String> {
    let settings = &cell.settings.search;
    command
        .with("--list-size", settings.list_size)
        .with("--threads", settings.threads)
        .with("--interleave", settings.interleave)
        .with_each("--beam", settings.beam)
        .with_each("--tolerance", &cell.settings.tolerance)
}

/// The command that opens an index, again and again.
fn open(context: &Context<'_>, cell: &Cell) -> Result<Vec<String>> {
    let index = directory(context, cell)?;
    let memory = &cell.settings.search.memory;
    let mut command = context.command("open");
    command.push(index.clone());
    Ok(command.with("--switch-to", index).with("--memory", memory))
}

/// The same search in several processes at a time.
fn processes(context: &Context<'_>, cell: &Cell) -> Result<Measured> {
    let command = search(context, cell)?;
    let count = cell.settings.search.processes.unwrap_or(1);
    let started: Vec<Running> = (0..count)
        .map(|_| Running::start(&command))
        .collect::<Result<_>>()?;
    let mut results = Vec::new();
    let mut process = ProcessUse::default();
    let mut failed = None;
    for running in started {
        let ended = running.wait(context.watch())?;
        process = together(process, ended.process);
        match ended.json() {
            Ok(result) => results.push(result),
            Err(error) => failed = Some(error),
        }
    }
    let number = |result: &Value, name: &str| result.get(name).and_then(Value::as_f64);
    let sum = |name: &str| {
        results
            .iter()
            .filter_map(|result| number(result, name))
            .sum::<f64>()
    };
    let mean = |name: &str| sum(name) / f64::from(count);
    let result = json!({
        "processes": count,
        "qps": sum("qps"),
        "recall": mean("recall"),
        "pages_per_query": mean("pages_per_query"),
        "peak_memory_bytes": sum("peak_memory_bytes"),
        "each": results,
    });
    let result = failed.map_or(Ok(result), Err);
    Ok(Measured {
        command,
        result,
        process,
    })
}

/// What several processes took together.
pub(super) fn together(one: ProcessUse, other: ProcessUse) -> ProcessUse {
    let add = |one: Option<u64>, other: Option<u64>| match (one, other) {
        (Some(one), Some(other)) => Some(one + other),
        (one, other) => one.or(other),
    };
    ProcessUse {
        wall_seconds: one.wall_seconds.max(other.wall_seconds),
        cpu_seconds: Some(one.cpu_seconds.unwrap_or(0.0) + other.cpu_seconds.unwrap_or(0.0)),
        peak_memory_bytes: add(one.peak_memory_bytes, other.peak_memory_bytes),
        read_bytes: add(one.read_bytes, other.read_bytes),
        written_bytes: add(one.written_bytes, other.written_bytes),
    }
}
