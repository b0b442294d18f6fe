//! Our own design against the best published one, at the same data, memory and recall.

use crate::record::{Record, Run, Task};
use crate::report::document::{
    Axis, Cell, Figure, Finding, Goodness, Lines, Mark, Plot, Scale, Section, Series, Table,
};
use crate::report::evidence::Evidence;
use crate::report::quantity::{MEAN_LATENCY, P99_LATENCY, PAGES, QPS, Quantity};
use crate::report::{group, method, number, plot, refusal, table};

const NAME: &str = "ours";
const SOURCE: &str = "Targets of the design pageway";
const OURS: &str = "pageway";
const MEMORY: &str = "memory_ratio";
/// Recalls of the comparison.
const TARGETS: [f64; 2] = [0.95, 0.99];

const ROUNDS: Quantity = Quantity {
    path: "rounds_per_query",
    name: "rounds of reads",
    scale: Scale::Linear,
    ..PAGES
};
const RESIDENT: Quantity = Quantity {
    path: "peak_memory_bytes",
    name: "resident memory",
    format: number::bytes,
    ..PAGES
};

/// Something that is compared.
struct Compared {
    id: &'static str,
    /// What is measured and how, as a column.
    name: &'static str,
    quantity: Quantity,
    threads: f64,
    /// Whether many queries are in flight on each thread, or one at a time.
    interleaved: bool,
    /// The share of the best published value that is aimed at: at most, or of what is better when
    /// higher, at least.
    target: Option<(f64, &'static str)>,
}

const COMPARED: [Compared; 7] = [
    Compared {
        id: "pages",
        name: "pages read",
        quantity: PAGES,
        threads: 1.0,
        interleaved: false,
        target: Some((
            0.5,
            "It reads at most half of the pages of the best published design",
        )),
    },
    Compared {
        id: "qps-1",
        name: "queries per second, 1 thread",
        quantity: QPS,
        threads: 1.0,
        interleaved: true,
        target: Some((
            2.0,
            "On one thread it answers at least twice as many queries a second",
        )),
    },
    Compared {
        id: "qps-2",
        name: "queries per second, 2 threads",
        quantity: QPS,
        threads: 2.0,
        interleaved: true,
        target: Some((
            2.0,
            "On two threads it answers at least twice as many queries a second",
        )),
    },
    Compared {
        id: "mean",
        name: "mean latency",
        quantity: MEAN_LATENCY,
        threads: 1.0,
        interleaved: false,
        target: Some((
            0.6,
            "A single query takes at most 0.6 times as long on average",
        )),
    },
    Compared {
        id: "p99",
        name: "p99 latency",
        quantity: P99_LATENCY,
        threads: 1.0,
        interleaved: false,
        target: Some((
            0.6,
            "Its p99 of single queries is at most 0.6 times the best published one",
        )),
    },
    Compared {
        id: "rounds",
        name: "rounds of reads",
        quantity: ROUNDS,
        threads: 1.0,
        interleaved: false,
        target: None,
    },
    Compared {
        id: "memory",
        name: "resident memory",
        quantity: RESIDENT,
        threads: 1.0,
        interleaved: false,
        target: None,
    },
];

/// Our value over the best published one.
#[derive(Clone, Copy)]
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

/// The section of the experiment `ours`.
pub(crate) fn section(run: &Run) -> Option<Section> {
    let records = group::measured(run, NAME, Task::Search);
    if records.is_empty() {
        return None;
    }
    let mut words = vec![format!(
        "Every design is built for a share of the raw vectors as its memory and searched within it. \
         Of each quantity, the value of {OURS} at a recall over that of the published design that is \
         best in it, at the same data, memory and recall; so its rival differs from column to \
         column. Pages, rounds, latencies and memory are of one query at a time, speeds of many in \
         flight on each thread."
    )];
    words.extend(method::settings(&records));
    let data = group::by_data(&records);
    let mut tables: Vec<Table> = data.iter().map(|(name, of)| ratios(name, of)).collect();
    tables.extend(refusal::table(run, NAME));
    let figures = data
        .iter()
        .flat_map(|(name, of)| COMPARED.iter().filter_map(|what| figure(name, of, what)));
    Some(Section {
        id: NAME.to_owned(),
        title: "Pageway against the best published design".to_owned(),
        source: SOURCE.to_owned(),
        method: words,
        figures: figures.collect(),
        tables,
        findings: findings(&data),
    })
}

impl Compared {
    /// The records that it is measured in.
    fn of<'r>(&self, records: &[&'r Record]) -> Vec<&'r Record> {
        let mut of = group::at_axis(records, "threads", self.threads);
        of.retain(|record| (record.axis("interleave") > Some(1.0)) == self.interleaved);
        group::highest(&of, "interleave")
    }

    /// Our value over the best published one, where both reach the recall.
    fn ratio<'r>(&self, records: &[&'r Record], recall: f64) -> Option<Ratio<'r>> {
        let records = self.of(records);
        let mut values: Vec<(&str, f64)> = group::by_design(&records)
            .into_iter()
            .filter_map(|(design, of)| Some((design, self.quantity.at(&of, recall)?)))
            .collect();
        let own = values.iter().position(|(design, _)| *design == OURS)?;
        let (_, ours) = values.remove(own);
        let best = values.into_iter().reduce(|best, other| {
            if self.is_better(other.1, best.1) {
                other
            } else {
                best
            }
        });
        let (rival, best) = best.filter(|(_, best)| *best > 0.0)?;
        Some(Ratio { ours, best, rival })
    }

    /// Adds whether the target is reached at each recall, for the data and memory of `cell`.
    fn judge(&self, records: &[&Record], (target, cell): (f64, &str), evidence: &mut Evidence) {
        for recall in TARGETS {
            if let Some(ratio) = self.ratio(records, recall) {
                let value = ratio.value();
                let reached = value == target || self.is_better(value, target);
                let times = number::times(value);
                let measured = format!("{cell}, {recall:.2}: {times} of {}", ratio.rival);
                evidence.add(reached, measured);
            }
        }
    }

    fn is_better(&self, one: f64, other: f64) -> bool {
        match self.quantity.goodness {
            Goodness::Lower => one < other,
            Goodness::Higher | Goodness::Neutral => one > other,
        }
    }

    fn cell(&self, records: &[&Record], recall: f64) -> Cell {
        let ratio = self.ratio(records, recall);
        let mut cell = table::number(ratio.map(|ratio| ratio.value()), number::times);
        if let Some(ratio) = ratio {
            let best = (self.quantity.format)(ratio.best);
            let ours = (self.quantity.format)(ratio.ours);
            cell.text = format!("{}: {ours}, {} {best}", cell.text, ratio.rival);
        }
        cell
    }
}

