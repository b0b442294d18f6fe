//! Other disks: recorded reads replayed on modelled devices. All of it is predicted; where the
//! device is this machine's own, what was measured stands beside it.

use serde_json::Value;

use crate::record::{Record, Run, Task};
use crate::report::document::{Bars, Cell, Figure, Goodness, Plot, Scale, Section, Table};
use crate::report::quantity::{MEAN_LATENCY, P99_LATENCY, PAGES, QPS, Quantity, RECALL};
use crate::report::setting::{self, Setting, Shown};
use crate::report::{curve, cut, group, method, number, plot, refusal, table};

/// What a prediction says of itself and a figure is drawn over.
const OWN: [&str; 4] = ["device", "rows", "threads", "interleave"];

const ROWS: Setting = setting::count("rows", "vectors", Scale::Log);

/// The section of the experiment `devices`.
pub(crate) fn section(run: &Run) -> Option<Section> {
    let modelled = group::measured(run, "devices", Task::Model);
    if modelled.is_empty() {
        return None;
    }
    let owned: Vec<Record> = modelled.into_iter().map(placed).collect();
    let records: Vec<&Record> = owned.iter().collect();
    let (grown, replayed): (Vec<&Record>, Vec<&Record>) =
        records.iter().partition(|record| is_extrapolated(record));
    let data = group::by_data(&replayed);
    let families = cut::by_rows(&records);
    let growth = families
        .iter()
        .filter(|_| !grown.is_empty())
        .flat_map(|(name, records)| growth(name, records));
    Some(Section {
        id: "devices".to_owned(),
        title: "Other devices".to_owned(),
        source: String::new(),
        method: words(&records, &replayed),
        figures: data
            .iter()
            .flat_map(|(name, records)| per_device(name, records))
            .chain(growth)
            .collect(),
        tables: check(&replayed)
            .into_iter()
            .chain([all(&records)])
            .chain(refusal::table(run, "devices"))
            .collect(),
        findings: Vec::new(),
    })
}

/// How it was predicted, and how well the model does where it can be checked.
fn words(records: &[&Record], replayed: &[&Record]) -> Vec<String> {
    let mut words = vec![
        "The reads of a search, and the computing between them, are recorded once and replayed \
         against a model of each device: how long a read takes, how many it serves at a time, its \
         most reads and bytes per second. Recall and pages are those of the recorded search; \
         speed and latency are predicted, not measured."
            .to_owned(),
        accuracy(replayed),
    ];
    words.extend(method::settings(records));
    words
}

/// The record with what the prediction is for among its settings.
fn placed(record: &Record) -> Record {
    let mut record = record.clone();
    for name in OWN {
        if let Some(value) = record.result.get(name).cloned() {
            record.axes.insert(name.to_owned(), value);
        }
    }
    record
}

fn is_extrapolated(record: &Record) -> bool {
    record.result.get("extrapolated") == Some(&Value::Bool(true))
}

fn by_device<'r>(records: &[&'r Record]) -> Vec<(String, Vec<&'r Record>)> {
    group::by(records, |record| record.axis_text("device"))
}

/// Records with the fewest threads and queries in flight, or with the most of both.
fn with_load<'r>(records: &[&'r Record], most: bool) -> Vec<&'r Record> {
    let mut chosen = records.to_vec();
    for axis in ["threads", "interleave"] {
        let mut groups = group::by_axis(&chosen, axis);
        if most {
            groups.reverse();
        }
        chosen = groups
            .into_iter()
            .next()
            .map_or(chosen, |(_, records)| records);
    }
    chosen
}

/// Threads and queries in flight of records that have the same.
fn load_name(records: &[&Record]) -> String {
    let of = |axis: &str| records.first().and_then(|record| record.axis(axis));
    let name = |count: Option<f64>, what: &str| {
        let count = count.unwrap_or(1.0);
        let plural = if count == 1.0 { "" } else { "s" };
        format!("{count} {what}{plural}")
    };
    format!(
        "{}, {} in flight each",
        name(of("threads"), "thread"),
        name(of("interleave"), "query").replace("querys", "queries")
    )
}

/// Bars per device: speed under the highest load, latency under the lowest.
fn per_device(data: &str, records: &[&Record]) -> Vec<Figure> {
    let kinds: [(&str, &str, &Quantity, bool); 2] = [
        ("qps", "Queries per second", &QPS, true),
        ("latency", "Mean latency", &MEAN_LATENCY, false),
    ];
    kinds
        .into_iter()
        .map(|(name, what, quantity, most)| {
            let records = with_load(records, most);
            let title = format!("{what}, {}, {data}", load_name(&records));
            bars(
                (format!("devices-{name}-{data}"), title),
                &records,
                quantity,
            )
        })
        .collect()
}

