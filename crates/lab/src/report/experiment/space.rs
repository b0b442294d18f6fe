//! Disk and memory of each design, beside the formulas of the evaluation.
//!
//! Source: eq. 1 to 3 of the evaluation. With N vectors of d elements of s_d bytes, max degree R,
//! ids of s_i = 4 bytes and codes of n_pq parts of k = 1 byte:
//!
//! ```text
//! M_total = M_nav + M_pq + M_cache + C
//! M_nav   = (d s_d + (1 + R) s_i) N        here: over the sampled nodes of a navigation graph
//! M_pq    = d s_d 2^(8 k) + n_pq k N       here: over the nodes whose codes are in memory
//! M_cache = M_dynamic + N_hot (d s_d + (1 + R) s_i)
//! BPF     = page_size / (d s_d + (1 + R) s_i)
//! ```

use serde_json::Value;

use crate::record::{Record, Run, Task};
use crate::report::document::{Cell, Figure, Finding, Goodness, Plot, Scale, Section, Table};
use crate::report::evidence::Evidence;
use crate::report::quantity::Quantity;
use crate::report::{group, method, number, plot, refusal, storage, table};

const SOURCE: &str = "Evaluation, table 4, eq. 1 to 3 and section 4.3.1";
/// Bytes of an id.
const ID_BYTES: f64 = 4.0;
/// Centroids per part of a code.
const CENTROIDS: f64 = 256.0;

/// Bytes of an index, in its description.
const DISK: Quantity = Quantity {
    path: "/index_bytes",
    name: "bytes on disk",
    goodness: Goodness::Lower,
    scale: Scale::Log,
    format: number::bytes,
};
/// Highest resident set of a search.
const MEMORY: Quantity = Quantity {
    path: "peak_memory_bytes",
    name: "peak memory, bytes",
    goodness: Goodness::Lower,
    scale: Scale::Log,
    format: number::bytes,
};

/// The terms of the formula for an index and the caches of a search.
#[derive(Clone, Copy, PartialEq, Debug)]
struct Terms {
    navigation: f64,
    codes: f64,
    cache: f64,
    vectors_per_page: f64,
}

/// The section of the experiment `space`.
pub(crate) fn section(run: &Run) -> Option<Section> {
    let records = group::measured(run, "space", Task::Search);
    if records.is_empty() {
        return None;
    }
    let mut words = vec![
        "One search per design at a middling list size, in a process of its own. Memory is the \
         highest resident set of that process, program and libraries included; the budget is what \
         the index was allowed."
            .to_owned(),
        "The formula: M_nav is over the sampled nodes of a navigation graph, M_pq over the nodes \
         whose codes are in memory (and over both codes where there are two), M_cache over the \
         nodes and pages that were cached. C, working memory and all else, is not computed but \
         what remains of the measured peak."
            .to_owned(),
    ];
    words.extend(method::settings(&records));
    let mut tables = vec![footprints(run, &records), formula(run, &records)];
    tables.extend(refusal::table(run, "space"));
    Some(Section {
        id: "space".to_owned(),
        title: "Disk and memory".to_owned(),
        source: SOURCE.to_owned(),
        method: words,
        figures: vec![
            bars("space-disk", &records, &DISK, |records| {
                described(run, records, DISK.path)
            }),
            bars("space-memory", &records, &MEMORY, peak),
        ],
        tables,
        findings: findings(run, &records),
    })
}

/// Bars of a value per data set and design.
fn bars(
    id: &str,
    records: &[&Record],
    quantity: &Quantity,
    value: impl Fn(&[&Record]) -> Option<f64>,
) -> Figure {
    let bars = plot::per_data(records, quantity.axis(), value);
    Figure {
        id: id.to_owned(),
        title: quantity.name.to_owned(),
        note: String::new(),
        predicted: false,
        table: plot::bars_table(id, &bars, quantity),
        plot: Plot::Bars(bars),
    }
}

