//! Coupled against decoupled storage over dimensions: where it pays to keep vectors away from the
//! graph.

use crate::record::{Record, Run, Task};
use crate::report::document::{Cell, Figure, Finding, Scale, Section, Table};
use crate::report::evidence::Evidence;
use crate::report::quantity::{PAGES, QPS, Quantity, TARGETS};
use crate::report::setting::{self, Setting, Shown};
use crate::report::{cut, group, method, number, plot, refusal, table};

const SOURCE: &str = "Evaluation, fig. 11 and section 4.3.2";
const COUPLED: &str = "coupled";
const DECOUPLED: &str = "decoupled";
/// Dimensions at which the evaluation finds that the designs cross.
const CROSSING: f64 = 1500.0;
/// Recall of the comparisons.
const TARGET: f64 = 0.95;

const DIMENSIONS: Setting = setting::count("dimensions", "dimensions", Scale::Linear);

/// How many times as fast decoupled is as coupled, by dimensions.
type Ratios = Vec<(f64, f64)>;

/// The section of the experiment `dimensions`.
pub(crate) fn section(run: &Run) -> Option<Section> {
    let records = group::measured(run, "dimensions", Task::Search);
    if records.is_empty() {
        return None;
    }
    let mut words = vec![
        "The same vectors, cut to their first dimensions, in two designs: coupled keeps a vector \
         and its adjacency list in one record, decoupled keeps lists on pages of their own and \
         reads vectors at the end, for the best candidates. Nothing is cached. Values at a recall \
         are read off with the best list size."
            .to_owned(),
    ];
    words.extend(method::settings(&records));
    let data = cut::by_dimensions(&records);
    Some(Section {
        id: "dimensions".to_owned(),
        title: "Coupled and decoupled over dimensions".to_owned(),
        source: SOURCE.to_owned(),
        method: words,
        figures: data
            .iter()
            .flat_map(|(name, records)| figures(name, records))
            .collect(),
        tables: std::iter::once(crossings(&data))
            .chain(refusal::table(run, "dimensions"))
            .collect(),
        findings: findings(&data),
    })
}

fn figures(data: &str, records: &[&Record]) -> Vec<Figure> {
    let kinds: [(&str, &str, &Quantity); 2] = [
        ("qps", "Queries per second", &QPS),
        ("pages", "Pages read per query", &PAGES),
    ];
    let groups = plot::designs(records);
    kinds
        .into_iter()
        .flat_map(|(name, what, quantity)| {
            TARGETS.map(|recall| {
                Shown {
                    id: format!("dimensions-{name}-{:.0}-{data}", recall * 100.0),
                    title: format!("{what} at recall {recall:.2}, {data}"),
                    setting: DIMENSIONS,
                    quantity,
                }
                .at_recall(&groups, recall)
            })
        })
        .collect()
}

/// Speed of decoupled over that of coupled at a recall, by rising dimensions.
fn ratios(records: &[&Record], recall: f64) -> Ratios {
    group::by_axis(records, DIMENSIONS.axis)
        .into_iter()
        .filter_map(|(dimensions, records)| {
            let of = |design: &str| QPS.at(&group::of_design(&records, design), recall);
            Some((dimensions, of(DECOUPLED)? / of(COUPLED)?))
        })
        .collect()
}

/// Where the ratio passes 1, on a straight line between its neighbours.
fn crossing(ratios: &Ratios) -> Option<f64> {
    ratios.windows(2).find_map(|pair| {
        let [(left, low), (right, high)] = pair else {
            return None;
        };
        (*low < 1.0 && *high >= 1.0).then(|| left + (right - left) * (1.0 - low) / (high - low))
    })
}

fn crossings(data: &[(String, Vec<&Record>)]) -> Table {
    let all: Vec<&Record> = data
        .iter()
        .flat_map(|(_, records)| records)
        .copied()
        .collect();
    let dimensions = DIMENSIONS.values(&all);
    let mut columns = vec![table::neutral("data"), table::neutral("recall")];
    columns.extend(
        dimensions
            .iter()
            .map(|value| table::neutral(format!("{value} dimensions"))),
    );
    columns.push(table::neutral("they cross at"));
    let rows = data.iter().flat_map(|(name, records)| {
        let dimensions = &dimensions;
        TARGETS.map(move |recall| {
            let ratios = ratios(records, recall);
            let mut row = vec![table::text(name), table::text(number::recall(recall))];
            row.extend(dimensions.iter().map(|value| ratio_cell(&ratios, *value)));
            row.push(table::number(crossing(&ratios), number::thousands));
            row
        })
    });
    let title = "Queries per second of decoupled over those of coupled";
    table::table("dimensions-crossing", title, columns, rows.collect(), 0)
}

