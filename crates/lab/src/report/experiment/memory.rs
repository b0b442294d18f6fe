//! Memory budgets: what less memory costs, and how little is enough.

use crate::record::{Record, Run, Task};
use crate::report::document::{Cell, Figure, Finding, Goodness, Scale, Section, Table};
use crate::report::evidence::Evidence;
use crate::report::quantity::{MEAN_LATENCY, PAGES, QPS};
use crate::report::setting::{self, Setting};
use crate::report::{group, method, number, refusal, table};

const SOURCE: &str = "PageANN, fig. 10, table 4 and section 6.3";
const AXIS: &str = "memory_ratio";
/// Recalls of the figures; findings compare speeds at the first.
const TARGETS: [f64; 2] = [0.90, 0.95];

/// The section of the experiment `memory`.
pub(crate) fn section(run: &Run) -> Option<Section> {
    let records = group::measured(run, "memory", Task::Search);
    if records.is_empty() && group::failed(run, "memory").is_empty() {
        return None;
    }
    let mut words = vec![
        "Every design is built for a budget of memory, given as a share of the bytes of the raw \
         vectors, and searched within it with rising list sizes. A budget that a design cannot \
         work in is refused when it is built or opened: such cells are listed, with the least \
         that would do."
            .to_owned(),
    ];
    words.extend(method::settings(&records));
    let mut tables = vec![least(run, &records)];
    tables.extend(refusal::table(run, "memory"));
    Some(Section {
        id: "memory".to_owned(),
        title: "Memory budget".to_owned(),
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
    let setting = Setting {
        axis: AXIS,
        name: "memory of raw vectors",
        scale: Scale::Linear,
        format: number::percent,
    };
    setting::at_recalls("memory", setting, &quantities, &TARGETS, (data, records))
}

/// The least share of memory with which a design reaches a recall, and the record that has it.
fn least_for<'r>(records: &[&'r Record], recall: f64) -> Option<(f64, &'r Record)> {
    group::by_axis(records, AXIS)
        .into_iter()
        .find_map(|(ratio, records)| {
            let reaches = |record: &&Record| record.number("recall") >= Some(recall);
            Some((ratio, records.into_iter().find(reaches)?))
        })
}

/// The least memory of each design for each recall, and where it was refused.
fn least(run: &Run, records: &[&Record]) -> Table {
    let mut columns = vec![table::neutral("data"), table::neutral("design")];
    for recall in TARGETS {
        let lower = |name: String| table::column(name, Goodness::Lower);
        columns.push(lower(format!(
            "least memory of raw vectors for recall {recall:.2}"
        )));
        columns.push(lower(format!("budget for recall {recall:.2}")));
    }
    columns.push(table::neutral("refused"));
    let mut all = records.to_vec();
    all.extend(group::failed(run, "memory"));
    let rows = group::by_data_and_design(&all)
        .into_iter()
        .map(|(data, design, all)| {
            let mut row = vec![table::text(data), table::text(design)];
            row.extend(needs(all));
            row
        })
        .collect();
    let title = "The least measured memory that is enough";
    table::table("memory-least", title, columns, rows, 1)
}

/// What a design needs for each recall, and where it was refused.
fn needs(all: Vec<&Record>) -> Vec<Cell> {
    let (measured, failed): (Vec<&Record>, Vec<&Record>) =
        all.into_iter().partition(|record| group::succeeded(record));
    let mut cells = Vec::new();
    for recall in TARGETS {
        let found = least_for(&measured, recall);
        let budget = found.and_then(|(_, record)| record.number("memory_budget_bytes"));
        let ratio = found.map(|(ratio, _)| ratio);
        cells.push(table::number(ratio, number::percent));
        cells.push(table::number(budget, number::bytes));
    }
    cells.push(table::text(refused(&failed)));
    cells
}

/// Shares at which a design was refused.
fn refused(failed: &[&Record]) -> String {
    let ratios: Vec<String> = group::by_axis(failed, AXIS)
        .iter()
        .map(|(ratio, _)| number::percent(*ratio))
        .collect();
    if ratios.is_empty() {
        "never".to_owned()
    } else {
        format!("at {}", ratios.join(", "))
    }
}

