//! Other libraries on the same data, beside the designs of this one.

use serde_json::Value;

use crate::record::{Record, Run, Task};
use crate::report::document::{Cell, Figure, Goodness, Scale, Section, Table};
use crate::report::plot::{self, Named};
use crate::report::quantity::{MEAN_LATENCY, P99_LATENCY, QPS, Quantity};
use crate::report::{choice, group, method, number, table};

/// Recall of the comparisons.
const TARGET: f64 = 0.95;

const MEMORY: Quantity = Quantity {
    path: "peak_memory_bytes",
    name: "memory of the process, bytes",
    goodness: Goodness::Lower,
    scale: Scale::Log,
    format: number::bytes,
};

/// The section of the experiment `comparators`.
pub(crate) fn section(run: &Run) -> Option<Section> {
    let libraries = group::measured(run, "comparators", Task::Comparator);
    let absent = absent(run);
    if libraries.is_empty() && absent.is_empty() {
        return None;
    }
    let ours = ours(run, &libraries);
    let all: Vec<&Record> = ours.iter().chain(&libraries).copied().collect();
    let data: Vec<(&str, Vec<&Record>)> = group::by_data(&all)
        .into_iter()
        .filter(|(name, _)| libraries.iter().any(|record| record.data == *name))
        .collect();
    Some(Section {
        id: "comparators".to_owned(),
        title: "Other libraries".to_owned(),
        source: String::new(),
        method: words(&libraries, absent),
        figures: data
            .iter()
            .flat_map(|(name, records)| figures(name, records))
            .collect(),
        tables: (!data.is_empty())
            .then(|| costs(run, &data))
            .into_iter()
            .collect(),
        findings: Vec::new(),
    })
}

/// How they were measured, and which were not.
fn words(libraries: &[&Record], absent: Vec<String>) -> Vec<String> {
    let mut words = vec![
        "Other libraries answer the same queries on the same vectors, against the same truth, \
         with as many threads, each in a process of its own; the designs are those of the \
         experiment recall, with several queries in flight per thread for throughput and with one \
         for latency. Libraries that keep everything in memory are here for reference."
            .to_owned(),
        "Memory is the highest resident set of the process; that of a library in Python has the \
         interpreter and the queries in it, and with files that are mapped what the operating \
         system kept of them."
            .to_owned(),
    ];
    words.extend(absent);
    if !libraries.is_empty() {
        words.extend(method::settings(libraries));
    }
    words
}

/// Searches of this library's designs on the same data with as many threads, for as many
/// neighbours.
fn ours<'r>(run: &'r Run, libraries: &[&Record]) -> Vec<&'r Record> {
    let same = |record: &Record, library: &Record| {
        record.data == library.data
            && ["threads", "k"]
                .iter()
                .all(|axis| record.axis(axis) == library.axis(axis))
    };
    group::measured(run, "recall", Task::Search)
        .into_iter()
        .filter(|record| libraries.iter().any(|library| same(record, library)))
        .collect()
}

/// Which libraries gave nothing, and why.
fn absent(run: &Run) -> Vec<String> {
    let failed: Vec<&Record> = group::failed(run, "comparators")
        .into_iter()
        .filter(|record| record.task == Task::Comparator)
        .collect();
    let measured = group::measured(run, "comparators", Task::Comparator);
    group::by_design(&failed)
        .into_iter()
        .filter(|(library, _)| group::of_design(&measured, library).is_empty())
        .filter_map(|(library, records)| {
            let why = why(records.first()?);
            Some(format!("Not measured: {library}: {why}."))
        })
        .collect()
}

/// What the script said, in words: the reason or the error in its last object; the last line of a
/// script that broke.
fn why(record: &Record) -> String {
    let said = record.error.as_deref().unwrap_or_default();
    let object = said
        .lines()
        .rev()
        .find_map(|line| serde_json::from_str::<Value>(line).ok());
    let words = object.as_ref().and_then(|object| {
        let text = |name: &str| object.get(name).and_then(Value::as_str);
        text("reason").or_else(|| text("error"))
    });
    let last = || said.lines().rfind(|line| !line.trim().is_empty());
    words.or_else(last).unwrap_or("no result").to_owned()
}

/// Designs by speed with as many queries in flight as were tried, and alone.
fn figures(data: &str, records: &[&Record]) -> Vec<Figure> {
    let each = |in_flight: for<'r> fn(&[&'r Record]) -> Vec<&'r Record>| -> Vec<Named<'_>> {
        plot::designs(records)
            .into_iter()
            .map(|(name, records)| (name, in_flight(&records)))
            .collect()
    };
    let figure = |name: &str, title: &str, groups: &[Named<'_>], quantity: &Quantity| {
        let id = format!("comparators-{name}-{data}");
        plot::recall_figure(&id, &format!("{title}, {data}"), groups, quantity)
    };
    let latency = "Mean latency, one query in flight per thread";
    vec![
        figure("qps", "Queries per second", &each(most), &QPS),
        figure("latency", latency, &each(alone), &MEAN_LATENCY),
    ]
}

/// Records with the fewest queries in flight.
fn alone<'r>(records: &[&'r Record]) -> Vec<&'r Record> {
    group::lowest(records, "interleave")
}

/// Records with the most queries in flight.
fn most<'r>(records: &[&'r Record]) -> Vec<&'r Record> {
    group::highest(records, "interleave")
}

