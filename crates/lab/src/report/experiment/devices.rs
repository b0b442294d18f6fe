//! Other disks: recorded reads replayed on modelled devices. All of it is predicted; where the
//! device is this machine's own, what was measured stands beside it.

use serde_json::Value;

use crate::record::{Record, Run, Task};
use crate::report::document::{Bars, Cell, Column, Figure, Plot, Scale, Section, Table};
use crate::report::quantity::{MEAN_LATENCY, P99_LATENCY, PAGES, QPS, Quantity, RECALL};
use crate::report::setting::{self, Setting, Shown};
use crate::report::{curve, cut, group, method, number, plot, refusal, table};

/// What a prediction says of itself and a figure is drawn over.
const OWN: [&str; 4] = ["device", "rows", "threads", "interleave"];

const ROWS: Setting = setting::count("rows", "vectors", Scale::Log);

/// Speed for more vectors by the other law.
const BY_POWER: Quantity = Quantity {
    path: "power_law/qps",
    name: "queries per second, by a power",
    ..QPS
};

/// The section of the experiment `devices`.
pub(crate) fn section(run: &Run) -> Option<Section> {
    let modelled = group::measured(run, "devices", Task::Model);
    if modelled.is_empty() {
        return None;
    }
    let owned: Vec<Record> = modelled.into_iter().map(placed).collect();
    let (grown, replayed): (Vec<&Record>, Vec<&Record>) =
        owned.iter().partition(|record| is_extrapolated(record));
    let (rising, falling): (Vec<&Record>, Vec<&Record>) =
        grown.into_iter().partition(|record| rises(record));
    let records = [replayed.as_slice(), &rising].concat();
    let data = group::by_data(&replayed);
    let families = cut::by_rows(&records);
    let growth = families
        .iter()
        .filter(|_| !rising.is_empty())
        .flat_map(|(name, records)| growth(name, records));
    Some(Section {
        id: "devices".to_owned(),
        title: "Other devices".to_owned(),
        source: String::new(),
        method: words(&replayed, &rising, falling.len()),
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
fn words(replayed: &[&Record], grown: &[&Record], left_out: usize) -> Vec<String> {
    let mut words = vec![
        "The reads of a search, and the computing between them, are recorded once and replayed \
         against a model of each device: how long a read takes, how many it serves at a time, its \
         most reads and bytes per second. Recall and pages are those of the recorded search; \
         speed and latency are predicted, not measured."
            .to_owned(),
        accuracy(replayed),
    ];
    words.extend(method::settings(replayed));
    let sizes: Vec<String> = ROWS
        .values(grown)
        .into_iter()
        .map(number::thousands)
        .collect();
    if !sizes.is_empty() {
        words.push(format!(
            "Carried on to {} vectors by the logarithm of their number, as fitted to the reads and \
             the computing at the numbers measured; what a power of the number gives stands beside \
             it.",
            sizes.join(" and ")
        ));
    }
    if left_out > 0 {
        words.push(format!(
            "Predictions for more vectors that are left out: {left_out}. Reads did not rise with \
             the numbers of vectors measured, which says nothing about more of them."
        ));
    }
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

/// Whether the reads that a prediction for more vectors builds on rise with their number.
fn rises(record: &Record) -> bool {
    let slope = record.number("growth/reads/slope");
    slope.is_none_or(|slope| slope > 0.0)
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
                note: "Reads and computing grow with the logarithm of the number of vectors, as fitted \
                       to the numbers measured."
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

/// Every prediction, those that compete side by side.
fn all(records: &[&Record]) -> Table {
    let settings = [
        "data",
        "vectors",
        "device",
        "threads",
        "in flight each",
        "design",
    ];
    let mut columns: Vec<Column> = settings.map(table::neutral).into();
    columns.extend([QPS, MEAN_LATENCY, P99_LATENCY].map(|quantity| quantity.column()));
    columns.extend([PAGES.name, RECALL.name, BY_POWER.name].map(table::neutral));
    let mut rows = Vec::new();
    for (data, records) in group::by_data(records) {
        for (device, records) in by_device(&records) {
            for (vectors, records) in group::by_axis(&records, ROWS.axis) {
                for cell in by_load(&records) {
                    let vectors = table::number(Some(vectors), number::thousands);
                    let mut row = vec![table::text(data), vectors, table::text(&device)];
                    row.extend(prediction(&cell));
                    rows.push(row);
                }
            }
        }
    }
    table::table("devices-all", "All predictions", columns, rows, 5)
}

/// Records by threads and queries in flight, then by design.
fn by_load<'r>(records: &[&'r Record]) -> Vec<Vec<&'r Record>> {
    group::by_axis(records, "threads")
        .into_iter()
        .flat_map(|(_, records)| group::by_axis(&records, "interleave"))
        .flat_map(|(_, records)| group::by_design(&records))
        .map(|(_, records)| records)
        .collect()
}

/// Load, design and values of a cell.
fn prediction(cell: &[&Record]) -> Vec<Cell> {
    let told = |axis: &str| {
        let value = cell.first().and_then(|record| record.axis_text(axis));
        table::text(value.unwrap_or_default())
    };
    let design = cell.first().map_or("", |record| record.design.as_str());
    let mut cells = vec![told("threads"), told("interleave"), table::text(design)];
    let values = [QPS, MEAN_LATENCY, P99_LATENCY, PAGES, RECALL, BY_POWER];
    cells.extend(values.map(|quantity| quantity.cell(quantity.median(cell))));
    cells
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
        for (rows, slope) in [(1_000_000, 2.0), (1_000_000_000, 2.0), (100_000_000, -1.0)] {
            let record = predicted("fast", "diskann", 1, 500.0);
            let numbers = json!({
                "rows": rows, "extrapolated": true, "power_law": {"qps": 400.0},
                "growth": {"reads": {"slope": slope}},
            });
            records.push(give(set(record, "target", rows), numbers));
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
        assert!(words.contains("photos (10,000 x 128"), "{words}");
        assert!(
            words.contains("to 1,000,000 and 1,000,000,000 vectors"),
            "{words}"
        );
        assert!(words.contains("left out: 1."), "{words}");
        let all = &section.tables[0];
        assert_eq!((all.id.as_str(), all.rows.len()), ("devices-all", 3));
        assert_eq!(all.rows[2][11].number, Some(400.0));
    }
}
