//! What local layouts make of large pages: how much of what is read is used, and why.

use crate::record::{Record, Run, Task};
use crate::report::document::{
    Bars, Cell, Column, Figure, Finding, Goodness, Plot, Scale, Section, Table,
};
use crate::report::evidence::Evidence;
use crate::report::quantity::{PAGES, Quantity, TARGETS};
use crate::report::{curve, group, method, number, plot, refusal, storage, table};

const SOURCE: &str = "Evaluation, fig. 12 and section 4.3.2; Starling, table 2";
const EVALUATION: &str = "Evaluation, fig. 12 and section 4.3.2";
/// Recall of the table.
const TARGET: f64 = 0.95;
/// Utilisation that the evaluation finds no layout to exceed.
const LIMIT: f64 = 0.15;
/// Share of the nodes on a page from which on the page is used as a whole.
const WHOLE: f64 = 0.9;
/// Layouts by their names in the suite: by graph, by row, by cluster, lists of neighbours copied.
const BY_GRAPH: &str = "bnf";
const BY_ID: &str = "by_id";
const CLUSTERED: &str = "clustered";
const REPLICATED: &str = "replicated";

/// Neither good nor bad: the value of the cell that reaches the recall, not the best of all.
const UTILISATION: Quantity = Quantity {
    path: "io_utilisation",
    name: "bytes used of bytes read",
    goodness: Goodness::Neutral,
    scale: Scale::Linear,
    format: number::percent,
};
const HOPS: Quantity = Quantity {
    path: "hops_per_query",
    name: "hops",
    ..UTILISATION_COUNT
};
const ROUNDS: Quantity = Quantity {
    path: "rounds_per_query",
    name: "rounds of reads",
    ..UTILISATION_COUNT
};
const READS: Quantity = Quantity {
    path: "reads_per_query",
    name: "reads",
    ..UTILISATION_COUNT
};
const CACHED: Quantity = Quantity {
    path: "page_hits_per_query",
    name: "cached pages",
    ..UTILISATION_COUNT
};
const SCORED: Quantity = Quantity {
    path: "exact_distances_per_query",
    name: "vectors scored",
    ..UTILISATION_COUNT
};
const UTILISATION_COUNT: Quantity = Quantity {
    format: number::plain,
    ..UTILISATION
};

/// The section of the experiment `layout`.
pub(crate) fn section(run: &Run) -> Option<Section> {
    let records = group::measured(run, "layout", Task::Search);
    if records.is_empty() {
        return None;
    }
    let mut words = vec![
        "One graph in several layouts of large pages: nodes by row, by the graph (BNF), by \
         cluster, grouped into page nodes, or with copies of their neighbours' lists. I/O \
         utilisation is the share of the bytes read that were scored or followed. Vertex \
         utilisation is the share of the nodes on the pages read whose vectors were scored. \
         OR(G), the overlap ratio, is the mean share of a page's other nodes that a node names as \
         neighbours. A design that scores whole pages, as page nodes do, uses nearly all of what it \
         reads by this measure: compare its reads instead."
            .to_owned(),
    ];
    words.extend(method::settings(&records));
    let data = group::by_data(&records);
    Some(Section {
        id: "layout".to_owned(),
        title: "Local layouts".to_owned(),
        source: SOURCE.to_owned(),
        method: words,
        figures: data
            .iter()
            .map(|(name, records)| figure(name, records))
            .collect(),
        tables: std::iter::once(causes(run, &records))
            .chain(refusal::table(run, "layout"))
            .collect(),
        findings: findings(run, &data),
    })
}

fn figure(data: &str, records: &[&Record]) -> Figure {
    let groups = plot::designs(records);
    let cells: Vec<(&str, [Cell; 3])> = groups
        .iter()
        .map(|(design, records)| {
            let cells = TARGETS.map(|recall| UTILISATION.cell_at(records, recall));
            (design.as_str(), cells)
        })
        .collect();
    let id = format!("layout-utilisation-{data}");
    let mut columns = vec![table::neutral("design")];
    columns.extend(TARGETS.map(better_at));
    let rows = cells.iter().map(|(design, cells)| {
        let mut row = vec![table::text(*design)];
        row.extend(cells.iter().cloned());
        row
    });
    let bars = Bars {
        categories: TARGETS.map(|recall| format!("recall {recall:.2}")).into(),
        y: UTILISATION.axis(),
        stacked: false,
        series: cells
            .iter()
            .map(|(design, cells)| {
                let heights = cells.iter().map(|cell| cell.number).collect();
                ((*design).to_owned(), heights)
            })
            .collect(),
    };
    Figure {
        table: table::table(&id, "", columns, rows.collect(), 0),
        title: format!("I/O utilisation, {data}"),
        note: String::new(),
        predicted: false,
        plot: Plot::Bars(bars),
        id,
    }
}

