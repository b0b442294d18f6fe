//! Made-up records for the tests of the report.

use serde_json::{Value, json};

use crate::record::{ProcessUse, Record, Run, Task};

/// A record of `task` that an experiment asked for.
pub(crate) fn record(experiment: &str, task: Task, data: &str, design: &str) -> Record {
    let mut record = Record {
        cell: String::new(),
        experiments: vec![experiment.to_owned()],
        task,
        data: data.to_owned(),
        design: design.to_owned(),
        axes: std::collections::BTreeMap::new(),
        repeat: 0,
        command: vec!["pageway".to_owned()],
        result: json!({}),
        error: None,
        process: ProcessUse {
            wall_seconds: 1.0,
            cpu_seconds: Some(0.5),
            peak_memory_bytes: Some(30_000_000),
            read_bytes: None,
            written_bytes: None,
        },
        started_unix: 1_795_000_000,
    };
    for (name, value) in [
        ("rows", json!(10_000)),
        ("dimensions", json!(128)),
        ("page_size", json!(4096)),
        ("memory", json!("20%")),
        ("memory_ratio", json!(0.2)),
    ] {
        record.axes.insert(name.to_owned(), value);
    }
    name_cell(&mut record);
    record
}

/// A search with a list size that reached a recall. It read a page and a half per candidate.
pub(crate) fn search(
    experiment: &str,
    data: &str,
    design: &str,
    list_size: u64,
    recall: f64,
) -> Record {
    let pages = 1.5 * list_size as f64;
    let base = record(experiment, Task::Search, data, design);
    let record = [
        ("list_size", json!(list_size)),
        ("threads", json!(1)),
        ("interleave", json!(1)),
        ("k", json!(10)),
    ]
    .into_iter()
    .fold(base, |record, (name, value)| set(record, name, value));
    give(
        record,
        json!({
            "recall": recall, "expected_recall": recall,
            "qps": 1e6 / (20.0 * pages), "latency_us": {
                "mean": 20.0 * pages, "p50": 18.0 * pages, "p99": 60.0 * pages,
            },
            "pages_per_query": pages, "reads_per_query": pages,
            "bytes_per_query": 4096.0 * pages, "list_size": list_size, "k": 10, "queries": 1000,
            "exact_distances_per_query": pages, "approximate_distances_per_query": 40.0 * pages,
            "wait_share": 0.9, "compute_share": 0.1, "peak_memory_bytes": 20_000_000,
            "memory_budget_bytes": 25_000_000, "hops_per_query": pages,
        }),
    )
}

/// A build whose codes lie in `codes`: `memory` or `in_page`. Its vectors are 10,000 of 128 bytes.
pub(crate) fn build(data: &str, design: &str, codes: &str) -> Record {
    give(
        record("build", Task::Build, data, design),
        json!({
            "index_bytes": 4_000_000, "raw_bytes": 1_280_000, "memory_bytes": 256_000,
            "peak_memory_bytes": 20_000_000, "code_bytes": 16, "nodes": 10_000,
            "seconds": [["graph", 2.0], ["codes", 1.0]], "total_seconds": 3.0, "warnings": [],
            "description": {
                "nodes": 10_000, "raw_bytes": 1_280_000, "index_bytes": 4_000_000,
                "max_degree": 48, "nodes_per_page": 12, "memory_bytes": 256_000,
                "spec": {
                    "storage": {"codes": codes, "quantizer": {"kind": "pq", "code_bytes": 16},
                        "second_quantizer": null},
                    "shape": {"dimension": 128, "element": "u8", "metric": "l2"},
                    "graph": {"max_degree": 48},
                    "execution": {"entry": {"kind": "medoid"}},
                    "layout": {"page_bytes": 4096}, "cache": {"nodes": "records"},
                },
            },
        }),
    )
}

/// A search that was refused.
pub(crate) fn refused(experiment: &str, data: &str, design: &str, why: &str) -> Record {
    let mut record = search(experiment, data, design, 10, 0.0);
    record.result = Value::Null;
    record.error = Some(why.to_owned());
    record
}

/// The record with a setting; its cell is named anew.
pub(crate) fn set(mut record: Record, axis: &str, value: impl Into<Value>) -> Record {
    record.axes.insert(axis.to_owned(), value.into());
    name_cell(&mut record);
    record
}

/// The record with numbers of its result in place of others of the same name.
pub(crate) fn give(mut record: Record, numbers: Value) -> Record {
    if let (Some(result), Value::Object(numbers)) = (record.result.as_object_mut(), numbers) {
        result.extend(numbers);
    }
    record
}

/// A run of records.
pub(crate) fn run(records: Vec<Record>) -> Run {
    Run {
        records,
        ..Run::default()
    }
}

fn name_cell(record: &mut Record) {
    record.cell = format!(
        "{:?} {} {} {}",
        record.task,
        record.data,
        record.design,
        json!(record.axes)
    );
}
