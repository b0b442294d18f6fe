//! The report of a build. The names of its fields are the stable keys of `--json`.

use std::path::Path;

use pageway::{BuildReport, Metric, format_bytes};
use pageway_advisor::Plan;
use serde::Serialize;

use crate::text::{self, Facts};

/// The engine's report and what the process itself took.
#[derive(Serialize)]
pub(super) struct BuildOutcome<'r> {
    #[serde(flatten)]
    pub(super) report: &'r BuildReport,
    pub(super) preset: &'static str,
    pub(super) metric: Metric,
    pub(super) total_seconds: f64,
    /// Processor time of the process, user and system.
    pub(super) cpu_seconds: f64,
    pub(super) peak_memory_bytes: Option<u64>,
    /// What chose the design, where a plan did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) plan: Option<&'r Plan>,
    /// How far `--store` moved a vector at most, as a share of its length.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) worst_rounding: Option<f32>,
}

impl BuildOutcome<'_> {
    /// The report for people, of an index at `out` for which a recall@10 was wished.
    pub(super) fn describe(&self, out: &Path, wished: f32) -> String {
        let report = self.report;
        let out = out.display();
        let facts = Facts::new()
            .fact("design", self.preset)
            .fact("vectors", self.describe_vectors())
            .fact("graph", describe_graph(report))
            .fact("codes", format!("{} bytes per vector", report.code_bytes))
            .fact("index", describe_disk(report))
            .fact("search memory", describe_memory(report))
            .fact(
                "build memory",
                describe_build_memory(report, self.peak_memory_bytes),
            )
            .fact("recall@10", describe_recall(report, wished))
            .fact("time", describe_stages(report));
        let mut lines = format!(
            "Built {out} in {}.\n\n{}",
            text::seconds(self.total_seconds),
            facts.render()
        );
        for warning in &report.warnings {
            lines.push_str(&format!("\nWarning: {warning}\n"));
        }
        lines.push_str(&format!(
            "\nNext: pageway search --index {} --queries QUERIES -k 10 --recall {wished}",
            text::word(&out.to_string())
        ));
        lines
    }

    fn describe_vectors(&self) -> String {
        let vectors = describe_vectors(self.report, self.metric);
        match self.worst_rounding {
            Some(0.0) => format!("{vectors}, every number as it was given"),
            Some(share) => format!("{vectors}, rounded by {share:.1e} of their length at most"),
            None => vectors,
        }
    }
}

fn describe_recall(report: &BuildReport, wished: f32) -> String {
    let best = report.best_recall_at_10;
    match report.list_size {
        Some(list_size) => {
            format!("{wished} at list size {list_size}; up to {best:.3} is reachable")
        }
        None if best == 0.0 => {
            "not measured: the first search that asks for one does that".to_owned()
        }
        None => format!("{wished} is out of reach: the calibration found {best:.3} at most"),
    }
}

fn describe_vectors(report: &BuildReport, metric: Metric) -> String {
    let (nodes, shape) = (text::count(report.nodes), report.shape);
    format!(
        "{nodes} of {shape}{}, {metric}, {} raw",
        text::stored(shape, report.stored),
        format_bytes(report.raw_bytes)
    )
}

fn describe_disk(report: &BuildReport) -> String {
    let parts = report.file_bytes.iter();
    let parts = parts.map(|(part, bytes)| format!("{part} {}", format_bytes(*bytes)));
    format!(
        "{} on disk: {}",
        format_bytes(report.index_bytes),
        parts.collect::<Vec<_>>().join(", ")
    )
}

fn describe_graph(report: &BuildReport) -> String {
    let parts = match report.shards {
        0 | 1 => String::new(),
        shards => format!(", built in {shards} parts"),
    };
    format!("mean degree {:.1}{parts}", report.mean_degree)
}

fn describe_memory(report: &BuildReport) -> String {
    let share = text::of_raw(report.memory_bytes, report.raw_bytes);
    format!("{}, {share}", format_bytes(report.memory_bytes))
}

fn describe_build_memory(report: &BuildReport, peak: Option<u64>) -> String {
    let budget = format_bytes(report.build_memory_bytes);
    match peak {
        Some(peak) => format!("peak {} of a budget of {budget}", format_bytes(peak)),
        None => format!("budget {budget}"),
    }
}

fn describe_stages(report: &BuildReport) -> String {
    let stages = report
        .seconds
        .iter()
        .filter(|(_, seconds)| *seconds >= 0.0005);
    let words = stages.map(|(stage, seconds)| format!("{stage} {}", text::seconds(*seconds)));
    words.collect::<Vec<_>>().join(", ")
}