/// Highest resident set of a search, as the system counted it or as the search did.
fn peak(records: &[&Record]) -> Option<f64> {
    group::median(records, |record| {
        let counted = record.process.peak_memory_bytes.map(|bytes| bytes as f64);
        counted.or_else(|| record.number(MEMORY.path))
    })
}

/// A number of the description of the index that was searched.
fn described(run: &Run, searches: &[&Record], path: &str) -> Option<f64> {
    storage::description(run, searches.first()?)?
        .pointer(path)?
        .as_f64()
}

fn footprints(run: &Run, records: &[&Record]) -> Table {
    let lower = |name: &str| table::column(name, Goodness::Lower);
    let mut columns = ["data", "design", "codes"].map(table::neutral).to_vec();
    columns.extend(["index on disk", "of raw vectors"].map(lower));
    columns.extend(["memory budget", "budget of raw vectors"].map(table::neutral));
    columns.extend(["peak memory", "peak of raw vectors"].map(lower));
    columns.push(table::column("recall", Goodness::Higher));
    let rows = group::by_data_and_design(records)
        .into_iter()
        .map(|(data, design, records)| {
            let mut row = vec![table::text(data), table::text(design)];
            row.push(table::text(place_of_codes(run, data, design)));
            row.extend(footprint(run, &records));
            row
        })
        .collect();
    table::table("space-footprints", "Measured", columns, rows, 1)
}

fn place_of_codes(run: &Run, data: &str, design: &str) -> &'static str {
    match storage::all_on_disk(run, data, design) {
        Some(true) => "on disk",
        Some(false) => "in memory",
        None => "–",
    }
}

/// Disk, budget and peak in bytes and as shares of the raw vectors, and the recall.
fn footprint(run: &Run, records: &[&Record]) -> Vec<Cell> {
    let raw = described(run, records, "/raw_bytes");
    let bytes = [
        described(run, records, DISK.path),
        group::median(records, |each| each.number("memory_budget_bytes")),
        peak(records),
    ];
    let mut cells = Vec::new();
    for bytes in bytes {
        let share = bytes.zip(raw).map(|(bytes, raw)| bytes / raw);
        cells.push(table::number(bytes, number::bytes));
        cells.push(table::number(share, number::percent));
    }
    let recall = group::median(records, |each| each.number("recall"));
    cells.push(table::number(recall, number::recall));
    cells
}

fn formula(run: &Run, records: &[&Record]) -> Table {
    let rows = group::by_data_and_design(records)
        .into_iter()
        .map(|(data, design, records)| {
            let terms = terms(run, &records);
            let peak = peak(&records);
            let of = |term: fn(Terms) -> f64| table::number(terms.map(term), number::bytes);
            let rest = terms.zip(peak).map(|(terms, peak)| peak - terms.sum());
            vec![
                table::text(data),
                table::text(design),
                of(|terms| terms.navigation),
                of(|terms| terms.codes),
                of(|terms| terms.cache),
                of(Terms::sum),
                signed_bytes(rest),
                table::number(peak, number::bytes),
                table::number(terms.map(|terms| terms.vectors_per_page), number::plain),
            ]
        })
        .collect();
    let columns = [
        "data",
        "design",
        "M_nav",
        "M_pq",
        "M_cache",
        "M_total without C",
        "C: measured peak less M_total",
        "measured peak",
        "BPF: vectors per page",
    ];
    table::table(
        "space-formula",
        "The formulas of the evaluation",
        columns.map(table::neutral).into(),
        rows,
        1,
    )
}

/// Bytes that may be less than none.
fn signed_bytes(value: Option<f64>) -> Cell {
    table::number(value, |bytes| {
        let sign = if bytes < 0.0 { "-" } else { "" };
        format!("{sign}{}", number::bytes(bytes.abs()))
    })
}

impl Terms {
    fn sum(self) -> f64 {
        self.navigation + self.codes + self.cache
    }
}

