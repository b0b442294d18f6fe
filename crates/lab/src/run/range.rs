//! A range search: the radius that gives the median query as many results as wished for.

use pageway::Result;
use serde_json::Value;

use super::context::Context;
use super::measure::{self, Measured};
use super::words::CommandWords;
use crate::data;
use crate::plan::Cell;

/// Results of the median query where nobody says how many.
const RESULTS: u32 = 50;
/// Results of a query at most, as a multiple of what the median query has.
const LIMIT: u32 = 40;

/// Measures a range search.
pub(super) fn measure(context: &Context<'_>, cell: &Cell) -> Result<Measured> {
    let workload = context.workload(&cell.workload())?;
    let results = cell.settings.search.results.unwrap_or(RESULTS);
    let prepared = &workload.prepared;
    let radius = data::radius_for(prepared, results as usize)?;
    let truth = data::prepare_range(prepared, radius, &context.place, context.progress)?;
    let index = measure::directory(context, cell)?;
    let command = context
        .command("range")
        .with("--index", index)
        .with("--queries", prepared.queries.display())
        .with("--truth", truth.display())
        .with("--limit", results * LIMIT)
        .with("--memory", &cell.settings.search.memory);
    let mut command = measure::with_effort(command, cell);
    // In one word, since it may begin with a minus.
    command.push(format!("--radius={radius}"));
    let mut measured = measure::run(context, &command)?;
    if let Ok(Value::Object(fields)) = &mut measured.result {
        fields.insert("radius".to_owned(), radius.into());
    }
    Ok(measured)
}
