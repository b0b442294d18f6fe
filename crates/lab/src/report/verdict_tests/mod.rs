//! Claims of the table against records made up for each side of their bounds.

mod axes;
mod document;
mod growth;
mod ours;
mod space;
mod speed;

use serde_json::json;

use super::book::Book;
use super::fixture::{build, give, record, refused, run, search, set};
use super::{Report, Verdict, own};
use crate::record::{Record, Run, Task};

use Verdict::{Agrees, Differs, NotMeasured, Partly};

fn reported(records: Vec<Record>) -> Report {
    super::report(&run(records)).unwrap()
}

/// The verdict on the claim that begins with these words.
#[track_caller]
fn verdict(records: Vec<Record>, claim: &str) -> Verdict {
    let report = reported(records);
    let findings = report.sections.iter().flat_map(|section| &section.findings);
    let mut found = findings.filter(|finding| finding.claim.starts_with(claim));
    let verdict = found.next().expect("a claim of these words").verdict;
    assert!(found.next().is_none(), "one claim of these words");
    verdict
}

/// Searches around recall 0.95 with a value of a number there.
fn at(
    experiment: &str,
    design: &str,
    axes: &[(&str, f64)],
    numbers: &serde_json::Value,
) -> Vec<Record> {
    let one = |list: u64, recall: f64| {
        let base = search(experiment, "photos", design, list, recall);
        let base = axes
            .iter()
            .fold(base, |base, (axis, value)| set(base, axis, *value));
        give(base, numbers.clone())
    };
    vec![one(10, 0.85), one(40, 0.997)]
}

fn speeds(experiment: &str, designs: &[(&str, f64)], axes: &[(&str, f64)]) -> Vec<Record> {
    let each = designs.iter();
    each.flat_map(|(design, qps)| at(experiment, design, axes, &json!({"qps": qps})))
        .collect()
}

/// Speeds of a design at two values of a setting: 100 at the first, so many times as much at the
/// other.
fn step(experiment: &str, design: &str, axis: &str, ends: [f64; 2], times: f64) -> Vec<Record> {
    let speeds = ends.into_iter().zip([100.0, 100.0 * times]);
    speeds
        .flat_map(|(value, qps)| self::speeds(experiment, &[(design, qps)], &[(axis, value)]))
        .collect()
}

/// A claim about two designs, of which the first is `ours` and the other 100.
fn against(
    experiment: &str,
    designs: [&str; 2],
    axes: &[(&str, f64)],
    claim: &str,
) -> impl Fn(f64) -> Verdict {
    move |ours| {
        let [first, other] = designs;
        let records = speeds(experiment, &[(first, ours), (other, 100.0)], axes);
        verdict(records, claim)
    }
}

/// Searches of a design with a number at the low and the high end of recall.
fn rising(
    experiment: &str,
    design: &str,
    axes: &[(&str, f64)],
    name: &str,
    ends: [f64; 2],
) -> Vec<Record> {
    let one = |(list, recall, value): (u64, f64, f64)| {
        let base = search(experiment, "photos", design, list, recall);
        let base = axes
            .iter()
            .fold(base, |base, (axis, value)| set(base, axis, *value));
        give(base, json!({name: value}))
    };
    let [low, high] = ends;
    [(10, 0.85, low), (40, 0.997, high)].map(one).to_vec()
}

/// The beginning of each claim stands in a test of these files.
#[test]
fn every_claim_is_judged_in_a_test() {
    let tests = concat!(
        include_str!("axes.rs"),
        include_str!("document.rs"),
        include_str!("growth.rs"),
        include_str!("ours.rs"),
        include_str!("space.rs"),
        include_str!("speed.rs")
    );
    let beginnings: Vec<&str> = tests.split('"').filter(|text| text.len() >= 12).collect();
    for experiment in &Book::open().unwrap().experiment {
        for claim in &experiment.claims {
            let judged = beginnings.iter().any(|text| claim.says.starts_with(text));
            assert!(judged, "no test judges: {}", claim.says);
        }
    }
}
