//! Growth: what a query costs over the number of vectors, and what that lets expect beyond the
//! data.
//!
//! Two laws are fitted to the costs at one recall, each by least squares over the logarithm of the
//! number of vectors: a power of it, and a line over its logarithm (see [`crate::model::Fit`]). The
//! one with the smaller relative error is carried on beyond the data, in a figure of its own.

use crate::model::{Fit, Law};
use crate::record::{Record, Run, Task};
use crate::report::document::{Cell, Figure, Finding, Goodness, Scale, Section, Table};
use crate::report::evidence::Evidence;
use crate::report::plot::Named;
use crate::report::quantity::{MEAN_LATENCY, PAGES, QPS, Quantity};
use crate::report::setting::{self, Setting, Shown};
use crate::report::{cut, group, method, number, plot, refusal, table};

/// Recall of the comparisons.
const TARGET: f64 = 0.95;
/// Largest number of vectors that is predicted for.
const BILLION: f64 = 1e9;
/// What a law is carried on from: so many numbers of vectors, the most of them so many times the
/// fewest. Costs that fall with the number say nothing but that there is noise.
const LEAST_POINTS: usize = 3;
const LEAST_SPAN: f64 = 10.0;
const OURS: &str = "starling";
const BASE: &str = "diskann_uncached";

const ROWS: Setting = setting::count("rows", "vectors", Scale::Log);

/// The section of the experiment `growth`.
pub(crate) fn section(run: &Run) -> Option<Section> {
    let records = group::measured(run, "growth", Task::Search);
    if records.is_empty() {
        return None;
    }
    let mut words = vec![
        "The first rows of the data, more and more of them. Costs at a recall are read off with \
         the best list size for each number of vectors. A power of the number (its exponent is \
         told) and a line over its logarithm are fitted by least squares. Where three numbers or \
         more were measured, the most ten times the fewest at least, and costs rise, both are \
         carried on to 10^9 vectors; figures of predictions show the one with the smaller error. \
         The truth lies between them as a rule."
            .to_owned(),
    ];
    words.extend(method::settings(&records));
    let data = cut::by_rows(&records);
    Some(Section {
        id: "growth".to_owned(),
        title: "Growth".to_owned(),
        source: "PageANN, section 2; Starling, fig. 18".to_owned(),
        method: words,
        figures: data
            .iter()
            .flat_map(|(name, records)| figures(name, records))
            .collect(),
        tables: std::iter::once(laws(&data))
            .chain(refusal::table(run, "growth"))
            .collect(),
        findings: findings(&data),
    })
}

const KINDS: [(&str, &str, &Quantity); 2] = [
    ("pages", "Pages read per query", &PAGES),
    ("latency", "Mean latency", &MEAN_LATENCY),
];

fn figures(data: &str, records: &[&Record]) -> Vec<Figure> {
    let groups = plot::designs(records);
    KINDS
        .into_iter()
        .flat_map(|(name, what, quantity)| {
            let shown = Shown {
                id: format!("growth-{name}-{data}"),
                title: format!("{what} at recall {TARGET:.2}, {data}"),
                setting: ROWS,
                quantity,
            };
            let measured = shown.at_recall(&groups, TARGET);
            [Some(measured), predicted(&shown, &groups)]
        })
        .flatten()
        .collect()
}

/// Cost at the recall by rising number of vectors; bounds are no points of a law.
fn points(records: &[&Record], quantity: &Quantity) -> Vec<(f64, f64)> {
    group::by_axis(records, ROWS.axis)
        .into_iter()
        .filter_map(|(rows, records)| {
            let found = quantity.look_up(&records, TARGET)?;
            (!found.bound).then_some((rows, found.value))
        })
        .collect()
}

/// Values of the laws at the numbers measured, and beyond them; none where no law is sure enough.
fn predicted(shown: &Shown<'_>, groups: &[Named<'_>]) -> Option<Figure> {
    let laws: Vec<(&str, Laws)> = groups
        .iter()
        .filter_map(|(name, records)| {
            let laws = Laws::of(&points(records, shown.quantity)).filter(|laws| laws.sure)?;
            Some((name.as_str(), laws))
        })
        .collect();
    if laws.is_empty() {
        return None;
    }
    let sizes = sizes(groups);
    let cells: Vec<(&str, Vec<Cell>)> = laws
        .iter()
        .map(|(name, laws)| {
            let cell = |rows: &f64| shown.quantity.cell(Some(laws.better().at(*rows as u64)));
            (*name, sizes.iter().map(cell).collect())
        })
        .collect();
    let shown = Shown {
        id: format!("{}-predicted", shown.id),
        title: format!("{}, predicted", shown.title),
        ..shown.clone()
    };
    Some(Figure {
        note: "The law of each design that fits better, over the numbers of vectors measured and on to 10^9."
            .to_owned(),
        predicted: true,
        ..shown.of_cells(&sizes, &cells)
    })
}