/// The terms for an index, as its description and a search of it tell.
fn terms(run: &Run, records: &[&Record]) -> Option<Terms> {
    let description = storage::description(run, records.first()?)?;
    let number = |path: &str| description.pointer(path).and_then(Value::as_f64);
    let vector = number("/spec/shape/dimension")? * element_bytes(description)?;
    let list = (1.0 + number("/spec/graph/max_degree")?) * ID_BYTES;
    let nodes = number("/nodes")?;
    let page = number("/spec/layout/page_bytes")?;
    let counted = |path: &str| group::median(records, |each| each.number(path)).unwrap_or(0.0);
    let hot = if description.pointer("/spec/cache/nodes")?.as_str() == Some("lists") {
        list
    } else {
        vector + list
    };
    let sampled = number("/spec/execution/entry/one_in").map_or(0.0, |each| nodes / each);
    let code = number("/spec/storage/quantizer/code_bytes")?;
    let second = number("/spec/storage/second_quantizer/code_bytes");
    let in_memory = codes_in_memory(description, nodes);
    let books = 1.0 + f64::from(u8::from(second.is_some()));
    Some(Terms {
        navigation: (vector + list) * sampled,
        codes: books * vector * CENTROIDS
            + code * in_memory
            + second.map_or(0.0, |second| second * nodes),
        cache: counted("cached_pages") * page + counted("cached_nodes") * hot,
        vectors_per_page: page / (vector + list),
    })
}

/// Nodes whose codes are in memory.
fn codes_in_memory(description: &Value, nodes: f64) -> f64 {
    if storage::codes_on_disk(description) == Some(true) {
        return 0.0;
    }
    description
        .pointer("/spec/storage/codes/split/memory_nodes")
        .and_then(Value::as_f64)
        .map_or(nodes, |split| split.min(nodes))
}

fn element_bytes(description: &Value) -> Option<f64> {
    match description.pointer("/spec/shape/element")?.as_str()? {
        "f32" => Some(4.0),
        "f16" => Some(2.0),
        "u8" | "i8" => Some(1.0),
        _ => None,
    }
}

fn findings(run: &Run, records: &[&Record]) -> Vec<Finding> {
    let on_disk = |wanted: bool| {
        move |data: &str, design: &str| storage::all_on_disk(run, data, design) == Some(wanted)
    };
    let share = |records: &[&Record]| Some(peak(records)? / described(run, records, "/raw_bytes")?);
    let rest = |records: &[&Record]| Some(peak(records)? - terms(run, records)?.sum());
    vec![
        below(records, on_disk(true), peak, (48e6, number::bytes)).finding(
            "With everything on disk a search takes 25.5 to 48 MB whatever the data",
            SOURCE,
        ),
        below(records, on_disk(false), share, (0.3946, number::percent)).finding(
            "With codes in memory a search takes 4 to 39 % of the bytes of the raw vectors",
            SOURCE,
        ),
        below(records, |_, _| true, rest, (50e6, number::bytes))
            .finding("C, all that the formula leaves out, is below 50 MB", SOURCE),
        extreme(run, records, "gorgeous", true)
            .finding("Gorgeous takes the most disk on most data", SOURCE),
        extreme(run, records, "pageann-disk", false).finding(
            "PageANN with its codes on disk takes the least disk on data of few dimensions",
            SOURCE,
        ),
    ]
}

/// Whether a value is at most a bound for each data set and design of a kind.
fn below(
    records: &[&Record],
    kind: impl Fn(&str, &str) -> bool,
    value: impl Fn(&[&Record]) -> Option<f64>,
    (bound, format): (f64, fn(f64) -> String),
) -> Evidence {
    let mut evidence = Evidence::default();
    for (data, design, records) in group::by_data_and_design(records) {
        if let Some(value) = value(&records).filter(|_| kind(data, design)) {
            let measured = format!("{data}, {design}: {}", format(value));
            evidence.add(value <= bound, measured);
        }
    }
    evidence
}

