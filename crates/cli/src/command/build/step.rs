//! One step of a build: `pageway build --step`.

use std::path::Path;

use pageway::{BuildInput, BuildOptions, BuildStep, Index, Result, StepReport, format_bytes};
use serde::Serialize;

use crate::output::Outcome;
use crate::session::Session;
use crate::text;

/// The engine's report, and what the process itself took. The names are the keys of `--json`.
#[derive(Serialize)]
struct StepOutcome {
    #[serde(flatten)]
    report: StepReport,
    peak_memory_bytes: Option<u64>,
}

/// Does a step, and reports.
pub(super) fn run(
    (out, step): (&Path, &BuildStep),
    (input, options): (&BuildInput<'_>, &BuildOptions),
    session: &Session,
) -> Result<Outcome> {
    let report = Index::build_step(out, input, options, step, &session.progress)?;
    let outcome = StepOutcome {
        peak_memory_bytes: pageway::lab::peak_memory_bytes(),
        report,
    };
    Outcome::new(outcome.describe(out), &outcome)
}

impl StepOutcome {
    fn describe(&self, out: &Path) -> String {
        let report = &self.report;
        let mut lines = match (&report.index, report.done_before) {
            (Some(index), _) => format!(
                "Joined {} segments into {}: {} vectors, recall@10 up to {:.3}.",
                report.segments,
                out.display(),
                text::count(index.nodes),
                index.best_recall_at_10
            ),
            (None, true) => format!("Step {} was done before.", report.step),
            (None, false) => format!(
                "Did step {} of {} segments: {} vectors.",
                report.step,
                report.segments,
                text::count(report.nodes)
            ),
        };
        if let Some(peak) = self.peak_memory_bytes {
            let budget = format_bytes(report.build_memory_bytes);
            lines.push_str(&format!(
                "\nMemory: peak {} of a budget of {budget}.",
                format_bytes(peak)
            ));
        }
        let index = report.index.iter().flat_map(|index| &index.warnings);
        for warning in report.warnings.iter().chain(index) {
            lines.push_str(&format!("\nWarning: {warning}"));
        }
        lines
    }
}
