//! Builds: how long each stage takes, and what they need.

use serde_json::Value;

use crate::record::{Record, Run, Task};
use crate::report::document::{Bars, Figure, Finding, Goodness, Plot, Scale, Section, Table};
use crate::report::evidence::Evidence;
use crate::report::{group, method, number, plot, refusal, table};

const SOURCE: &str = "Evaluation, fig. 8 and section 4.2.2";
/// Dimensions that count as many.
const HIGH_DIMENSIONS: f64 = 900.0;

/// The section of the experiment `build`.
pub(crate) fn section(run: &Run) -> Option<Section> {
    let records = group::measured(run, "build", Task::Build);
    if records.is_empty() {
        return None;
    }
    let mut words = vec![
        "Every design is built from the vectors alone, in a process of its own, on an empty \
         directory: nothing is taken over from another index. The time includes the calibration \
         of recall, which the published systems do not have."
            .to_owned(),
    ];
    words.extend(method::settings(&records));
    let mut tables = vec![costs(&records)];
    tables.extend(refusal::table(run, "build"));
    Some(Section {
        id: "build".to_owned(),
        title: "Builds".to_owned(),
        source: format!("{SOURCE}; Starling, table 13"),
        method: words,
        figures: group::by_data(&records)
            .iter()
            .map(|(data, records)| stages(data, records))
            .collect(),
        tables,
        findings: findings(&records),
    })
}

/// Seconds of each stage (the parts of a bar) of each design (the bars).
fn stages(data: &str, records: &[&Record]) -> Figure {
    let designs = group::by_design(records);
    let mut names: Vec<&str> = Vec::new();
    for (name, _) in records.iter().flat_map(|record| seconds(record)) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    let series = names
        .into_iter()
        .map(|stage| {
            let of = |records: &[&Record]| {
                group::median(records, |record| {
                    let found = seconds(record).find(|(name, _)| *name == stage);
                    found.map(|(_, seconds)| seconds)
                })
            };
            let heights = designs.iter().map(|(_, records)| of(records)).collect();
            (stage.to_owned(), heights)
        })
        .collect();
    let bars = Bars {
        categories: designs
            .iter()
            .map(|(design, _)| (*design).to_owned())
            .collect(),
        y: plot::axis("seconds", Scale::Linear),
        stacked: true,
        series,
    };
    let id = format!("build-stages-{data}");
    Figure {
        table: stages_table(&id, &bars),
        id,
        title: format!("Seconds by stage, {data}"),
        note: String::new(),
        predicted: false,
        plot: Plot::Bars(bars),
    }
}

/// Stages in rows, designs in columns.
fn stages_table(id: &str, bars: &Bars) -> Table {
    let mut columns = vec![table::neutral("stage")];
    columns.extend(
        bars.categories
            .iter()
            .map(|design| table::neutral(format!("{design}, s"))),
    );
    let rows = bars
        .series
        .iter()
        .map(|(stage, heights)| {
            let mut row = vec![table::text(stage)];
            row.extend(
                heights
                    .iter()
                    .map(|each| table::number(*each, number::plain)),
            );
            row
        })
        .collect();
    table::table(id, "", columns, rows, 0)
}

/// Stages of a build and their seconds.
fn seconds(record: &Record) -> impl Iterator<Item = (&str, f64)> {
    let stages = record.result.get("seconds").and_then(Value::as_array);
    stages.into_iter().flatten().filter_map(|stage| {
        let stage = stage.as_array()?;
        Some((stage.first()?.as_str()?, stage.get(1)?.as_f64()?))
    })
}

fn costs(records: &[&Record]) -> Table {
    let rows = group::by_data_and_design(records)
        .into_iter()
        .map(|(data, design, records)| {
            let median = |value: &dyn Fn(&Record) -> Option<f64>| group::median(&records, value);
            let share =
                |record: &Record| Some(record.number("index_bytes")? / record.number("raw_bytes")?);
            vec![
                table::text(data),
                table::text(design),
                table::number(total(&records), number::plain),
                table::number(median(&|each| each.process.cpu_seconds), number::plain),
                table::number(median(&peak), number::bytes),
                table::number(median(&|each| each.number("index_bytes")), number::bytes),
                table::number(median(&share), number::percent),
                table::number(
                    median(&|each| each.number("best_recall_at_10")),
                    number::recall,
                ),
            ]
        })
        .collect();
    let lower = |name: &str| table::column(name, Goodness::Lower);
    let columns = vec![
        table::neutral("data"),
        table::neutral("design"),
        lower("seconds"),
        lower("processor seconds"),
        lower("peak memory"),
        lower("index on disk"),
        lower("index of raw vectors"),
        table::column("best calibrated recall", Goodness::Higher),
    ];
    table::table("build-costs", "What builds take", columns, rows, 1)
}

