//! What an experiment varies. An axis without values is that of the suite; without one there
//! either, it is fixed.

use pageway::{Error, Result};
use serde::{Deserialize, Serialize};

/// Names of the axes in a file.
const NAMES: [&str; 20] = [
    "data",
    "rows",
    "dimensions",
    "designs",
    "segments",
    "page_size",
    "memory",
    "built_for",
    "code_bytes",
    "refine_share",
    "list_size",
    "beam",
    "tolerance",
    "threads",
    "interleave",
    "k",
    "results",
    "processes",
    "devices",
    "to_rows",
];

/// Names that an experiment has beside its axes.
const EXPERIMENT: [&str; 5] = ["name", "task", "repeats", "queries", "fresh"];

/// Refuses axes that do not exist: they would silently vary nothing.
pub(super) fn check_names(suite: &toml::Table) -> Result<()> {
    let axes = suite.get("axes").and_then(toml::Value::as_table);
    for name in axes.iter().flat_map(|table| table.keys()) {
        check_name(name, "axes", &[])?;
    }
    let experiments = suite.get("experiment").and_then(toml::Value::as_array);
    for experiment in experiments
        .into_iter()
        .flatten()
        .filter_map(toml::Value::as_table)
    {
        for name in experiment.keys() {
            check_name(name, "experiment", &EXPERIMENT)?;
        }
    }
    Ok(())
}

fn check_name(name: &str, place: &str, more: &[&str]) -> Result<()> {
    if NAMES.contains(&name) || more.contains(&name) {
        return Ok(());
    }
    let known = [more, &NAMES].concat().join(", ");
    Err(Error::invalid(format!(
        "{place}: {name} is unknown; there are {known}"
    )))
}

/// All axes; in TOML they stand side by side.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Axes {
    /// What is searched.
    #[serde(flatten)]
    pub data: DataAxes,
    /// How it is built.
    #[serde(flatten)]
    pub build: BuildAxes,
    /// How it is searched.
    #[serde(flatten)]
    pub search: SearchAxes,
}

/// Data and designs.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct DataAxes {
    /// Data sets, or cuts of them such as `sift-300k`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub data: Vec<String>,
    /// First rows of them; cuts longer than the data are left out.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub rows: Vec<u64>,
    /// First dimensions of them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub dimensions: Vec<u32>,
    /// Designs, or libraries where they are compared.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub designs: Vec<String>,
    /// Files the rows are divided over, each an index.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub segments: Vec<u32>,
}

/// Axes that need an index of their own.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct BuildAxes {
    /// Bytes of a page.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub page_size: Vec<u32>,
    /// Memory of a search, as `--memory` takes it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub memory: Vec<String>,
    /// Memory that the index is built for, where it is not that of the search.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub built_for: Vec<String>,
    /// Bytes per code; 0 lets the engine choose by memory.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub code_bytes: Vec<u32>,
    /// Share of the candidates that get exact distances at the end.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub refine_share: Vec<f32>,
}

/// Axes of a search.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct SearchAxes {
    /// Candidate list sizes, or the efforts of a library.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub list_size: Vec<u32>,
    /// Reads in flight per query.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub beam: Vec<u32>,
    /// How far off distances may be, as `--tolerance` takes it; exact where absent.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tolerance: Vec<String>,
    /// Threads.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub threads: Vec<u32>,
    /// Queries in flight per thread.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub interleave: Vec<u32>,
    /// Neighbours per query.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub k: Vec<u32>,
    /// Results that the median query has within the radius of a range search.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub results: Vec<u32>,
    /// Processes that search at a time.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub processes: Vec<u32>,
    /// Modelled devices; `all` for those that come with pageway and this machine.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub devices: Vec<String>,
    /// Rows that a model extrapolates to; `rows` are then the sizes that it learns the growth from.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub to_rows: Vec<u64>,
}

impl Axes {
    /// These axes, and those of `default` where these have no values.
    pub(crate) fn or(&self, default: &Self) -> Self {
        Self {
            data: self.data.or(&default.data),
            build: self.build.or(&default.build),
            search: self.search.or(&default.search),
        }
    }
}

fn either<T: Clone>(own: &[T], default: &[T]) -> Vec<T> {
    if own.is_empty() { default } else { own }.to_vec()
}

impl DataAxes {
    fn or(&self, default: &Self) -> Self {
        Self {
            data: either(&self.data, &default.data),
            rows: either(&self.rows, &default.rows),
            dimensions: either(&self.dimensions, &default.dimensions),
            designs: either(&self.designs, &default.designs),
            segments: either(&self.segments, &default.segments),
        }
    }
}

impl BuildAxes {
    fn or(&self, default: &Self) -> Self {
        Self {
            page_size: either(&self.page_size, &default.page_size),
            memory: either(&self.memory, &default.memory),
            built_for: either(&self.built_for, &default.built_for),
            code_bytes: either(&self.code_bytes, &default.code_bytes),
            refine_share: either(&self.refine_share, &default.refine_share),
        }
    }
}

impl SearchAxes {
    fn or(&self, default: &Self) -> Self {
        Self {
            list_size: either(&self.list_size, &default.list_size),
            beam: either(&self.beam, &default.beam),
            tolerance: either(&self.tolerance, &default.tolerance),
            threads: either(&self.threads, &default.threads),
            interleave: either(&self.interleave, &default.interleave),
            k: either(&self.k, &default.k),
            results: either(&self.results, &default.results),
            processes: either(&self.processes, &default.processes),
            devices: either(&self.devices, &default.devices),
            to_rows: either(&self.to_rows, &default.to_rows),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_axis_is_known_by_name() {
        let text: String = NAMES
            .iter()
            .map(|name| match *name {
                "data" | "designs" | "memory" | "built_for" | "devices" | "tolerance" => {
                    format!("{name} = [\"a\"]\n")
                }
                _ => format!("{name} = [1]\n"),
            })
            .collect();
        let axes: Axes =
            toml::from_str(&text.replace("refine_share = [1]", "refine_share = [1.0]")).unwrap();
        let written = toml::Table::try_from(&axes).unwrap();
        let mut names: Vec<&str> = written.keys().map(String::as_str).collect();
        let mut known = NAMES.to_vec();
        names.sort_unstable();
        known.sort_unstable();
        assert_eq!(names, known);
    }

    #[test]
    fn own_values_go_before_those_of_the_suite() {
        let suite: Axes = toml::from_str("k = [10]\nbeam = [4]").unwrap();
        let own: Axes = toml::from_str("k = [1, 100]").unwrap();
        let both = own.or(&suite);
        assert_eq!((both.search.k, both.search.beam), (vec![1, 100], vec![4]));
    }
}
