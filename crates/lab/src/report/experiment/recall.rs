//! Speed, latency and reads against recall, per data set: which design to take.

use crate::record::{Record, Run, Task};
use crate::report::document::{Figure, Finding, Goodness, Section, Table};
use crate::report::evidence::Evidence;
use crate::report::plot::{self, Named};
use crate::report::quantity::{MEAN_LATENCY, P99_LATENCY, PAGES, QPS, Quantity, TARGETS};
use crate::report::{group, method, number, refusal, storage, table};

const SOURCE: &str = "Evaluation, fig. 7 and section 4.2.1";
/// Dimensions up to which, and from which, the evaluation finds another winner.
const LOW_DIMENSIONS: f64 = 420.0;
const HIGH_DIMENSIONS: f64 = 900.0;
/// Recall of the comparisons.
const TARGET: f64 = 0.95;

/// The section of the experiment `recall`.
pub(crate) fn section(run: &Run) -> Option<Section> {
    let records = group::measured(run, "recall", Task::Search);
    if records.is_empty() {
        return None;
    }
    let mut words = vec![
        "Every design answers the same queries with rising list sizes: once with one query in \
         flight, which shows latency, and once with several per thread, which shows what the \
         device gives. Values at a recall are read off between the readings with the best list \
         size."
            .to_owned(),
    ];
    words.extend(method::settings(&records));
    let mut tables = TARGETS.map(|recall| at_recall(&records, recall)).to_vec();
    tables.extend(refusal::table(run, "recall"));
    Some(Section {
        id: "recall".to_owned(),
        title: "Speed against recall".to_owned(),
        source: SOURCE.to_owned(),
        method: words,
        figures: group::by_data(&records)
            .iter()
            .flat_map(|(data, records)| figures(data, records))
            .collect(),
        tables,
        findings: findings(run, &records),
    })
}

/// Figures of one data set.
fn figures(data: &str, records: &[&Record]) -> Vec<Figure> {
    let figure = |name: &str, what: &str, records: &[&Record], quantity: &Quantity| {
        let id = format!("recall-{name}-{data}");
        let title = format!("{what}, {data}");
        plot::recall_figure(&id, &title, &plot::designs(records), quantity)
    };
    let mut figures = Vec::new();
    let by_interleave = group::by_axis(records, "interleave");
    for (interleave, records) in &by_interleave {
        let what = format!("Queries per second, {}", in_flight(*interleave));
        let name = format!("qps-{interleave}");
        figures.push(figure(&name, &what, records, &QPS));
    }
    let alone = group::lowest(records, "interleave");
    figures.extend([
        figure("mean", "Mean latency", &alone, &MEAN_LATENCY),
        figure("p99", "Tail latency (p99)", &alone, &P99_LATENCY),
        figure("pages", "Pages read per query", &alone, &PAGES),
    ]);
    figures
}

/// All designs on all data at one recall, the best of each data set marked.
fn at_recall(records: &[&Record], recall: f64) -> Table {
    let interleaves: Vec<f64> = group::by_axis(records, "interleave")
        .iter()
        .map(|(interleave, _)| *interleave)
        .collect();
    let mut columns = vec![table::neutral("data"), table::neutral("design")];
    columns.extend(interleaves.iter().map(|interleave| {
        let name = format!("{}, {}", QPS.name, in_flight(*interleave));
        table::column(name, Goodness::Higher)
    }));
    columns.extend([MEAN_LATENCY, P99_LATENCY, PAGES].map(|quantity| quantity.column()));
    let rows = group::by_data_and_design(records)
        .into_iter()
        .map(|(data, design, records)| {
            let mut row = vec![table::text(data), table::text(design)];
            row.extend(interleaves.iter().map(|interleave| {
                QPS.cell_at(&group::at_axis(&records, "interleave", *interleave), recall)
            }));
            let alone = group::lowest(&records, "interleave");
            row.extend([MEAN_LATENCY, P99_LATENCY, PAGES].map(|each| each.cell_at(&alone, recall)));
            row
        })
        .collect();
    let id = format!("recall-at-{:.0}", recall * 100.0);
    let title = format!("At recall {recall:.2}; latency and pages with one query in flight");
    table::table(id, title, columns, rows, 1)
}

fn in_flight(interleave: f64) -> String {
    if interleave == 1.0 {
        "one query in flight".to_owned()
    } else {
        format!("{interleave} queries in flight")
    }
}

fn findings(run: &Run, records: &[&Record]) -> Vec<Finding> {
    let alone = group::lowest(records, "interleave");
    vec![
        fastest(&alone, "pageann", |dimensions| dimensions <= LOW_DIMENSIONS).finding(
            "PageANN with its codes in memory answers most queries per second at recall 0.95 on \
             vectors of up to 420 dimensions",
            SOURCE,
        ),
        fastest(&alone, "pipeann", |dimensions| {
            dimensions >= HIGH_DIMENSIONS
        })
        .finding(
            "PipeANN answers most queries per second at recall 0.95 on vectors of many dimensions \
             (GIST with 960, OpenAI with 3,072)",
            SOURCE,
        ),
        codes_in_memory(run, &alone).finding(
            "Designs with their codes in memory are 1.6 to 13.7 times as fast as those with \
             everything on disk",
            SOURCE,
        ),
    ]
}

