//! `pageway inspect`: what an index is, from its manifest alone.

use std::path::PathBuf;

use clap::Args;
use pageway::choices::typed;
use pageway::{
    Calibration, CalibrationCurve, ChangeSummary, Description, ErrorKind, OpenOptions, Result,
    format_bytes,
};
use serde::Serialize;
use serde_json::Value;

use super::change::describe_state;
use super::count::FieldRow;
use crate::output::Outcome;
use crate::picture;
use crate::place::CacheArguments;
use crate::text::{self, Facts, Table};

const EXAMPLES: &str = "\
Examples:
  pageway inspect my.index
  pageway inspect my.index --json
  pageway inspect my.index --fields
  pageway inspect my.index --html my-index.html

Reads the manifest, the lengths of files, and of an index that was changed dead rows and the log, so
it takes next to no time and memory, whatever the size of the index; exits with 5 where a file is
missing or cut short. The calibration is what --recall is read off, measured at build time or by
'pageway calibrate', on rows held out or on queries that were given: which list size reaches which
recall for some k, and what lists cost at k = 10. A list shorter than k holds k. The overlap
ratio OR(G) says how far a placement brought neighbours together: the mean share of the others on
its page that a node names.

--html draws a page that works offline: memory by part, the calibration, files, and how long lists
are and how far neighbours share pages. It opens the index, reads the pages that hold lists once, and
needs the program pageway-lab.";

/// Describe an index: design, sizes, memory, calibration.
#[derive(Debug, Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct InspectArguments {
    /// Directory of the index, or its URL
    #[arg(value_name = "DIR")]
    index: PathBuf,

    /// List the fields that attributes have as well, as 'pageway count' does: a pass over all terms
    #[arg(long)]
    fields: bool,

    /// Draw the index on this page as well
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,

    #[command(flatten)]
    cache: CacheArguments,
}

/// What `--json` shows.
#[derive(Serialize)]
struct Inspected {
    #[serde(flatten)]
    index: Description,
    /// Null where the index was never opened to be changed.
    changes: Option<ChangeSummary>,
    /// The fields of attributes, where they are asked for.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    fields: Vec<FieldRow>,
}

impl InspectArguments {
    /// Describes.
    pub(crate) fn run(&self) -> Result<Outcome> {
        let place = self.cache.place(&self.index)?;
        let index = pageway::describe_on(place.vfs.as_ref(), &place.dir)?;
        let changes = pageway::describe_changes_on(&place.vfs, &place.dir)?;
        let fields = if self.fields {
            FieldRow::of(&place.open(&OpenOptions::default())?)?
        } else {
            Vec::new()
        };
        let mut text = describe(&index, changes.as_ref());
        if !fields.is_empty() {
            text.push_str(&format!("\nFields\n{}", FieldRow::table(&fields)));
        }
        let is_whole = index.missing.is_empty();
        if let Some(page) = &self.html {
            picture::draw("index", &self.index, page)?;
        }
        let inspected = Inspected {
            index,
            changes,
            fields,
        };
        Ok(Outcome::new(text, &inspected)?.failed_if(!is_whole, ErrorKind::Corrupt))
    }
}

fn describe(index: &Description, changes: Option<&ChangeSummary>) -> String {
    let spec = serde_json::to_value(&index.spec).unwrap_or_default();
    format!(
        "{}{}\nDesign\n{}\n{}{}Files\n{}\n{}",
        describe_missing(index),
        describe_sizes(index, changes).render(),
        flatten(Facts::new(), "", &spec).render(),
        changes.map(describe_changes).unwrap_or_default(),
        describe_segments(index, changes),
        describe_files(index),
        describe_calibration(&index.calibration)
    )
}

/// What is wrong, before all else.
fn describe_missing(index: &Description) -> String {
    if index.missing.is_empty() {
        return String::new();
    }
    let names = index.missing.join(", ");
    format!(
        "INCOMPLETE: missing or cut short: {names}. 'pageway verify' \
         tells more.\n\n"
    )
}

