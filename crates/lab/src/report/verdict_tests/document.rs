//! The sections and figures of a report.

use super::*;

#[test]
fn sections_come_in_the_order_of_the_table_and_refusals_last() {
    let report = reported(vec![
        refused("page_size", "photos", "gorgeous", "too small"),
        search("beam", "photos", "diskann", 10, 0.9),
        search("recall", "photos", "diskann", 10, 0.9),
    ]);
    let ids: Vec<&str> = report
        .sections
        .iter()
        .map(|section| section.id.as_str())
        .collect();
    assert_eq!(ids, ["summary", "recall", "beam", "refused"]);
    let words = report.sections.last().unwrap().method.join(" ");
    assert!(
        words.starts_with("1 of 2 cells") && words.contains("page size"),
        "{words}"
    );
    assert!(reported(Vec::new()).sections.is_empty());
}

#[test]
fn a_part_of_a_suite_says_so() {
    let suite = include_str!("../../../suites/all.toml").to_owned();
    let machine = crate::record::Machine {
        suite_text: suite,
        ..Default::default()
    };
    let records = vec![search("recall", "photos", "diskann", 10, 0.9)];
    let report = super::super::report(&Run { machine, records }).unwrap();
    assert!(
        report.warnings[0].starts_with("This run is a part: 1 of up to "),
        "{:?}",
        report.warnings
    );
}

#[test]
fn figures_show_every_cell_and_the_values_at_targets() {
    let report = reported(speeds(
        "recall",
        &[("diskann", 90.0), ("starling", 100.0)],
        &[],
    ));
    let section = &report.sections[1];
    let figure = &section.figures[0];
    assert_eq!((figure.marks.len(), figure.data.as_str()), (4, "photos"));
    assert_eq!(figure.table.rows[1][2].number, Some(100.0));
    assert!(figure.table.rows[1][2].best && !figure.table.rows[0][2].best);
    assert!(figure.marks[0].text.ends_with("list size 10"));
    let tables: Vec<&str> = section
        .tables
        .iter()
        .map(|table| table.id.as_str())
        .collect();
    assert_eq!(tables, ["recall-at-90", "recall-at-95", "recall-at-99"]);
}