/// All ratios of a data set: a row for each share of memory and recall.
fn ratios(data: &str, records: &[&Record]) -> Table {
    let mut columns = vec![table::neutral("memory"), table::neutral("recall")];
    columns.extend(COMPARED.iter().map(|what| table::neutral(what.name)));
    let mut rows = Vec::new();
    for (memory, of) in group::by_axis(records, MEMORY) {
        for recall in TARGETS {
            let mut row = vec![
                table::text(number::percent(memory)),
                table::text(number::recall(recall)),
            ];
            row.extend(COMPARED.iter().map(|what| what.cell(&of, recall)));
            rows.push(row);
        }
    }
    let title = format!("Values of {OURS} over those of the best published design, {data}");
    table::table(format!("ours-{data}"), title, columns, rows, 2)
}

/// Ratios over memory, and the target; none for what has no target.
fn figure(data: &str, records: &[&Record], what: &Compared) -> Option<Figure> {
    let (target, _) = what.target?;
    let budgets = group::by_axis(records, MEMORY);
    let mut series = TARGETS.map(|recall| curve(&budgets, what, recall)).to_vec();
    series.push(target_line(&budgets, target));
    series.retain(|series| !series.marks.is_empty());
    let id = format!("ours-{}-{data}", what.id);
    let name = format!("{} over those of the best published design", what.name);
    let note = match what.quantity.goodness {
        Goodness::Higher => "Better is higher: above the line of the target it is reached.",
        Goodness::Lower | Goodness::Neutral => {
            "Better is lower: below the line of the target it is reached."
        }
    };
    Some(Figure {
        title: format!("{}, {data}", sentence(&name)),
        note: note.to_owned(),
        predicted: false,
        table: figure_table(&id, &series),
        plot: Plot::Lines(Lines {
            x: plot::axis("memory of raw vectors", Scale::Linear),
            y: Axis {
                name: format!("{}, share of the best published", what.name),
                scale: Scale::Log,
            },
            series,
        }),
        id,
    })
}

/// Records by their share of memory.
type Budgets<'b> = [(f64, Vec<&'b Record>)];

/// Our ratios at a recall.
fn curve(budgets: &Budgets<'_>, what: &Compared, recall: f64) -> Series {
    let marks = budgets.iter().filter_map(|(memory, of)| {
        let ratio = what.ratio(of, recall)?;
        let (memory_text, times) = (number::percent(*memory), number::times(ratio.value()));
        Some(Mark {
            x: *memory,
            y: ratio.value(),
            label: format!("memory {memory_text}: {times} of {}", ratio.rival),
        })
    });
    Series {
        name: format!("{OURS}, recall {recall:.2}"),
        marks: marks.collect(),
    }
}

/// The target, from the least memory to the most.
fn target_line(budgets: &Budgets<'_>, target: f64) -> Series {
    let ends = [budgets.first(), budgets.last()].into_iter().flatten();
    let marks = ends.map(|(memory, _)| Mark {
        x: *memory,
        y: target,
        label: format!("target {}", number::times(target)),
    });
    Series {
        name: "target".to_owned(),
        marks: marks.collect(),
    }
}

/// The marks of a figure: a row for each.
fn figure_table(id: &str, series: &[Series]) -> Table {
    let columns = ["curve", "memory", "ratio"].map(table::neutral).into();
    let rows = series.iter().flat_map(|series| {
        series.marks.iter().map(|mark| {
            vec![
                table::text(&series.name),
                table::number(Some(mark.x), number::percent),
                table::number(Some(mark.y), number::times),
            ]
        })
    });
    table::table(id, "", columns, rows.collect(), 0)
}

