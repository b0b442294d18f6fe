//! What to measure, as data: experiments, each a product of axes.
//!
//! ```text
//! file      Suite <-> TOML           axes      what an experiment varies
//! builtin   the suites that come with pageway, by name
//! quick     the same suite at a size for a first look
//! ```

mod axes;
mod builtin;
mod quick;

use std::collections::BTreeMap;

use pageway::{Error, MemoryWish, Result};
use serde::{Deserialize, Serialize};

pub use axes::{Axes, BuildAxes, DataAxes, SearchAxes};
pub use builtin::builtin_suites;

use crate::record::Task;

/// A suite.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Suite {
    /// Name, for the report.
    pub name: String,
    /// What it finds out, in words.
    pub description: String,
    /// What holds for every cell.
    #[serde(default)]
    pub fixed: Fixed,
    /// Designs of this suite's own, by name; every preset is a design without being named here.
    #[serde(default, rename = "design")]
    pub designs: BTreeMap<String, Design>,
    /// Bytes per code, by data set; cuts of a data set have those of the whole. The engine chooses
    /// for others.
    #[serde(default)]
    pub code_bytes: BTreeMap<String, u32>,
    /// Memory of a search, by data set as `code_bytes`, where an experiment does not vary it.
    #[serde(default)]
    pub memory: BTreeMap<String, String>,
    /// What experiments vary that do not say otherwise.
    #[serde(default)]
    pub axes: Axes,
    /// What is measured.
    #[serde(rename = "experiment")]
    pub experiments: Vec<Experiment>,
}

/// What holds for every cell of a suite.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Fixed {
    /// Seed of every build.
    pub seed: u64,
    /// How often each search is repeated, in turn with the others.
    pub repeats: u32,
    /// Queries used, the first of each set; 0 for all.
    pub queries: u64,
    /// Longest adjacency list (R).
    pub degree: u32,
    /// Candidate list size of builds.
    pub build_list: u32,
    /// Queries that each build calibrates with.
    pub calibration_queries: u32,
    /// Longest that a process of a cell may take, after which it is cut off; 0 for ever. Indexes
    /// are built however long it takes.
    pub timeout_seconds: u64,
}

impl Default for Fixed {
    fn default() -> Self {
        Self {
            seed: 42,
            repeats: 3,
            queries: 1000,
            degree: 48,
            build_list: 100,
            calibration_queries: 200,
            timeout_seconds: 3600,
        }
    }
}

/// A design under a name of its own.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Design {
    /// Preset it begins with.
    pub preset: String,
    /// Further arguments of `pageway build`, such as `--placement bnf`.
    #[serde(default)]
    pub flags: Vec<String>,
}

/// One experiment: a task for every combination of its axes.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Experiment {
    /// Name; it decides how the report shows the records.
    pub name: String,
    /// What each cell does.
    #[serde(default = "searching")]
    pub task: Task,
    /// How often each cell is repeated, where not as often as the suite says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repeats: Option<u32>,
    /// Queries used, where not as many as the suite says; 0 for all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queries: Option<u64>,
    /// True to build every index from nothing, as one must to measure building; otherwise graphs
    /// and codebooks of the same data are shared.
    #[serde(default)]
    pub fresh: bool,
    /// What it varies.
    #[serde(flatten)]
    pub axes: Axes,
}

fn searching() -> Task {
    Task::Search
}

impl Suite {
    /// Reads a suite; `name` is for errors.
    ///
    /// # Errors
    /// `InvalidInput` with line and column for what is no suite.
    pub fn parse(text: &str, name: &str) -> Result<Self> {
        let invalid = |error: toml::de::Error| Error::invalid(format!("{name}: {error}"));
        let table: toml::Table = toml::from_str(text).map_err(invalid)?;
        axes::check_names(&table).map_err(|error| error.within(name))?;
        let mut suite: Self = toml::from_str(text).map_err(invalid)?;
        suite.name_designs();
        suite.check().map_err(|error| error.within(name))?;
        Ok(suite)
    }

    /// The suite as TOML.
    ///
    /// # Errors
    /// `Internal`, when it cannot be written down.
    pub fn to_toml(&self) -> Result<String> {
        toml::to_string(self)
            .map_err(|error| Error::new(pageway::ErrorKind::Internal, error.to_string()))
    }

    /// The design of a name: one of the suite's own, or a preset.
    ///
    /// # Errors
    /// `InvalidInput` for a name that is neither.
    pub fn design(&self, name: &str) -> Result<Design> {
        if let Some(design) = self.designs.get(name) {
            return Ok(design.clone());
        }
        let preset: pageway::Preset = name.parse().map_err(|error: Error| {
            Error::invalid(format!("design {name}: not among the suite's own; {error}"))
        })?;
        Ok(Design {
            preset: preset.to_string(),
            flags: Vec::new(),
        })
    }

    /// Bytes per code for a data set or a cut of it; none where the engine chooses.
    pub fn code_bytes_of(&self, data: &str) -> Option<u32> {
        of_data(&self.code_bytes, data).copied()
    }

