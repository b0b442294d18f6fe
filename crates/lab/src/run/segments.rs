//! Several segments, each an index of its own, searched one after the other; answers merged.

use std::path::{Path, PathBuf};

use pageway::truth::{Found, Truth, TruthFile};
use pageway::{Error, Result};
use serde_json::{Value, json};

use super::child;
use super::context::Context;
use super::measure::{self, Measured, together};
use super::words::CommandWords;
use crate::files;
use crate::plan::Cell;
use crate::record::ProcessUse;

/// Sums over segments that a record shows as one search's.
const SUMS: [&str; 6] = [
    "pages_per_query",
    "reads_per_query",
    "rounds_per_query",
    "bytes_per_query",
    "exact_distances_per_query",
    "approximate_distances_per_query",
];

/// Searches all segments of a cell. The time is that of all of them, one after the other, on the
/// same thread; merging their answers is not counted.
pub(super) fn measure(context: &Context<'_>, cell: &Cell) -> Result<Measured> {
    let workload = context.workload(&cell.workload())?;
    let place = context.work.join("answers");
    files::create_directory(&place)?;
    let count = cell.indexes.len();
    let mut parts = Vec::new();
    let mut results = Vec::new();
    let mut process = ProcessUse::default();
    let mut command = Vec::new();
    for (number, key) in cell.indexes.iter().enumerate() {
        let index = context.directory(context.index(key)?).display().to_string();
        let answers = place.join(format!("part{number}of{count}.ibin"));
        command = measure::search_of(context, cell, &index)?.with("--out", answers.display());
        let ended = child::run(&command, context.watch())?;
        process = ProcessUse {
            // One after the other.
            wall_seconds: process.wall_seconds + ended.process.wall_seconds,
            ..together(process, ended.process)
        };
        match ended.json() {
            Ok(result) => results.push(result),
            Err(error) => {
                let result = Err(format!("segment {number} of {count}: {error}"));
                return Ok(Measured {
                    command,
                    result,
                    process,
                });
            }
        }
        let first = workload.prepared.rows * number as u64 / count as u64;
        parts.push(SegmentAnswers { answers, first });
    }
    let k = cell.settings.search.k as usize;
    let found = merge(&parts, workload.query_count, k)?;
    let recall = recall_of(&found, &workload.prepared.truth, k)?;
    Ok(Measured {
        command,
        result: Ok(summary(&results, recall)),
        process,
    })
}

/// Answers of a segment, and the row of the whole data that its row 0 is.
struct SegmentAnswers {
    answers: PathBuf,
    first: u64,
}

/// The `k` nearest of each query over all segments.
fn merge(parts: &[SegmentAnswers], queries: u64, k: usize) -> Result<Truth> {
    let mut merged: Vec<Vec<(f32, u32)>> = vec![Vec::new(); queries as usize];
    for part in parts {
        let file = TruthFile::open(&files::vfs(), &part.answers, None)?;
        let found = file.read(0, queries as usize)?;
        for (query, all) in merged.iter_mut().enumerate() {
            let ids = found.ids_of(query).iter().map(|id| id + part.first as u32);
            all.extend(found.distances_of(query).iter().copied().zip(ids));
        }
    }
    let mut truth = Truth {
        k,
        ..Truth::default()
    };
    for all in &mut merged {
        all.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        if all.len() < k {
            return Err(Error::invalid(format!("segments too small for k = {k}")));
        }
        truth
            .distances
            .extend(all.iter().take(k).map(|(distance, _)| *distance));
        truth.ids.extend(all.iter().take(k).map(|(_, id)| *id));
    }
    Ok(truth)
}

fn recall_of(found: &Truth, truth: &Path, k: usize) -> Result<f64> {
    let expected = TruthFile::open(&files::vfs(), truth, None)?.read_all()?;
    let found = Found {
        ids: &found.ids,
        distances: &found.distances,
        width: k,
    };
    pageway::truth::recall(&found, &expected, k)
}

fn summary(results: &[Value], recall: f64) -> Value {
    let number = |result: &Value, path: &str| result.pointer(path).and_then(Value::as_f64);
    let sum = |path: &str| {
        results
            .iter()
            .filter_map(|result| number(result, path))
            .sum::<f64>()
    };
    let seconds = sum("/seconds");
    let queries = results
        .first()
        .and_then(|result| number(result, "/queries"))
        .unwrap_or(0.0);
    let mut fields = json!({
        "segments": results.len(),
        "recall": recall,
        "seconds": seconds,
        "queries": queries,
        "qps": queries / seconds.max(1e-9),
        "latency_us": {"mean": sum("/latency_us/mean")},
        "memory_budget_bytes": sum("/memory_budget_bytes"),
    });
    if let Value::Object(fields) = &mut fields {
        for name in SUMS {
            fields.insert(name.to_owned(), sum(&format!("/{name}")).into());
        }
    }
    fields
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_of_all_segments_win() {
        let dir = tempfile::tempdir().unwrap();
        let write = |name: &str, ids: [u32; 4], distances: [f32; 4]| {
            let truth = Truth {
                k: 2,
                ids: ids.to_vec(),
                distances: distances.to_vec(),
            };
            let path = dir.path().join(name);
            pageway::truth::write_truth(&files::vfs(), &path, &truth).unwrap();
            path
        };
        let parts = [
            SegmentAnswers {
                answers: write("a.ibin", [0, 1, 2, 3], [1.0, 4.0, 5.0, 6.0]),
                first: 0,
            },
            SegmentAnswers {
                answers: write("b.ibin", [0, 1, 2, 3], [2.0, 3.0, 0.5, 7.0]),
                first: 10,
            },
        ];
        let merged = merge(&parts, 2, 2).unwrap();
        assert_eq!(merged.ids, [0, 10, 12, 2]);
        assert_eq!(merged.distances, [1.0, 2.0, 0.5, 5.0]);
        assert!(merge(&parts, 2, 5).is_err());
    }
}
