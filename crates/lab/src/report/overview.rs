//! What comes first in a report: where and with what the run was made, and who wins.

use super::book::Book;
use super::document::{Figure, Goodness, Section, Table, TableCell};
use super::figure::{self, FigureRow, Sight};
use super::quantity::{At, TARGETS};
use super::{cut, group, method, number, table};
use crate::record::{Machine, Record, Run, Task};

/// Recall of the figure.
const SHOWN: f64 = 0.95;

/// Heading of the report: the data, without their cuts.
pub(super) fn title(run: &Run) -> String {
    let records: Vec<&Record> = run.records.iter().collect();
    let families = group::by(&records, |record| Some(cut::family(&record.data)));
    let names: Vec<&str> = families.iter().map(|(name, _)| name.as_str()).collect();
    match names.split_last() {
        None => "Nothing was measured".to_owned(),
        Some((last, [])) => format!("Search measured on {last}"),
        Some((last, others)) => format!("Search measured on {} and {last}", others.join(", ")),
    }
}

/// Machine, data and suite: name and value, those that are known.
pub(crate) fn facts(run: &Run) -> Vec<(String, String)> {
    let machine = &run.machine;
    let records: Vec<&Record> = run.records.iter().collect();
    let memory = machine
        .memory_bytes
        .map(|bytes| number::bytes(bytes as f64));
    let mut facts = vec![
        ("Processor", machine.cpu.clone()),
        ("Cores", machine.cores.to_string()),
        ("Instruction set", machine.isa.clone()),
        ("Memory", memory.unwrap_or_default()),
        ("System", machine.kernel.clone()),
        ("Disk", machine.disk.clone()),
        ("Reads through", machine.io_backend.clone()),
        ("Random reads of 4 KiB", disk_readings(machine).join("; ")),
        ("Pageway", version(machine)),
        ("Suite", machine.suite.clone()),
        ("Seed", machine.seed.to_string()),
        ("Begun", begun(machine)),
        ("Took", took(&records)),
        ("Data", method::data(&records).join("; ")),
        ("Designs", group::designs(&records).join(", ")),
        ("Cells", cells(run, &records)),
    ];
    facts.retain(|(_, value)| !value.is_empty());
    facts
        .into_iter()
        .map(|(name, value)| (name.to_owned(), value))
        .collect()
}

fn disk_readings(machine: &Machine) -> Vec<String> {
    machine
        .disk_readings
        .iter()
        .map(|[depth, reads, mean, _, p99]| {
            format!(
                "{depth} in flight: {} per second (mean {} us, p99 {} us)",
                number::plain(*reads),
                number::plain(*mean),
                number::plain(*p99),
            )
        })
        .collect()
}

fn version(machine: &Machine) -> String {
    match &machine.commit {
        Some(commit) => format!("{} at commit {commit}", machine.version),
        None => machine.version.clone(),
    }
}

fn begun(machine: &Machine) -> String {
    if machine.started_unix == 0 {
        String::new()
    } else {
        let seconds = i64::try_from(machine.started_unix).unwrap_or(i64::MAX);
        let time = jiff::Timestamp::from_second(seconds);
        time.map_or_else(
            |_| String::new(),
            |time| time.strftime("%Y-%m-%d %H:%M UTC").to_string(),
        )
    }
}

/// From the start of the first cell to the end of the last.
fn took(records: &[&Record]) -> String {
    let start = |record: &&Record| record.started_unix as f64;
    let first = records.iter().map(start).min_by(f64::total_cmp);
    let last = records
        .iter()
        .map(|record| start(record) + record.process.wall_seconds)
        .max_by(f64::total_cmp);
    first.zip(last).map_or_else(String::new, |(first, last)| {
        format!("{} minutes", number::plain((last - first) / 60.0))
    })
}

fn cells(run: &Run, records: &[&Record]) -> String {
    let failed = group::all_failed(run);
    format!(
        "{}, of which {} failed or were refused, in {} measurements",
        group::by_cell(records).len(),
        group::by_cell(&failed).len(),
        records.len()
    )
}

