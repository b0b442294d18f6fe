//! The report of opening. The names of its fields are the stable keys of `--json`.

use std::path::Path;

use pageway::{Index, format_bytes};
use serde::Serialize;

use super::rounds::{Rounds, Step};
use crate::opened::Opened;
use crate::text::{self, Facts};

/// Everything that opening again and again found out.
#[derive(Serialize)]
pub(super) struct OpenReport {
    /// Times it was opened.
    repeats: usize,
    /// Vectors of the index.
    nodes: u64,
    load_ms: TimesMs,
    /// The first opening, which may have waited for the disk.
    first_load_ms: f64,
    /// Null where there is nothing to switch to.
    switch_ms: Option<TimesMs>,
    /// From the beginning of opening to the first answer; null without queries.
    first_answer_ms: Option<TimesMs>,
    #[serde(flatten)]
    first: FirstRound,
    #[serde(flatten)]
    opened: Opened,
}

/// Milliseconds over the rounds.
#[derive(Serialize)]
struct TimesMs {
    mean: f64,
    p50: f64,
    p99: f64,
    min: f64,
}

/// What the operating system counted in the first round; null where it does not tell.
#[derive(Serialize)]
#[expect(
    clippy::struct_field_names,
    reason = "keys of --json say what they count"
)]
struct FirstRound {
    /// Bytes from the disk.
    bytes_read_at_open: Option<u64>,
    bytes_read_at_switch: Option<u64>,
    /// Bytes of read calls, from the disk or the page cache: not the cached records that io_uring
    /// read.
    bytes_loaded_at_open: Option<u64>,
    bytes_loaded_at_switch: Option<u64>,
}

impl OpenReport {
    pub(super) fn new(index: &Index, rounds: Rounds) -> Self {
        let Rounds {
            open,
            switch,
            first_answers_ms,
        } = rounds;
        Self {
            repeats: open.times_ms.len(),
            nodes: index.len(),
            first_load_ms: open.times_ms.first().copied().unwrap_or_default(),
            first: FirstRound::new(&open, switch.as_ref()),
            load_ms: TimesMs::new(open.times_ms),
            switch_ms: switch.map(|step| TimesMs::new(step.times_ms)),
            first_answer_ms: first_answers_ms.map(TimesMs::new),
            opened: Opened::new(index),
        }
    }

    /// The report for people.
    pub(super) fn describe(&self, index: &Path) -> String {
        let told = |times: &Option<TimesMs>| times.as_ref().map(TimesMs::describe);
        let facts = Facts::new()
            .fact("opening", self.load_ms.describe())
            .fact("first opening", milliseconds(self.first_load_ms))
            .known("switching", told(&self.switch_ms))
            .known("first answer", told(&self.first_answer_ms))
            .known("bytes", self.first.describe());
        format!(
            "Opened {}, {} vectors, {} times.\n\n{}",
            index.display(),
            text::count(self.nodes),
            text::count(self.repeats as u64),
            self.opened.add_to(facts, "").render()
        )
    }
}

impl TimesMs {
    /// Of one time or more.
    fn new(mut times_ms: Vec<f64>) -> Self {
        times_ms.sort_by(f64::total_cmp);
        let count = times_ms.len().max(1);
        let at_most = |share: f64| {
            let rank = (count as f64 * share).ceil() as usize;
            let found = times_ms.get(rank.saturating_sub(1));
            found.copied().unwrap_or_default()
        };
        Self {
            mean: times_ms.iter().sum::<f64>() / count as f64,
            p50: at_most(0.50),
            p99: at_most(0.99),
            min: at_most(0.0),
        }
    }

    fn describe(&self) -> String {
        let Self {
            mean,
            p50,
            p99,
            min,
        } = self;
        let [mean, p50, p99, min] = [*mean, *p50, *p99, *min].map(milliseconds);
        format!("mean {mean}, median {p50}, 99th percentile {p99}, fastest {min}")
    }
}

fn milliseconds(number: f64) -> String {
    format!("{} ms", text::figure(number))
}

impl FirstRound {
    fn new(open: &Step, switch: Option<&Step>) -> Self {
        Self {
            bytes_read_at_open: open.first.read,
            bytes_read_at_switch: switch.and_then(|step| step.first.read),
            bytes_loaded_at_open: open.first.loaded,
            bytes_loaded_at_switch: switch.and_then(|step| step.first.loaded),
        }
    }

    fn describe(&self) -> Option<String> {
        let step = |name: &str, loaded: Option<u64>, read: Option<u64>| {
            let (loaded, read) = (format_bytes(loaded?), format_bytes(read?));
            Some(format!(
                "{loaded} by read calls, {read} from the disk at the first {name}"
            ))
        };
        let open = step(
            "opening",
            self.bytes_loaded_at_open,
            self.bytes_read_at_open,
        )?;
        let switch = step(
            "switch",
            self.bytes_loaded_at_switch,
            self.bytes_read_at_switch,
        );
        Some(switch.map_or(open.clone(), |switch| format!("{open}; {switch}")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_ranked() {
        let times = TimesMs::new((1..=200).rev().map(f64::from).collect());
        assert_eq!((times.p50, times.p99, times.min), (100.0, 198.0, 1.0));
        assert!((times.mean - 100.5).abs() < 1e-9);
        let times = TimesMs::new(vec![3.5]);
        assert_eq!(
            (times.mean, times.p50, times.p99, times.min),
            (3.5, 3.5, 3.5, 3.5)
        );
    }
}
