//! What a run leaves behind: a journal of raw records, one line of JSON each, and the machine.
//!
//! ```text
//! RUN/machine.json      where and with what it ran
//! RUN/records.jsonl     one Record per line, in the order they were measured
//! ```

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// What a cell does.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Task {
    /// Builds an index; the result is that of `pageway build --json`.
    Build,
    /// Searches; the result is that of `pageway search --json`.
    Search,
    /// Searches within a radius; the result is that of `pageway range --json`.
    Range,
    /// Searches several segments one after the other, and merges their answers.
    Segments,
    /// Searches from several processes at a time.
    Processes,
    /// Opens and switches; the result is that of `pageway open --json`.
    Open,
    /// Replays recorded reads on a modelled device: a prediction.
    Model,
    /// Another library; the result has the names of `pageway search --json`.
    Comparator,
}

/// One cell, measured once.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Record {
    /// Identity of the cell: the same in every run with the same settings.
    pub cell: String,
    /// Experiments that asked for it, such as `recall`; a cell that several want is measured once.
    pub experiments: Vec<String>,
    /// What it did.
    pub task: Task,
    /// Name of the data, cut included, such as `photo-sift-300k`.
    pub data: String,
    /// Preset, named design or library.
    pub design: String,
    /// Settings that the experiment varies or fixes, by their name in the suite: numbers and text.
    pub axes: BTreeMap<String, Value>,
    /// Which repetition, from 0.
    pub repeat: u32,
    /// What was run; the first word is the program.
    pub command: Vec<String>,
    /// The object that the command printed; null when it failed.
    pub result: Value,
    /// What it said when it failed or was refused.
    pub error: Option<String>,
    /// What the operating system counted, from outside.
    pub process: ProcessUse,
    /// When it began, in seconds since 1970.
    pub started_unix: u64,
}

/// What the operating system counted for a child process. Absent where it does not tell.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct ProcessUse {
    /// Seconds from start to end.
    pub wall_seconds: f64,
    /// Processor seconds, user and system.
    pub cpu_seconds: Option<f64>,
    /// Highest resident set.
    pub peak_memory_bytes: Option<u64>,
    /// Bytes that reached the process from a disk.
    pub read_bytes: Option<u64>,
    /// Bytes that it caused to be written to a disk.
    pub written_bytes: Option<u64>,
}

impl Record {
    /// Whether an experiment asked for it.
    pub fn is_of(&self, experiment: &str) -> bool {
        self.experiments.iter().any(|name| name == experiment)
    }

    /// A number of the settings.
    pub fn axis(&self, name: &str) -> Option<f64> {
        self.axes.get(name)?.as_f64()
    }

    /// A setting as text.
    pub fn axis_text(&self, name: &str) -> Option<String> {
        let value = self.axes.get(name)?;
        Some(
            value
                .as_str()
                .map_or_else(|| value.to_string(), str::to_owned),
        )
    }

    /// A number of the result; `path` is a JSON pointer without its first slash, such as
    /// `latency_us/p99`.
    pub fn number(&self, path: &str) -> Option<f64> {
        self.result.pointer(&format!("/{path}"))?.as_f64()
    }
}

/// Where, with what and how a run was made.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Machine {
    /// Processor, as it names itself.
    pub cpu: String,
    /// Cores that the run could use.
    pub cores: u64,
    /// Instruction set of the kernels.
    pub isa: String,
    /// Main memory.
    pub memory_bytes: Option<u64>,
    /// Operating system and kernel.
    pub kernel: String,
    /// The disk of the indexes: file system and device as far as they tell.
    pub disk: String,
    /// How reads reach it.
    pub io_backend: String,
    /// Random reads of 4 KiB by queue depth: depth, reads per second, mean, p50 and p99 in us.
    pub disk_readings: Vec<[f64; 5]>,
    /// Version of pageway.
    pub version: String,
    /// Commit of the source, where it is known.
    pub commit: Option<String>,
    /// Name of the suite.
    pub suite: String,
    /// The suite as it was run, in TOML.
    pub suite_text: String,
    /// Seed of every random choice.
    pub seed: u64,
    /// When the run began, in seconds since 1970.
    pub started_unix: u64,
}

/// A run read back.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Run {
    /// Where it was made.
    pub machine: Machine,
    /// What was measured.
    pub records: Vec<Record>,
}