fn describe_sizes(index: &Description, changes: Option<&ChangeSummary>) -> Facts {
    let shape = index.spec.shape;
    let longest = index.segments.iter().max_by_key(|one| one.nodes);
    let stored = longest.map_or(shape.element, |longest| longest.stored);
    let dead = changes.map_or(0, |changes| {
        changes.dead.iter().map(|dead| u64::from(*dead)).sum()
    });
    let living = text::count(index.nodes.saturating_sub(dead));
    let rows = match dead {
        0 => living,
        dead => format!("{living} living and {} dead", text::count(dead)),
    };
    let vectors = format!(
        "{rows} of {}{}, {}, {} raw",
        shape.vectors(),
        text::stored(shape.vectors(), stored),
        shape.metric,
        format_bytes(index.raw_bytes)
    );
    let graph = format!(
        "mean degree {:.1}, longest {}",
        index.mean_degree, index.max_degree
    );
    let facts = Facts::new()
        .fact("vectors", vectors)
        .fact("graph", graph)
        .fact("pages", describe_pages(index))
        .fact("overlap", describe_overlap(index));
    let facts = [
        (
            "lists in memory",
            (index.list_memory_bytes, index.list_edge_bits),
        ),
        (
            "lists on pages",
            (index.page_list_bytes, index.page_edge_bits),
        ),
    ]
    .into_iter()
    .filter_map(|(name, (bytes, bits))| Some((name, describe_lists(bytes?, bits?))))
    .fold(facts, |facts, (name, lists)| facts.fact(name, lists));
    facts
        .fact("disk", format_bytes(index.index_bytes))
        .fact(
            "search memory",
            format!("{} unless said otherwise", format_bytes(index.memory_bytes)),
        )
        .fact("written by", describe_origin(index))
        .fact("schema", describe_schema(index))
}

/// What values of attributes must be.
fn describe_schema(index: &Description) -> String {
    let Some(schema) = &index.schema else {
        return "none: attributes may be anything".to_owned();
    };
    let fields = schema.fields().map(|(path, kind)| format!("{path} {kind}"));
    fields.collect::<Vec<_>>().join(", ")
}

fn describe_pages(index: &Description) -> String {
    let nodes = index.nodes_per_page;
    let place = match index.pages_per_read {
        0 | 1 => "page".to_owned(),
        pages => format!("{pages} pages"),
    };
    let records = match index.vectors_per_page {
        0 => format!("{nodes} nodes per {place}"),
        vectors => format!("{nodes} lists, or {vectors} vectors, per {place}"),
    };
    format!(
        "{records}, {} of the bytes used",
        text::percent(index.page_utilisation)
    )
}

/// How far neighbours in the graph share pages.
fn describe_overlap(index: &Description) -> String {
    match index.overlap {
        Some(overlap) => format!(
            "OR(G) {overlap:.3}: of the others on its page, a node names {}",
            text::percent(overlap)
        ),
        None => "OR(G) unknown: the graph was built in parts".to_owned(),
    }
}

/// What all adjacency lists take where they are packed.
fn describe_lists(bytes: u64, bits: f64) -> String {
    let all = format_bytes(bytes);
    format!("{all} for all, {bits:.1} bits per neighbour")
}

fn describe_origin(index: &Description) -> String {
    format!(
        "{}, build {} in this directory",
        index.created_by, index.generation
    )
}

/// One line per leaf of the specification, named by its path: new choices need no code here.
fn flatten(facts: Facts, path: &str, value: &Value) -> Facts {
    let Some(fields) = value.as_object() else {
        return facts.fact(path, typed(value));
    };
    fields.iter().fold(facts, |facts, (name, value)| {
        let path = if path.is_empty() {
            name.clone()
        } else {
            format!("{path}.{name}")
        };
        flatten(facts, &path, value)
    })
}

/// What has changed since the build: dead rows, and the log.
fn describe_changes(changes: &ChangeSummary) -> String {
    let dead: u64 = changes.dead.iter().map(|count| u64::from(*count)).sum();
    let share = text::percent(changes.dead_share);
    let words = format!("{}, {share} of all in segments", text::counted(dead, "row"));
    let drift = format!("{:.2} times the error of training", changes.code_drift);
    let mut facts = Facts::new().fact("dead", words).fact("code drift", drift);
    if changes.unfinished_bytes > 0 {
        let bytes = format_bytes(changes.unfinished_bytes);
        facts = facts.fact("under way", format!("a flush or merge, {bytes} so far"));
    }
    let facts = match &changes.log {
        Some(log) => describe_state(facts, changes, log),
        None => facts,
    };
    format!("Changes\n{}\n", facts.render())
}

