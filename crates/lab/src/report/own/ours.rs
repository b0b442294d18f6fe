//! Our own design against the best published one, at the same data, memory and recall.

use crate::record::Record;
use crate::report::case::Case;
use crate::report::document::{Axis, AxisPlace, Figure, Goodness, Mark, Scale, Table, TableCell};
use crate::report::figure::Sight;
use crate::report::quantity::At;
use crate::report::{group, number, table};

/// The engine's own design.
pub(in crate::report) const OURS: &str = "pageway";
const MEMORY: &str = "memory_ratio";
/// Recalls of the comparison.
const TARGETS: [f64; 2] = [0.95, 0.99];

/// Something that is compared.
struct Compared {
    id: &'static str,
    /// What is measured and how, as a column.
    name: &'static str,
    quantity: &'static str,
    threads: f64,
    /// Whether many queries are in flight on each thread, or one at a time.
    interleaved: bool,
    /// The share of the best published value that is aimed at.
    target: Option<f64>,
}

const fn alone(
    id: &'static str,
    name: &'static str,
    quantity: &'static str,
    target: Option<f64>,
) -> Compared {
    Compared {
        id,
        name,
        quantity,
        threads: 1.0,
        interleaved: false,
        target,
    }
}

const fn speed(id: &'static str, name: &'static str, threads: f64) -> Compared {
    Compared {
        id,
        name,
        quantity: "qps",
        threads,
        interleaved: true,
        target: Some(2.0),
    }
}

const COMPARED: [Compared; 7] = [
    alone("pages", "pages read", "pages", Some(0.5)),
    speed("qps-1", "queries per second, 1 thread", 1.0),
    speed("qps-2", "queries per second, 2 threads", 2.0),
    alone("mean", "mean latency", "mean", Some(0.6)),
    alone("p99", "p99 latency", "p99", Some(0.6)),
    alone("rounds", "rounds of reads", "fewer_rounds", None),
    alone("memory", "resident memory", "resident", None),
];

/// Our value over the best published one.
struct Ratio<'r> {
    ours: f64,
    best: f64,
    /// Whose it is.
    rival: &'r str,
}

impl Ratio<'_> {
    fn value(&self) -> f64 {
        self.ours / self.best
    }
}

impl Compared {
    /// The records that it is measured in.
    fn of<'r>(&self, records: &[&'r Record]) -> Vec<&'r Record> {
        let mut of = group::at_axis(records, "threads", self.threads);
        of.retain(|record| (record.axis("interleave") > Some(1.0)) == self.interleaved);
        group::highest(&of, "interleave")
    }

    /// Our value over the best published one, where both reach the recall.
    fn ratio<'r>(
        &self,
        sight: Sight<'_>,
        records: &[&'r Record],
        recall: f64,
    ) -> Option<Ratio<'r>> {
        let records = self.of(records);
        let quantity = sight.book.quantity(self.quantity);
        let value = |of: &[&Record]| quantity.at(sight.run, of, At::Recall(recall));
        let designs = group::by_design(&records).into_iter();
        let values: Vec<(&str, f64)> = designs
            .filter_map(|(design, of)| Some((design, value(&of)?)))
            .collect();
        let (_, ours) = *values.iter().find(|(design, _)| *design == OURS)?;
        let rivals = values.iter().filter(|(design, _)| *design != OURS);
        let best = match quantity.good {
            Goodness::Lower => rivals.min_by(|a, b| a.1.total_cmp(&b.1)),
            Goodness::Higher | Goodness::Neutral => rivals.max_by(|a, b| a.1.total_cmp(&b.1)),
        };
        let (rival, best) = *best.filter(|(_, best)| *best > 0.0)?;
        Some(Ratio { ours, best, rival })
    }

    fn cell(&self, sight: Sight<'_>, records: &[&Record], recall: f64) -> TableCell {
        let ratio = self.ratio(sight, records, recall);
        let mut cell = table::number(ratio.as_ref().map(Ratio::value), number::times);
        if let Some(ratio) = ratio {
            let format = sight.book.quantity(self.quantity).format;
            let (ours, best) = (format.text(ratio.ours), format.text(ratio.best));
            cell.text = format!("{}: {ours}, {} {best}", cell.text, ratio.rival);
        }
        cell
    }
}

