//! Page sizes: what larger reads give and cost.

use crate::record::{Record, Run, Task};
use crate::report::document::{Figure, Finding, Scale, Section};
use crate::report::evidence::Evidence;
use crate::report::quantity::{BYTES, PAGES, QPS, Quantity};
use crate::report::setting::{self, Shown};
use crate::report::{group, method, number, plot, refusal};

const SOURCE: &str = "Evaluation, fig. 9 and section 4.2.3";
const TARGET: f64 = 0.95;
const AXIS: &str = "page_size";
/// Dimensions from which the evaluation finds designs that do not fit small pages.
const HIGH_DIMENSIONS: f64 = 900.0;

/// The section of the experiment `page_size`.
pub(crate) fn section(run: &Run) -> Option<Section> {
    let records = group::measured(run, AXIS, Task::Search);
    if records.is_empty() {
        return None;
    }
    let mut words = vec![
        "The same design is built with pages of several sizes, and searched with rising list \
         sizes. A record that is larger than a page spans several, so no design fails for that."
            .to_owned(),
    ];
    words.extend(method::settings(&records));
    Some(Section {
        id: AXIS.to_owned(),
        title: "Page size".to_owned(),
        source: SOURCE.to_owned(),
        method: words,
        figures: group::by_data(&records)
            .iter()
            .flat_map(|(data, records)| figures(data, records))
            .collect(),
        tables: refusal::table(run, AXIS).into_iter().collect(),
        findings: findings(run, &records),
    })
}

fn figures(data: &str, records: &[&Record]) -> Vec<Figure> {
    let mut figures: Vec<Figure> = [("qps", QPS), ("pages", PAGES), ("bytes", BYTES)]
        .iter()
        .map(|(name, quantity)| over_page_size(name, data, records, quantity))
        .collect();
    figures.extend(group::by_axis(records, AXIS).iter().map(|(size, records)| {
        plot::recall_figure(
            &format!("page-size-{size}-{data}"),
            &format!("Queries per second, pages of {size} bytes, {data}"),
            &plot::designs(records),
            &QPS,
        )
    }));
    figures
}

fn over_page_size(name: &str, data: &str, records: &[&Record], quantity: &Quantity) -> Figure {
    Shown {
        id: format!("page-size-{name}-{data}"),
        title: format!("{} at recall {TARGET:.2}, {data}", quantity.heading()),
        setting: setting::count(AXIS, "page size", Scale::Linear),
        quantity,
    }
    .at_recall(&plot::designs(records), TARGET)
}

fn findings(run: &Run, records: &[&Record]) -> Vec<Finding> {
    let (falls, starling_rises) = falling(records);
    vec![
        falls.finding(
            "Queries per second fall as pages grow from 4 to 16 KiB, for most designs",
            SOURCE,
        ),
        starling_rises.finding("Starling gains from 16 KiB pages against 8 KiB", SOURCE),
        fastest(records, "pageann", |size| size <= 8192.0).finding(
            "PageANN is the fastest with pages of 4 and 8 KiB at recall 0.95",
            SOURCE,
        ),
        fastest(records, "starling", |size| size == 16384.0).finding(
            "Starling is the fastest with pages of 16 KiB at recall 0.95",
            SOURCE,
        ),
        infeasible(run, records).finding(
            "With 960 dimensions and pages of 4 KiB a design cannot be built at all (Gorgeous \
             with a max degree of 48)",
            SOURCE,
        ),
    ]
}

/// Speed at the largest page size against that at the smallest, and at 16 KiB against 8 KiB for
/// Starling.
fn falling(records: &[&Record]) -> (Evidence, Evidence) {
    let (mut falls, mut rises) = (Evidence::default(), Evidence::default());
    for (data, design, records) in group::by_data_and_design(records) {
        let speeds: Vec<(f64, f64)> = group::by_axis(&records, AXIS)
            .iter()
            .filter_map(|(size, records)| Some((*size, QPS.at(records, TARGET)?)))
            .collect();
        let of = |size: f64| speeds.iter().find(|(known, _)| *known == size);
        let told = |from: &(f64, f64), to: &(f64, f64)| {
            let gain = number::times(to.1 / from.1);
            format!("{data}, {design}: {gain} from {} to {} bytes", from.0, to.0)
        };
        if design == "starling" {
            if let (Some(from), Some(to)) = (of(8192.0), of(16384.0)) {
                rises.add(to.1 > from.1, told(from, to));
            }
        } else if let [from, .., to] = speeds.as_slice() {
            falls.add(to.1 < from.1, told(from, to));
        }
    }
    (falls, rises)
}

