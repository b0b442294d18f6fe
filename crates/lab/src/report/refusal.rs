//! What an experiment asked for and did not get, in the words of what refused it.

use super::document::Table;
use super::{group, table};
use crate::record::{Record, Run, Task};

/// Settings that tell refused cells apart; cells that differ in others are counted together.
const TOLD: [&str; 4] = ["page_size", "memory", "code_bytes", "beam"];

/// Settings of an index, which its build and what goes over it have in common.
const OF_INDEX: [&str; 4] = ["page_size", "memory", "code_bytes", "segments"];

/// Failed and refused cells of an experiment with what they said; nothing when there are none.
pub(crate) fn table(run: &Run, experiment: &str) -> Option<Table> {
    let failed = group::failed(run, experiment);
    if failed.is_empty() {
        return None;
    }
    let rows = group::by(&failed, |record| {
        let why = why(&failed, record);
        Some((&record.data, &record.design, settings(record), why))
    })
    .into_iter()
    .map(|((data, design, settings, why), records)| {
        vec![
            table::text(data),
            table::text(design),
            table::text(settings),
            table::number(Some(records.len() as f64), super::number::thousands),
            table::text(why),
        ]
    })
    .collect();
    let columns = ["data", "design", "settings", "cells", "what it said"].map(table::neutral);
    Some(table::table(
        format!("{experiment}-refused"),
        "Refused or failed",
        columns.into(),
        rows,
        0,
    ))
}

/// Why a record has no numbers: what it said, or the build of its index when it was not run because
/// that failed.
pub(crate) fn why(failed: &[&Record], record: &Record) -> String {
    let cause = failed
        .iter()
        .find(|build| record.command.is_empty() && is_build_of(build, record));
    said(cause.map_or(record, |build| build))
}

/// The first line of an error, without the name of the program.
pub(crate) fn said(record: &Record) -> String {
    let error = record.error.as_deref().unwrap_or("no result");
    let line = error.lines().find(|line| !line.trim().is_empty());
    line.unwrap_or(error)
        .trim_start_matches("pageway: ")
        .trim_start_matches("error: ")
        .to_owned()
}

fn is_build_of(build: &Record, record: &Record) -> bool {
    build.task == Task::Build
        && (&build.data, &build.design) == (&record.data, &record.design)
        && OF_INDEX
            .iter()
            .all(|name| build.axes.get(*name) == record.axes.get(*name))
}

fn settings(record: &Record) -> String {
    let told: Vec<String> = TOLD
        .iter()
        .filter_map(|name| {
            let value = record.axis_text(name)?;
            Some(format!("{} {value}", name.replace('_', " ")))
        })
        .collect();
    told.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::fixture::{build, refused, run, set};

    #[test]
    fn cells_that_say_the_same_are_counted_together() {
        let refuse = |list_size: u64, why: &str| {
            set(
                refused("memory", "a", "gorgeous", why),
                "list_size",
                list_size,
            )
        };
        let why = "pageway: error: too small\nand more";
        let run = run(vec![refuse(10, why), refuse(20, why), refuse(30, "killed")]);
        let table = table(&run, "memory").unwrap();
        assert_eq!(table.rows.len(), 2);
        assert_eq!(table.rows[0][2].text, "page size 4096, memory 20%");
        assert_eq!(table.rows[0][3].text, "2");
        assert_eq!(table.rows[0][4].text, "too small");
        assert!(super::table(&run, "recall").is_none());
    }

    #[test]
    fn what_could_not_be_built_says_why_wherever_it_was_wanted() {
        let mut build = build("a", "gorgeous", "memory");
        build.experiments = vec!["memory".to_owned()];
        build.result = serde_json::Value::Null;
        build.error = Some("too small".to_owned());
        let mut not_run = refused("memory", "a", "gorgeous", "index could not be built");
        not_run.command.clear();
        let other = set(not_run.clone(), "page_size", 8192);
        let table = table(&run(vec![build, not_run, other]), "memory").unwrap();
        let rows: Vec<(&str, &str)> = table
            .rows
            .iter()
            .map(|row| (row[3].text.as_str(), row[4].text.as_str()))
            .collect();
        assert_eq!(
            rows,
            [("2", "too small"), ("1", "index could not be built")]
        );
    }
}
