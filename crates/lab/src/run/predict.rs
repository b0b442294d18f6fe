//! A prediction: the reads of a search recorded once, replayed on a modelled device.

use std::path::{Path, PathBuf};

use pageway::Result;

use super::context::Context;
use super::journal::MACHINE;
use super::measure::{self, Measured};
use super::words::CommandWords;
use crate::files;
use crate::model::THIS_MACHINE;
use crate::plan::Cell;

/// Recall at which searches over cuts of different sizes are recorded, to be compared.
const GROWTH_RECALL: f64 = 0.95;
/// List sizes that are tried for it.
const GROWTH_LISTS: [u32; 12] = [10, 12, 14, 17, 20, 24, 29, 35, 42, 50, 70, 100];

/// Records the reads of a cell's search where they are not recorded yet, and replays them.
pub(super) fn measure(context: &Context<'_>, cell: &Cell) -> Result<Measured> {
    let settings = &cell.settings.search;
    files::create_directory(&context.work.join("traces"))?;
    let mut traces = Vec::new();
    for key in &cell.indexes {
        let trace = trace_file(context, cell, key);
        if !files::exists(&trace)?
            && let Err(failed) = record(context, cell, key, &trace)?
        {
            return Ok(failed);
        }
        traces.push(trace);
    }
    let device = settings.device.clone().unwrap_or_default();
    let device = match device.as_str() {
        THIS_MACHINE => context.out.join(MACHINE).display().to_string(),
        _ => device,
    };
    let mut command = context
        .lab_command("predict")
        .with("--device", device)
        .with("--threads", settings.threads)
        .with("--interleave", settings.interleave);
    for (at, trace) in traces.iter().enumerate() {
        let option = if at == 0 { "--trace" } else { "--growth" };
        command = command.with(option, trace.display());
    }
    let growth = settings.growth.as_ref();
    let command = command.with_each("--rows", growth.map(|growth| growth.to_rows));
    measure::run(context, &command)
}

/// Where the search of an index is recorded.
fn trace_file(context: &Context<'_>, cell: &Cell, key: &str) -> PathBuf {
    let settings = &cell.settings.search;
    let effort = match settings.growth {
        Some(_) => format!("recall{GROWTH_RECALL}"),
        None => format!("L{}", settings.list_size),
    };
    let name = key.replace('/', "_");
    let name = format!("{name}_{effort}_i{}.trace", settings.interleave);
    context.work.join("traces").join(name)
}

/// Records the search of an index: at the list size of the cell, or at the first that reaches the
/// recall that every size of data is recorded at. The last one is kept where none does.
fn record(
    context: &Context<'_>,
    cell: &Cell,
    key: &str,
    trace: &Path,
) -> Result<std::result::Result<(), Measured>> {
    let own = [cell.settings.search.list_size];
    let list_sizes = match cell.settings.search.growth {
        Some(_) => GROWTH_LISTS.as_slice(),
        None => &own,
    };
    let part = trace.with_extension("part");
    for list_size in list_sizes {
        let recorded = measure::run(
            context,
            &recording(context, cell, key, (*list_size, &part))?,
        )?;
        let Ok(result) = &recorded.result else {
            return Ok(Err(recorded));
        };
        let recall = result.get("recall").and_then(serde_json::Value::as_f64);
        if recall.is_some_and(|recall| recall >= GROWTH_RECALL) {
            break;
        }
    }
    files::publish(&part, trace)?;
    Ok(Ok(()))
}

/// The command that records the search of an index, on one thread.
fn recording(
    context: &Context<'_>,
    cell: &Cell,
    key: &str,
    (list_size, trace): (u32, &Path),
) -> Result<Vec<String>> {
    let index = context.index(key)?;
    let mut alone = cell.clone();
    alone.settings.cut.clone_from(&index.cut);
    alone.settings.search.threads = 1;
    alone.settings.search.list_size = list_size;
    let place = context.directory(index).display().to_string();
    let truth = &context.workload(&alone.workload())?.prepared.truth;
    Ok(measure::search_of(context, &alone, &place)?
        .with("--truth", truth.display())
        .with("--trace", trace.display()))
}