/// A line per segment, where there are several.
fn describe_segments(index: &Description, changes: Option<&ChangeSummary>) -> String {
    if index.segments.len() <= 1 {
        return String::new();
    }
    let heads = [
        "first row",
        "vectors",
        "dead",
        "mean degree",
        "code bytes",
        "bytes",
    ];
    let mut table = Table::new(&heads);
    for (number, segment) in index.segments.iter().enumerate() {
        let dead = changes.and_then(|changes| changes.dead.get(number));
        table.row(vec![
            text::count(segment.first_row.into()),
            text::count(segment.nodes.into()),
            text::count(dead.copied().unwrap_or_default().into()),
            format!("{:.1}", segment.mean_degree),
            segment.code_bytes.to_string(),
            text::count(segment.index_bytes),
        ]);
    }
    format!("Segments\n{}\n", table.render())
}

fn describe_files(index: &Description) -> String {
    let mut table = Table::new(&["file", "pages", "bytes"]);
    for file in &index.files {
        table.row(vec![
            file.name.clone(),
            text::count(file.pages),
            text::count(file.bytes),
        ]);
    }
    table.render()
}

pub(super) fn describe_calibration(calibration: &Calibration) -> String {
    if calibration.curves.is_empty() {
        return "Not calibrated: searches need --list-size.\n".to_owned();
    }
    let queries = text::count(calibration.queries.into());
    let kind = if calibration.held_out {
        "rows held out"
    } else {
        "queries"
    };
    format!(
        "Calibration ({queries} {kind}, beam {})\n{}\n{}",
        calibration.beam,
        list_sizes(calibration).render(),
        calibration.curve(10).map_or(String::new(), costs)
    )
}

/// Recalls that list sizes are told for.
const TOLD_RECALLS: [f32; 5] = [0.8, 0.9, 0.95, 0.98, 0.99];

/// List sizes by k and recall; a dash where none reaches it.
fn list_sizes(calibration: &Calibration) -> Table {
    let mut headers = vec!["list size for k".to_owned()];
    headers.extend(TOLD_RECALLS.map(|recall| format!("recall {recall}")));
    headers.push("best".to_owned());
    let headers: Vec<&str> = headers.iter().map(String::as_str).collect();
    let mut table = Table::new(&headers);
    for curve in &calibration.curves {
        let mut cells = vec![curve.k.to_string()];
        cells.extend(TOLD_RECALLS.map(|recall| {
            let size = calibration.list_size_for(curve.k, recall);
            size.map_or("-".to_owned(), |size| size.to_string())
        }));
        cells.push(format!("{:.4}", curve.best()));
        table.row(cells);
    }
    table
}

/// What lists of each size find and cost.
fn costs(curve: &CalibrationCurve) -> String {
    let recall = format!("recall@{}", curve.k);
    let headers = [
        "list size",
        &recall,
        "1 in 20 below",
        "pages/query",
        "rounds",
    ];
    let mut table = Table::new(&headers);
    for point in &curve.rows {
        table.row(vec![
            point.list_size.to_string(),
            format!("{:.4}", point.recall),
            format!("{:.3}", point.recall_p5),
            text::figure(point.pages.into()),
            text::figure(point.rounds.into()),
        ]);
    }
    table.render()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_specification_becomes_one_line_per_leaf() {
        let value = json!({"a": {"b": "x", "c": 2}, "d": [1, 2], "e": 1.2_f32});
        let text = flatten(Facts::new(), "", &value).render();
        let words: Vec<Vec<&str>> = text
            .lines()
            .map(|line| line.split_whitespace().collect())
            .collect();
        assert_eq!(
            words,
            [["a.b", "x"], ["a.c", "2"], ["d", "[1,2]"], ["e", "1.2"]]
        );
    }
}
