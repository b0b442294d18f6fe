//! Opening, switching, and sharing: time and memory over the number of vectors, and many processes
//! on one index.

use crate::record::{Record, Run, Task};
use crate::report::document::{Figure, Finding, Goodness, Scale, Section, Table};
use crate::report::evidence::Evidence;
use crate::report::quantity::{PAGES, QPS, Quantity, RECALL};
use crate::report::setting::{self, Setting, Shown};
use crate::report::{cut, group, method, number, plot, refusal, table};

const SOURCE: &str = "AiSAQ, tables 2 to 5";
const ON_DISK: &str = "aisaq";
const IN_MEMORY: &str = "diskann_uncached";
/// Milliseconds within which AiSAQ opens (0.6 to 2.0) and switches.
const OPENS_WITHIN: f64 = 2.0;
const SWITCHES_WITHIN: f64 = 1.0;
/// Ratio up to which a value counts as the same, and from which it counts as growing.
const SAME: f64 = 1.25;
const GROWING: f64 = 1.5;

const ROWS: Setting = setting::count("rows", "vectors", Scale::Log);
const PROCESSES: Setting = setting::count("processes", "processes", Scale::Linear);

const LOAD: Quantity = Quantity {
    path: "load_ms/p50",
    name: "time to open, ms",
    goodness: Goodness::Lower,
    scale: Scale::Log,
    format: number::plain,
};
const SWITCH: Quantity = Quantity {
    path: "switch_ms/p50",
    name: "time to switch, ms",
    ..LOAD
};
const MEMORY: Quantity = Quantity {
    path: "peak_memory_bytes",
    name: "memory, bytes",
    format: number::bytes,
    ..LOAD
};

/// The section of the experiment `open`.
pub(crate) fn section(run: &Run) -> Option<Section> {
    let opens = group::measured(run, "open", Task::Open);
    let shared = group::measured(run, "open", Task::Processes);
    if opens.is_empty() && shared.is_empty() {
        return None;
    }
    let data = cut::by_rows(&opens);
    let figures = data
        .iter()
        .flat_map(|(name, records)| growing(name, records));
    let sharing = group::by_data(&shared);
    Some(Section {
        id: "open".to_owned(),
        title: "Opening, switching and sharing".to_owned(),
        source: SOURCE.to_owned(),
        method: words(&opens, &shared),
        figures: figures
            .chain(
                sharing
                    .iter()
                    .flat_map(|(name, records)| together(name, records)),
            )
            .collect(),
        tables: (!shared.is_empty())
            .then(|| per_process(&shared))
            .into_iter()
            .chain(refusal::table(run, "open"))
            .collect(),
        findings: findings(&data, &shared),
    })
}

/// How it was measured.
fn words(opens: &[&Record], shared: &[&Record]) -> Vec<String> {
    let mut words = vec![
        "An index is opened again and again; the time is the median, with its files in the page \
         cache of the operating system. Switching opens an index of the same vector space in its \
         place and shares the codebook. Memory is the highest resident set of the process, code \
         and libraries included."
            .to_owned(),
        "Then several processes search one index at the same time, all queries each; their speeds \
         and their memories are added up."
            .to_owned(),
    ];
    let all: Vec<&Record> = opens.iter().chain(shared).copied().collect();
    words.extend(method::settings(&all));
    words
}

/// Times and memory over the number of vectors.
fn growing(data: &str, records: &[&Record]) -> Vec<Figure> {
    let kinds: [(&str, &str, &Quantity); 3] = [
        ("load", "Time to open", &LOAD),
        ("switch", "Time to switch", &SWITCH),
        ("memory", "Memory once opened", &MEMORY),
    ];
    figures(data, records, (ROWS, &kinds))
}

/// Speed and memory of several processes.
fn together(data: &str, records: &[&Record]) -> Vec<Figure> {
    let kinds: [(&str, &str, &Quantity); 2] = [
        ("shared-qps", "Queries per second of all processes", &QPS),
        ("shared-memory", "Memory of all processes", &MEMORY),
    ];
    figures(data, records, (PROCESSES, &kinds))
}

fn figures(
    data: &str,
    records: &[&Record],
    (setting, kinds): (Setting, &[(&str, &str, &Quantity)]),
) -> Vec<Figure> {
    kinds
        .iter()
        .map(|(name, what, quantity)| {
            let shown = Shown {
                id: format!("open-{name}-{data}"),
                title: format!("{what}, {data}"),
                setting,
                quantity,
            };
            shown.figure(&plot::designs(records), |records| {
                quantity.cell(quantity.median(records))
            })
        })
        .collect()
}