/// Highest resident set, as the system counted it or as the build did.
fn peak(record: &Record) -> Option<f64> {
    let counted = record.process.peak_memory_bytes.map(|bytes| bytes as f64);
    counted.or_else(|| record.number("peak_memory_bytes"))
}

fn total(records: &[&Record]) -> Option<f64> {
    group::median(records, |record| {
        let told = record.number("total_seconds");
        told.or(Some(record.process.wall_seconds))
    })
}

fn findings(records: &[&Record]) -> Vec<Finding> {
    let (mut shortest, mut margin) = (Evidence::default(), Evidence::default());
    for (data, records) in group::by_data(records) {
        let own = total(&group::of_design(&records, "pipeann"));
        let others: Vec<(&str, f64)> = group::by_design(&records)
            .iter()
            .filter(|(design, _)| *design != "pipeann")
            .filter_map(|(design, records)| Some((*design, total(records)?)))
            .collect();
        let rival = others.iter().min_by(|a, b| a.1.total_cmp(&b.1));
        if let (Some(own), Some((design, seconds))) = (own, rival) {
            let measured = format!(
                "{data}: pipeann {} s, fastest of the others {design} {} s",
                number::plain(own),
                number::plain(*seconds)
            );
            shortest.add(own < *seconds, measured.clone());
            if method::dimensions(&records).is_some_and(|many| many >= HIGH_DIMENSIONS) {
                margin.add(seconds / own >= 2.9, measured);
            }
        }
    }
    vec![
        shortest.finding("PipeANN is built in the shortest time on all data", SOURCE),
        margin.finding(
            "On vectors of many dimensions PipeANN is built 2.9 to 5.0 times as fast as the \
             others, because its codes are trained with the triangle inequality",
            SOURCE,
        ),
        placement(records).finding(
            "Placing nodes by BNF takes 5 to 13 % of the time that the graph takes",
            "Starling, table 13",
        ),
    ]
}

/// What placing nodes costs beside the graph, where a design does so.
fn placement(records: &[&Record]) -> Evidence {
    let mut evidence = Evidence::default();
    for (data, design, records) in group::by_data_and_design(records) {
        let of = |word: &str| {
            group::median(&records, |record| {
                let found = seconds(record).find(|(name, _)| name.contains(word));
                found.map(|(_, seconds)| seconds)
            })
        };
        let bnf = records.iter().any(|record| {
            let placement = record.result.pointer("/description/spec/layout/placement");
            placement.and_then(|each| each.get("kind")?.as_str()) == Some("bnf")
        });
        if let (true, Some(place), Some(graph)) = (bnf, of("place"), of("graph")) {
            let share = place / graph;
            let measured = format!("{data}, {design}: {}", number::percent(share));
            evidence.add(share <= 0.13, measured);
        }
    }
    evidence
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::report::document::Verdict;
    use crate::report::fixture::{build, give, run};

    fn built(design: &str, seconds: f64) -> Record {
        give(
            build("photos", design, "memory"),
            json!({
                "total_seconds": seconds,
                "seconds": [["build graph", seconds * 0.8], ["place nodes", seconds * 0.04]],
            }),
        )
    }

    #[test]
    fn the_shortest_build_decides() {
        let verdict = |pipeann: f64| {
            let records = vec![built("diskann", 3.0), built("pipeann", pipeann)];
            section(&run(records)).unwrap().findings[0].verdict
        };
        assert_eq!(verdict(2.0), Verdict::Agrees);
        assert_eq!(verdict(4.0), Verdict::Differs);
        let alone = section(&run(vec![built("diskann", 3.0)])).unwrap();
        assert_eq!(alone.findings[0].verdict, Verdict::NotMeasured);
    }

    #[test]
    fn stages_are_stacked_and_the_costs_compared() {
        let section = section(&run(vec![built("diskann", 3.0), built("pipeann", 2.0)])).unwrap();
        let Plot::Bars(bars) = &section.figures[0].plot else {
            panic!("bars are expected");
        };
        assert!(bars.stacked);
        assert_eq!(bars.categories, ["diskann", "pipeann"]);
        assert_eq!(bars.series[0].0, "build graph");
        assert!((bars.series[0].1[1].unwrap() - 1.6).abs() < 1e-9);
        let costs = &section.tables[0];
        assert!(!costs.rows[0][2].best && costs.rows[1][2].best);
    }
}
