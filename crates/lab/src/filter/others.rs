//! Questions in files, for other libraries.

use std::path::Path;

use pageway::truth::{Truth, write_truth};
use pageway::{Error, Result};
use serde_json::json;

use super::cell::{Asked, FilterCell, FilterCells, FilterQuestion, RowAttributes};
use crate::files;

/// Writes `questions.jsonl`, a line for each cell and anchor: field, bound, numbers of the queries,
/// and rows that match and are nearest with their distances; and `ranks.ibin`, the ranks of all
/// rows, a row for each field. Where filters are tags: those in place of field and bound, and no
/// ranks.
///
/// # Errors
/// As of files.
pub fn write_questions(dir: &Path, cells: &FilterCells) -> Result<()> {
    let mut lines = String::new();
    for cell in &cells.cells {
        for question in &cell.questions {
            lines += &line(cell, question)?;
            lines.push('\n');
        }
    }
    files::write(&dir.join("questions.jsonl"), lines.as_bytes())?;
    let RowAttributes::Ranks(ranks) = &cells.attributes else {
        return Ok(());
    };
    let columns = ranks.columns();
    let ranks = Truth {
        k: columns.first().map_or(0, Vec::len),
        ids: columns.iter().flatten().copied().collect(),
        distances: Vec::new(),
    };
    write_truth(&files::vfs(), &dir.join("ranks.ibin"), &ranks)
}

fn line(cell: &FilterCell, question: &FilterQuestion) -> Result<String> {
    let found = question.truth.as_ref();
    let each = 0..question.queries.len();
    let ids = each
        .clone()
        .map(|at| found.map_or(&[][..], |found| found.ids_of(at)));
    let distances = each.map(|at| found.map_or(&[][..], |found| found.distances_of(at)));
    let mut line = json!({
        "selectivity": cell.selectivity,
        "correlation": cell.correlation,
        "matches": question.matches,
        "queries": question.queries,
        "ids": ids.collect::<Vec<&[u32]>>(),
        "distances": distances.collect::<Vec<&[f32]>>(),
    });
    let asked = match &question.asked {
        Asked::Rank {
            field,
            column,
            below,
        } => json!({"field": field, "column": column, "below": below}),
        Asked::Tags(tags) => json!({ "tags": tags }),
    };
    if let (Some(line), serde_json::Value::Object(asked)) = (line.as_object_mut(), asked) {
        line.extend(asked);
    }
    serde_json::to_string(&line).map_err(|error| Error::invalid(error.to_string()))
}
