//! `pageway lab predict`: a recorded search on a modelled device.

use clap::Args;
use pageway::Result;
use pageway_lab::model::{self, Ask, Device};
use serde_json::Value;

use pageway_shell::output::Outcome;
use pageway_shell::text::{self, Facts};

const EXAMPLES: &str = "\
Examples:
  pageway search --index my.index --queries q.fbin --truth gt.ibin --threads 1 --interleave 1 \\
    --trace my.trace
  pageway lab predict --trace my.trace --device nvme-pcie4 --threads 8 --interleave 16
  pageway doctor . --json > here.json
  pageway lab predict --trace my.trace --device here.json
  pageway lab predict --trace a.trace --growth b.trace --rows 1000000000 --device object-store

Devices: nvme-pcie5 nvme-pcie4 sata-ssd cloud-volume cloud-volume-16k cloud-premium object-store
virtual-disk; FILE.toml:NAME for one of your own; the output of doctor for this machine.

A prediction takes what the queries computed from the recorded search, so it is for processors like
this one. It is no measurement: on the disk it was recorded on, compare it with the recorded speed.
docs/lab/devices.md has the model and its errors.";

/// Predict speed and latency of a recorded search on another device, or over more vectors
#[derive(Debug, Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct PredictArguments {
    #[command(flatten)]
    ask: Ask,
}

impl PredictArguments {
    /// Predicts.
    pub(crate) fn run(&self) -> Result<Outcome> {
        let prediction = model::predict(&self.ask)?;
        let words = Device::find(&self.ask.device)?.words;
        Outcome::new(describe(&prediction, &words), &prediction)
    }
}

/// The prediction for people.
fn describe(prediction: &Value, device: &str) -> String {
    let number = |path: &str| prediction.pointer(path).and_then(Value::as_f64);
    let figure = |path: &str| number(path).map_or("unknown".to_owned(), text::figure);
    let share = |path: &str| number(path).map_or("unknown".to_owned(), text::percent);
    let latency = |object: &str| {
        let [mean, p50, p99] = ["mean", "p50", "p99"].map(|key| figure(&format!("{object}/{key}")));
        format!("mean {mean} us, median {p50} us, 99th percentile {p99} us")
    };
    let facts = Facts::new()
        .fact("device", device)
        .fact("recall", figure("/recall"))
        .fact("queries/second", figure("/qps"))
        .fact("latency", latency("/latency_us"))
        .fact("pages/query", figure("/pages_per_query"))
        .fact("cores busy", share("/cpu_share"))
        .fact("device busy", share("/device_share"));
    let facts = match number("/measured_qps") {
        None => facts,
        Some(measured) => facts
            .fact(
                "measured here",
                format!("{} queries/second", text::figure(measured)),
            )
            .fact("", latency("/measured_latency_us")),
    };
    let facts = match number("/power_law/qps") {
        None => facts,
        Some(qps) => facts
            .fact(
                "if reads grow as a power",
                format!("{} queries/second", text::figure(qps)),
            )
            .fact("", latency("/power_law/latency_us")),
    };
    let rows = number("/rows").map_or(String::new(), |rows| text::count(rows as u64));
    format!(
        "A prediction, not a measurement: {rows} vectors.\n\n{}",
        facts.render()
    )
}