/// All ratios: a row for each data set, share of memory and recall.
pub(super) fn tables(sight: Sight<'_>, records: &[&Record]) -> Vec<Table> {
    let mut columns = ["data", "memory", "recall"].map(table::neutral).to_vec();
    columns.extend(COMPARED.iter().map(|what| table::neutral(what.name)));
    let mut rows = Vec::new();
    for (data, of) in group::by_data(records) {
        for (memory, of) in group::by_axis(&of, MEMORY) {
            for recall in TARGETS {
                let told = [
                    data.to_owned(),
                    number::percent(memory),
                    number::recall(recall),
                ];
                let mut row = told.map(table::text).to_vec();
                row.extend(COMPARED.iter().map(|what| what.cell(sight, &of, recall)));
                rows.push(row);
            }
        }
    }
    let title = format!("Values of {OURS} over those of the best published design");
    vec![table::table("ours-ratios", title, columns, rows, 3)]
}

/// Ratios over memory, and the target; none for what has no target.
pub(super) fn figures(sight: Sight<'_>, records: &[&Record]) -> Vec<Figure> {
    let mut figures = Vec::new();
    for what in &COMPARED {
        let Some(target) = what.target else { continue };
        for (data, of) in group::by_data(records) {
            figures.push(figure(sight, (what, target), (data, &of)));
        }
    }
    figures
}

fn figure(
    sight: Sight<'_>,
    (what, target): (&Compared, f64),
    (data, records): (&str, &[&Record]),
) -> Figure {
    let budgets = group::by_axis(records, MEMORY);
    let mut marks = Vec::new();
    for recall in TARGETS {
        marks.extend(budgets.iter().filter_map(|(memory, of)| {
            let ratio = what.ratio(sight, of, recall)?;
            Some(Mark {
                series: format!("{OURS}, recall {recall:.2}"),
                x: AxisPlace::Number(*memory),
                y: ratio.value(),
                text: format!("{} of {}", number::times(ratio.value()), ratio.rival),
            })
        }));
    }
    let ends = [budgets.first(), budgets.last()].into_iter().flatten();
    marks.extend(ends.map(|(memory, _)| Mark {
        series: "target".to_owned(),
        x: AxisPlace::Number(*memory),
        y: target,
        text: number::times(target),
    }));
    let (better, side) = if target > 1.0 {
        ("higher", "above")
    } else {
        ("lower", "below")
    };
    let id = format!("ours-{}-{data}", what.id);
    Figure {
        title: format!(
            "{} over those of the best published design",
            number::sentence(what.name)
        ),
        data: data.to_owned(),
        note: format!("Better is {better}: {side} the line of the target it is reached."),
        x: Axis {
            name: sight.book.setting(MEMORY).name.clone(),
            scale: Scale::Linear,
        },
        y: Axis {
            name: "share of the best published".to_owned(),
            scale: Scale::Log,
        },
        marks,
        id,
        ..Figure::default()
    }
}

/// The ratios of something, cell by cell.
pub(super) fn cases(sight: Sight<'_>, of: &str, records: &[&Record]) -> Vec<Case> {
    let mut cases = Vec::new();
    let Some(what) = COMPARED.iter().find(|what| what.id == of) else {
        return cases;
    };
    for (data, records) in group::by_data(records) {
        for (memory, of) in group::by_axis(&records, MEMORY) {
            for recall in TARGETS {
                cases.extend(what.ratio(sight, &of, recall).map(|ratio| {
                    let (share, times) = (number::percent(memory), number::times(ratio.value()));
                    let words = format!("{data}, {share}, {recall:.2}: {times} of {}", ratio.rival);
                    (vec![ratio.value()], words)
                }));
            }
        }
    }
    cases
}