fn bars((id, title): (String, String), records: &[&Record], quantity: &Quantity) -> Figure {
    let devices = by_device(records);
    let designs = plot::designs(records);
    let heights = |design: &str| -> Vec<Option<f64>> {
        devices
            .iter()
            .map(|(_, records)| quantity.median(&group::of_design(records, design)))
            .collect()
    };
    let bars = Bars {
        categories: devices.iter().map(|(device, _)| device.clone()).collect(),
        y: quantity.axis(),
        stacked: false,
        series: designs
            .iter()
            .map(|(design, _)| (design.clone(), heights(design)))
            .collect(),
    };
    Figure {
        table: plot::bars_table(&id, &bars, quantity),
        note: String::new(),
        predicted: true,
        plot: Plot::Bars(bars),
        title,
        id,
    }
}

/// Speed over the number of vectors, on to those that were not measured, for each device.
fn growth(data: &str, records: &[&Record]) -> Vec<Figure> {
    by_device(&with_load(records, true))
        .into_iter()
        .filter(|(_, records)| ROWS.values(records).len() > 1)
        .map(|(device, records)| {
            let shown = Shown {
                id: format!("devices-growth-{}-{data}", slug(&device)),
                title: format!(
                    "Queries per second over vectors on {device}, {}, {data}",
                    load_name(&records)
                ),
                setting: ROWS,
                quantity: &QPS,
            };
            Figure {
                note: "Reads and computing grow as fitted to the numbers of vectors measured."
                    .to_owned(),
                predicted: true,
                ..shown.figure(&plot::designs(&records), |records| {
                    QPS.cell(QPS.median(records))
                })
            }
        })
        .collect()
}

/// A name that can be part of a file's.
fn slug(name: &str) -> String {
    name.chars()
        .map(|letter| {
            if letter.is_alphanumeric() {
                letter
            } else {
                '-'
            }
        })
        .collect()
}

/// A predicted quantity, where its measured value is, and what the comparison is called.
const CHECKED: [(&Quantity, &str); 2] = [
    (&QPS, "measured_qps"),
    (&MEAN_LATENCY, "measured_latency_us/mean"),
];

/// By how much a prediction is wrong, as a share of what was measured.
fn error(record: &Record, (quantity, measured): (&Quantity, &str)) -> Option<f64> {
    Some(record.number(quantity.path)? / record.number(measured)? - 1.0)
}

/// How far predictions for this machine's own disk are from what was measured, in words.
fn accuracy(records: &[&Record]) -> String {
    let told: Vec<String> = CHECKED
        .into_iter()
        .filter_map(|checked| {
            let errors: Vec<f64> = records
                .iter()
                .filter_map(|record| error(record, checked))
                .map(f64::abs)
                .collect();
            let most = errors.iter().copied().max_by(f64::total_cmp)?;
            Some(format!(
                "{} by {} in the median of {} and by {} at most",
                checked.0.name,
                number::percent(curve::median(errors.clone())),
                errors.len(),
                number::percent(most)
            ))
        })
        .collect();
    if told.is_empty() {
        return "This run has no prediction for this machine's own disk beside a measured search: \
                how wrong the model is here, is not known."
            .to_owned();
    }
    format!(
        "Checked against this machine's own disk, the model is wrong in {}.",
        told.join("; in ")
    )
}

/// Predicted and measured on this machine's own disk.
fn check(records: &[&Record]) -> Option<Table> {
    let checked: Vec<&Record> = records
        .iter()
        .copied()
        .filter(|record| CHECKED.iter().any(|each| error(record, *each).is_some()))
        .collect();
    let mut columns = vec![table::neutral("data"), table::neutral("design")];
    for (quantity, _) in CHECKED {
        let name = quantity.name;
        columns.extend([
            table::neutral(format!("{name}, predicted")),
            table::neutral(format!("{name}, measured")),
            table::neutral("error"),
        ]);
    }
    let rows: Vec<Vec<Cell>> = checked
        .iter()
        .map(|record| {
            let mut row = vec![table::text(&record.data), table::text(&record.design)];
            for (quantity, measured) in CHECKED {
                row.extend([
                    quantity.cell(record.number(quantity.path)),
                    quantity.cell(record.number(measured)),
                    table::number(error(record, (quantity, measured)), signed),
                ]);
            }
            row
        })
        .collect();
    let title = "Predicted and measured on this machine's own disk";
    (!rows.is_empty()).then(|| table::table("devices-check", title, columns, rows, 0))
}

