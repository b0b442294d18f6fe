//! One combination of all axes.

use std::collections::BTreeMap;

use serde_json::Value;

use super::CutName;

/// One combination.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Settings {
    /// Data, cut.
    pub(crate) cut: CutName,
    /// Design or library.
    pub(crate) design: String,
    /// How it is built.
    pub(crate) build: BuildSettings,
    /// How it is searched.
    pub(crate) search: SearchSettings,
    /// How far off distances may be, as `--tolerance` takes it; exact where absent.
    pub(crate) tolerance: Option<String>,
}

/// How an index is built.
#[derive(Clone, PartialEq, Debug, Default)]
pub(crate) struct BuildSettings {
    pub(crate) page_size: u32,
    /// Memory that it is built for.
    pub(crate) memory: String,
    /// Absent where the engine chooses.
    pub(crate) code_bytes: Option<u32>,
    pub(crate) refine_share: Option<f32>,
}

/// How it is searched.
#[derive(Clone, PartialEq, Debug, Default)]
pub(crate) struct SearchSettings {
    /// Memory of the search.
    pub(crate) memory: String,
    pub(crate) list_size: u32,
    pub(crate) beam: Option<u32>,
    pub(crate) threads: u32,
    pub(crate) interleave: u32,
    pub(crate) k: u32,
    pub(crate) results: Option<u32>,
    pub(crate) segments: Option<u32>,
    pub(crate) processes: Option<u32>,
    /// Queries used; 0 for all.
    pub(crate) queries: u64,
    pub(crate) device: Option<String>,
    /// Rows to extrapolate to, and the sizes to learn the growth from.
    pub(crate) growth: Option<Extrapolation>,
}

/// An extrapolation.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Extrapolation {
    /// To so many rows.
    pub(crate) to_rows: u64,
    /// From cuts of so many, beside the data themselves.
    pub(crate) from_rows: Vec<u64>,
}

/// A share such as `20%` as a number; none for bytes.
pub(crate) fn share(memory: &str) -> Option<f64> {
    let percent: f64 = memory.strip_suffix('%')?.trim().parse().ok()?;
    Some(percent / 100.0)
}

impl Settings {
    /// The settings under their names, for a record. A cut's rows and dimensions are added by
    /// whoever has seen the data.
    pub(crate) fn axes(&self) -> BTreeMap<String, Value> {
        let (build, search) = (&self.build, &self.search);
        let numbers = [
            ("page_size", Some(f64::from(build.page_size))),
            ("code_bytes", build.code_bytes.map(f64::from)),
            ("memory_ratio", share(&search.memory)),
            ("built_for_ratio", share(&build.memory)),
            ("refine_share", build.refine_share.map(shortest)),
            ("list_size", Some(f64::from(search.list_size))),
            ("beam", search.beam.map(f64::from)),
            ("threads", Some(f64::from(search.threads))),
            ("interleave", Some(f64::from(search.interleave))),
            ("k", Some(f64::from(search.k))),
            ("results", search.results.map(f64::from)),
            ("segments", search.segments.map(f64::from)),
            ("processes", search.processes.map(f64::from)),
            (
                "to_rows",
                search.growth.as_ref().map(|growth| growth.to_rows as f64),
            ),
        ];
        let mut axes: BTreeMap<String, Value> = numbers
            .into_iter()
            .filter_map(|(name, value)| Some((name.to_owned(), number(value?))))
            .collect();
        axes.insert("memory".to_owned(), search.memory.clone().into());
        if let Some(tolerance) = &self.tolerance {
            axes.insert("tolerance".to_owned(), tolerance.clone().into());
        }
        if let Some(device) = &search.device {
            axes.insert("device".to_owned(), device.clone().into());
        }
        axes
    }
}

/// The decimal number that a person wrote.
fn shortest(value: f32) -> f64 {
    value.to_string().parse().unwrap_or(f64::from(value))
}

/// Whole numbers without a decimal point.
pub(crate) fn number(value: f64) -> Value {
    if value.fract() == 0.0 && value.abs() < 1e15 {
        Value::from(value as i64)
    } else {
        Value::from(value)
    }
}