/// Whether a design is the fastest at each page size of a kind.
fn fastest(records: &[&Record], design: &str, wanted: fn(f64) -> bool) -> Evidence {
    let mut evidence = Evidence::default();
    for (data, records) in group::by_data(records) {
        for (size, records) in group::by_axis(&records, AXIS) {
            let speeds: Vec<(&str, f64)> = group::by_design(&records)
                .iter()
                .filter_map(|(design, records)| Some((*design, QPS.at(records, TARGET)?)))
                .collect();
            let measured = speeds.iter().any(|(name, _)| *name == design);
            if !wanted(size) || !measured || speeds.len() < 2 {
                continue;
            }
            if let Some((winner, speed)) = speeds.iter().max_by(|a, b| a.1.total_cmp(&b.1)) {
                let speed = number::plain(*speed);
                let measured = format!("{data}, {size} bytes: {winner} {speed}");
                evidence.add(*winner == design, measured);
            }
        }
    }
    evidence
}

/// Designs that were refused with small pages on data of many dimensions.
fn infeasible(run: &Run, records: &[&Record]) -> Evidence {
    let mut evidence = Evidence::default();
    let failed = group::failed(run, AXIS);
    for (data, records) in group::by_data(records) {
        if !method::dimensions(&records).is_some_and(|many| many >= HIGH_DIMENSIONS) {
            continue;
        }
        let refused: Vec<&Record> = group::at_axis(&failed, AXIS, 4096.0)
            .into_iter()
            .filter(|record| record.data == data)
            .collect();
        let names: Vec<&str> = group::by_design(&refused)
            .iter()
            .map(|(design, _)| *design)
            .collect();
        let told = if names.is_empty() {
            format!("{data}: none is refused with 4096 bytes")
        } else {
            format!("{data}: refused with 4096 bytes: {}", names.join(", "))
        };
        evidence.add(!names.is_empty(), told);
    }
    evidence
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::report::document::{Plot, Verdict};
    use crate::report::fixture::{give, run, search, set};

    fn searches(design: &str, page_size: u64, qps: f64) -> Vec<Record> {
        [(10, 0.92), (40, 0.98)]
            .into_iter()
            .map(|(list_size, recall)| {
                let record = search("page_size", "photos", design, list_size, recall);
                let record = set(record, "page_size", page_size);
                let record = set(record, "dimensions", 960);
                give(record, json!({"qps": qps / list_size as f64}))
            })
            .collect()
    }

    #[test]
    fn the_verdicts_follow_the_speeds() {
        let mut records = searches("pageann", 4096, 900.0);
        records.extend(searches("pageann", 16384, 500.0));
        records.extend(searches("starling", 4096, 500.0));
        records.extend(searches("starling", 8192, 600.0));
        records.extend(searches("starling", 16384, 700.0));
        let section = section(&run(records)).unwrap();
        let verdicts: Vec<Verdict> = section.findings.iter().map(|each| each.verdict).collect();
        assert_eq!(verdicts[..4], [Verdict::Agrees; 4]);
        assert_eq!(verdicts[4], Verdict::Differs);
        assert_eq!(section.figures.len(), 6);
        let Plot::Lines(lines) = &section.figures[0].plot else {
            panic!("lines are expected");
        };
        let sizes: Vec<f64> = lines.series[1].marks.iter().map(|mark| mark.x).collect();
        assert_eq!(sizes, [4096.0, 16384.0]);
        assert!(section.tables.is_empty());
    }
}
