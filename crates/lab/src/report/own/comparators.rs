//! Other libraries: which gave nothing, and the searches of ours that they stand beside.

use serde_json::Value;

use crate::record::{Record, Run, Task};
use crate::report::group;

/// What libraries gave, behind the searches of this library's designs on the same data with as many
/// threads, for as many neighbours.
pub(super) fn with_our_searches(run: &Run, libraries: &[&Record]) -> Vec<Record> {
    let same = |record: &Record, library: &Record| {
        record.data == library.data
            && ["threads", "k"]
                .iter()
                .all(|axis| record.axis(axis) == library.axis(axis))
    };
    let ours = group::measured(run, "recall", Task::Search).into_iter();
    let ours = ours.filter(|record| libraries.iter().any(|library| same(record, library)));
    ours.chain(libraries.iter().copied()).cloned().collect()
}

/// Which libraries gave nothing, and why.
pub(super) fn absent(run: &Run) -> Vec<String> {
    let mut failed = group::failed(run, "comparators");
    failed.retain(|record| record.task == Task::Comparator);
    let measured = group::measured(run, "comparators", Task::Comparator);
    group::by_design(&failed)
        .into_iter()
        .filter(|(library, _)| group::of_design(&measured, library).is_empty())
        .filter_map(|(library, records)| {
            let why = why(records.first()?);
            Some(format!("Not measured: {library}: {why}."))
        })
        .collect()
}

/// What the script said, in words: the reason or the error in its last object; the last line of a
/// script that broke.
fn why(record: &Record) -> String {
    let said = record.error.as_deref().unwrap_or_default();
    let mut objects = said.lines().rev();
    let object = objects.find_map(|line| serde_json::from_str::<Value>(line).ok());
    let words = object.as_ref().and_then(|object| {
        let text = |name: &str| object.get(name).and_then(Value::as_str);
        text("reason").or_else(|| text("error"))
    });
    let last = || said.lines().rfind(|line| !line.trim().is_empty());
    words.or_else(last).unwrap_or("no result").to_owned()
}
