//! What an experiment asked for and did not get, in the words of what refused it.

use super::document::Table;
use super::{group, table};
use crate::record::{Record, Run};

/// Settings that tell refused cells apart; cells that differ in others are counted together.
const TOLD: [&str; 4] = ["page_size", "memory", "code_bytes", "beam"];

/// Failed and refused cells of an experiment with what they said; nothing when there are none.
pub(crate) fn table(run: &Run, experiment: &str) -> Option<Table> {
    let failed = group::failed(run, experiment);
    if failed.is_empty() {
        return None;
    }
    let rows = group::by(&failed, |record| {
        Some((&record.data, &record.design, settings(record), said(record)))
    })
    .into_iter()
    .map(|((data, design, settings, said), records)| {
        vec![
            table::text(data),
            table::text(design),
            table::text(settings),
            table::number(Some(records.len() as f64), super::number::thousands),
            table::text(said),
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

/// The first line of an error, without the name of the program.
pub(crate) fn said(record: &Record) -> String {
    let error = record.error.as_deref().unwrap_or("no result");
    let line = error.lines().find(|line| !line.trim().is_empty());
    line.unwrap_or(error)
        .trim_start_matches("pageway: ")
        .trim_start_matches("error: ")
        .to_owned()
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
    use crate::report::fixture::{refused, run, set};

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
        let run = run(vec![refuse(10, why), refuse(20, why), refuse(10, "killed")]);
        let table = table(&run, "memory").unwrap();
        assert_eq!(table.rows.len(), 2);
        assert_eq!(table.rows[0][2].text, "page size 4096, memory 20%");
        assert_eq!(table.rows[0][3].text, "2");
        assert_eq!(table.rows[0][4].text, "too small");
        assert!(super::table(&run, "recall").is_none());
    }
}