    /// Memory of a search over a data set or a cut of it, as `--memory` takes it.
    pub fn memory_of(&self, data: &str) -> &str {
        of_data(&self.memory, data).map_or(DEFAULT_MEMORY, String::as_str)
    }

    /// Puts designs in the place of names that stand for several: `presets` for all presets, `ours`
    /// for the engine's own design where it has one.
    fn name_designs(&mut self) {
        let named = |design: &String| match design.as_str() {
            "presets" => presets(|_| true),
            "ours" => presets(|name| name == OURS),
            _ => vec![design.clone()],
        };
        let own = self.experiments.iter_mut().map(|each| &mut each.axes);
        for axes in std::iter::once(&mut self.axes).chain(own) {
            let designs = axes.data.designs.iter().flat_map(named);
            axes.data.designs = designs.collect();
        }
    }

    fn check(&self) -> Result<()> {
        if self.experiments.is_empty() {
            return Err(Error::invalid("no [[experiment]]: name at least one"));
        }
        if self.fixed.repeats == 0 {
            return Err(Error::invalid("repeats = 0: give 1 or more"));
        }
        for experiment in &self.experiments {
            let named = experiment.axes.or(&self.axes);
            let libraries = experiment.task == Task::Comparator;
            for design in named.data.designs.iter().filter(|_| !libraries) {
                self.design(design)?;
            }
            let memory = named.build.memory.iter().chain(&named.build.built_for);
            for memory in memory.chain(self.memory.values()) {
                memory.parse::<MemoryWish>()?;
            }
            if named.data.data.is_empty() {
                let words = "names no data: give data = [\"...\"]";
                return Err(Error::invalid(format!(
                    "experiment {}: {words}",
                    experiment.name
                )));
            }
        }
        Ok(())
    }
}

/// The engine's own design.
const OURS: &str = "pageway";

fn presets(wanted: fn(&str) -> bool) -> Vec<String> {
    let names = pageway::Preset::ALL.into_iter().map(pageway::Preset::name);
    names
        .filter(|name| wanted(name))
        .map(str::to_owned)
        .collect()
}

/// Memory of a search that nobody has said anything about.
const DEFAULT_MEMORY: &str = "20%";

/// What is said of a data set, or of the longest name that it is a cut of.
fn of_data<'v, T>(values: &'v BTreeMap<String, T>, data: &str) -> Option<&'v T> {
    let whole_or_cut = |name: &str| {
        let rest = data.strip_prefix(name);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('-'))
    };
    let named = values.iter().filter(|(name, _)| whole_or_cut(name));
    named
        .max_by_key(|(name, _)| name.len())
        .map(|(_, value)| value)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SMALL: &str = r#"
name = "small"
description = "two designs"
[code_bytes]
photo = 16
photo-sift = 32
[design.plain]
preset = "diskann"
flags = ["--cache-nodes", "none"]
[axes]
data = ["photo-sift-300k"]
designs = ["plain", "starling"]
[[experiment]]
name = "recall"
list_size = [10, 20]
"#;

    #[test]
    fn a_suite_survives_being_written_and_read() {
        let suite = Suite::parse(SMALL, "small").unwrap();
        let again = Suite::parse(&suite.to_toml().unwrap(), "again").unwrap();
        assert_eq!(suite, again);
        assert_eq!(suite.design("plain").unwrap().flags.len(), 2);
        assert_eq!(suite.design("starling").unwrap().preset, "starling");
    }

    #[test]
    fn presets_and_our_own_are_named_together() {
        let text = SMALL.replace("\"starling\"", "\"ours\", \"presets\"");
        let designs = Suite::parse(&text, "small").unwrap().axes.data.designs;
        let all = pageway::Preset::ALL.map(|preset| preset.name().to_owned());
        assert!(designs.ends_with(&all), "{designs:?}");
        let ours = usize::from(all.iter().any(|name| name == OURS));
        assert_eq!(designs.len(), 1 + ours + all.len(), "{designs:?}");
    }

    #[test]
    fn the_longest_name_decides_on_code_bytes() {
        let suite = Suite::parse(SMALL, "small").unwrap();
        assert_eq!(suite.code_bytes_of("photo-sift-300k"), Some(32));
        assert_eq!(suite.code_bytes_of("photo-gist"), Some(16));
        assert_eq!(suite.code_bytes_of("photography"), None);
    }

    #[test]
    fn what_is_no_suite_is_refused_with_its_place() {
        let unknown = SMALL.replace("list_size", "lost_size");
        for (text, words) in [
            (unknown.as_str(), "lost_size"),
            ("name = 3", "small.toml"),
            (&SMALL.replace("\"starling\"", "\"starring\""), "starring"),
            (
                &SMALL.replace("data = [\"photo-sift-300k\"]", ""),
                "names no data",
            ),
            (
                &SMALL.replace("list_size", "memory = [\"10 bits\"]\nlist_size"),
                "10 bits",
            ),
        ] {
            let error = Suite::parse(text, "small.toml").unwrap_err().to_string();
            assert!(error.contains(words), "{error}");
        }
    }
}
