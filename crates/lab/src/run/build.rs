//! Building the indexes of a plan, each in a process of its own.

use pageway::Result;
use serde_json::Value;

use super::child;
use super::context::{Context, blank, description};
use super::journal::Journal;
use super::machine::unix_now;
use super::words::CommandWords;
use crate::data;
use crate::files;
use crate::plan::IndexPlan;
use crate::record::{Record, Task};

/// What became of an index.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Ensured {
    /// It was there.
    There,
    Built,
    Failed,
}

/// Builds an index unless it is there and recorded already. What a design refuses is recorded too.
pub(super) fn ensure(
    context: &Context<'_>,
    index: &IndexPlan,
    journal: &mut Journal,
) -> Result<Ensured> {
    let cell = format!("build:{}", index.key);
    if journal.has(&cell, 0) && files::exists(&context.directory(index).join("MANIFEST"))? {
        return Ok(Ensured::There);
    }
    let record = build(context, index, &cell)?;
    if !journal.has(&cell, 0) {
        journal.append(&record)?;
    }
    Ok(match record.error {
        None => Ensured::Built,
        Some(_) => Ensured::Failed,
    })
}

fn build(context: &Context<'_>, index: &IndexPlan, cell: &str) -> Result<Record> {
    let mut record = blank(Task::Build, cell, &index.cut, &index.design);
    record.experiments.clone_from(&index.experiments);
    record.axes = index.axes();
    record.started_unix = unix_now()?;
    Context::complete(&mut record, context.build_workload(index)?);
    record.command = command(context, index)?;
    let ended = child::run(&record.command, context.patient())?;
    record.process = ended.process;
    match ended.json() {
        Ok(mut result) => {
            if let Value::Object(fields) = &mut result {
                let described = description(&context.directory(index));
                fields.insert("description".to_owned(), described);
            }
            record.result = result;
        }
        Err(error) => record.error = Some(error),
    }
    Ok(record)
}

/// The command that builds an index.
fn command(context: &Context<'_>, index: &IndexPlan) -> Result<Vec<String>> {
    let workload = context.build_workload(index)?;
    let prepared = &workload.prepared;
    let base = match index.segment {
        None => prepared.base.clone(),
        Some((number, count)) => {
            let parts = data::prepare_segments(prepared, count, &context.place, context.progress)?;
            let missing = || super::context::internal(format!("segment {number} of {count}"));
            parts.get(number as usize).cloned().ok_or_else(missing)?
        }
    };
    let (fixed, settings) = (&context.suite.fixed, &index.settings);
    let refine = settings.refine_share;
    let mut command = context
        .command("build")
        .with("--data", base.display())
        .with("--out", context.directory(index).display())
        .with("--metric", prepared.metric)
        .with("--preset", &index.flags.preset)
        .with("--memory", &settings.memory)
        .with("--page-size", settings.page_size)
        .with("--degree", fixed.degree)
        .with("--build-list", fixed.build_list)
        .with("--calibration-queries", fixed.calibration_queries)
        .with("--seed", fixed.seed)
        .with_each("--code-bytes", settings.code_bytes)
        .with_each(
            "--refine",
            refine.map(|share| format!("deferred:share={share}")),
        );
    command.extend(index.flags.flags.iter().cloned());
    add_donations(context, index, command)
}

/// Adds what it takes from other indexes, as far as those could be built.
fn add_donations(
    context: &Context<'_>,
    index: &IndexPlan,
    mut command: Vec<String>,
) -> Result<Vec<String>> {
    if index.fresh {
        return Ok(command);
    }
    let donors = [
        ("--graph-from", &index.donors.graph),
        ("--codebook-from", &index.donors.codebook),
    ];
    for (flag, donor) in donors {
        let Some(donor) = donor else { continue };
        let place = context.directory(context.index(donor)?);
        if files::exists(&place.join("MANIFEST"))? {
            command = command.with(flag, place.display());
        }
    }
    Ok(command)
}
