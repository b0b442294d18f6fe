//! How far vectors may be compressed in memory: reads and speed over the length of codes.

use crate::record::{Record, Run, Task};
use crate::report::document::{Figure, Finding, Scale, Section};
use crate::report::evidence::Evidence;
use crate::report::quantity::{PAGES, QPS, Quantity};
use crate::report::setting::{self, Setting, Shown};
use crate::report::{group, method, number, plot, refusal};

const SOURCE: &str = "Gorgeous, fig. 4 and section 3.1";
/// Recall of the comparisons.
const TARGET: f64 = 0.95;
/// How much reads may differ and still be called level.
const LEVEL: f64 = 1.1;
/// From where on reads are called many more.
const BLOWN_UP: f64 = 1.5;

const CODE_BYTES: Setting = setting::count("code_bytes", "bytes per code", Scale::Log);

/// A design on a data set: value by rising code length.
struct Curve<'r> {
    data: &'r str,
    design: &'r str,
    values: Vec<(f64, Option<f64>)>,
}

/// The section of the experiment `compression`.
pub(crate) fn section(run: &Run) -> Option<Section> {
    let records = group::measured(run, "compression", Task::Search);
    if records.is_empty() {
        return None;
    }
    let mut words = vec![
        "The same index with codes of several lengths. Shorter codes steer walks worse, which \
         costs reads; longer ones cost memory and time for distances. Values at a recall are read \
         off with the best list size. The compression ratio is the bytes of a raw vector over \
         those of its code."
            .to_owned(),
    ];
    words.extend(method::settings(&records));
    let data = group::by_data(&records);
    words.extend(data.iter().filter_map(|(name, records)| {
        let lengths = CODE_BYTES.values(records);
        compression(name, row_bytes(records)?, &lengths)
    }));
    Some(Section {
        id: "compression".to_owned(),
        title: "Length of codes".to_owned(),
        source: SOURCE.to_owned(),
        method: words,
        figures: data
            .iter()
            .flat_map(|(name, records)| figures(name, records))
            .collect(),
        tables: refusal::table(run, "compression").into_iter().collect(),
        findings: findings(&records),
    })
}

/// Bytes of a raw vector.
fn row_bytes(records: &[&Record]) -> Option<f64> {
    let of = |record: &&Record| Some(record.axis("raw_bytes")? / record.axis("rows")?);
    records.iter().find_map(of)
}

fn compression(data: &str, row_bytes: f64, lengths: &[f64]) -> Option<String> {
    let ratios: Vec<String> = lengths
        .iter()
        .map(|length| format!("{length} bytes {}", number::times(row_bytes / length)))
        .collect();
    (!ratios.is_empty()).then(|| {
        let row = number::thousands(row_bytes);
        format!(
            "Compression of the {row} bytes of a vector of {data}: {}.",
            ratios.join(", ")
        )
    })
}

fn figures(data: &str, records: &[&Record]) -> Vec<Figure> {
    let kinds: [(&str, &str, &Quantity); 2] = [
        ("pages", "Pages read", &PAGES),
        ("qps", "Queries per second", &QPS),
    ];
    kinds
        .into_iter()
        .map(|(name, what, quantity)| {
            let shown = Shown {
                id: format!("compression-{name}-{data}"),
                title: format!("{what} at recall {TARGET:.2} by length of codes, {data}"),
                setting: CODE_BYTES,
                quantity,
            };
            shown.at_recall(&plot::designs(records), TARGET)
        })
        .collect()
}

fn curves<'r>(records: &[&'r Record], quantity: &Quantity) -> Vec<Curve<'r>> {
    group::by_data_and_design(records)
        .into_iter()
        .map(|(data, design, records)| Curve {
            data,
            design,
            values: group::by_axis(&records, CODE_BYTES.axis)
                .into_iter()
                .map(|(length, records)| (length, quantity.at(&records, TARGET)))
                .collect(),
        })
        .collect()
}