/// Who wins, per data set and recall; nothing where designs were not compared.
pub(super) fn summary(run: &Run, book: &Book) -> Option<Section> {
    let searches = group::measured(run, "recall", Task::Search);
    if searches.is_empty() {
        return None;
    }
    let sight = Sight {
        run,
        book,
        experiment: "summary",
        cut: None,
    };
    let alone = group::lowest(&searches, "interleave");
    Some(Section {
        id: "summary".to_owned(),
        title: "Who wins".to_owned(),
        method: vec![
            "The best design of each data set at equal recall, in latency and pages with one \
             query in flight, and in what its index takes. The experiments below show by how much, \
             and what the others do."
                .to_owned(),
            "Updates (evaluation, fig. 15 and 16) are not in this report: `pageway lab updates` \
             and `pageway lab stream` measure them."
                .to_owned(),
        ],
        figures: speeds(sight, &alone),
        tables: vec![at_recalls(sight, &searches), footprints(sight, &searches)],
        ..Section::default()
    })
}

fn speeds(sight: Sight<'_>, alone: &[&Record]) -> Vec<Figure> {
    let row = FigureRow::bars(
        "qps",
        "qps",
        SHOWN,
        "Queries per second at recall 0.95, one query in flight",
    );
    figure::figures(sight, &row, alone)
}

/// Winners at each recall.
fn at_recalls(sight: Sight<'_>, searches: &[&Record]) -> Table {
    let columns = [
        "data",
        "recall",
        "most queries per second, one in flight",
        "most queries per second, most in flight",
        "shortest mean latency, us",
        "shortest p99 latency, us",
        "fewest pages",
    ];
    let mut rows = Vec::new();
    for (data, searches) in group::by_data(searches) {
        let alone = group::lowest(&searches, "interleave");
        let many = group::highest(&searches, "interleave");
        for recall in TARGETS {
            let mut row = vec![
                table::text(data),
                table::number(Some(recall), |recall| format!("{recall:.2}")),
            ];
            let compared = [
                (&alone, "qps"),
                (&many, "qps"),
                (&alone, "mean"),
                (&alone, "p99"),
                (&alone, "pages"),
            ];
            row.extend(
                compared.map(|(records, name)| winner(sight, name, records, At::Recall(recall))),
            );
            rows.push(row);
        }
    }
    let columns = columns.map(table::neutral).into();
    table::table(
        "summary-winners",
        "Winners at equal recall",
        columns,
        rows,
        0,
    )
}

/// Winners in what an index takes: of the indexes of the comparison, and of fresh builds.
fn footprints(sight: Sight<'_>, searches: &[&Record]) -> Table {
    let mut builds = group::measured(sight.run, "recall", Task::Build);
    let fresh = group::measured(sight.run, "build", Task::Build);
    if builds.is_empty() {
        builds.clone_from(&fresh);
    }
    let names = ["smallest_index", "least_peak", "shortest_build"];
    let row = |(data, of_data): (&str, Vec<&Record>)| {
        let compared = [&builds, &of_data, &fresh].into_iter().zip(names);
        let cell = |(records, name): (&Vec<&Record>, &str)| {
            let mut own = records.clone();
            own.retain(|record| record.data == data);
            winner(sight, name, &own, At::Middle)
        };
        std::iter::once(table::text(data))
            .chain(compared.map(cell))
            .collect()
    };
    let rows = group::by_data(searches).into_iter().map(row).collect();
    let mut columns = vec![table::neutral("data")];
    columns.extend(names.map(|name| table::neutral(&sight.book.quantity(name).name)));
    table::table(
        "summary-footprints",
        "Winners in space and build time",
        columns,
        rows,
        0,
    )
}

