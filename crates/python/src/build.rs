//! `build` and `verify`: long work that opens no index.

use std::path::PathBuf;

use pageway::{BuildInput, BuildOptions};
use pyo3::prelude::*;

use crate::convert::{Ids, Source, json, named, wish};
use crate::progress::{Callback, watched};

/// The settings of `pageway.build`, by name.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct BuildSettings {
    metric: String,
    recall: f32,
    memory: Option<String>,
    build_memory: Option<String>,
    preset: String,
    threads: usize,
    degree: u32,
    build_list: u32,
    code_bytes: Option<u32>,
    page_bytes: u32,
    seed: u64,
}

impl BuildSettings {
    fn options(&self) -> PyResult<BuildOptions> {
        Ok(BuildOptions {
            metric: named(&self.metric)?,
            preset: wish(&self.preset)?,
            memory: self.memory.as_deref().map(wish).transpose()?,
            build_memory: self.build_memory.as_deref().map(wish).transpose()?,
            recall: self.recall,
            threads: self.threads,
            degree: self.degree,
            build_list: self.build_list,
            code_bytes: self.code_bytes,
            page_bytes: self.page_bytes,
            seed: self.seed,
            ..BuildOptions::default()
        })
    }
}

/// Builds an index from `input`: vectors, ids, example queries. Gives the report as JSON.
#[pyfunction]
pub(crate) fn build(
    py: Python<'_>,
    path: PathBuf,
    input: (Source<'_>, Option<Ids<'_>>, Option<Source<'_>>),
    options: BuildSettings,
    progress: Callback,
) -> PyResult<String> {
    let options = options.options()?;
    let (source, ids, queries) = &input;
    let name = source.name("data");
    let vectors = source.open()?;
    let ids = ids.as_ref().map(Ids::open).transpose()?;
    let queries = queries.as_ref().map(Source::open).transpose()?;
    let input = BuildInput {
        vectors: vectors.as_ref(),
        name: &name,
        ids: ids.as_deref(),
        queries: queries.as_deref(),
    };
    let report = watched(py, &progress, |watch| {
        pageway::Index::build(&path, &input, &options, watch)
    })?;
    json(&report)
}

/// Checks every page of the index at `path`; gives the report as JSON.
#[pyfunction]
pub(crate) fn verify(py: Python<'_>, path: PathBuf, progress: Callback) -> PyResult<String> {
    json(&watched(py, &progress, |watch| {
        pageway::verify(&path, watch)
    })?)
}
