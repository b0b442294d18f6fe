//! Threads: how speed grows with them.

use crate::record::{Record, Run, Task};
use crate::report::document::{Cell, Figure, Finding, Goodness, Scale, Section};
use crate::report::evidence::Evidence;
use crate::report::quantity::{MEAN_LATENCY, QPS, Quantity};
use crate::report::setting::{self, Setting, Shown};
use crate::report::{group, method, number, plot, refusal, table};

const SOURCE: &str = "PageANN, fig. 12 and section 6.4";
const AXIS: &str = "threads";
const TARGET: f64 = 0.95;
/// Speed against that of one thread.
const SPEED_UP: Quantity = Quantity {
    path: "qps",
    name: "speed against one thread",
    goodness: Goodness::Higher,
    scale: Scale::Linear,
    format: number::times,
};

/// The section of the experiment `threads`.
pub(crate) fn section(run: &Run) -> Option<Section> {
    let records = group::measured(run, AXIS, Task::Search);
    if records.is_empty() {
        return None;
    }
    let mut words = vec![format!(
        "The same queries on more and more threads, which share one open index; the machine \
             has {} cores. Rising list sizes for each number of threads.",
        run.machine.cores
    )];
    words.extend(method::settings(&records));
    Some(Section {
        id: AXIS.to_owned(),
        title: "Threads".to_owned(),
        source: SOURCE.to_owned(),
        method: words,
        figures: group::by_data(&records)
            .iter()
            .flat_map(|(data, records)| {
                let by_interleave = group::by_axis(records, "interleave");
                let figures = by_interleave
                    .iter()
                    .flat_map(|(interleave, records)| figures(data, *interleave, records));
                figures.collect::<Vec<Figure>>()
            })
            .collect(),
        tables: refusal::table(run, AXIS).into_iter().collect(),
        findings: findings(&group::highest(&records, "interleave")),
    })
}

fn threads() -> Setting {
    setting::count(AXIS, "threads", Scale::Linear)
}

fn figures(data: &str, interleave: f64, records: &[&Record]) -> Vec<Figure> {
    let designs = plot::designs(records);
    let shown = |name: &str, quantity: &'static Quantity| Shown {
        id: format!("threads-{name}-{interleave}-{data}"),
        title: format!(
            "{} at recall {TARGET:.2}, {interleave} in flight per thread, {data}",
            quantity.heading()
        ),
        setting: threads(),
        quantity,
    };
    vec![
        shown("qps", &QPS).at_recall(&designs, TARGET),
        shown("latency", &MEAN_LATENCY).at_recall(&designs, TARGET),
        shown("speed-up", &SPEED_UP).figure(&designs, |of_threads| speed_up(records, of_threads)),
    ]
}

/// Speed of some threads of a design against that of one thread of it.
fn speed_up(all: &[&Record], of_threads: &[&Record]) -> Cell {
    let speeds = of_threads.first().and_then(|first| {
        let own = group::of_design(all, &first.design);
        let alone = group::at_axis(&own, AXIS, 1.0);
        QPS.at(of_threads, TARGET).zip(QPS.at(&alone, TARGET))
    });
    table::number(speeds.map(|(more, one)| more / one), number::times)
}

/// Findings on one number of queries in flight per thread.
fn findings(records: &[&Record]) -> Vec<Finding> {
    let (mut scaling, mut against) = (Evidence::default(), Evidence::default());
    for (data, records) in group::by_data(records) {
        let Some(most) = threads().values(&records).last().copied() else {
            continue;
        };
        let at_most = group::at_axis(&records, AXIS, most);
        for (design, of_threads) in group::by_design(&at_most) {
            let gain = speed_up(&records, &of_threads).number;
            if let Some(gain) = gain.filter(|_| most > 1.0) {
                let gained = number::times(gain);
                let measured = format!("{data}, {design}: {gained} with {most} threads");
                scaling.add(gain / most >= 0.5, measured);
            }
        }
        let speed = |design: &str| QPS.at(&group::of_design(&at_most, design), TARGET);
        if let (Some(own), Some(other)) = (speed("pageann"), speed("diskann")) {
            let measured = format!("{data}: {} with {most} threads", number::times(own / other));
            against.add(own / other >= 2.0, measured);
        }
    }
    vec![
        scaling.finding(
            "Speed grows nearly with the threads: 8.3 times with 16, which is half of a thread's \
             speed for each",
            SOURCE,
        ),
        against.finding(
            "With all threads PageANN is 2.5 times as fast as DiskANN; here at least twice counts",
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

    fn searches(design: &str, threads: u64, qps: f64) -> Vec<Record> {
        [(10, 0.92), (40, 0.98)]
            .into_iter()
            .map(|(list_size, recall)| {
                let record = search("threads", "photos", design, list_size, recall);
                give(
                    set(record, "threads", threads),
                    json!({"qps": qps / list_size as f64}),
                )
            })
            .collect()
    }

    #[test]
    fn speed_is_told_against_one_thread() {
        let mut records = searches("diskann", 1, 100.0);
        records.extend(searches("diskann", 4, 150.0));
        records.extend(searches("pageann", 1, 100.0));
        records.extend(searches("pageann", 4, 350.0));
        let alone = records.clone();
        let many = records.into_iter().map(|record| {
            let qps = record.number("qps").unwrap();
            give(set(record, "interleave", 16), json!({"qps": 10.0 * qps}))
        });
        let records = alone.into_iter().chain(many).collect();
        let section = section(&run(records)).unwrap();
        assert_eq!(section.figures.len(), 6);
        let up = &section.figures[2].table;
        assert_eq!(up.rows[0][1].text, "1.00x");
        assert_eq!(up.rows[0][2].text, "1.50x");
        assert_eq!(up.rows[1][2].text, "3.50x");
        let verdicts: Vec<Verdict> = section.findings.iter().map(|each| each.verdict).collect();
        assert_eq!(verdicts, [Verdict::Partly, Verdict::Agrees]);
    }
}