fn findings(records: &[&Record]) -> Vec<Finding> {
    let mut smallest = Evidence::default();
    for (data, records) in group::by_data(records) {
        let ratios: Vec<(&str, f64)> = group::by_design(&records)
            .iter()
            .filter_map(|(design, records)| Some((*design, least_for(records, 0.90)?.0)))
            .collect();
        let own = of(&ratios, |design| design.starts_with("pageann"));
        let rival = of(&ratios, |design| !design.starts_with("pageann"));
        if let (Some((design, own)), Some((other, ratio))) = (own, rival) {
            let (own_text, ratio_text) = (number::percent(own), number::percent(ratio));
            let measured = format!("{data}: {design} {own_text}, {other} {ratio_text}");
            smallest.add(own < ratio, measured);
        }
    }
    vec![
        smallest.finding(
            "PageANN reaches recall 0.9 with the least memory, 0.05 % of the raw vectors; the \
             others need more than 1 %",
            "PageANN, table 4",
        ),
        against_most(records, 0.10, "pageann", |share| share >= 0.8).finding(
            "With memory for 10 % of the raw vectors PageANN keeps 85 % of its speed with 30 %",
            SOURCE,
        ),
        against_most(records, 0.10, "diskann", |share| share < 0.2).finding(
            "With little memory DiskANN falls to less than 20 % of its speed with 30 %",
            SOURCE,
        ),
    ]
}

/// Least share among designs of a kind.
fn of<'d>(ratios: &[(&'d str, f64)], kind: fn(&str) -> bool) -> Option<(&'d str, f64)> {
    ratios
        .iter()
        .filter(|(design, _)| kind(design))
        .min_by(|a, b| a.1.total_cmp(&b.1))
        .copied()
}

/// Speed of a design at a share of memory, against its speed at 30 %.
fn against_most(records: &[&Record], ratio: f64, design: &str, holds: fn(f64) -> bool) -> Evidence {
    let mut evidence = Evidence::default();
    for (data, records) in group::by_data(records) {
        let own = group::of_design(&records, design);
        let speed = |ratio: f64| QPS.at(&group::at_axis(&own, AXIS, ratio), 0.90);
        if let (Some(less), Some(most)) = (speed(ratio), speed(0.30)) {
            let share = less / most;
            evidence.add(
                holds(share),
                format!("{data}: {} of the speed", number::percent(share)),
            );
        }
    }
    evidence
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::report::document::Verdict;
    use crate::report::fixture::{give, refused, run, search, set};

    fn at(design: &str, ratio: f64, recall: f64, qps: f64) -> Record {
        let record = search("memory", "photos", design, 40, recall);
        let record = set(record, AXIS, ratio);
        give(
            record,
            json!({"qps": qps, "memory_budget_bytes": ratio * 1e6}),
        )
    }

    fn records() -> Vec<Record> {
        vec![
            at("pageann", 0.0, 0.91, 80.0),
            at("pageann", 0.1, 0.95, 90.0),
            at("pageann", 0.3, 0.95, 100.0),
            set(
                refused("memory", "photos", "diskann", "too small"),
                AXIS,
                0.0,
            ),
            at("diskann", 0.1, 0.85, 100.0),
            at("diskann", 0.3, 0.92, 100.0),
        ]
    }

    #[test]
    fn the_least_memory_that_reaches_a_recall() {
        let section = section(&run(records())).unwrap();
        let least = &section.tables[0];
        let texts: Vec<Vec<&str>> = least
            .rows
            .iter()
            .map(|row| row.iter().map(|cell| cell.text.as_str()).collect())
            .collect();
        assert_eq!(texts[0][1..3], ["diskann", "30.0 %"]);
        assert_eq!(texts[0][4..], ["–", "–", "at 0.0 %"]);
        assert_eq!(
            texts[1][1..],
            ["pageann", "0.0 %", "0 B", "10.0 %", "100.0 kB", "never"]
        );
        assert!(least.rows[1][2].best && !least.rows[0][2].best);
        assert_eq!(section.tables[1].rows[0][4].text, "too small");
    }

    #[test]
    fn the_verdicts_follow_the_numbers() {
        let section = section(&run(records())).unwrap();
        let verdicts: Vec<Verdict> = section.findings.iter().map(|each| each.verdict).collect();
        assert_eq!(
            verdicts,
            [Verdict::Agrees, Verdict::Agrees, Verdict::NotMeasured]
        );
    }

    #[test]
    fn refusals_alone_make_a_section() {
        let run = run(vec![refused("memory", "photos", "diskann", "too small")]);
        assert_eq!(section(&run).unwrap().tables.len(), 2);
        assert!(section(&Run::default()).is_none());
    }
}