fn better_at(recall: f64) -> Column {
    let column = UTILISATION.column_at(recall);
    table::column(column.name, Goodness::Higher)
}

/// What utilisation follows from, at one recall: locality of the pages, and length of the walks.
fn causes(run: &Run, records: &[&Record]) -> Table {
    let columns = vec![
        table::neutral("data"),
        table::neutral("design"),
        table::column("OR(G)", Goodness::Higher),
        table::neutral("nodes per page"),
        table::column("vertex utilisation", Goodness::Higher),
        table::column(HOPS.name, Goodness::Lower),
        table::column(ROUNDS.name, Goodness::Lower),
        PAGES.column(),
    ];
    let rows = group::by_data_and_design(records)
        .into_iter()
        .map(|(data, design, records)| {
            let pages = Pages::of(run, &records);
            vec![
                table::text(data),
                table::text(design),
                table::number(pages.overlap, number::plain),
                table::number(pages.nodes, number::plain),
                table::number(pages.utilisation(&records), number::percent),
                HOPS.cell_at(&records, TARGET),
                ROUNDS.cell_at(&records, TARGET),
                PAGES.cell_at(&records, TARGET),
            ]
        })
        .collect();
    let title = format!("Locality and path length at recall {TARGET:.2}");
    table::table("layout-causes", title, columns, rows, 1)
}

/// What the build of a layout tells of its pages.
#[derive(Clone, Copy, Default)]
struct Pages {
    overlap: Option<f64>,
    /// Nodes on each.
    nodes: Option<f64>,
}

impl Pages {
    /// Of the index that records of one design searched.
    fn of(run: &Run, records: &[&Record]) -> Self {
        let search = records.first();
        let Some(description) = search.and_then(|search| storage::description(run, search)) else {
            return Self::default();
        };
        let number = |name: &str| description.get(name)?.as_f64();
        Self {
            overlap: number("overlap"),
            nodes: number("nodes_per_page"),
        }
    }

    /// Share of the nodes on the pages looked at, read or cached, whose vectors were scored.
    fn utilisation(&self, records: &[&Record]) -> Option<f64> {
        let pages = READS.at(records, TARGET)? + CACHED.at(records, TARGET).unwrap_or(0.0);
        Some(SCORED.at(records, TARGET)? / (pages * self.nodes?))
    }

    /// Whether a page is used as a whole: all that is read counts as used.
    fn are_used_whole(&self, records: &[&Record]) -> bool {
        let many = self.nodes.is_some_and(|nodes| nodes > 1.0);
        many && self.utilisation(records).is_some_and(|share| share > WHOLE)
    }
}

fn findings(run: &Run, data: &[(&str, Vec<&Record>)]) -> Vec<Finding> {
    vec![
        low(run, data).finding(
            "I/O utilisation stays below 15 % with every layout, on all data, at every recall",
            EVALUATION,
        ),
        lead(data, BY_ID).finding(
            "Placement by the graph uses more of what is read than placement by row (1.91 times as \
             much)",
            EVALUATION,
        ),
        lead(data, CLUSTERED).finding(
            "Placement by the graph uses more of what is read than clustering (1.16 times as much)",
            EVALUATION,
        ),
        lead(data, REPLICATED).finding(
            "Placement by the graph uses more of what is read than pages with copies of lists (1.83 \
             times as much)",
            EVALUATION,
        ),
        widening(data).finding(
            "The lead of placement by the graph over placement by row grows with recall (on GloVe \
             from 1.80 times at 0.90 to 2.28 times at 0.99)",
            EVALUATION,
        ),
        vertices(run, data).finding(
            "Placement by the graph uses 3 to 6 times as many of the nodes that are read",
            "Starling, table 2",
        ),
    ]
}

/// The highest utilisation of the layouts that use nodes one by one.
fn low(run: &Run, data: &[(&str, Vec<&Record>)]) -> Evidence {
    let mut evidence = Evidence::default();
    for (name, records) in data {
        let designs = plot::designs(records);
        let highest = designs
            .iter()
            .filter(|(_, records)| !Pages::of(run, records).are_used_whole(records))
            .flat_map(|(design, records)| {
                let all = TARGETS.map(|recall| UTILISATION.at(records, recall));
                all.into_iter()
                    .flatten()
                    .map(|value| (design.as_str(), value))
            })
            .max_by(|a, b| a.1.total_cmp(&b.1));
        if let Some((design, value)) = highest {
            let measured = format!(
                "{name}: {} at most ({design}), among designs that use nodes one by one",
                number::percent(value)
            );
            evidence.add(value <= LIMIT, measured);
        }
    }
    evidence
}