/// Numbers of vectors of a prediction: those measured, and powers of ten beyond.
fn sizes(groups: &[Named<'_>]) -> Vec<f64> {
    let all: Vec<&Record> = groups
        .iter()
        .flat_map(|(_, records)| records)
        .copied()
        .collect();
    let mut sizes = ROWS.values(&all);
    let last = sizes.last().copied().unwrap_or(BILLION);
    let powers = (0..=9).map(|power| 10f64.powi(power));
    sizes.extend(powers.filter(|rows| *rows > last));
    sizes
}

/// Both laws, fitted to the costs of a design.
#[derive(Clone, Copy, Debug)]
struct Laws {
    power: Fit,
    logarithm: Fit,
    /// Whether they may be carried on beyond what was measured.
    sure: bool,
}

impl Laws {
    /// Fitted to costs by number of vectors; none of fewer than two numbers.
    fn of(points: &[(f64, f64)]) -> Option<Self> {
        let ((fewest, first), (most, last)) = (points.first()?, points.last()?);
        if fewest == most {
            return None;
        }
        let values: Vec<(u64, f64)> = points
            .iter()
            .map(|(rows, cost)| (*rows as u64, *cost))
            .collect();
        Some(Self {
            power: Fit::of(Law::Power, &values),
            logarithm: Fit::of(Law::Logarithmic, &values),
            sure: points.len() >= LEAST_POINTS && most / fewest >= LEAST_SPAN && last > first,
        })
    }

    /// The law with the smaller error.
    fn better(&self) -> &Fit {
        if self.power.residual <= self.logarithm.residual {
            &self.power
        } else {
            &self.logarithm
        }
    }

    /// By how much the cost grows for ten times as many vectors, by the logarithm.
    fn tenfold(&self) -> f64 {
        self.logarithm.slope * std::f64::consts::LN_10
    }
}

/// The laws of each design, with their errors, and what they predict.
fn laws(data: &[(String, Vec<&Record>)]) -> Table {
    let columns = vec![
        table::neutral("data"),
        table::neutral("cost"),
        table::neutral("design"),
        table::neutral("numbers of vectors"),
        table::column("exponent of the power", Goodness::Lower),
        table::neutral("error of the power"),
        table::column(
            "more for ten times as many, by the logarithm",
            Goodness::Lower,
        ),
        table::neutral("error of the logarithm"),
        table::column("10^9 vectors, by the power", Goodness::Lower),
        table::column("10^9 vectors, by the logarithm", Goodness::Lower),
    ];
    let mut rows = Vec::new();
    for (name, records) in data {
        for (_, _, quantity) in KINDS {
            for (design, records) in group::by_design(records) {
                let mut row = [name, quantity.name, design].map(table::text).to_vec();
                row.extend(law_cells(&points(&records, quantity), quantity));
                rows.push(row);
            }
        }
    }
    let title = format!("Laws of growth at recall {TARGET:.2}; what is said of 10^9 is predicted");
    table::table("growth-laws", title, columns, rows, 2)
}

fn law_cells(points: &[(f64, f64)], quantity: &Quantity) -> [Cell; 7] {
    let laws = Laws::of(points);
    let sure = laws.filter(|laws| laws.sure);
    let share = |value: Option<f64>| table::number(value, number::percent);
    [
        table::text(points.len().to_string()),
        table::number(laws.map(|laws| laws.power.slope), |slope| {
            format!("{slope:.3}")
        }),
        share(laws.map(|laws| laws.power.residual)),
        quantity.cell(laws.map(|laws| laws.tenfold())),
        share(laws.map(|laws| laws.logarithm.residual)),
        quantity.cell(sure.map(|laws| laws.power.at(BILLION as u64))),
        quantity.cell(sure.map(|laws| laws.logarithm.at(BILLION as u64))),
    ]
}

fn findings(data: &[(String, Vec<&Record>)]) -> Vec<Finding> {
    vec![
        longer_walks(data).finding(
            "Walks get longer as vectors get more, and so a query reads more pages",
            "PageANN, section 2",
        ),
        wider_lead(data).finding(
            "The lead of Starling over DiskANN grows with the data",
            "Starling, fig. 18",
        ),
    ]
}

fn longer_walks(data: &[(String, Vec<&Record>)]) -> Evidence {
    let mut evidence = Evidence::default();
    for (name, records) in data {
        for (design, records) in group::by_design(records) {
            let points = points(&records, &PAGES);
            if let [(few, first), .., (many, last)] = points.as_slice() {
                let exponent = Laws::of(&points).map_or(f64::NAN, |laws| laws.power.slope);
                let measured = format!(
                    "{name}, {design}: {} pages with {} vectors, {} with {}, exponent {exponent:.3}",
                    number::plain(*first),
                    number::thousands(*few),
                    number::plain(*last),
                    number::thousands(*many)
                );
                evidence.add(last > first, measured);
            }
        }
    }
    evidence
}

/// Speed of Starling over that of DiskANN on the fewest and on the most vectors.
fn wider_lead(data: &[(String, Vec<&Record>)]) -> Evidence {
    let mut evidence = Evidence::default();
    for (name, records) in data {
        let leads: Vec<(f64, f64)> = group::by_axis(records, ROWS.axis)
            .into_iter()
            .filter_map(|(rows, records)| {
                let of = |design: &str| QPS.at(&group::of_design(&records, design), TARGET);
                Some((rows, of(OURS)? / of(BASE)?))
            })
            .collect();
        if let [(few, first), .., (many, last)] = leads.as_slice() {
            let measured = format!(
                "{name}: {} with {} vectors, {} with {}",
                number::times(*first),
                number::thousands(*few),
                number::times(*last),
                number::thousands(*many)
            );
            evidence.add(last > first, measured);
        }
    }
    evidence
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::report::document::{Plot, Verdict};
    use crate::report::fixture::{give, run, search, set};

    fn costs(design: &str, law: fn(f64) -> f64) -> Vec<Record> {
        [10_000, 100_000, 1_000_000]
            .into_iter()
            .flat_map(|rows| {
                let pages = law(rows as f64);
                [(0.90, 0.8), (0.95, 1.0)].map(|(recall, share)| {
                    let data = format!("photos-first{rows}");
                    let list_size = (recall * 100.0) as u64;
                    let record = search("growth", &data, design, list_size, recall);
                    let numbers = json!({
                        "pages_per_query": pages * share, "qps": 1e5 / (pages * share),
                        "latency_us": {"mean": 90.0 * pages * share},
                    });
                    give(set(record, "rows", rows), numbers)
                })
            })
            .collect()
    }

    fn power(rows: f64) -> f64 {
        2.0 * rows.powf(0.2)
    }

    fn logarithm(rows: f64) -> f64 {
        5.0 + 3.0 * rows.log10()
    }

    #[test]
    fn laws_are_found_again() {
        let points = |law: fn(f64) -> f64| [1e4, 1e5, 1e6].map(|rows| (rows, law(rows)));
        let found = Laws::of(&points(power)).unwrap();
        assert!(found.sure && (found.power.slope - 0.2).abs() < 1e-9);
        assert!((found.better().at(1_000_000_000) / power(1e9) - 1.0).abs() < 1e-6);
        let found = Laws::of(&points(logarithm)).unwrap();
        assert!((found.tenfold() - 3.0).abs() < 1e-9);
        assert!((found.better().at(1_000_000_000) - 32.0).abs() < 1e-6);
        assert!(Laws::of(&[(1e4, 3.0)]).is_none() && Laws::of(&[]).is_none());
    }

    #[test]
    fn what_is_near_or_falls_is_not_carried_on() {
        let near = [(1e4, 20.0), (2e4, 21.0), (3e4, 22.0)];
        assert!(!Laws::of(&near).unwrap().sure);
        let falling = [(1e4, 20.0), (1e5, 19.0), (1e6, 18.0)];
        assert!(!Laws::of(&falling).unwrap().sure);
    }

    #[test]
    fn predictions_stand_in_figures_of_their_own() {
        let mut records = costs(BASE, power);
        records.extend(costs(OURS, logarithm));
        let section = section(&run(records)).unwrap();
        let predicted: Vec<bool> = section.figures.iter().map(|each| each.predicted).collect();
        assert_eq!(predicted, [false, true, false, true]);
        let Plot::Lines(lines) = &section.figures[1].plot else {
            panic!("no lines")
        };
        let rows: Vec<f64> = lines.series[0].marks.iter().map(|mark| mark.x).collect();
        assert_eq!(rows, [1e4, 1e5, 1e6, 1e7, 1e8, 1e9]);
        let verdicts: Vec<Verdict> = section.findings.iter().map(|each| each.verdict).collect();
        assert_eq!(verdicts, [Verdict::Agrees, Verdict::Agrees]);
        // Presets come before designs with names of their own.
        assert_eq!(section.tables[0].rows[1][4].text, "0.200");
        let at_billion = section.tables[0].rows[0][9].number.unwrap();
        assert!((at_billion - 32.0).abs() < 1e-6, "{at_billion}");
    }

    #[test]
    fn bounds_and_two_numbers_predict_nothing() {
        let records = costs(BASE, power)
            .into_iter()
            .filter(|record| record.axis("rows") != Some(1e6))
            .collect();
        let section = section(&run(records)).unwrap();
        assert_eq!(section.figures.len(), 2);
        assert_eq!(section.tables[0].rows[0][8].number, None);
        assert_eq!(section.findings[0].verdict, Verdict::Agrees);

        let bounds: Vec<Record> = costs(BASE, power)
            .into_iter()
            .map(|record| give(record, json!({"recall": 0.97})))
            .collect();
        let records: Vec<&Record> = bounds.iter().collect();
        assert!(points(&records, &PAGES).is_empty());
    }
}