/// The design with the best value, and the value; a dash where none has one or there is no other
/// design.
fn winner(sight: Sight<'_>, name: &str, records: &[&Record], at: At) -> TableCell {
    let quantity = sight.book.quantity(name);
    let designs = group::by_design(records);
    let values: Vec<(&str, f64)> = designs
        .iter()
        .filter_map(|(design, records)| Some((*design, quantity.at(sight.run, records, at)?)))
        .collect();
    let order = |a: &&(&str, f64), b: &&(&str, f64)| a.1.total_cmp(&b.1);
    let best = match quantity.good {
        Goodness::Higher => values.iter().max_by(order),
        Goodness::Lower | Goodness::Neutral => values.iter().min_by(order),
    };
    let alone = if values.len() == 1 {
        ", the only one"
    } else {
        ""
    };
    match best.filter(|_| designs.len() > 1) {
        Some((design, value)) => TableCell {
            text: format!("{design} ({}{alone})", quantity.format.text(*value)),
            number: Some(*value),
            best: false,
        },
        None => quantity.cell(None),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::report::fixture::{build, give, refused, run, search};

    fn at(design: &str, list_size: u64, recall: f64, qps: f64) -> Record {
        give(
            search("recall", "photos", design, list_size, recall),
            json!({"qps": qps, "pages_per_query": 1e5 / qps}),
        )
    }

    fn compared() -> Run {
        run(vec![
            at("diskann", 10, 0.90, 500.0),
            at("diskann", 40, 0.96, 200.0),
            at("pageann", 10, 0.90, 400.0),
            at("pageann", 40, 0.99, 300.0),
            give(
                build("photos", "diskann", "memory"),
                json!({"total_seconds": 5.0}),
            ),
            build("photos", "pageann", "memory"),
        ])
    }

    #[test]
    fn winners_change_with_recall() {
        let section = summary(&compared(), &Book::open().unwrap()).unwrap();
        let winners: Vec<&str> = section.tables[0]
            .rows
            .iter()
            .map(|row| row[2].text.as_str())
            .collect();
        assert_eq!(winners[0], "diskann (500)");
        assert!(winners[1].starts_with("pageann"), "{winners:?}");
        assert_eq!(winners[2], "pageann (300, the only one)");
        assert_eq!(section.tables[1].rows[0][3].text, "pageann (3.00)");
        assert_eq!(section.figures[0].table.rows.len(), 2);
        assert!(section.method.join(" ").contains("Updates"));
    }

    #[test]
    fn facts_are_those_that_are_known() {
        let mut run = compared();
        run.records
            .push(refused("recall", "photos", "gorgeous", "too small"));
        let mut again = run.records[0].clone();
        again.repeat = 1;
        run.records.push(again);
        run.machine.cpu = "Some processor".to_owned();
        run.machine.suite = "standard".to_owned();
        run.machine.disk_readings = vec![[1.0, 9000.0, 110.0, 100.0, 200.0]];
        run.machine.started_unix = 951_782_400;
        run.machine.version = "0.1.0".to_owned();
        run.machine.commit = Some("abc".to_owned());
        let facts = facts(&run);
        let fact = |name: &str| {
            let found = facts.iter().find(|(known, _)| known == name);
            found.map(|(_, value)| value.as_str())
        };
        assert_eq!(fact("Processor"), Some("Some processor"));
        assert_eq!(fact("Memory"), None);
        assert_eq!(fact("Begun"), Some("2000-02-29 00:00 UTC"));
        assert_eq!(fact("Pageway"), Some("0.1.0 at commit abc"));
        assert_eq!(fact("Data"), Some("photos (10,000 x 128)"));
        assert_eq!(
            fact("Cells"),
            Some("7, of which 1 failed or were refused, in 8 measurements")
        );
        assert!(
            fact("Random reads of 4 KiB")
                .unwrap()
                .contains("9,000 per second")
        );
        assert_eq!(fact("Suite"), Some("standard"));
        assert_eq!(title(&run), "Search measured on photos");
    }

    #[test]
    fn nothing_compared_nothing_won() {
        assert!(summary(&Run::default(), &Book::open().unwrap()).is_none());
    }
}