fn ratio_cell(ratios: &Ratios, dimensions: f64) -> Cell {
    let found = ratios.iter().find(|(at, _)| *at == dimensions);
    table::number(found.map(|(_, ratio)| *ratio), number::times)
}

fn findings(data: &[(String, Vec<&Record>)]) -> Vec<Finding> {
    vec![
        winners(data).finding(
            "Coupled storage is faster in low dimensions, decoupled in high ones; they cross near \
             1,500 dimensions",
            SOURCE,
        ),
        gain_with_dimensions(data).finding(
            "The more dimensions, the more decoupled storage gains",
            SOURCE,
        ),
        gain_with_recall(data).finding(
            "The higher the recall, the more decoupled storage gains: at 3,000 dimensions 13 % at \
             recall 0.90, 24 % at 0.99",
            SOURCE,
        ),
    ]
}

/// Whether coupled wins below the crossing of the evaluation, and decoupled beyond it.
fn winners(data: &[(String, Vec<&Record>)]) -> Evidence {
    let mut evidence = Evidence::default();
    for (name, records) in data {
        for (dimensions, ratio) in ratios(records, TARGET) {
            let measured = format!(
                "{name}, {dimensions} dimensions, recall {TARGET}: decoupled {} as fast",
                number::times(ratio)
            );
            evidence.add((ratio > 1.0) == (dimensions > CROSSING), measured);
        }
    }
    evidence
}

fn gain_with_dimensions(data: &[(String, Vec<&Record>)]) -> Evidence {
    let mut evidence = Evidence::default();
    for (name, records) in data {
        let ratios = ratios(records, TARGET);
        if let [(few, low), .., (many, high)] = ratios.as_slice() {
            let measured = format!(
                "{name}, recall {TARGET}: decoupled {} as fast with {few} dimensions, {} with {many}",
                number::times(*low),
                number::times(*high)
            );
            evidence.add(high > low, measured);
        }
    }
    evidence
}

fn gain_with_recall(data: &[(String, Vec<&Record>)]) -> Evidence {
    let mut evidence = Evidence::default();
    for (name, records) in data {
        let [low, _, high] = TARGETS.map(|recall| ratios(records, recall));
        let widest = low.iter().rev().find_map(|(dimensions, low)| {
            let (_, high) = high.iter().find(|(at, _)| at == dimensions)?;
            Some((dimensions, low, high))
        });
        if let Some((dimensions, low, high)) = widest {
            let measured = format!(
                "{name}, {dimensions} dimensions: decoupled {} as fast at recall 0.90, {} at 0.99",
                number::times(*low),
                number::times(*high)
            );
            evidence.add(high > low, measured);
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

    /// Searches of a design with a speed at recall 0.95; decoupled loses some with recall.
    fn searches(design: &str, dimensions: u64, qps: f64) -> Vec<Record> {
        let loss = if design == COUPLED { 0.0 } else { 1.0 };
        TARGETS
            .map(|recall| {
                let data = format!("texts-{dimensions}d");
                let list_size = (100.0 * recall) as u64;
                let record = search("dimensions", &data, design, list_size, recall);
                let speed = qps * (1.0 + loss * (TARGET - recall));
                give(set(record, "dimensions", dimensions), json!({"qps": speed}))
            })
            .into()
    }

    fn of(speeds: &[(u64, f64, f64)]) -> Section {
        let records = speeds.iter().flat_map(|(dimensions, coupled, decoupled)| {
            let mut records = searches(COUPLED, *dimensions, *coupled);
            records.extend(searches(DECOUPLED, *dimensions, *decoupled));
            records
        });
        section(&run(records.collect())).unwrap()
    }

    #[test]
    fn designs_cross_where_their_speeds_do() {
        let section = of(&[
            (500, 100.0, 80.0),
            (1500, 100.0, 100.0),
            (3000, 90.0, 120.0),
        ]);
        assert_eq!(section.figures.len(), 6);
        let last = section.tables[0].rows[1].last().unwrap();
        assert_eq!(last.number, Some(1500.0));
        assert_eq!(section.tables[0].rows[1][2].text, "0.800x");
        let verdicts: Vec<Verdict> = section.findings.iter().map(|each| each.verdict).collect();
        assert_eq!(
            verdicts,
            [Verdict::Agrees, Verdict::Agrees, Verdict::Differs]
        );
    }

    #[test]
    fn a_winner_in_low_dimensions_speaks_against_the_crossing() {
        let section = of(&[(96, 100.0, 120.0), (384, 100.0, 90.0)]);
        assert_eq!(section.findings[0].verdict, Verdict::Partly);
        assert_eq!(section.findings[1].verdict, Verdict::Differs);
        assert_eq!(section.tables[0].rows[1].last().unwrap().number, None);
    }

    #[test]
    fn without_records_there_is_no_section() {
        assert!(section(&Run::default()).is_none());
    }
}
