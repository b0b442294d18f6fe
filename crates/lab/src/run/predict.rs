//! A prediction: the reads of a search recorded once, replayed on a modelled device.

use pageway::Result;

use super::context::Context;
use super::measure::{self, Measured};
use super::text;
use crate::plan::Cell;

/// Records the reads of a cell's search where they are not recorded yet, and replays them.
pub(super) fn measure(context: &Context<'_>, cell: &Cell) -> Result<Measured> {
    let settings = &cell.settings.search;
    let place = context.work.join("traces");
    text::create_directory(&place)?;
    let name = cell
        .indexes
        .first()
        .map(|key| key.replace('/', "_"))
        .unwrap_or_default();
    let (list, interleave) = (settings.list_size, settings.interleave);
    let trace = place.join(format!("{name}_L{list}_i{interleave}.trace"));
    let trace_text = trace.display().to_string();
    if !text::exists(&trace)? {
        let mut alone = cell.clone();
        alone.settings.search.threads = 1;
        let mut command = measure::search(context, &alone)?;
        command.extend(["--trace".to_owned(), trace_text.clone()]);
        let recorded = measure::run(context, &command)?;
        if recorded.result.is_err() {
            return Ok(recorded);
        }
    }
    let device = settings.device.clone().unwrap_or_default();
    let (threads, interleave) = (
        settings.threads.to_string(),
        settings.interleave.to_string(),
    );
    let command = context.command(&[
        "lab",
        "predict",
        "--trace",
        &trace_text,
        "--device",
        &device,
        "--threads",
        &threads,
        "--interleave",
        &interleave,
    ]);
    measure::run(context, &command)
}
