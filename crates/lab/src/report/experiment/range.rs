//! Range search: everything within a radius, over average precision.

use serde_json::Value;

use crate::record::{Record, Run, Task};
use crate::report::document::{Figure, Finding, Plot, Section, Table};
use crate::report::evidence::Evidence;
use crate::report::quantity::{PAGES, QPS, Quantity};
use crate::report::{group, method, number, plot, refusal};

const SOURCE: &str = "Starling, fig. 4, 5 and 14";
/// Average precision of the comparisons.
const TARGET: f64 = 0.90;
/// How many times as fast range search on Starling is at least, on most of its data.
const LEAD: f64 = 10.0;
/// Results that the median query has, by which radii are told apart.
const RESULTS: &str = "results";
const OURS: &str = "starling";
const BASE: &str = "diskann";

/// The section of the experiment `range`.
pub(crate) fn section(run: &Run) -> Option<Section> {
    let measured = group::measured(run, "range", Task::Range);
    if measured.is_empty() {
        return None;
    }
    let owned: Vec<Record> = measured
        .iter()
        .filter_map(|record| scored(record))
        .collect();
    let records: Vec<&Record> = owned.iter().collect();
    let mut words = vec![
        "Every vector within a radius of a query is wanted. The radius is chosen so that the \
         median query has as many results as said; average precision is the share of the true \
         results that is found. All designs search with the same algorithm, which follows the \
         edge of the radius; Starling compares with k-NN search on DiskANN, repeated with a \
         doubled k."
            .to_owned(),
    ];
    words.extend(method::settings(&measured));
    let data = by_radius(&records);
    Some(Section {
        id: "range".to_owned(),
        title: "Range search".to_owned(),
        source: SOURCE.to_owned(),
        method: words,
        figures: data.iter().flat_map(figures).collect(),
        tables: refusal::table(run, "range").into_iter().collect(),
        findings: findings(&data),
    })
}

/// The record with its average precision in the place of recall: what is read off curves is the
/// same. None where it was not measured.
fn scored(record: &Record) -> Option<Record> {
    let precision = record.number("average_precision")?;
    let mut record = record.clone();
    let fields = record.result.as_object_mut()?;
    fields.insert("recall".to_owned(), Value::from(precision));
    Some(record)
}

/// Records of one data set and radius.
struct Radius<'r> {
    data: &'r str,
    /// Results that the median query has.
    results: f64,
    records: Vec<&'r Record>,
}

fn by_radius<'r>(records: &[&'r Record]) -> Vec<Radius<'r>> {
    group::by_data(records)
        .into_iter()
        .flat_map(|(data, records)| {
            let radii = group::by_axis(&records, RESULTS).into_iter();
            radii.map(move |(results, records)| Radius {
                data,
                results,
                records,
            })
        })
        .collect()
}

fn figures(of: &Radius<'_>) -> Vec<Figure> {
    let kinds: [(&str, &str, &Quantity); 2] = [
        ("pages", "Pages read per query", &PAGES),
        ("qps", "Queries per second", &QPS),
    ];
    kinds
        .into_iter()
        .map(|(name, what, quantity)| {
            let id = format!("range-{name}-{}-{}", of.results, of.data);
            let title = format!("{what}, {} results in the median, {}", of.results, of.data);
            let groups = plot::designs(&of.records);
            let mut figure = plot::recall_figure(&id, &title, &groups, quantity);
            if let Some(radius) = of.records.iter().find_map(|record| record.number("radius")) {
                figure.note = format!("Radius {}.", number::plain(radius));
            }
            if let Plot::Lines(lines) = &mut figure.plot {
                "average precision".clone_into(&mut lines.x.name);
            }
            rename(&mut figure.table);
            figure
        })
        .collect()
}

fn rename(table: &mut Table) {
    for column in &mut table.columns {
        column.name = column.name.replace("recall", "average precision");
    }
}

fn findings(data: &[Radius<'_>]) -> Vec<Finding> {
    vec![
        lead(data, LEAD).finding(
            "Range search on Starling is more than 10 times as fast as repeated k-NN search on \
             DiskANN (43.9 times on BIGANN at average precision 0.9)",
            "Starling, fig. 5",
        ),
        lead(data, 1.0).finding(
            "Starling is ahead of DiskANN at every radius",
            "Starling, fig. 14",
        ),
    ]
}

/// Whether range search is so many times as fast on Starling as on DiskANN, for each radius.
fn lead(data: &[Radius<'_>], least: f64) -> Evidence {
    let mut evidence = Evidence::default();
    for of in data {
        let ratio = |quantity: &Quantity| {
            let at = |design| quantity.at(&group::of_design(&of.records, design), TARGET);
            Some(at(OURS)? / at(BASE)?)
        };
        if let (Some(speed), Some(pages)) = (ratio(&QPS), ratio(&PAGES)) {
            let measured = format!(
                "{}, {} results: {} as fast as the same search on {BASE}, with {} the pages",
                of.data,
                of.results,
                number::times(speed),
                number::times(pages)
            );
            evidence.add(speed > least, measured);
        }
    }
    evidence
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::report::document::Verdict;
    use crate::report::fixture::{give, run, search, set};

    fn ranges(design: &str, results: u64, qps: f64) -> Vec<Record> {
        [(20, 0.90), (40, 0.97)]
            .map(|(list_size, precision)| {
                let mut record = search("range", "photos", design, list_size, 0.0);
                record.task = Task::Range;
                record.result.as_object_mut().unwrap().remove("recall");
                let numbers = json!({"average_precision": precision, "radius": 51.5,
                                     "qps": qps / list_size as f64});
                give(set(record, RESULTS, results), numbers)
            })
            .into()
    }

    #[test]
    fn curves_are_over_average_precision_for_each_radius() {
        let mut records = ranges(OURS, 20, 900.0);
        records.extend(ranges(BASE, 20, 300.0));
        records.extend(ranges(OURS, 100, 90.0));
        records.extend(ranges(BASE, 100, 100.0));
        let section = section(&run(records)).unwrap();
        assert_eq!(section.figures.len(), 4);
        let figure = &section.figures[1];
        assert_eq!(figure.id, "range-qps-20-photos");
        assert_eq!(figure.note, "Radius 51.5.");
        let Plot::Lines(lines) = &figure.plot else {
            panic!("no lines")
        };
        assert_eq!(lines.x.name, "average precision");
        assert_eq!(lines.series[0].marks[0].x, 0.90);
        assert!(
            figure.table.columns[1]
                .name
                .contains("average precision 0.90")
        );

        let verdicts: Vec<Verdict> = section.findings.iter().map(|each| each.verdict).collect();
        assert_eq!(verdicts, [Verdict::Differs, Verdict::Partly]);
        assert!(section.findings[0].measured.contains("20 results: 3.00x"));
    }

    #[test]
    fn without_truth_nothing_is_compared() {
        let mut record = ranges(OURS, 20, 900.0).remove(0);
        record.result["average_precision"] = Value::Null;
        let section = section(&run(vec![record])).unwrap();
        assert!(section.figures.is_empty());
        assert_eq!(section.findings[0].verdict, Verdict::NotMeasured);
    }
}
