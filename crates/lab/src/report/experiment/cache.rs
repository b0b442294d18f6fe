//! What caches serve: hits by hop for strategies that keep, that copy, and that do both; and reads
//! against the memory they have.

use crate::record::{Record, Run, Task};
use crate::report::document::{
    Figure, Finding, Goodness, Lines, Mark, Plot, Scale, Section, Series, Table,
};
use crate::report::evidence::Evidence;
use crate::report::quantity::{PAGES, RECALL};
use crate::report::setting::{Setting, Shown};
use crate::report::{choice, group, method, number, plot, refusal, table};

const SOURCE: &str = "Evaluation, fig. 13 and section 4.3.3";
/// Recall at which strategies are compared.
const TARGET: f64 = 0.95;
/// Dimensions up to which the evaluation advises dynamic caches.
const LOW_DIMENSIONS: f64 = 900.0;
/// Strategies by their names in the suite.
const GRAPH_FIRST: &str = "graph_first";
const STATIC_HOT: &str = "static_hot";
const CHANGING: [&str; 2] = ["dynamic", "hybrid"];
/// Fewest expansions per query that make a share.
const LEAST_EXPANSIONS: f64 = 0.5;

const MEMORY: Setting = Setting {
    axis: "memory_ratio",
    name: "memory, share of the raw vectors",
    scale: Scale::Linear,
    format: number::percent,
};

/// The section of the experiment `cache`.
pub(crate) fn section(run: &Run) -> Option<Section> {
    let records = group::measured(run, "cache", Task::Search);
    if records.is_empty() {
        return None;
    }
    let mut words = vec![
        "Four strategies with the same memory, codes included: static_hot keeps records of nodes \
         that walks meet often, graph_first keeps their adjacency lists alone, dynamic keeps \
         copies of pages that were read, hybrid divides its memory between the first and the \
         third. Each is shown with the list size that reaches recall 0.95 most closely."
            .to_owned(),
        "Hits are counted by hop in buckets (the first hop, the second, hops 3 and 4, 5 to 8 and \
         so on). A bucket's share of hits divides them by the hops that fall into it if every \
         query has the mean number of hops: exact but for the last bucket of a curve."
            .to_owned(),
    ];
    words.extend(method::settings(&records));
    let data = group::by_data(&records);
    Some(Section {
        id: "cache".to_owned(),
        title: "Caches".to_owned(),
        source: SOURCE.to_owned(),
        method: words,
        figures: data
            .iter()
            .flat_map(|(name, records)| [by_hop(name, records), by_memory(name, records)])
            .flatten()
            .collect(),
        tables: std::iter::once(shares(&records))
            .chain(refusal::table(run, "cache"))
            .collect(),
        findings: findings(&data),
    })
}

/// The memory at which strategies are compared: of those that most strategies ran with, the middle.
fn common_memory(records: &[&Record]) -> Option<f64> {
    let sizes: Vec<(f64, usize)> = group::by_axis(records, MEMORY.axis)
        .into_iter()
        .map(|(memory, records)| (memory, group::by_design(&records).len()))
        .collect();
    let most = sizes.iter().map(|(_, designs)| *designs).max()?;
    let common: Vec<f64> = sizes
        .into_iter()
        .filter(|(_, designs)| *designs == most)
        .map(|(memory, _)| memory)
        .collect();
    common.get(common.len() / 2).copied()
}

fn by_hop(data: &str, records: &[&Record]) -> Option<Figure> {
    let memory = common_memory(records)?;
    let at = group::at_axis(records, MEMORY.axis, memory);
    let series: Vec<Series> = plot::designs(&at)
        .into_iter()
        .map(|(name, records)| Series {
            name,
            marks: marks(&choice::reaching(&records, TARGET)),
        })
        .filter(|series| !series.marks.is_empty())
        .collect();
    let lines = Lines {
        x: plot::axis("hop", Scale::Log),
        y: plot::axis("share of hops that a cache served", Scale::Linear),
        series,
    };
    let id = format!("cache-hops-{data}");
    Some(Figure {
        table: hops_table(&id, &lines),
        title: format!(
            "Cache hits by hop with {} of memory, {data}",
            number::percent(memory)
        ),
        note: String::new(),
        predicted: false,
        plot: Plot::Lines(lines),
        id,
    })
}

/// Share of hits by hop of the repetitions of a cell.
fn marks(cell: &[&Record]) -> Vec<Mark> {
    let Some(record) = cell.first() else {
        return Vec::new();
    };
    let hops = record.number("hops_per_query").unwrap_or_default();
    let hits = record.result.get("cache_hits_by_hop");
    let hits = hits.and_then(|hits| hits.as_array()).into_iter().flatten();
    hits.enumerate()
        .filter_map(|(bucket, hits)| mark(bucket, hits.as_f64()?, hops))
        .collect()
}