fn findings(records: &[&Record]) -> Vec<Finding> {
    vec![
        optimum(records).finding(
            "Throughput rises and then falls with the length of codes: one length between the \
             shortest and the longest is best",
            SOURCE,
        ),
        threshold(records).finding(
            "Reads hardly change while codes are long enough, and grow fast once they are too \
             short",
            SOURCE,
        ),
    ]
}

/// Whether the best speed is that of a length in between.
fn optimum(records: &[&Record]) -> Evidence {
    let mut evidence = Evidence::default();
    for curve in curves(records, &QPS) {
        let [(shortest, _), _, .., (longest, _)] = curve.values.as_slice() else {
            continue;
        };
        let speeds = curve.values.iter();
        let best = speeds
            .filter_map(|(length, speed)| Some((*length, (*speed)?)))
            .max_by(|a, b| a.1.total_cmp(&b.1));
        if let Some((length, speed)) = best {
            let measured = format!(
                "{}, {}: fastest ({} a second) with {length} bytes, of {shortest} to {longest}",
                curve.data,
                curve.design,
                number::plain(speed)
            );
            evidence.add(length > *shortest && length < *longest, measured);
        }
    }
    evidence
}

/// Whether the longest two lengths read alike, and the shortest reads many more, or never gets to
/// the recall.
fn threshold(records: &[&Record]) -> Evidence {
    let mut evidence = Evidence::default();
    for curve in curves(records, &PAGES) {
        let [
            (shortest, worst),
            ..,
            (middle, shorter),
            (longest, Some(least)),
        ] = curve.values.as_slice()
        else {
            continue;
        };
        let level = shorter.is_some_and(|pages| pages <= LEVEL * least);
        let blown_up = worst.is_none_or(|pages| pages >= BLOWN_UP * least);
        let pages =
            |pages: &Option<f64>| pages.map_or_else(|| "no such recall".to_owned(), number::plain);
        let measured = format!(
            "{}, {}: {} pages with {longest} bytes, {} with {middle}, {} with {shortest}",
            curve.data,
            curve.design,
            number::plain(*least),
            pages(shorter),
            pages(worst)
        );
        evidence.add(level && blown_up, measured);
    }
    evidence
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::report::document::Verdict;
    use crate::report::fixture::{give, run, search, set};

    fn with_codes(bytes: u64, recall: f64, pages: f64, qps: f64) -> Record {
        let record = search("compression", "photos", "diskann", 40, recall);
        let numbers = json!({"pages_per_query": pages, "qps": qps});
        give(set(record, "code_bytes", bytes), numbers)
    }

    fn verdicts(records: Vec<Record>) -> Vec<Verdict> {
        let section = section(&run(records)).unwrap();
        section.findings.iter().map(|each| each.verdict).collect()
    }

    #[test]
    fn a_best_length_in_between_and_a_threshold() {
        let records = vec![
            with_codes(64, 0.95, 20.0, 800.0),
            with_codes(32, 0.95, 21.0, 900.0),
            with_codes(8, 0.95, 60.0, 300.0),
        ];
        assert_eq!(verdicts(records), [Verdict::Agrees, Verdict::Agrees]);
        let records = vec![
            with_codes(64, 0.95, 20.0, 900.0),
            with_codes(32, 0.95, 25.0, 700.0),
            with_codes(8, 0.90, 60.0, 300.0),
        ];
        assert_eq!(verdicts(records), [Verdict::Differs, Verdict::Differs]);
    }

    #[test]
    fn the_compression_is_told() {
        let record = set(with_codes(32, 0.95, 20.0, 800.0), "raw_bytes", 1_280_000);
        let section = section(&run(vec![record])).unwrap();
        let words = section.method.join(" ");
        assert!(
            words.contains("the 128 bytes of a vector of photos: 32 bytes 4.00x."),
            "{words}"
        );
        assert_eq!(section.figures.len(), 2);
        assert_eq!(section.findings[0].verdict, Verdict::NotMeasured);
    }
}