/// Whether a design is the fastest on each data set of such dimensions.
fn fastest(records: &[&Record], design: &str, dimensions: fn(f64) -> bool) -> Evidence {
    let mut evidence = Evidence::default();
    for (data, records) in group::by_data(records) {
        if !method::dimensions(&records).is_some_and(dimensions) {
            continue;
        }
        let speeds = speeds(&plot::designs(&records));
        let own = speeds.iter().find(|(name, _)| name == design);
        let rival = best(speeds.iter().filter(|(name, _)| name != design));
        if let (Some((_, own)), Some((rival, speed))) = (own, rival) {
            let measured = format!(
                "{data}: {design} {}, best of the others {rival} {}",
                number::plain(*own),
                number::plain(*speed)
            );
            evidence.add(own > speed, measured);
        }
    }
    evidence
}

/// Whether the fastest design with codes in memory beats the fastest without by 1.6 at least.
fn codes_in_memory(run: &Run, records: &[&Record]) -> Evidence {
    let mut evidence = Evidence::default();
    for (data, records) in group::by_data(records) {
        let speeds = speeds(&plot::designs(&records));
        let of = |on_disk: bool| {
            best(
                speeds
                    .iter()
                    .filter(|(design, _)| storage::all_on_disk(run, data, design) == Some(on_disk)),
            )
        };
        if let (Some((memory, fast)), Some((disk, slow))) = (of(false), of(true)) {
            let measured = format!(
                "{data}: {memory} over {disk} {}",
                number::times(fast / slow)
            );
            evidence.add(fast / slow >= 1.6, measured);
        }
    }
    evidence
}

/// Speed of each group at the recall of the comparisons.
fn speeds(groups: &[Named<'_>]) -> Vec<(String, f64)> {
    groups
        .iter()
        .filter_map(|(name, records)| Some((name.clone(), QPS.at(records, TARGET)?)))
        .collect()
}

fn best<'s>(speeds: impl Iterator<Item = &'s (String, f64)>) -> Option<&'s (String, f64)> {
    speeds.max_by(|a, b| a.1.total_cmp(&b.1))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::report::document::Verdict;
    use crate::report::fixture::{build, give, run, search, set};

    /// Two list sizes, one and sixteen queries in flight, a speed.
    fn searches(design: &str, dimensions: u64, qps: f64) -> Vec<Record> {
        [(10, 0.92), (40, 0.98)]
            .into_iter()
            .flat_map(|(list_size, recall)| {
                [1, 16].map(|interleave| {
                    let record = search("recall", "photos", design, list_size, recall);
                    let record = set(record, "interleave", interleave);
                    let speed = qps * f64::from(interleave) / list_size as f64;
                    give(set(record, "dimensions", dimensions), json!({"qps": speed}))
                })
            })
            .collect()
    }

    fn of_designs(dimensions: u64, designs: &[(&str, f64)]) -> Section {
        let mut records: Vec<Record> = designs
            .iter()
            .flat_map(|(design, qps)| searches(design, dimensions, *qps))
            .collect();
        records.push(build("photos", "pageann", "memory"));
        records.push(build("photos", "aisaq", "in_page"));
        section(&run(records)).unwrap()
    }

    #[test]
    fn the_verdicts_follow_the_speeds() {
        let verdicts = |section: &Section| -> Vec<Verdict> {
            section.findings.iter().map(|found| found.verdict).collect()
        };
        let low = of_designs(
            128,
            &[("pageann", 900.0), ("pipeann", 800.0), ("aisaq", 100.0)],
        );
        assert_eq!(
            verdicts(&low),
            [Verdict::Agrees, Verdict::NotMeasured, Verdict::Agrees]
        );
        assert!(
            low.findings[2].measured.contains("9.00x"),
            "{:?}",
            low.findings[2]
        );
        let high = of_designs(
            960,
            &[("pageann", 900.0), ("pipeann", 800.0), ("aisaq", 800.0)],
        );
        assert_eq!(
            verdicts(&high),
            [Verdict::NotMeasured, Verdict::Differs, Verdict::Differs]
        );
    }

    #[test]
    fn each_data_set_has_its_figures_and_each_target_its_winners() {
        let section = of_designs(128, &[("pageann", 900.0), ("pipeann", 800.0)]);
        let ids: Vec<&str> = section
            .figures
            .iter()
            .map(|each| each.id.as_str())
            .collect();
        assert_eq!(
            ids,
            [
                "recall-qps-1-photos",
                "recall-qps-16-photos",
                "recall-mean-photos",
                "recall-p99-photos",
                "recall-pages-photos",
            ]
        );
        let middle = &section.tables[1];
        assert_eq!(middle.id, "recall-at-95");
        assert!(middle.rows[0][2].best && !middle.rows[1][2].best);
        assert_eq!(middle.columns.len(), 7);
    }

    #[test]
    fn without_records_there_is_no_section() {
        assert!(section(&Run::default()).is_none());
    }
}