fn sentence(words: &str) -> String {
    let (first, rest) = words.split_at_checked(1).unwrap_or((words, ""));
    format!("{}{rest}", first.to_uppercase())
}

/// Whether each target is reached, cell by cell.
fn findings(data: &[(&str, Vec<&Record>)]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for what in &COMPARED {
        let Some((target, claim)) = what.target else {
            continue;
        };
        let mut evidence = Evidence::default();
        for (name, records) in data {
            for (memory, of) in group::by_axis(records, MEMORY) {
                let cell = format!("{name}, {}", number::percent(memory));
                what.judge(&of, (target, &cell), &mut evidence);
            }
        }
        findings.push(evidence.finding(claim, SOURCE));
    }
    findings
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::report::document::Verdict;
    use crate::report::fixture::{give, run, search, set};

    /// Searches of a design at a share of memory: alone and interleaved, on one thread and two.
    fn of(design: &str, memory: f64, (pages, qps, latency): (f64, f64, f64)) -> Vec<Record> {
        let settings = [(1, 1), (1, 16), (2, 16)];
        let each = settings.into_iter().flat_map(|(threads, interleave)| {
            [(20, 0.95), (60, 0.99)].map(|(list_size, recall)| {
                let record = search(NAME, "photos", design, list_size, recall);
                let record = set(record, "threads", threads);
                let record = set(record, "interleave", interleave);
                let more = list_size as f64 / 20.0;
                let speed = qps * f64::from(threads) / more;
                give(
                    set(record, MEMORY, memory),
                    json!({"pages_per_query": pages * more, "qps": speed,
                           "rounds_per_query": pages * more / 4.0, "latency_us": {
                           "mean": latency * more, "p99": 3.0 * latency * more}}),
                )
            })
        });
        each.collect()
    }

    fn section_of(ours: (f64, f64, f64)) -> Section {
        let records = [
            of("starling", 0.1, (20.0, 1000.0, 1000.0)),
            of("pipeann", 0.1, (30.0, 800.0, 700.0)),
            of(OURS, 0.1, ours),
            of("starling", 0.2, (20.0, 1000.0, 1000.0)),
            of(OURS, 0.2, (8.0, 2500.0, 300.0)),
            of("starling", 0.005, (20.0, 1000.0, 1000.0)),
        ];
        section(&run(records.into_iter().flatten().collect())).unwrap()
    }

    fn verdicts(section: &Section) -> Vec<Verdict> {
        section.findings.iter().map(|each| each.verdict).collect()
    }

    #[test]
    fn the_best_published_design_of_each_quantity_is_the_rival() {
        let section = section_of((10.0, 2000.0, 420.0));
        assert_eq!(verdicts(&section), [Verdict::Agrees; 5]);
        let row = &section.tables[0].rows[2];
        let texts: Vec<&str> = row.iter().map(|cell| cell.text.as_str()).collect();
        assert_eq!(
            texts[..3],
            ["10.0 %", "0.950", "0.500x: 10.0, starling 20.0"]
        );
        assert!(
            texts[5].starts_with("0.600x") && texts[5].contains("pipeann"),
            "{texts:?}"
        );
        assert_eq!(row[7].number, Some(0.5), "rounds");
        assert_eq!(row[8].number, Some(1.0), "memory");
        assert_eq!(
            section.tables[0].rows[0][2].text, "–",
            "it was not measured there"
        );
    }

    #[test]
    fn targets_that_are_missed_are_told() {
        let section = section_of((10.1, 1900.0, 430.0));
        assert_eq!(verdicts(&section), [Verdict::Partly; 5]);
        let words = &section.findings[0].measured;
        assert!(
            words.contains("photos, 10.0 %, 0.95: 0.505x of starling"),
            "{words}"
        );
    }

    #[test]
    fn figures_have_the_target_as_a_line() {
        let section = section_of((10.0, 2000.0, 420.0));
        assert_eq!(section.figures.len(), 5);
        let Plot::Lines(lines) = &section.figures[1].plot else {
            panic!("no lines")
        };
        let names: Vec<&str> = lines.series.iter().map(|each| each.name.as_str()).collect();
        assert_eq!(
            names,
            ["pageway, recall 0.95", "pageway, recall 0.99", "target"]
        );
        let target: Vec<(f64, f64)> = lines.series[2]
            .marks
            .iter()
            .map(|mark| (mark.x, mark.y))
            .collect();
        assert_eq!(target, [(0.005, 2.0), (0.2, 2.0)]);
        let ours: Vec<(f64, f64)> = lines.series[0]
            .marks
            .iter()
            .map(|mark| (mark.x, mark.y))
            .collect();
        assert_eq!(ours, [(0.1, 2.0), (0.2, 2.5)]);
    }

    #[test]
    fn without_a_rival_nothing_is_said() {
        let section = section(&run(of(OURS, 0.1, (1.0, 1.0, 1.0)))).unwrap();
        assert_eq!(verdicts(&section), [Verdict::NotMeasured; 5]);
    }
}
