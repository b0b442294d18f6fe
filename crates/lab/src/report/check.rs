//! What does not fit together in a run, and what the reader must know before the numbers.
//!
//! A part of a suite, a wrong truth, counters that the system contradicts, answers that change
//! between repetitions.

use super::{group, number, storage};
use crate::plan::Plan;
use crate::record::{Record, Run, Task};
use crate::suite::Suite;

/// How many times the expected misses are suspicious,
const MISSES_TIMES: f64 = 4.0;
/// where recall is lower by this at least.
const RECALL_LOWER: f64 = 0.1;
/// Largest share by which counters may differ from those of the system.
const COUNTER_SHARE: f64 = 0.01;
/// Share of reads beyond ours from which others disturb the measurement.
const FOREIGN_SHARE: f64 = 0.10;
/// Recall by which repetitions may differ where answers depend on the order of completion.
const ORDER_RECALL: f64 = 0.01;

/// All warnings of a run.
pub(crate) fn warnings(run: &Run) -> Vec<String> {
    let searches: Vec<&Record> = run
        .records
        .iter()
        .filter(|record| record.task == Task::Search && group::succeeded(record))
        .collect();
    let mut warnings: Vec<String> = part(run).into_iter().collect();
    warnings.extend(unexpected_recall(&searches));
    warnings.extend(contradicted_bytes(&searches));
    warnings.extend(contradicted_reads(&searches));
    warnings.extend(changed_answers(run, &searches));
    warnings
}

/// Recalls far below their calibration: the truth, or the queries, do not fit the data.
fn unexpected_recall(searches: &[&Record]) -> Vec<String> {
    let suspects: Vec<&Record> = searches
        .iter()
        .copied()
        .filter(|record| {
            expectation(record).is_some_and(|(found, expected)| {
                1.0 - found > MISSES_TIMES * (1.0 - expected) && expected - found > RECALL_LOWER
            })
        })
        .collect();
    group::by_data(&suspects)
        .into_iter()
        .filter_map(|(data, records)| {
            let gap = |record: &&&Record| {
                expectation(record).map_or(0.0, |(found, expected)| expected - found)
            };
            let worst = records.iter().max_by(|a, b| gap(a).total_cmp(&gap(b)))?;
            let (found, expected) = expectation(worst)?;
            let list_size = worst.axis_text("list_size").unwrap_or_default();
            Some(format!(
                "Recall on {data} is far below what the calibration of the index expects: {} \
                 instead of {} with {} at list size {list_size}, and likewise in {} of its cells \
                 ({}). The truth does not belong to these vectors and queries, or the queries are \
                 unlike the vectors. Nothing that is said about {data} at a recall can be \
                 trusted.",
                number::recall(found),
                number::recall(expected),
                worst.design,
                group::by_cell(&records).len(),
                group::designs(&records).join(", "),
            ))
        })
        .collect()
}

/// Recall found and expected.
fn expectation(record: &Record) -> Option<(f64, f64)> {
    Some((record.number("recall")?, record.number("expected_recall")?))
}

/// Bytes that the system counted for the process, against ours.
fn contradicted_bytes(searches: &[&Record]) -> Option<String> {
    let (differing, worst, share) = apart(
        searches,
        ("bytes_per_query", "os_bytes_per_query"),
        |share| share.abs() > COUNTER_SHARE,
    )?;
    let why = if share <= -1.0 + COUNTER_SHARE {
        " The system counted next to none, so the reads were served from its page cache."
    } else {
        ""
    };
    Some(format!(
        "The bytes that queries read differ from what the system counted by more than {} in \
         {differing} cells, by {} at worst ({}, {}).{why}",
        number::percent(COUNTER_SHARE),
        number::percent(share.abs()),
        worst.data,
        worst.design,
    ))
}

/// Reads that the device counted, which serves others too, against ours.
fn contradicted_reads(searches: &[&Record]) -> Vec<String> {
    let paths = ("reads_per_query", "os_reads_per_query");
    let fewer = apart(searches, paths, |share| share < -COUNTER_SHARE);
    let more = apart(searches, paths, |share| share > FOREIGN_SHARE);
    let fewer = fewer.map(|(cells, worst, share)| {
        format!(
            "The device counted fewer reads than the queries made in {cells} cells, {} fewer at \
             worst ({}, {}): something between answered them.",
            number::percent(-share),
            worst.data,
            worst.design,
        )
    });
    let more = more.map(|(cells, worst, share)| {
        format!(
            "The device counted more reads than the queries made in {cells} cells, {} more at \
             worst ({}, {}): others used it at the same time, and speeds are lower bounds.",
            number::percent(share),
            worst.data,
            worst.design,
        )
    });
    fewer.into_iter().chain(more).collect()
}

/// Cells in which the second number differs from the first by a share that counts: how many, and
/// the record with the largest share, and that share.
fn apart<'r>(
    searches: &[&'r Record],
    (ours, theirs): (&str, &str),
    counts: fn(f64) -> bool,
) -> Option<(usize, &'r Record, f64)> {
    let differing: Vec<(&Record, f64)> = searches
        .iter()
        .copied()
        .filter_map(|record| {
            let ours = record.number(ours).filter(|ours| *ours > 0.0)?;
            let share = (record.number(theirs)? - ours) / ours;
            counts(share).then_some((record, share))
        })
        .collect();
    let (worst, share) = differing
        .iter()
        .max_by(|a, b| a.1.abs().total_cmp(&b.1.abs()))?;
    let records: Vec<&Record> = differing.iter().map(|(record, _)| *record).collect();
    Some((group::by_cell(&records).len(), *worst, *share))
}