/// What each of several processes gives and takes.
fn per_process(records: &[&Record]) -> Table {
    let columns = vec![
        table::neutral("data"),
        table::neutral("processes"),
        table::neutral("design"),
        QPS.column(),
        table::column("queries per second of each", Goodness::Higher),
        MEMORY.column(),
        table::column("memory of each, bytes", Goodness::Lower),
        PAGES.column(),
        table::neutral(RECALL.name),
    ];
    let mut rows = Vec::new();
    for (data, records) in group::by_data(records) {
        for (processes, records) in group::by_axis(&records, PROCESSES.axis) {
            for (design, records) in group::by_design(&records) {
                let each = |quantity: &Quantity| {
                    quantity.cell(quantity.median(&records).map(|sum| sum / processes))
                };
                rows.push(vec![
                    table::text(data),
                    table::text(processes.to_string()),
                    table::text(design),
                    QPS.cell(QPS.median(&records)),
                    each(&QPS),
                    MEMORY.cell(MEMORY.median(&records)),
                    each(&MEMORY),
                    PAGES.cell(PAGES.median(&records)),
                    RECALL.cell(RECALL.median(&records)),
                ]);
            }
        }
    }
    let title = "Processes that search one index at a time";
    table::table("open-processes", title, columns, rows, 2)
}

type Data<'r> = [(String, Vec<&'r Record>)];

fn findings(data: &Data<'_>, shared: &[&Record]) -> Vec<Finding> {
    let same = |ratio: f64| ratio <= SAME;
    let grows = |ratio: f64| ratio >= GROWING;
    vec![
        ends(data, (ON_DISK, &LOAD), same).finding(
            "AiSAQ opens as fast whatever the number of vectors: 0.6 ms for a million and for a \
             billion",
            "AiSAQ, table 3",
        ),
        within(data, &LOAD, OPENS_WITHIN).finding("AiSAQ opens within 2 ms", "AiSAQ, table 3"),
        ends(data, (IN_MEMORY, &LOAD), grows).finding(
            "With codes in memory the time to open grows with the vectors: DiskANN takes 47 ms \
             for a million, 16 s for a billion",
            "AiSAQ, table 3",
        ),
        within(data, &SWITCH, SWITCHES_WITHIN).finding(
            "AiSAQ switches to an index with the same codebook within 1 ms (0.3 ms)",
            "AiSAQ, table 4",
        ),
        ends(data, (ON_DISK, &MEMORY), same).finding(
            "AiSAQ takes about 10 MB whatever the number of vectors: 11 MB for a million and for a \
             billion",
            "AiSAQ, table 2",
        ),
        shared_memory(shared).finding(
            "Many processes on one index cost next to no memory with everything on disk: six of \
             AiSAQ take 66 MB, six of DiskANN 183 GB",
            "AiSAQ, table 5",
        ),
    ]
}

/// A quantity of a design on the fewest and on the most vectors, and the numbers of them.
fn fewest_and_most(
    records: &[&Record],
    design: &str,
    quantity: &Quantity,
) -> Option<[(f64, f64); 2]> {
    let sizes = group::by_axis(&group::of_design(records, design), ROWS.axis);
    let value = |(rows, records): &(f64, Vec<&Record>)| Some((*rows, quantity.median(records)?));
    match sizes.as_slice() {
        [few, .., many] => Some([value(few)?, value(many)?]),
        _ => None,
    }
}

/// Whether the value on the most vectors is so many times that on the fewest.
fn ends(
    data: &Data<'_>,
    (design, quantity): (&str, &Quantity),
    holds: fn(f64) -> bool,
) -> Evidence {
    let mut evidence = Evidence::default();
    for (name, records) in data {
        let Some([(few, first), (many, last)]) = fewest_and_most(records, design, quantity) else {
            continue;
        };
        let measured = format!(
            "{name}, {design}: {} with {} vectors, {} with {}",
            with_unit(quantity, first),
            number::thousands(few),
            with_unit(quantity, last),
            number::thousands(many)
        );
        evidence.add(holds(last / first), measured);
    }
    evidence
}