/// Whether a design has the largest (or the smallest) index of each data set.
fn extreme(run: &Run, records: &[&Record], design: &str, most: bool) -> Evidence {
    let mut evidence = Evidence::default();
    for (data, records) in group::by_data(records) {
        let sizes: Vec<(&str, f64)> = group::by_design(&records)
            .into_iter()
            .filter_map(|(design, records)| {
                Some((design, described(run, &records, "/index_bytes")?))
            })
            .collect();
        let own = sizes.iter().find(|(name, _)| *name == design);
        let others = sizes.iter().filter(|(name, _)| *name != design);
        let rival = if most {
            others.max_by(|a, b| a.1.total_cmp(&b.1))
        } else {
            others.min_by(|a, b| a.1.total_cmp(&b.1))
        };
        if let (Some((_, own)), Some((rival, size))) = (own, rival) {
            let (own_text, size_text) = (number::bytes(*own), number::bytes(*size));
            let measured = format!("{data}: {design} {own_text}, {rival} {size_text}");
            evidence.add(if most { own > size } else { own < size }, measured);
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

    fn records() -> Vec<Record> {
        let caching = give(
            search("space", "photos", "diskann", 40, 0.95),
            json!({"cached_nodes": 100, "cached_pages": 2}),
        );
        vec![
            build("photos", "diskann", "memory"),
            build("photos", "aisaq", "in_page"),
            caching,
            search("space", "photos", "aisaq", 40, 0.95),
        ]
    }

    #[test]
    fn the_terms_are_those_of_the_formula() {
        let run = run(records());
        let searches = group::measured(&run, "space", Task::Search);
        let of = |design: &str| {
            let own = group::of_design(&searches, design);
            terms(&run, &own).unwrap()
        };
        let node = 128.0 + 49.0 * 4.0;
        let diskann = of("diskann");
        assert_eq!(diskann.navigation, 0.0);
        assert_eq!(diskann.codes, 128.0 * 256.0 + 16.0 * 10_000.0);
        assert_eq!(diskann.cache, 2.0 * 4096.0 + 100.0 * node);
        assert_eq!(diskann.vectors_per_page, 4096.0 / node);
        assert_eq!(of("aisaq").codes, 128.0 * 256.0);
    }

    #[test]
    fn a_sample_is_navigated_and_a_second_code_counts() {
        let mut records = records();
        let spec = records[0].result.pointer_mut("/description/spec").unwrap();
        spec["execution"]["entry"] = json!({"kind": "navigation", "one_in": 100});
        spec["storage"]["second_quantizer"] = json!({"kind": "pq", "code_bytes": 8});
        spec["storage"]["codes"] = json!({"split": {"memory_nodes": 500}});
        spec["cache"]["nodes"] = json!("lists");
        let run = run(records);
        let searches = group::measured(&run, "space", Task::Search);
        let own = group::of_design(&searches, "diskann");
        let terms = terms(&run, &own).unwrap();
        assert_eq!(terms.navigation, 100.0 * (128.0 + 49.0 * 4.0));
        assert_eq!(
            terms.codes,
            2.0 * 128.0 * 256.0 + 16.0 * 500.0 + 8.0 * 10_000.0
        );
        assert_eq!(terms.cache, 2.0 * 4096.0 + 100.0 * 49.0 * 4.0);
    }

    #[test]
    fn the_verdicts_follow_the_numbers() {
        let section = section(&run(records())).unwrap();
        let verdicts: Vec<Verdict> = section.findings.iter().map(|each| each.verdict).collect();
        assert_eq!(
            verdicts,
            [
                Verdict::Agrees,
                Verdict::Differs,
                Verdict::Agrees,
                Verdict::NotMeasured,
                Verdict::NotMeasured,
            ]
        );
        assert_eq!(section.tables[0].rows[0][3].text, "4.0 MB");
    }
}
