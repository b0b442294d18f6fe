//! What experiments asked for and did not get, in the words of what refused it.

use std::collections::BTreeSet;

use serde::Serialize;

use super::document::Section;
use super::{group, table};
use crate::record::{Record, Run, Task};

/// Settings that tell refused cells apart; cells that differ in others are counted together.
const TOLD: [&str; 4] = ["page_size", "memory", "code_bytes", "beam"];

/// Settings of an index, which its build and what goes over it have in common.
const OF_INDEX: [&str; 4] = ["page_size", "memory", "code_bytes", "segments"];

/// A design of which cells failed or were refused.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Refusal {
    /// Its name.
    pub design: String,
    /// How many cells, builds among them.
    pub cells: usize,
    /// What the first of them said.
    pub reason: String,
}

/// What a run asked for and did not get, by design.
pub fn refusals(run: &Run) -> Vec<Refusal> {
    let failed = group::all_failed(run);
    let groups = group::by_design(&failed).into_iter();
    let refusal = |(design, records): (&str, Vec<&Record>)| Refusal {
        design: design.to_owned(),
        cells: group::by_cell(&records).len(),
        reason: records
            .first()
            .map_or_else(String::new, |first| why(&failed, first)),
    };
    groups.map(refusal).collect()
}

/// Failed and refused cells with what they said; nothing when there are none.
pub(super) fn section(run: &Run) -> Option<Section> {
    let failed = group::all_failed(run);
    if failed.is_empty() {
        return None;
    }
    let groups = group::by(&failed, |record| {
        let experiment = record.experiments.first().map_or("", String::as_str);
        Some((
            experiment,
            &record.data,
            &record.design,
            settings(record),
            why(&failed, record),
        ))
    });
    let rows = groups
        .into_iter()
        .map(|((experiment, data, design, settings, why), records)| {
            vec![
                table::text(experiment),
                table::text(data),
                table::text(design),
                table::text(settings),
                table::number(Some(records.len() as f64), super::number::thousands),
                table::text(why),
            ]
        });
    let columns = [
        "experiment",
        "data",
        "design",
        "settings",
        "cells",
        "what it said",
    ];
    let columns = columns.map(table::neutral).into();
    Some(Section {
        id: "refused".to_owned(),
        title: "Refused or failed".to_owned(),
        method: vec![words(run, &failed)],
        tables: vec![table::table("refused", "", columns, rows.collect(), 0)],
        ..Section::default()
    })
}

/// How many cells have no numbers, and which experiments have none at all.
fn words(run: &Run, failed: &[&Record]) -> String {
    let all: Vec<&Record> = run.records.iter().collect();
    let measured = |name: &str| {
        let of = |record: &Record| record.is_of(name) && record.task != Task::Build;
        all.iter()
            .any(|record| of(record) && group::succeeded(record))
    };
    let names: BTreeSet<&String> = failed
        .iter()
        .flat_map(|record| &record.experiments)
        .filter(|name| !measured(name))
        .collect();
    let names: Vec<String> = names.iter().map(|name| name.replace('_', " ")).collect();
    let counted = format!(
        "{} of {} cells have no numbers; what refused them says why.",
        group::by_cell(failed).len(),
        group::by_cell(&all).len()
    );
    if names.is_empty() {
        return counted;
    }
    format!("{counted} Nothing was measured of: {}.", names.join(", "))
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
        let section = section(&run).unwrap();
        let rows = &section.tables[0].rows;
        let texts: Vec<&str> = rows[0].iter().map(|cell| cell.text.as_str()).collect();
        let settings = "page size 4096, memory 20%";
        assert_eq!(
            texts,
            ["memory", "a", "gorgeous", settings, "2", "too small"]
        );
        assert_eq!(rows.len(), 2);
        assert!(super::section(&Run::default()).is_none());
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
        let section = section(&run(vec![build, not_run, other])).unwrap();
        let rows: Vec<(&str, &str)> = section.tables[0]
            .rows
            .iter()
            .map(|row| (row[4].text.as_str(), row[5].text.as_str()))
            .collect();
        assert_eq!(
            rows,
            [("2", "too small"), ("1", "index could not be built")]
        );
    }
}