/// Whether AiSAQ stays within some milliseconds on the most vectors.
fn within(data: &Data<'_>, quantity: &Quantity, limit: f64) -> Evidence {
    let mut evidence = Evidence::default();
    for (name, records) in data {
        let largest = group::by_axis(&group::of_design(records, ON_DISK), ROWS.axis).pop();
        let found = largest.and_then(|(rows, records)| Some((rows, quantity.median(&records)?)));
        if let Some((rows, value)) = found {
            let measured = format!(
                "{name}, {} vectors: {}",
                number::thousands(rows),
                with_unit(quantity, value)
            );
            evidence.add(value <= limit, measured);
        }
    }
    evidence
}

fn with_unit(quantity: &Quantity, value: f64) -> String {
    let text = (quantity.format)(value);
    if quantity.path == MEMORY.path {
        text
    } else {
        format!("{text} ms")
    }
}

/// Memory of the most processes, everything on disk against codes in memory.
fn shared_memory(records: &[&Record]) -> Evidence {
    let mut evidence = Evidence::default();
    for (data, records) in group::by_data(records) {
        let Some((processes, records)) = group::by_axis(&records, PROCESSES.axis).pop() else {
            continue;
        };
        let of = |design: &str| MEMORY.median(&group::of_design(&records, design));
        if let (Some(disk), Some(memory)) = (of(ON_DISK), of(IN_MEMORY)) {
            let measured = format!(
                "{data}, {processes} processes: {ON_DISK} {}, {IN_MEMORY} {}",
                number::bytes(disk),
                number::bytes(memory)
            );
            evidence.add(disk < memory, measured);
        }
    }
    evidence
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::report::document::Verdict;
    use crate::report::fixture::{give, record, run, set};

    fn opened(design: &str, rows: u64, load: f64, memory: u64) -> Record {
        let data = format!("photos-first{rows}");
        let record = record("open", Task::Open, &data, design);
        let numbers = json!({
            "load_ms": {"p50": load, "mean": load}, "switch_ms": {"p50": load / 2.0},
            "peak_memory_bytes": memory,
        });
        give(set(record, "rows", rows), numbers)
    }

    fn processes(design: &str, count: u64, memory: u64) -> Record {
        let record = record("open", Task::Processes, "photos", design);
        let numbers = json!({
            "qps": 100 * count, "recall": 0.97, "peak_memory_bytes": memory * count,
            "pages_per_query": 30.0,
        });
        give(set(record, "processes", count), numbers)
    }

    #[test]
    fn what_grows_and_what_does_not() {
        let records = vec![
            opened(ON_DISK, 10_000, 0.6, 11_000_000),
            opened(ON_DISK, 1_000_000, 0.7, 11_500_000),
            opened(IN_MEMORY, 10_000, 1.0, 20_000_000),
            opened(IN_MEMORY, 1_000_000, 40.0, 90_000_000),
            processes(ON_DISK, 1, 11_000_000),
            processes(ON_DISK, 4, 11_000_000),
            processes(IN_MEMORY, 4, 90_000_000),
        ];
        let section = section(&run(records)).unwrap();
        let ids: Vec<&str> = section
            .figures
            .iter()
            .map(|each| each.id.as_str())
            .collect();
        assert_eq!(
            ids,
            [
                "open-load-photos",
                "open-switch-photos",
                "open-memory-photos",
                "open-shared-qps-photos",
                "open-shared-memory-photos",
            ]
        );
        let all = section
            .findings
            .iter()
            .all(|each| each.verdict == Verdict::Agrees);
        assert!(all, "{:?}", section.findings);
        let table = &section.tables[0];
        let four = table
            .rows
            .iter()
            .find(|row| row[1].text == "4" && row[2].text == ON_DISK)
            .unwrap();
        assert_eq!(four[4].number, Some(100.0));
        assert_eq!(four[6].number, Some(11_000_000.0));
        assert!(four[5].best);
    }

    #[test]
    fn slow_opening_and_one_size_are_told() {
        let section = section(&run(vec![opened(ON_DISK, 10_000, 30.0, 11_000_000)])).unwrap();
        use Verdict::{Differs, NotMeasured};
        let verdicts: Vec<Verdict> = section.findings.iter().map(|each| each.verdict).collect();
        assert_eq!(
            verdicts,
            [
                NotMeasured,
                Differs,
                NotMeasured,
                Differs,
                NotMeasured,
                NotMeasured
            ]
        );
    }
}