/// The mark of a bucket; none where walks hardly get.
fn mark(bucket: usize, hits: f64, hops: f64) -> Option<Mark> {
    let (first, end) = bounds(bucket);
    let end = end.min(hops);
    let expansions = end - first;
    if expansions < LEAST_EXPANSIONS {
        return None;
    }
    let share = (hits / expansions).min(1.0);
    let name = hop_name(bucket);
    Some(Mark {
        x: f64::midpoint(first + 1.0, end.ceil()),
        y: share,
        label: format!("hop {name}: {} from the cache", number::percent(share)),
    })
}

/// Hops of a bucket, counted from 0: the first, and the one after the last. The last is open.
fn bounds(bucket: usize) -> (f64, f64) {
    let first = |bucket: usize| {
        bucket
            .checked_sub(1)
            .map_or(0.0, |power| 2f64.powi(power as i32))
    };
    let end = if bucket + 1 < pageway::HOP_BUCKETS {
        first(bucket + 1)
    } else {
        f64::INFINITY
    };
    (first(bucket), end)
}

/// Hops of a bucket, counted from 1.
fn hop_name(bucket: usize) -> String {
    let (first, end) = bounds(bucket);
    match end {
        _ if end.is_infinite() => format!("{} and later", first + 1.0),
        _ if end - first <= 1.0 => end.to_string(),
        _ => format!("{} to {end}", first + 1.0),
    }
}

fn hops_table(id: &str, lines: &Lines) -> Table {
    let buckets = lines.series.iter().map(|series| series.marks.len()).max();
    let buckets = buckets.unwrap_or_default();
    let mut columns = vec![table::neutral("design")];
    columns.extend(
        (0..buckets)
            .map(|bucket| table::column(format!("hop {}", hop_name(bucket)), Goodness::Higher)),
    );
    let rows = lines
        .series
        .iter()
        .map(|series| {
            let mut row = vec![table::text(&series.name)];
            row.extend((0..buckets).map(|bucket| {
                let mark = series.marks.get(bucket);
                table::number(mark.map(|mark| mark.y), number::percent)
            }));
            row
        })
        .collect();
    table::table(id, "", columns, rows, 0)
}

fn by_memory(data: &str, records: &[&Record]) -> Option<Figure> {
    let shown = Shown {
        id: format!("cache-memory-{data}"),
        title: format!("Pages read at recall {TARGET:.2} against memory, {data}"),
        setting: MEMORY,
        quantity: &PAGES,
    };
    (!MEMORY.values(records).is_empty()).then(|| shown.at_recall(&plot::designs(records), TARGET))
}

/// Share of all accesses that caches serve, by memory.
fn shares(records: &[&Record]) -> Table {
    let sizes = MEMORY.values(records);
    let common = common_memory(records);
    let mut columns = vec![table::neutral("data"), table::neutral("design")];
    columns.extend(sizes.iter().map(|memory| {
        let name = format!("{} of memory", number::percent(*memory));
        table::column(name, Goodness::Higher)
    }));
    let memory = common.map_or_else(String::new, number::percent);
    columns.push(table::neutral(format!("recall with {memory}")));
    let rows = group::by_data_and_design(records)
        .into_iter()
        .map(|(data, design, records)| {
            let mut row = vec![table::text(data), table::text(design)];
            row.extend(sizes.iter().map(|memory| {
                let share = hit_share(&group::at_axis(&records, MEMORY.axis, *memory));
                table::number(share, number::percent)
            }));
            let at = common.map_or_else(Vec::new, |memory| {
                group::at_axis(&records, MEMORY.axis, memory)
            });
            row.push(RECALL.cell(RECALL.median(&choice::reaching(&at, TARGET))));
            row
        })
        .collect();
    let title = "Share of all accesses that a cache served: hits of hits and reads";
    table::table("cache-shares", title, columns, rows, 1)
}

/// Hits of hits and reads, in the cell that reaches the target.
fn hit_share(records: &[&Record]) -> Option<f64> {
    group::median(&choice::reaching(records, TARGET), |record| {
        let hits = record.number("cache_hits_per_query")?;
        Some(hits / (hits + record.number("reads_per_query")?))
    })
}

/// Share of hits of a strategy at the memory of comparison.
fn share_of(records: &[&Record], design: &str) -> Option<f64> {
    let memory = common_memory(records)?;
    let at = group::at_axis(records, MEMORY.axis, memory);
    hit_share(&group::of_design(&at, design))
}

fn findings(data: &[(&str, Vec<&Record>)]) -> Vec<Finding> {
    vec![
        against_graph(
            data,
            |dimensions| dimensions <= LOW_DIMENSIONS,
            |ratio| ratio > 1.0,
        )
        .finding(
            "In low dimensions (up to 900) dynamic and hybrid caches serve more than one that \
                 keeps lists first: 2.75 and 2.60 times as much on SIFT, 1.24 and 1.08 on Deep",
            SOURCE,
        ),
        against_graph(
            data,
            |dimensions| dimensions > LOW_DIMENSIONS,
            |ratio| ratio < 1.0,
        )
        .finding(
            "In high dimensions a cache that keeps lists first serves more: 2.22 times as much \
                 as a dynamic one on GIST",
            SOURCE,
        ),
        against_hot(data).finding(
            "Dynamic and hybrid caches serve more than one that keeps records of hot nodes, up to \
             4.69 times as much",
            SOURCE,
        ),
    ]
}

