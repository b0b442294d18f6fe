//! What an experiment varies. An axis without values is that of the suite; without one there
//! either, it is fixed.

use pageway::{Error, Result};
use serde::{Deserialize, Serialize};

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
    let known = [more, DataAxes::NAMES, BuildAxes::NAMES, SearchAxes::NAMES].concat();
    if known.contains(&name) {
        return Ok(());
    }
    let known = known.join(", ");
    Err(Error::invalid(format!(
        "{place}: {name} is unknown; there are {known}"
    )))
}

/// A group of axes: lists of values, none of which must stand in a file.
macro_rules! axes {
    (
        $(#[$about:meta])*
        $group:ident {
            $($(#[$meaning:meta])* $axis:ident: $value:ty,)*
        }
    ) => {
        $(#[$about])*
        #[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
        #[serde(default)]
        pub struct $group {
            $(
                $(#[$meaning])*
                #[serde(skip_serializing_if = "Vec::is_empty")]
                pub $axis: Vec<$value>,
            )*
        }

        impl $group {
            const NAMES: &'static [&'static str] = &[$(stringify!($axis)),*];

            fn or(&self, default: &Self) -> Self {
                Self {
                    $($axis: either(&self.$axis, &default.$axis),)*
                }
            }
        }
    };
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

axes! {
    /// Data and designs.
    DataAxes {
        /// Data sets, or cuts of them such as `sift-300k`.
        data: String,
        /// First rows of them; cuts longer than the data are left out.
        rows: u64,
        /// First dimensions of them.
        dimensions: u32,
        /// Designs, or libraries where they are compared.
        designs: String,
        /// Files the rows are divided over, each an index.
        segments: u32,
    }
}

axes! {
    /// Axes that need an index of their own.
    BuildAxes {
        /// Bytes of a page.
        page_size: u32,
        /// Memory of a search, as `--memory` takes it.
        memory: String,
        /// Memory that the index is built for, where it is not that of the search.
        built_for: String,
        /// Bytes per code; 0 lets the engine choose by memory.
        code_bytes: u32,
        /// Share of the candidates that get exact distances at the end.
        refine_share: f32,
    }
}

axes! {
    /// Axes of a search.
    SearchAxes {
        /// Candidate list sizes, or the efforts of a library.
        list_size: u32,
        /// Reads in flight per query.
        beam: u32,
        /// How far off distances may be, as `--tolerance` takes it; exact where absent.
        tolerance: String,
        /// Threads.
        threads: u32,
        /// Queries in flight per thread.
        interleave: u32,
        /// Neighbours per query.
        k: u32,
        /// Results that the median query has within the radius of a range search.
        results: u32,
        /// Processes that search at a time.
        processes: u32,
        /// Modelled devices; `all` for those that come with pageway and this machine.
        devices: String,
        /// Rows that a model extrapolates to; `rows` are then the sizes that it learns the growth
        /// from.
        to_rows: u64,
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn own_values_go_before_those_of_the_suite() {
        let suite: Axes = toml::from_str("k = [10]\nbeam = [4]").unwrap();
        let own: Axes = toml::from_str("k = [1, 100]").unwrap();
        let both = own.or(&suite);
        assert_eq!((both.search.k, both.search.beam), (vec![1, 100], vec![4]));
    }
}
