//! Data divided over segments: one index each, searched one after the other, answers merged.

use crate::record::{Record, Run, Task};
use crate::report::document::{Figure, Finding, Scale, Section};
use crate::report::evidence::Evidence;
use crate::report::quantity::{PAGES, QPS, Quantity, RECALL};
use crate::report::setting::{self, Setting};
use crate::report::{choice, group, method, number, refusal};

const SOURCE: &str = "Starling, table 3";
/// Recall whose list size is taken.
const TARGET: f64 = 0.95;
/// How many times as fast Starling is as DiskANN.
const LEAD: f64 = 2.0;
const OURS: &str = "starling";
const BASE: &str = "diskann";

const SEGMENTS: Setting = setting::count("segments", "segments", Scale::Linear);
/// The section of the experiment `segments`.
pub(crate) fn section(run: &Run) -> Option<Section> {
    let records = group::measured(run, "segments", Task::Segments);
    if records.is_empty() {
        return None;
    }
    let mut words = vec![format!(
        "The same rows, divided into equal segments with an index each. A query searches all of \
         them one after the other, and the best of their answers are its answer. Of the list \
         sizes measured the shortest that reaches recall {TARGET} is shown, else the one that \
         comes nearest."
    )];
    words.extend(method::settings(&records));
    let data = group::by_data(&records);
    Some(Section {
        id: "segments".to_owned(),
        title: "Segments".to_owned(),
        source: SOURCE.to_owned(),
        method: words,
        figures: data
            .iter()
            .flat_map(|(name, records)| figures(name, records))
            .collect(),
        tables: refusal::table(run, "segments").into_iter().collect(),
        findings: findings(&records),
    })
}

fn figures(data: &str, records: &[&Record]) -> Vec<Figure> {
    let quantities = [
        ("qps", "Queries per second", &QPS),
        ("pages", "Pages read per query", &PAGES),
        ("recall", "Recall", &RECALL),
    ];
    setting::standing_for(TARGET, SEGMENTS, &quantities, (data, records))
}

/// A quantity of the cell that stands for records.
fn chosen(records: &[&Record], quantity: &Quantity) -> Option<f64> {
    quantity.median(&choice::reaching(records, TARGET))
}

fn findings(records: &[&Record]) -> Vec<Finding> {
    vec![
        lead(records).finding(
            "Starling is twice as fast as DiskANN with any number of segments (2.0 to 2.3 times \
             with 1 to 5)",
            SOURCE,
        ),
        decline(records).finding(
            "Throughput falls more slowly than the number of segments grows: to a third with 5",
            SOURCE,
        ),
    ]
}

fn lead(records: &[&Record]) -> Evidence {
    let mut evidence = Evidence::default();
    for (data, records) in group::by_data(records) {
        for (segments, records) in group::by_axis(&records, SEGMENTS.axis) {
            let of = |design: &str| chosen(&group::of_design(&records, design), &QPS);
            if let (Some(ours), Some(base)) = (of(OURS), of(BASE)) {
                let measured = format!("{data}, {segments}: {}", number::times(ours / base));
                evidence.add(ours / base >= LEAD, measured);
            }
        }
    }
    evidence
}

/// Speed with most segments against that with one.
fn decline(records: &[&Record]) -> Evidence {
    let mut evidence = Evidence::default();
    for (data, design, records) in group::by_data_and_design(records) {
        let speeds: Vec<(f64, f64)> = group::by_axis(&records, SEGMENTS.axis)
            .into_iter()
            .filter_map(|(segments, records)| Some((segments, chosen(&records, &QPS)?)))
            .collect();
        if let [(1.0, one), .., (most, many)] = speeds.as_slice() {
            let measured = format!(
                "{data}, {design}: {} as fast with {most} segments as with one",
                number::times(many / one)
            );
            evidence.add(many / one > 1.0 / most, measured);
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

    fn of(design: &str, segments: u64, qps: f64) -> Record {
        let mut record = search("segments", "photos", design, 20, 0.96);
        record.task = Task::Segments;
        give(set(record, "segments", segments), json!({"qps": qps}))
    }

    #[test]
    fn the_lead_and_the_decline() {
        let records = vec![
            of(OURS, 1, 900.0),
            of(OURS, 5, 250.0),
            of(BASE, 1, 400.0),
            of(BASE, 5, 60.0),
        ];
        let section = section(&run(records)).unwrap();
        assert_eq!(section.figures.len(), 3);
        assert_eq!(section.figures[0].table.columns[2].name, "segments 5");
        let verdicts: Vec<Verdict> = section.findings.iter().map(|each| each.verdict).collect();
        assert_eq!(verdicts, [Verdict::Agrees, Verdict::Partly]);
        assert!(section.findings[0].measured.contains("photos, 1: 2.25x"));
    }
}
