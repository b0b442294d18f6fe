//! What a query does: pages it reads, distances it computes, and what its time goes to.

use crate::record::{Record, Run, Task};
use crate::report::document::{Bars, Figure, Finding, Goodness, Plot, Scale, Section, Table};
use crate::report::evidence::Evidence;
use crate::report::quantity::{MEAN_LATENCY, PAGES, Quantity};
use crate::report::setting::{self, Shown};
use crate::report::{group, method, number, plot, refusal, storage, table};

const SOURCE: &str = "Evaluation, fig. 14 and section 4.3.4";
const AXIS: &str = "list_size";

/// A number of a record.
type OfRecord = fn(&Record) -> Option<f64>;

/// Distances from vectors.
const EXACT: Quantity = Quantity {
    path: "exact_distances_per_query",
    name: "exact distances per query",
    goodness: Goodness::Lower,
    scale: Scale::Log,
    format: number::plain,
};
/// Distances from codes.
const APPROXIMATE: Quantity = Quantity {
    path: "approximate_distances_per_query",
    name: "approximate distances per query",
    goodness: Goodness::Lower,
    scale: Scale::Log,
    format: number::plain,
};

/// The section of the experiment `execution`.
pub(crate) fn section(run: &Run) -> Option<Section> {
    let records = group::measured(run, "execution", Task::Search);
    let records = group::lowest(&records, "interleave");
    if records.is_empty() {
        return None;
    }
    let mut words = vec![
        "One query at a time. Waiting is the time in which a query has nothing to compute because \
         its reads are under way; all the rest of its time counts as computing, submitting reads \
         and checking pages included. Counts are exact."
            .to_owned(),
    ];
    words.extend(method::settings(&records));
    let mut tables: Vec<Table> = group::by_data(&records)
        .iter()
        .map(|(data, records)| counts(data, records))
        .collect();
    tables.extend(refusal::table(run, "execution"));
    Some(Section {
        id: "execution".to_owned(),
        title: "What a query does".to_owned(),
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

fn figures(data: &str, records: &[&Record]) -> Vec<Figure> {
    let shown = [
        ("pages", PAGES),
        ("exact", EXACT),
        ("approximate", APPROXIMATE),
    ];
    let mut figures: Vec<Figure> = shown
        .iter()
        .map(|(name, quantity)| {
            Shown {
                id: format!("execution-{name}-{data}"),
                title: format!("{}, {data}", quantity.heading()),
                setting: setting::count(AXIS, "list size", Scale::Log),
                quantity,
            }
            .figure(&plot::designs(records), |records| {
                quantity.cell(quantity.median(records))
            })
        })
        .collect();
    figures.extend(middle(records).map(|list_size| time(data, records, list_size)));
    figures
}

/// Microseconds that a query waits and computes.
fn waiting(record: &Record) -> Option<f64> {
    Some(record.number("wait_share")? * record.number(MEAN_LATENCY.path)?)
}

fn computing(record: &Record) -> Option<f64> {
    Some(record.number("compute_share")? * record.number(MEAN_LATENCY.path)?)
}

/// The list size in the middle of those that all designs have; of all when they share none.
fn middle(records: &[&Record]) -> Option<f64> {
    let sizes: Vec<f64> = group::by_axis(records, AXIS)
        .into_iter()
        .map(|(size, _)| size)
        .collect();
    let designs = group::by_design(records);
    let has = |size: f64| {
        designs
            .iter()
            .all(|(_, records)| !group::at_axis(records, AXIS, size).is_empty())
    };
    let shared: Vec<f64> = sizes.iter().copied().filter(|size| has(*size)).collect();
    let sizes = if shared.is_empty() { sizes } else { shared };
    sizes.get(sizes.len() / 2).copied()
}

/// Time of a query at one list size: waiting and computing stacked.
fn time(data: &str, records: &[&Record], list_size: f64) -> Figure {
    let designs = group::by_design(&group::at_axis(records, AXIS, list_size));
    let parts: [(&str, OfRecord); 2] = [("waiting for reads", waiting), ("computing", computing)];
    let bars = Bars {
        categories: designs
            .iter()
            .map(|(design, _)| (*design).to_owned())
            .collect(),
        y: plot::axis("mean latency, us", Scale::Linear),
        stacked: true,
        series: parts
            .map(|(name, part)| {
                let of = |(_, records): &(&str, Vec<&Record>)| group::median(records, part);
                (name.to_owned(), designs.iter().map(of).collect())
            })
            .into(),
    };
    let id = format!("execution-time-{data}");
    Figure {
        table: time_table(&id, &designs),
        id,
        title: format!("Where the time of a query goes, list size {list_size}, {data}"),
        note: String::new(),
        predicted: false,
        plot: Plot::Bars(bars),
    }
}

fn time_table(id: &str, designs: &[(&str, Vec<&Record>)]) -> Table {
    let rows = designs
        .iter()
        .map(|(design, records)| {
            let recall = group::median(records, |each| each.number("recall"));
            vec![
                table::text(*design),
                table::number(recall, number::recall),
                table::number(group::median(records, waiting), number::plain),
                table::number(group::median(records, computing), number::plain),
                table::number(wait_share(records), number::percent),
            ]
        })
        .collect();
    let columns = vec![
        table::neutral("design"),
        table::column("recall", Goodness::Higher),
        table::column("waiting, us", Goodness::Lower),
        table::column("computing, us", Goodness::Lower),
        table::neutral("share of waiting"),
    ];
    table::table(id, "", columns, rows, 0)
}

fn wait_share(records: &[&Record]) -> Option<f64> {
    group::median(records, |record| record.number("wait_share"))
}

/// Every count at every list size.
fn counts(data: &str, records: &[&Record]) -> Table {
    let rows = group::by_design(records)
        .into_iter()
        .flat_map(|(design, records)| {
            group::by_axis(&records, AXIS)
                .into_iter()
                .map(move |(list_size, records)| {
                    let median = |path: &str| group::median(&records, |each| each.number(path));
                    let mut row = vec![
                        table::text(design),
                        table::number(Some(list_size), number::thousands),
                        table::number(median("recall"), number::recall),
                    ];
                    row.extend(
                        [PAGES, EXACT, APPROXIMATE, MEAN_LATENCY]
                            .map(|quantity| quantity.cell(quantity.median(&records))),
                    );
                    row.push(table::number(wait_share(&records), number::percent));
                    row
                })
        })
        .collect();
    let mut columns = ["design", "list size", "recall"]
        .map(table::neutral)
        .to_vec();
    columns.extend(
        [PAGES, EXACT, APPROXIMATE, MEAN_LATENCY].map(|quantity| table::neutral(quantity.name)),
    );
    columns.push(table::neutral("share of waiting"));
    let title = format!("All list sizes, {data}");
    table::table(format!("execution-counts-{data}"), title, columns, rows, 0)
}

fn findings(run: &Run, records: &[&Record]) -> Vec<Finding> {
    // The evaluation leaves designs out that have their codes on disk: they read far more.
    let in_memory: Vec<&Record> = records
        .iter()
        .copied()
        .filter(|record| storage::all_on_disk(run, &record.data, &record.design) != Some(true))
        .collect();
    let pages = |record: &Record| record.number(PAGES.path);
    vec![
        extreme(&in_memory, "pageann", false, pages).finding(
            "Of designs with codes in memory PageANN reads the fewest pages at a list size",
            SOURCE,
        ),
        extreme(&in_memory, "dgai", true, pages).finding(
            "Of designs with codes in memory DGAI reads the most pages at a list size",
            SOURCE,
        ),
        extreme(&in_memory, "pageann", true, computing)
            .finding("PageANN spends the most time on computing", SOURCE),
        ratio(&in_memory).finding(
            "PageANN computes 2.75 to 2.92 times as long as PipeANN at a list size",
            SOURCE,
        ),
        extreme(&in_memory, "pipeann", false, computing)
            .finding("PipeANN spends the least time on computing", SOURCE),
        waits(&in_memory).finding(
            "Waiting for reads takes 80 to 99.6 % of the time of a query",
            SOURCE,
        ),
    ]
}

/// Whether a design has the most (or the least) of a value at the middle list size.
fn extreme(records: &[&Record], design: &str, most: bool, value: OfRecord) -> Evidence {
    let mut evidence = Evidence::default();
    for (data, records) in group::by_data(records) {
        let Some(list_size) = middle(&records) else {
            continue;
        };
        let values: Vec<(&str, f64)> = group::by_design(&group::at_axis(&records, AXIS, list_size))
            .iter()
            .filter_map(|(design, records)| Some((*design, group::median(records, value)?)))
            .collect();
        let own = values.iter().find(|(name, _)| *name == design);
        let others = values.iter().filter(|(name, _)| *name != design);
        let rival = if most {
            others.max_by(|a, b| a.1.total_cmp(&b.1))
        } else {
            others.min_by(|a, b| a.1.total_cmp(&b.1))
        };
        if let (Some((_, own)), Some((rival, value))) = (own, rival) {
            let measured = format!(
                "{data}, list size {list_size}: {design} {}, {rival} {}",
                number::plain(*own),
                number::plain(*value)
            );
            evidence.add(if most { own > value } else { own < value }, measured);
        }
    }
    evidence
}

/// Whether PageANN computes so much longer than PipeANN at the middle list size.
fn ratio(records: &[&Record]) -> Evidence {
    let mut evidence = Evidence::default();
    for (data, records) in group::by_data(records) {
        let Some(list_size) = middle(&records) else {
            continue;
        };
        let at_size = group::at_axis(&records, AXIS, list_size);
        let time = |design: &str| group::median(&group::of_design(&at_size, design), computing);
        if let (Some(more), Some(less)) = (time("pageann"), time("pipeann")) {
            let times = number::times(more / less);
            let measured = format!("{data}, list size {list_size}: {times}");
            evidence.add(more / less >= 2.75, measured);
        }
    }
    evidence
}

/// Shares of waiting over all designs and list sizes of each data set.
fn waits(records: &[&Record]) -> Evidence {
    let mut evidence = Evidence::default();
    for (data, records) in group::by_data(records) {
        let mut shares: Vec<f64> = group::by_cell(&records)
            .iter()
            .filter_map(|cell| wait_share(cell))
            .collect();
        shares.sort_by(f64::total_cmp);
        if let (Some(least), Some(most)) = (shares.first(), shares.last()) {
            let (from, to) = (number::percent(*least), number::percent(*most));
            evidence.add(*least >= 0.8, format!("{data}: {from} to {to}"));
        }
    }
    evidence
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::report::document::Verdict;
    use crate::report::fixture::{build, give, run, search};

    fn searches(design: &str, pages: f64, compute_share: f64) -> Vec<Record> {
        [10, 20, 40]
            .into_iter()
            .map(|list_size| {
                give(
                    search("execution", "photos", design, list_size, 0.9),
                    json!({
                        "pages_per_query": pages * list_size as f64,
                        "latency_us": {"mean": 1000.0},
                        "wait_share": 1.0 - compute_share, "compute_share": compute_share,
                    }),
                )
            })
            .collect()
    }

    fn records() -> Vec<Record> {
        let mut records = searches("pageann", 1.0, 0.15);
        records.extend(searches("pipeann", 2.0, 0.05));
        records.extend(searches("dgai", 3.0, 0.1));
        records.extend(searches("aisaq", 9.0, 0.5));
        records.push(build("photos", "aisaq", "in_page"));
        records
    }

    #[test]
    fn the_verdicts_leave_out_designs_with_codes_on_disk() {
        let found = section(&run(records())).unwrap().findings;
        let verdicts: Vec<Verdict> = found.iter().map(|each| each.verdict).collect();
        assert_eq!(verdicts, [Verdict::Agrees; 6], "{found:?}");
        let mut more = records();
        more.extend(searches("diskann", 0.5, 0.3));
        let found = section(&run(more)).unwrap().findings;
        assert_eq!(found[0].verdict, Verdict::Differs);
        assert_eq!(found[5].verdict, Verdict::Differs);
    }

    #[test]
    fn time_is_split_at_the_middle_list_size() {
        let section = section(&run(records())).unwrap();
        let time = &section.figures[3];
        assert!(time.title.contains("list size 20"), "{}", time.title);
        let Plot::Bars(bars) = &time.plot else {
            panic!("bars are expected");
        };
        assert_eq!(bars.categories, ["aisaq", "pageann", "pipeann", "dgai"]);
        assert_eq!(bars.series[0].1[1], Some(850.0));
        assert_eq!(bars.series[1].1[1], Some(150.0));
        assert_eq!(section.tables[0].rows.len(), 12);
    }
}
