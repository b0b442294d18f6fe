//! Numbers of a record by name: what the table of experiments calls `read`.
//!
//! ```text
//! latency_us/p99        a path in the result            axis:processes     a setting
//! index:/index_bytes    a path in the description       stage:graph        seconds of the stage of
//!                       of the index that was searched                     a build with this word
//! term:codes            see `terms`                     A over B           one divided by another
//! ```
//!
//! Other names are those of the functions below.

use serde_json::Value;

use super::{group, storage, terms};
use crate::record::{Record, Run, Task};

/// The number of a record that goes by a name; none where it has none.
pub(super) fn read(run: &Run, record: &Record, name: &str) -> Option<f64> {
    if let Some((part, whole)) = name.split_once(" over ") {
        return Some(read(run, record, part)? / read(run, record, whole)?);
    }
    let mean = || record.number("latency_us/mean");
    match name.split_once(':') {
        Some(("index", path)) => storage::description(run, record)?.pointer(path)?.as_f64(),
        Some(("axis", axis)) => record.axis(axis),
        Some(("stage", word)) => stage(record, word),
        Some(("term", term)) => terms::term(run, record, term),
        _ => match name {
            "waiting" => Some(record.number("wait_share")? * mean()?),
            "computing" => Some(record.number("compute_share")? * mean()?),
            "peak" => peak(record),
            "processor seconds" => record.process.cpu_seconds,
            "build seconds" => build_seconds(record),
            "placing by BNF" => placing_by_bnf(record),
            "hit share" => hit_share(record),
            "vertex utilisation" => vertex_utilisation(run, record),
            "own index bytes" => own(run, record, "index_bytes"),
            "own build seconds" => own(run, record, "build_seconds"),
            path => record.number(path),
        },
    }
}

/// Stages of a build and their seconds.
pub(super) fn stages(record: &Record) -> impl Iterator<Item = (&str, f64)> {
    let stages = record.result.get("seconds").and_then(Value::as_array);
    stages.into_iter().flatten().filter_map(|stage| {
        let stage = stage.as_array()?;
        Some((stage.first()?.as_str()?, stage.get(1)?.as_f64()?))
    })
}

fn stage(record: &Record, word: &str) -> Option<f64> {
    let found = stages(record).find(|(name, _)| name.contains(word));
    found.map(|(_, seconds)| seconds)
}

/// Highest resident set, as the system counted it or as the process did.
pub(super) fn peak(record: &Record) -> Option<f64> {
    let counted = record.process.peak_memory_bytes.map(|bytes| bytes as f64);
    counted.or_else(|| record.number("peak_memory_bytes"))
}

fn build_seconds(record: &Record) -> Option<f64> {
    let told = record.number("total_seconds");
    told.or(Some(record.process.wall_seconds).filter(|_| group::succeeded(record)))
}

/// Seconds of placing nodes, where that is by BNF.
fn placing_by_bnf(record: &Record) -> Option<f64> {
    let placement = record
        .result
        .pointer("/description/spec/layout/placement/kind")?;
    (placement.as_str() == Some("bnf")).then(|| stage(record, "place"))?
}

/// Hits of hits and reads.
fn hit_share(record: &Record) -> Option<f64> {
    let hits = record.number("cache_hits_per_query")?;
    Some(hits / (hits + record.number("reads_per_query")?))
}

/// Share of the nodes on the pages looked at, read or cached, whose vectors were scored.
fn vertex_utilisation(run: &Run, record: &Record) -> Option<f64> {
    let cached = record.number("page_hits_per_query").unwrap_or(0.0);
    let pages = record.number("reads_per_query")? + cached;
    let nodes = read(run, record, "index:/nodes_per_page")?;
    Some(record.number("exact_distances_per_query")? / (pages * nodes))
}

/// What a library says of its own index, or the build of a design: its seconds only where it was
/// built from nothing.
fn own(run: &Run, record: &Record, path: &str) -> Option<f64> {
    let of_build = || {
        let mut builds = run
            .records
            .iter()
            .filter(|build| build.task == Task::Build && group::succeeded(build))
            .filter(|build| build.data == record.data && build.design == record.design)
            .filter(|build| build.axis("page_size") == record.axis("page_size"));
        if path == "index_bytes" {
            return builds.find_map(|build| build.number(path));
        }
        let fresh = |build: &&Record| build.axes.get("fresh") == Some(&Value::Bool(true));
        builds
            .filter(fresh)
            .find_map(|build| build.number("total_seconds"))
    };
    record.number(path).or_else(of_build)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::report::fixture::{build, give, run, search, set};

    #[test]
    fn names_lead_to_numbers() {
        let searched = search("space", "photos", "diskann", 20, 0.95);
        let run = run(vec![build("photos", "diskann", "memory")]);
        for (name, number) in [
            ("recall", Some(0.95)),
            ("latency_us/p99", Some(1800.0)),
            ("axis:k", Some(10.0)),
            ("axis:list_size over axis:k", Some(2.0)),
            ("index:/index_bytes over index:/raw_bytes", Some(3.125)),
            ("computing", Some(60.0)),
            ("peak", Some(30e6)),
            ("own index bytes", Some(4e6)),
            ("own build seconds", None),
            ("stage:graph", None),
            ("no such thing", None),
        ] {
            assert_eq!(read(&run, &searched, name), number, "{name}");
        }
        assert_eq!(read(&run, &run.records[0], "stage:graph"), Some(2.0));
    }

    #[test]
    fn placing_counts_where_it_is_by_bnf() {
        let placed = |kind: &str| {
            let mut record = build("photos", "starling", "memory");
            record.result["description"]["spec"]["layout"]["placement"] = json!({"kind": kind});
            give(
                record,
                json!({"seconds": [["build graph", 8.0], ["place nodes", 0.4]]}),
            )
        };
        let share =
            |record: &Record| read(&Run::default(), record, "placing by BNF over stage:graph");
        assert_eq!(share(&placed("bnf")), Some(0.05));
        assert_eq!(share(&placed("by_id")), None);
    }

    #[test]
    fn shares_of_hits_and_vertices() {
        let numbers = json!({"cache_hits_per_query": 3.0, "reads_per_query": 17.0});
        let cached = give(search("cache", "photos", "dynamic", 20, 0.96), numbers);
        assert_eq!(read(&Run::default(), &cached, "hit share"), Some(0.15));
        let run = run(vec![build("photos", "diskann", "memory")]);
        let numbers = json!({"exact_distances_per_query": 48.0, "reads_per_query": 10.0});
        let scored = give(
            set(search("layout", "photos", "diskann", 40, 0.95), "k", 10),
            numbers,
        );
        assert_eq!(
            read(&run, &scored, "vertex utilisation"),
            Some(48.0 / 120.0)
        );
    }
}
