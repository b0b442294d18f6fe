//! Other libraries on the same data: each a Python script in a process of its own, and optional.

use std::path::{Path, PathBuf};

use pageway::{Error, Result};

use super::context::Context;
use super::measure::{self, Measured};
use super::words::CommandWords;
use crate::files;
use crate::plan::Cell;
use crate::record::ProcessUse;

/// A library, as suites name it.
struct Library {
    name: &'static str,
    script: &'static str,
    /// Options of its build, `name=value`.
    options: &'static [&'static str],
}

const fn library(
    name: &'static str,
    script: &'static str,
    options: &'static [&'static str],
) -> Library {
    Library {
        name,
        script,
        options,
    }
}

const LIBRARIES: [Library; 6] = [
    library("diskannpy", "with_diskannpy.py", &[]),
    library("faiss-ivfpq", "with_faiss.py", &["kind=ivfpq"]),
    library("faiss-hnsw", "with_faiss.py", &["kind=hnsw"]),
    library("hnswlib", "with_hnswlib.py", &[]),
    library("usearch", "with_usearch.py", &[]),
    library("lancedb", "with_lancedb.py", &[]),
];

/// Interpreters: libraries need not agree on what else must be installed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Pythons {
    /// For everything that has none of its own.
    pub usual: PathBuf,
    /// Libraries, and the interpreter of each.
    pub own: Vec<(String, PathBuf)>,
}

impl Pythons {
    fn of(&self, library: &str) -> &Path {
        let own = self.own.iter().find(|(name, _)| name == library);
        own.map_or(&self.usual, |(_, program)| program)
    }
}

/// A script with its file name.
macro_rules! script {
    ($name:literal) => {
        ($name, include_str!(concat!("../../comparators/", $name)))
    };
}

/// Scripts, and what they share, by file name.
const SCRIPTS: [(&str, &str); 7] = [
    script!("common.py"),
    script!("measuring.py"),
    script!("with_diskannpy.py"),
    script!("with_faiss.py"),
    script!("with_hnswlib.py"),
    script!("with_lancedb.py"),
    script!("with_usearch.py"),
];

/// Writes the scripts where a run can start them.
pub(super) fn install(work: &Path) -> Result<()> {
    let place = scripts(work);
    files::create_directory(&place)?;
    SCRIPTS
        .iter()
        .try_for_each(|(name, script)| files::write(&place.join(name), script.as_bytes()))
}

fn scripts(work: &Path) -> PathBuf {
    work.join("comparators")
}

/// Measures one effort of a library; it is built first where it is not yet.
pub(super) fn measure(context: &Context<'_>, cell: &Cell) -> Result<Measured> {
    let library = find(&cell.settings.design)?;
    let workload = context.workload(&cell.workload())?;
    let name = format!("{}_{}", cell.cut().label(), library.name);
    let index = context.work.join("library").join(name);
    if let Some(failed) = ensure_built(context, cell, library, &index)? {
        return Ok(failed);
    }
    let settings = &cell.settings.search;
    let prepared = &workload.prepared;
    let command = start(context, library, "search")
        .with("--index", index.display())
        .with("--queries", prepared.queries.display())
        .with("--truth", prepared.truth.display())
        .with("--data", prepared.base.display())
        .with("-k", settings.k)
        .with("--threads", settings.threads)
        .with("--effort", settings.list_size.max(settings.k));
    let mut measured = measure::run(context, &command)?;
    if let Ok(result) = &mut measured.result {
        add_build(
            result,
            &files::read_text(&index.with_extension("built.json"))?,
        );
    }
    Ok(measured)
}

/// Builds a library's index unless it is there; what that gave where it failed. What failed once in
/// a run is not tried again in it, since that may take as long as before.
fn ensure_built(
    context: &Context<'_>,
    cell: &Cell,
    library: &Library,
    index: &Path,
) -> Result<Option<Measured>> {
    if files::exists(&index.join("comparator.json"))? {
        return Ok(None);
    }
    let before = context.failed_builds.borrow().get(index).cloned();
    let built = match before {
        Some(before) => before,
        None => measure::run(context, &build(context, cell, library, index)?)?,
    };
    if built.result.is_err() {
        let mut failed = context.failed_builds.borrow_mut();
        failed.insert(index.to_owned(), built.clone());
        return Ok(Some(built));
    }
    let line = built_line(&built)?;
    files::write(&index.with_extension("built.json"), line.as_bytes())?;
    Ok(None)
}

fn find(name: &str) -> Result<&'static Library> {
    let known: Vec<&str> = LIBRARIES.iter().map(|library| library.name).collect();
    let words = format!("library {name}: there are {}", known.join(", "));
    let found = LIBRARIES.iter().find(|library| library.name == name);
    found.ok_or_else(|| Error::invalid(words))
}

fn start(context: &Context<'_>, library: &Library, verb: &str) -> Vec<String> {
    let script = scripts(&context.work).join(library.script);
    [
        context.python.of(library.name).display().to_string(),
        script.display().to_string(),
        verb.to_owned(),
    ]
    .into()
}

fn build(
    context: &Context<'_>,
    cell: &Cell,
    library: &Library,
    index: &Path,
) -> Result<Vec<String>> {
    let prepared = &context.workload(&cell.workload())?.prepared;
    let fixed = &context.suite.fixed;
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let code_bytes = cell.settings.build.code_bytes;
    Ok(start(context, library, "build")
        .with("--data", prepared.base.display())
        .with("--out", index.display())
        .with("--metric", prepared.metric)
        .with("--threads", threads)
        .with("--seed", fixed.seed)
        .with_each("--option", library.options)
        .with_each(
            "--option",
            code_bytes.map(|bytes| format!("code_bytes={bytes}")),
        ))
}

/// What the build printed, and what the system counted for it.
fn built_line(built: &Measured) -> Result<String> {
    let ProcessUse {
        peak_memory_bytes,
        cpu_seconds,
        ..
    } = built.process;
    let mut line = built.result.clone().unwrap_or_default();
    if let serde_json::Value::Object(fields) = &mut line {
        fields.insert(
            "build_peak_memory_bytes".to_owned(),
            peak_memory_bytes.into(),
        );
        fields.insert("build_cpu_seconds".to_owned(), cpu_seconds.into());
    }
    serde_json::to_string(&line).map_err(|error| super::context::internal(error.to_string()))
}

/// Adds what the build took to the result of a search.
fn add_build(result: &mut serde_json::Value, built: &str) {
    let built: serde_json::Value = serde_json::from_str(built).unwrap_or_default();
    let names = [
        "build_seconds",
        "build_peak_memory_bytes",
        "build_cpu_seconds",
        "index_bytes",
    ];
    if let serde_json::Value::Object(fields) = result {
        for name in names {
            if let Some(value) = built.get(name) {
                fields.entry(name).or_insert_with(|| value.clone());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_library_has_its_script() {
        for library in &LIBRARIES {
            assert!(
                SCRIPTS.iter().any(|(name, _)| *name == library.script),
                "{}",
                library.name
            );
        }
        assert!(find("annoy").is_err_and(|error| error.to_string().contains("hnswlib")));
    }

    #[test]
    fn scripts_are_written_whole() {
        let dir = tempfile::tempdir().unwrap();
        install(dir.path()).unwrap();
        install(dir.path()).unwrap();
        for (name, script) in SCRIPTS {
            assert_eq!(
                files::read_text(&scripts(dir.path()).join(name)).unwrap(),
                script
            );
        }
    }
}