/// Each changing strategy against lists first, on data of such dimensions.
fn against_graph(
    data: &[(&str, Vec<&Record>)],
    dimensions: fn(f64) -> bool,
    holds: fn(f64) -> bool,
) -> Evidence {
    let mut evidence = Evidence::default();
    for (name, records) in data {
        if method::dimensions(records).is_some_and(dimensions) {
            add_ratios(&mut evidence, (name, records), GRAPH_FIRST, holds);
        }
    }
    evidence
}

fn against_hot(data: &[(&str, Vec<&Record>)]) -> Evidence {
    let mut evidence = Evidence::default();
    for (name, records) in data {
        add_ratios(&mut evidence, (name, records), STATIC_HOT, |ratio| {
            ratio > 1.0
        });
    }
    evidence
}

fn add_ratios(
    evidence: &mut Evidence,
    (data, records): (&str, &[&Record]),
    rival: &str,
    holds: fn(f64) -> bool,
) {
    for design in CHANGING {
        if let (Some(own), Some(other)) = (share_of(records, design), share_of(records, rival)) {
            let measured = format!(
                "{data}: {design} {}, {rival} {}",
                number::percent(own),
                number::percent(other)
            );
            evidence.add(holds(own / other), measured);
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::report::document::Verdict;
    use crate::report::fixture::{give, run, search, set};

    /// A strategy that serves so many of 20 hops, all of them late, with two sizes of memory.
    fn strategy(design: &str, hits: f64, dimensions: u64) -> Vec<Record> {
        [0.1, 0.3]
            .map(|memory| {
                let record = search("cache", "photos", design, 20, 0.96);
                let record = set(
                    set(record, "memory_ratio", memory),
                    "dimensions",
                    dimensions,
                );
                let hits = hits * memory / 0.3;
                give(
                    record,
                    json!({
                        "hops_per_query": 20.0, "reads_per_query": 20.0 - hits,
                        "cache_hits_per_query": hits,
                        "cache_hits_by_hop": [0.0, 1.0, 0.0, 0.0, 0.0, hits - 1.0, 0.0, 0.0],
                    }),
                )
            })
            .into()
    }

    fn of(dimensions: u64, hits: &[(&str, f64)]) -> Section {
        let records = hits
            .iter()
            .flat_map(|(design, hits)| strategy(design, *hits, dimensions));
        section(&run(records.collect())).unwrap()
    }

    #[test]
    fn buckets_double() {
        let buckets: Vec<(f64, f64)> = (0..4).map(bounds).collect();
        assert_eq!(buckets, [(0.0, 1.0), (1.0, 2.0), (2.0, 4.0), (4.0, 8.0)]);
        assert_eq!(bounds(7), (64.0, f64::INFINITY));
        let names: Vec<String> = [0, 1, 2, 3, 7].map(hop_name).into();
        assert_eq!(names, ["1", "2", "3 to 4", "5 to 8", "65 and later"]);
    }

    #[test]
    fn hits_are_shares_of_the_hops_of_a_bucket() {
        let section = of(128, &[("dynamic", 3.0), (GRAPH_FIRST, 2.0)]);
        let Plot::Lines(lines) = &section.figures[0].plot else {
            panic!("no lines")
        };
        let dynamic = lines
            .series
            .iter()
            .find(|each| each.name == "dynamic")
            .unwrap();
        let shares: Vec<f64> = dynamic.marks.iter().map(|mark| mark.y).collect();
        // Hops 17 to 20 are all that a mean walk has of the sixth bucket.
        assert_eq!(shares, [0.0, 1.0, 0.0, 0.0, 0.0, 0.5]);
        assert_eq!(section.figures[0].table.columns.len(), 7);
        assert_eq!(section.figures[1].id, "cache-memory-photos");
        let table = &section.tables[0];
        assert_eq!(table.rows[0][3].number, Some(3.0 / 20.0));
    }

    #[test]
    fn the_verdict_depends_on_dimensions() {
        let hits = [
            ("dynamic", 6.0),
            ("hybrid", 3.0),
            (GRAPH_FIRST, 4.0),
            (STATIC_HOT, 2.0),
        ];
        let verdicts = |section: &Section| -> Vec<Verdict> {
            section.findings.iter().map(|each| each.verdict).collect()
        };
        use Verdict::{Agrees, NotMeasured, Partly};
        assert_eq!(verdicts(&of(128, &hits)), [Partly, NotMeasured, Agrees]);
        assert_eq!(verdicts(&of(960, &hits)), [NotMeasured, Partly, Agrees]);
    }
}