/// Cells whose repetitions found different neighbours.
fn changed_answers(run: &Run, searches: &[&Record]) -> Option<String> {
    let changed: Vec<(&Record, f64)> = group::by_cell(searches)
        .into_iter()
        .filter_map(|cell| {
            let recalls = || cell.iter().filter_map(|record| record.number("recall"));
            let most = recalls().max_by(f64::total_cmp)?;
            let apart = most - recalls().min_by(f64::total_cmp)?;
            let first = cell.first().copied()?;
            let allowed = if storage::takes_pages_as_they_come(run, first) {
                ORDER_RECALL
            } else {
                0.0
            };
            (apart > allowed).then_some((first, apart))
        })
        .collect();
    let (worst, apart) = changed.iter().max_by(|a, b| a.1.total_cmp(&b.1))?;
    let records: Vec<&Record> = changed.iter().map(|(record, _)| *record).collect();
    Some(format!(
        "The same search gave different recall in its repetitions in {} cells ({}), by {apart:.4} \
         at worst ({}): its answers are not reproducible.",
        changed.len(),
        group::designs(&records).join(", "),
        worst.data,
    ))
}

/// How little of the suite was measured, where that is less than half.
fn part(run: &Run) -> Option<String> {
    let suite = Suite::parse(&run.machine.suite_text, "the suite").ok()?;
    let planned = Plan::of(&suite).ok()?.cells.len();
    let cells: Vec<&Record> = run
        .records
        .iter()
        .filter(|record| record.task != Task::Build)
        .collect();
    let measured = group::by_cell(&cells).len();
    (measured * 2 < planned).then(|| {
        format!(
            "This run is a part: {} of up to {} cells of its suite have been measured.",
            number::thousands(measured as f64),
            number::thousands(planned as f64)
        )
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::report::fixture::{build, give, run, search};

    fn of(records: Vec<Record>) -> Vec<String> {
        warnings(&run(records))
    }

    fn found(recall: f64, expected: f64) -> Record {
        let record = search("recall", "photos", "diskann", 40, recall);
        give(record, json!({"expected_recall": expected}))
    }

    fn counted(ours: f64, theirs: f64) -> Record {
        give(
            search("recall", "photos", "diskann", 40, 0.95),
            json!({"bytes_per_query": ours, "os_bytes_per_query": theirs}),
        )
    }

    #[test]
    fn a_wrong_truth_is_noticed() {
        let wrong = of(vec![found(0.02, 0.97), found(0.96, 0.97)]);
        assert_eq!(wrong.len(), 2, "{wrong:?}");
        assert!(
            wrong[0].contains("photos") && wrong[0].contains("diskann"),
            "{wrong:?}"
        );
        assert!(wrong[0].contains("0.020 instead of 0.970"), "{wrong:?}");
    }

    #[test]
    fn harder_queries_are_not() {
        for (recall, expected) in [(0.93, 0.97), (0.90, 0.99), (0.60, 0.75), (0.99, 0.97)] {
            assert_eq!(of(vec![found(recall, expected)]), [""; 0]);
        }
    }

    #[test]
    fn counters_may_differ_by_a_hundredth() {
        assert_eq!(of(vec![counted(1000.0, 1009.0)]), [""; 0]);
        assert_eq!(
            of(vec![give(
                counted(1000.0, 0.0),
                json!({"os_bytes_per_query": null})
            )]),
            [""; 0]
        );
        let differing = of(vec![counted(1000.0, 1020.0)]);
        assert!(differing[0].contains("2.00 %"), "{differing:?}");
        let cached = of(vec![counted(1000.0, 0.0)]);
        assert!(cached[0].contains("page cache"), "{cached:?}");
    }

    #[test]
    fn reads_of_others_are_told_apart_from_reads_that_are_missing() {
        let reads = |theirs: f64| {
            of(vec![give(
                search("recall", "photos", "diskann", 40, 0.95),
                json!({"reads_per_query": 100.0, "os_reads_per_query": theirs}),
            )])
        };
        assert_eq!(reads(105.0), [""; 0]);
        assert!(reads(150.0)[0].contains("others used it"));
        assert!(reads(50.0)[0].contains("fewer reads"));
    }

    #[test]
    fn answers_that_change_are_told_unless_the_order_of_completion_explains_it() {
        let twice = |apart: f64| {
            let record = search("recall", "photos", "pipeann", 40, 0.95);
            let mut again = give(record.clone(), json!({"recall": 0.95 + apart}));
            again.repeat = 1;
            vec![record, again]
        };
        assert!(of(twice(0.001))[0].contains("not reproducible"));
        assert_eq!(of(twice(0.0)), [""; 0]);
        let mut built = build("photos", "pipeann", "memory");
        built.result["description"]["spec"]["execution"]["schedule"] =
            json!({"kind": "pipelined", "completion": "as_they_come"});
        let with = |apart: f64| [twice(apart), vec![built.clone()]].concat();
        assert_eq!(of(with(0.001)), [""; 0]);
        assert_eq!(of(with(0.02)).len(), 1);
    }
}