/// What each takes: speed at a recall, memory, disk and build.
fn costs(run: &Run, data: &[(&str, Vec<&Record>)]) -> Table {
    let columns = vec![
        table::neutral("data"),
        table::neutral("library or design"),
        QPS.column_at(TARGET),
        P99_LATENCY.column_at(TARGET),
        table::neutral("highest recall"),
        MEMORY.column(),
        table::neutral("memory is"),
        table::column("index, bytes", Goodness::Lower),
        table::column("build, s", Goodness::Lower),
    ];
    let rows = data
        .iter()
        .flat_map(|(name, records)| {
            group::by_design(records)
                .into_iter()
                .map(move |(design, records)| {
                    let mut row = vec![table::text(*name), table::text(design)];
                    row.extend(speed(&records));
                    row.extend(space(run, &records));
                    row
                })
        })
        .collect();
    let title = "What other libraries and the designs here give and take";
    table::table("comparators-costs", title, columns, rows, 1)
}

fn speed(records: &[&Record]) -> [Cell; 5] {
    let most = most(records);
    [
        QPS.cell_at(&most, TARGET),
        P99_LATENCY.cell_at(&alone(records), TARGET),
        table::number(plot::highest_recall(records), number::recall),
        MEMORY.cell(MEMORY.median(&choice::reaching(&most, TARGET))),
        table::text(memory_kind(records)),
    ]
}

/// Who decides how much memory is used: a library says it, a design has a budget.
fn memory_kind<'r>(records: &[&'r Record]) -> &'r str {
    let said = records
        .iter()
        .find_map(|record| record.result.get("memory_kind")?.as_str());
    said.unwrap_or("a budget")
}

/// Bytes on disk and seconds to build: a library says both itself, a design in the record of its
/// build, where it was built from nothing.
fn space(run: &Run, records: &[&Record]) -> [Cell; 2] {
    let own = |path: &str| records.iter().find_map(|record| record.number(path));
    let build = |path: &str, fresh: bool| {
        let of = records.first()?;
        run.records
            .iter()
            .filter(|build| build.task == Task::Build && group::succeeded(build))
            .filter(|build| build.data == of.data && build.design == of.design)
            .filter(|build| build.axis("page_size") == of.axis("page_size"))
            .filter(|build| !fresh || build.axes.get("fresh") == Some(&Value::Bool(true)))
            .find_map(|build| build.number(path))
    };
    let bytes = own("index_bytes").or_else(|| build("index_bytes", false));
    let seconds = own("build_seconds").or_else(|| build("total_seconds", true));
    [
        table::number(bytes, number::bytes),
        table::number(seconds, number::plain),
    ]
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::report::document::Plot;
    use crate::report::fixture::{build, give, refused, run, search, set};

    fn library(name: &str, effort: u64, recall: f64) -> Record {
        let mut record = search("comparators", "photos", name, effort, recall);
        record.task = Task::Comparator;
        let numbers = json!({"index_bytes": 9_000_000, "build_seconds": 12.0,
                             "peak_memory_bytes": 700_000_000, "memory_kind": "resident"});
        give(record, numbers)
    }

    fn missing(name: &str) -> Record {
        let why = "{\"library\": \"x\", \"available\": false, \"reason\": \"pip install x\"}";
        let mut record = refused("comparators", "photos", name, why);
        record.task = Task::Comparator;
        record
    }

    #[test]
    fn libraries_stand_beside_designs_with_as_many_threads() {
        let records = vec![
            library("hnswlib", 20, 0.94),
            library("hnswlib", 40, 0.98),
            missing("lancedb"),
            search("recall", "photos", "diskann", 40, 0.97),
            set(
                search("recall", "photos", "diskann", 40, 0.97),
                "interleave",
                16,
            ),
            set(
                search("recall", "photos", "starling", 40, 0.97),
                "threads",
                2,
            ),
            search("recall", "texts", "diskann", 40, 0.97),
            set(build("photos", "diskann", "memory"), "fresh", true),
        ];
        let section = section(&run(records)).unwrap();
        let Plot::Lines(lines) = &section.figures[0].plot else {
            panic!("no lines")
        };
        assert_eq!(lines.series[0].marks.len(), 1);
        let names: Vec<&str> = lines.series.iter().map(|each| each.name.as_str()).collect();
        assert_eq!(names, ["diskann", "hnswlib"]);
        assert_eq!(section.figures.len(), 2);

        let table = &section.tables[0];
        let numbers = |row: usize| [5, 7, 8].map(|at| table.rows[row][at].number);
        assert_eq!(numbers(0), [Some(20e6), Some(4e6), Some(3.0)]);
        assert_eq!(numbers(1), [Some(700e6), Some(9e6), Some(12.0)]);
        assert_eq!(table.rows[0][6].text, "a budget");
        assert_eq!(table.rows[1][6].text, "resident");
        assert!(table.rows[0][5].best && !table.rows[1][5].best);
        let words = section.method.join(" ");
        assert!(
            words.contains("Not measured: lancedb: pip install x."),
            "{words}"
        );
    }

    #[test]
    fn builds_that_took_a_graph_from_others_have_no_time() {
        let records = vec![
            library("hnswlib", 40, 0.98),
            search("recall", "photos", "diskann", 40, 0.97),
            set(build("photos", "diskann", "memory"), "fresh", false),
        ];
        let section = section(&run(records)).unwrap();
        let row = &section.tables[0].rows[0];
        assert_eq!((row[7].number, row[8].number), (Some(4e6), None));
    }

    #[test]
    fn a_script_that_broke_says_so_last() {
        let broken = "Traceback (most recent call last):\n  File x\nImportError: no numpy\n";
        assert_eq!(
            why(&refused("comparators", "photos", "usearch", broken)),
            "ImportError: no numpy"
        );
    }

    #[test]
    fn without_any_library_the_section_says_so() {
        let section = section(&run(vec![missing("usearch")])).unwrap();
        assert!(section.figures.is_empty() && section.tables.is_empty());
        assert!(section.method.iter().any(|words| words.contains("usearch")));
    }
}