/// How many times as much as `rival` placement by the graph uses at a recall.
fn gain(records: &[&Record], rival: &str, recall: f64) -> Option<f64> {
    let of = |design: &str| UTILISATION.at(&group::of_design(records, design), recall);
    Some(of(BY_GRAPH)? / of(rival)?)
}

fn lead(data: &[(&str, Vec<&Record>)], rival: &str) -> Evidence {
    let mut evidence = Evidence::default();
    for (name, records) in data {
        let gains = TARGETS.map(|recall| gain(records, rival, recall));
        let middle = curve::median(gains.into_iter().flatten().collect());
        if middle.is_finite() {
            let measured = format!("{name}: {} in the median recall", number::times(middle));
            evidence.add(middle > 1.0, measured);
        }
    }
    evidence
}

fn widening(data: &[(&str, Vec<&Record>)]) -> Evidence {
    let mut evidence = Evidence::default();
    for (name, records) in data {
        let [low, _, high] = TARGETS.map(|recall| gain(records, BY_ID, recall));
        if let (Some(low), Some(high)) = (low, high) {
            let measured = format!(
                "{name}: {} at recall 0.90, {} at 0.99",
                number::times(low),
                number::times(high)
            );
            evidence.add(high > low, measured);
        }
    }
    evidence
}

fn vertices(run: &Run, data: &[(&str, Vec<&Record>)]) -> Evidence {
    let mut evidence = Evidence::default();
    for (name, records) in data {
        let of = |design: &str| {
            let records = group::of_design(records, design);
            Pages::of(run, &records).utilisation(&records)
        };
        if let (Some(graph), Some(row)) = (of(BY_GRAPH), of(BY_ID)) {
            let measured = format!(
                "{name}: {} of the nodes read against {}",
                number::percent(graph),
                number::percent(row)
            );
            evidence.add(graph >= 3.0 * row, measured);
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

    fn searches(design: &str, utilisation: [f64; 3]) -> Vec<Record> {
        TARGETS
            .into_iter()
            .zip(utilisation)
            .map(|(recall, share)| {
                let list_size = (1000.0 * recall) as u64;
                let record = search("layout", "photos", design, list_size, recall);
                give(
                    record,
                    json!({
                        "io_utilisation": share, "rounds_per_query": 9.0, "reads_per_query": 10.0,
                        "exact_distances_per_query": 400.0 * share,
                    }),
                )
            })
            .collect()
    }

    fn built(design: &str, overlap: f64) -> Record {
        let mut record = build("photos", design, "memory");
        record.experiments = vec!["layout".to_owned()];
        record.result["description"]["overlap"] = json!(overlap);
        record
    }

    #[test]
    fn bars_hold_the_utilisation_where_a_recall_is_reached_though_it_rises() {
        let mut records = searches(BY_ID, [0.02, 0.03, 0.04]);
        records.extend(searches(BY_GRAPH, [0.08, 0.12, 0.20]));
        records.extend([built(BY_ID, 0.01), built(BY_GRAPH, 0.3)]);
        let section = section(&run(records)).unwrap();
        let Plot::Bars(bars) = &section.figures[0].plot else {
            panic!("no bars")
        };
        let graph = bars
            .series
            .iter()
            .find(|(name, _)| name == BY_GRAPH)
            .unwrap();
        assert_eq!(graph.1, [Some(0.08), Some(0.12), Some(0.20)]);
        assert!(section.figures[0].table.rows.iter().any(|row| row[3].best));

        let causes = &section.tables[0];
        let row = causes
            .rows
            .iter()
            .find(|row| row[1].text == BY_GRAPH)
            .unwrap();
        assert_eq!(row[2].number, Some(0.3));
        assert!((row[4].number.unwrap() - 48.0 / 120.0).abs() < 1e-9);
        assert!(row[4].best);

        let verdicts: Vec<Verdict> = section.findings.iter().map(|each| each.verdict).collect();
        use Verdict::{Agrees, Differs, NotMeasured};
        assert_eq!(
            verdicts,
            [Differs, Agrees, NotMeasured, NotMeasured, Agrees, Agrees]
        );
        assert!(
            section.findings[0]
                .measured
                .contains("20.0 % at most (bnf),")
        );
        assert!(section.findings[1].measured.contains("4.00x"));
    }

    #[test]
    fn without_builds_there_is_no_locality() {
        let section = section(&run(searches(BY_ID, [0.02, 0.03, 0.04]))).unwrap();
        assert_eq!(section.tables[0].rows[0][2].number, None);
        assert_eq!(section.tables[0].rows[0][4].number, None);
        assert_eq!(section.findings[0].verdict, Verdict::Agrees);
    }
}