fn signed(share: f64) -> String {
    let sign = if share > 0.0 { "+" } else { "" };
    format!("{sign}{}", number::percent(share))
}

/// Every prediction.
fn all(records: &[&Record]) -> Table {
    let mut columns: Vec<_> = [
        "data",
        "vectors",
        "device",
        "threads",
        "in flight each",
        "design",
    ]
    .map(table::neutral)
    .into();
    columns.extend([QPS, MEAN_LATENCY, P99_LATENCY].map(|quantity| quantity.column()));
    columns.push(table::column(PAGES.name, Goodness::Neutral));
    columns.push(table::neutral(RECALL.name));
    let told =
        |record: &Record, axis: &str| table::text(record.axis_text(axis).unwrap_or_default());
    let rows = group::by_cell(records)
        .iter()
        .filter_map(|cell| Some((cell, cell.first()?)))
        .map(|(cell, first)| {
            let vectors = table::number(first.axis(ROWS.axis), number::thousands);
            let mut row = vec![table::text(&first.data), vectors];
            row.extend(["device", "threads", "interleave"].map(|axis| told(first, axis)));
            row.push(table::text(&first.design));
            row.extend(
                [QPS, MEAN_LATENCY, P99_LATENCY, PAGES, RECALL]
                    .map(|quantity| quantity.cell(quantity.median(cell))),
            );
            row
        })
        .collect();
    let title = "All predictions";
    table::table("devices-all", title, columns, rows, 5)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::report::fixture::{give, record, run, set};

    fn predicted(device: &str, design: &str, threads: u64, qps: f64) -> Record {
        let base = record("devices", Task::Model, "photos", design);
        let base = set(set(base, "device", device), "threads", threads);
        give(
            base,
            json!({
                "predicted": true, "extrapolated": false, "device": device, "threads": threads,
                "interleave": 1, "rows": 10_000, "qps": qps, "recall": 0.96,
                "pages_per_query": 30.0,
                "latency_us": {"mean": 1e6 / qps, "p50": 9e5 / qps, "p99": 3e6 / qps},
            }),
        )
    }

    fn here(design: &str, qps: f64, measured: f64) -> Record {
        give(
            predicted("this machine", design, 1, qps),
            json!({"measured_qps": measured, "measured_latency_us": {"mean": 1e6 / measured}}),
        )
    }

    #[test]
    fn predictions_are_marked_and_checked() {
        let records = vec![
            here("diskann", 900.0, 1000.0),
            here("starling", 2200.0, 2000.0),
            predicted("cloud volume", "diskann", 1, 90.0),
            predicted("cloud volume", "diskann", 8, 700.0),
        ];
        let section = section(&run(records)).unwrap();
        assert!(section.figures.iter().all(|figure| figure.predicted));
        let Plot::Bars(qps) = &section.figures[0].plot else {
            panic!("no bars")
        };
        assert_eq!(qps.categories, ["cloud volume"]);
        assert_eq!(qps.series[0].1, [Some(700.0)]);
        assert!(
            section.figures[0]
                .title
                .contains("8 threads, 1 query in flight each")
        );
        let Plot::Bars(latency) = &section.figures[1].plot else {
            panic!("no bars")
        };
        assert_eq!(latency.categories, ["this machine", "cloud volume"]);

        assert_eq!(section.tables[0].id, "devices-check");
        let error = &section.tables[0].rows[0][4];
        assert_eq!(error.text, "-10.0 %");
        let words = section.method.join(" ");
        assert!(
            words.contains("10.0 % in the median of 2 and by 10.0 % at most"),
            "{words}"
        );
        assert_eq!(section.tables[1].rows.len(), 4);
    }

    #[test]
    fn extrapolations_are_curves_over_vectors() {
        let mut records = vec![predicted("fast", "diskann", 1, 900.0)];
        for rows in [1_000_000, 1_000_000_000] {
            let record = predicted("fast", "diskann", 1, 500.0);
            let record = set(record, "target", rows);
            records.push(give(record, json!({"rows": rows, "extrapolated": true})));
        }
        let section = section(&run(records)).unwrap();
        assert_eq!(section.figures.len(), 3);
        let Plot::Lines(lines) = &section.figures[2].plot else {
            panic!("no lines")
        };
        let rows: Vec<f64> = lines.series[0].marks.iter().map(|mark| mark.x).collect();
        assert_eq!(rows, [1e4, 1e6, 1e9]);
        let words = section.method.join(" ");
        assert!(words.contains("is not known"), "{words}");
        assert_eq!(section.tables[0].id, "devices-all");
    }
}
