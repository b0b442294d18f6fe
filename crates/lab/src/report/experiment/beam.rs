//! Beam widths: what more reads in flight give a query.

use crate::record::{Record, Run, Task};
use crate::report::document::{Figure, Finding, Goodness, Scale, Section, Table};
use crate::report::evidence::Evidence;
use crate::report::quantity::{MEAN_LATENCY, PAGES, QPS};
use crate::report::setting;
use crate::report::{group, method, number, refusal, table};

const SOURCE: &str = "Evaluation, fig. 10 and section 4.2.4";
const AXIS: &str = "beam";
/// Recalls of the figures; findings compare at the last.
const TARGETS: [f64; 2] = [0.90, 0.95];
/// Widths between which the gain is told.
const STEPS: [(f64, f64); 4] = [(1.0, 4.0), (4.0, 8.0), (8.0, 16.0), (16.0, 32.0)];

/// The section of the experiment `beam`.
pub(crate) fn section(run: &Run) -> Option<Section> {
    let records = group::measured(run, AXIS, Task::Search);
    if records.is_empty() {
        return None;
    }
    let mut words = vec![
        "One query at a time, so that the beam width alone decides how many reads are in flight; \
         rising list sizes for each width."
            .to_owned(),
    ];
    words.extend(method::settings(&records));
    let mut tables: Vec<Table> = group::by_data(&records)
        .iter()
        .map(|(data, records)| gains(data, records))
        .collect();
    tables.extend(refusal::table(run, AXIS));
    Some(Section {
        id: AXIS.to_owned(),
        title: "Beam width".to_owned(),
        source: SOURCE.to_owned(),
        method: words,
        figures: group::by_data(&records)
            .iter()
            .flat_map(|(data, records)| figures(data, records))
            .collect(),
        tables,
        findings: findings(&records),
    })
}

fn figures(data: &str, records: &[&Record]) -> Vec<Figure> {
    let quantities = [("qps", QPS), ("latency", MEAN_LATENCY), ("pages", PAGES)];
    let setting = setting::count(AXIS, "beam width", Scale::Linear);
    setting::at_recalls("beam", setting, &quantities, &TARGETS, (data, records))
}

/// Speed at a beam width, at the recall of the findings.
fn speed(records: &[&Record], beam: f64) -> Option<f64> {
    let recall = TARGETS.last().copied()?;
    QPS.at(&group::at_axis(records, AXIS, beam), recall)
}

fn gain(records: &[&Record], (from, to): (f64, f64)) -> Option<f64> {
    Some(speed(records, to)? / speed(records, from)?)
}

fn gains(data: &str, records: &[&Record]) -> Table {
    let mut columns = vec![table::neutral("design")];
    columns.extend(
        STEPS.map(|(from, to)| {
            table::column(format!("beam width {from} to {to}"), Goodness::Higher)
        }),
    );
    let rows = group::by_design(records)
        .into_iter()
        .map(|(design, records)| {
            let mut row = vec![table::text(design)];
            row.extend(STEPS.map(|step| table::number(gain(&records, step), number::times)));
            row
        })
        .collect();
    let title = format!("Speed against that of a narrower beam, at recall 0.95, {data}");
    table::table(format!("beam-gains-{data}"), title, columns, rows, 0)
}

fn findings(records: &[&Record]) -> Vec<Finding> {
    let step = |from: f64, to: f64, holds: fn(f64) -> bool| {
        let mut evidence = Evidence::default();
        for (data, design, records) in group::by_data_and_design(records) {
            if let Some(gain) = gain(&records, (from, to)) {
                let measured = format!("{data}, {design}: {}", number::times(gain));
                evidence.add(holds(gain), measured);
            }
        }
        evidence
    };
    vec![
        step(1.0, 4.0, |gain| gain >= 2.8).finding(
            "At recall 0.95 a beam width of 4 gives 2.8 to 3.4 times the speed of 1",
            SOURCE,
        ),
        step(4.0, 8.0, |gain| gain >= 1.45).finding(
            "From a beam width of 4 to 8 speed grows by 45 to 75 % more",
            SOURCE,
        ),
        step(16.0, 32.0, |gain| gain < 1.15).finding(
            "From a beam width of 16 to 32 speed grows by less than 15 %, or not at all",
            SOURCE,
        ),
    ]
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::report::document::Verdict;
    use crate::report::fixture::{give, run, search, set};

    fn searches(beam: u64, qps: f64) -> Vec<Record> {
        [(10, 0.88), (40, 0.98)]
            .into_iter()
            .map(|(list_size, recall)| {
                let record = search("beam", "photos", "diskann", list_size, recall);
                give(
                    set(record, "beam", beam),
                    json!({"qps": qps / list_size as f64}),
                )
            })
            .collect()
    }

    #[test]
    fn gains_follow_the_speeds() {
        let records = [(1, 100.0), (4, 300.0), (8, 330.0), (16, 340.0)];
        let records = records
            .into_iter()
            .flat_map(|(beam, qps)| searches(beam, qps))
            .collect();
        let section = section(&run(records)).unwrap();
        let verdicts: Vec<Verdict> = section.findings.iter().map(|each| each.verdict).collect();
        assert_eq!(
            verdicts,
            [Verdict::Agrees, Verdict::Differs, Verdict::NotMeasured]
        );
        let gains = &section.tables[0].rows[0];
        assert_eq!(gains[1].text, "3.00x");
        assert_eq!(gains[4].number, None);
        assert_eq!(section.figures.len(), 6);
    }
}
