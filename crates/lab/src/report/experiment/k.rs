//! Few and many neighbours: what a query costs over k.

use crate::record::{Record, Run, Task};
use crate::report::document::{Figure, Finding, Goodness, Scale, Section};
use crate::report::evidence::Evidence;
use crate::report::quantity::{PAGES, QPS, Quantity, RECALL};
use crate::report::setting::{self, Setting};
use crate::report::{choice, group, method, number, refusal};

const SOURCE: &str = "Starling, fig. 13 and 19(a)";
/// Recall whose list size is taken.
const TARGET: f64 = 0.95;
/// Neighbours up to which Starling compares speed, and from which it compares reads.
const FEW: f64 = 50.0;
const MANY: f64 = 1000.0;
const OURS: &str = "starling";
const BASE: &str = "diskann";

const K: Setting = setting::count("k", "neighbours k", Scale::Log);
/// The section of the experiment `k`.
pub(crate) fn section(run: &Run) -> Option<Section> {
    let records = group::measured(run, "k", Task::Search);
    if records.is_empty() {
        return None;
    }
    let mut words = vec![format!(
        "Each design answers with k neighbours, k from few to thousands. Of the list sizes \
         measured for a k the shortest that reaches recall {TARGET} is shown, else the one that \
         comes nearest: compare costs with the recall below them."
    )];
    words.extend(method::settings(&records));
    let data = group::by_data(&records);
    Some(Section {
        id: "k".to_owned(),
        title: "Number of neighbours".to_owned(),
        source: SOURCE.to_owned(),
        method: words,
        figures: data
            .iter()
            .flat_map(|(name, records)| figures(name, records))
            .collect(),
        tables: refusal::table(run, "k").into_iter().collect(),
        findings: findings(&records),
    })
}

fn figures(data: &str, records: &[&Record]) -> Vec<Figure> {
    let quantities = [
        ("pages", "Pages read per query", &PAGES),
        ("qps", "Queries per second", &QPS),
        ("recall", "Recall", &RECALL),
    ];
    setting::standing_for(TARGET, K, &quantities, (data, records))
}

fn findings(records: &[&Record]) -> Vec<Finding> {
    vec![
        compare(records, &QPS, |k| k <= FEW).finding(
            "For every k from 1 to 50 Starling answers more queries per second than DiskANN",
            "Starling, fig. 13",
        ),
        compare(records, &PAGES, |k| k >= MANY).finding(
            "For thousands of neighbours Starling reads far fewer pages than DiskANN (20,000 fewer \
             per query at k = 5,000)",
            "Starling, fig. 19(a)",
        ),
    ]
}

/// Starling against DiskANN, at each k, where both reach the recall.
fn compare(records: &[&Record], quantity: &Quantity, wanted: fn(f64) -> bool) -> Evidence {
    let mut evidence = Evidence::default();
    for (data, records) in group::by_data(records) {
        for (k, records) in group::by_axis(&records, K.axis) {
            let of = |design: &str| {
                let chosen = choice::reaching(&group::of_design(&records, design), TARGET);
                quantity.median(&chosen).zip(RECALL.median(&chosen))
            };
            let (Some((ours, our_recall)), Some((base, base_recall))) = (of(OURS), of(BASE)) else {
                continue;
            };
            if !wanted(k) {
                continue;
            }
            let measured = format!(
                "{data}, k {k}: {} {} (recall {}), {BASE} {} ({})",
                OURS,
                number::plain(ours),
                number::recall(our_recall),
                number::plain(base),
                number::recall(base_recall)
            );
            let better = match quantity.goodness {
                Goodness::Lower => ours < base,
                Goodness::Higher | Goodness::Neutral => ours > base,
            };
            evidence.add(better, measured);
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

    fn of(design: &str, k: u64, pages: f64) -> [Record; 2] {
        [(2, 0.96), (4, 0.99)].map(|(factor, recall)| {
            let record = search("k", "photos", design, factor * k, recall);
            let numbers = json!({"pages_per_query": pages * factor as f64,
                                 "qps": 1e5 / (pages * factor as f64)});
            give(set(record, "k", k), numbers)
        })
    }

    #[test]
    fn the_shortest_list_that_suffices_stands_for_a_k() {
        let records = [of(OURS, 10, 8.0), of(BASE, 10, 20.0), of(OURS, 1000, 900.0)];
        let section = section(&run(records.into_iter().flatten().collect())).unwrap();
        let Plot::Lines(pages) = &section.figures[0].plot else {
            panic!("no lines")
        };
        let ours = pages.series.iter().find(|each| each.name == OURS).unwrap();
        let marks: Vec<(f64, f64)> = ours.marks.iter().map(|mark| (mark.x, mark.y)).collect();
        assert_eq!(marks, [(10.0, 16.0), (1000.0, 1800.0)]);
        let verdicts: Vec<Verdict> = section.findings.iter().map(|each| each.verdict).collect();
        assert_eq!(verdicts, [Verdict::Agrees, Verdict::NotMeasured]);
        let recall = &section.figures[2].table;
        assert_eq!(recall.rows[0][1].text, "0.960");
    }

    #[test]
    fn more_pages_speak_against_it() {
        let records = [of(OURS, 5000, 80.0), of(BASE, 5000, 20.0)];
        let section = section(&run(records.into_iter().flatten().collect())).unwrap();
        assert_eq!(section.findings[1].verdict, Verdict::Differs);
        assert!(section.findings[1].measured.contains("k 5000"));
    }
}
