//! Experiments of a run, each to its section: one file each, and one row of the table below.

use super::document::Section;
use super::refusal;
use crate::record::Run;

mod beam;
mod build;
mod cache;
mod comparators;
mod compression;
mod devices;
mod dimensions;
mod execution;
mod growth;
mod k;
mod layout;
mod memory;
mod open;
mod ours;
mod page_size;
mod range;
mod recall;
mod refinement;
mod segments;
mod space;
mod threads;

/// From a run to the section of one experiment; nothing when it has no records.
type ToSection = fn(&Run) -> Option<Section>;

/// Name of each experiment and its section, in the order of the report.
const EXPERIMENTS: &[(&str, ToSection)] = &[
    ("recall", recall::section),
    ("ours", ours::section),
    ("build", build::section),
    ("page_size", page_size::section),
    ("beam", beam::section),
    ("space", space::section),
    ("execution", execution::section),
    ("threads", threads::section),
    ("memory", memory::section),
    ("dimensions", dimensions::section),
    ("layout", layout::section),
    ("cache", cache::section),
    ("compression", compression::section),
    ("refinement", refinement::section),
    ("open", open::section),
    ("range", range::section),
    ("k", k::section),
    ("segments", segments::section),
    ("growth", growth::section),
    ("devices", devices::section),
    ("comparators", comparators::section),
];

/// The sections of the experiments that a run has records of, if only of what was refused.
pub(crate) fn sections(run: &Run) -> Vec<Section> {
    EXPERIMENTS
        .iter()
        .filter_map(|(name, section)| section(run).or_else(|| refused(run, name)))
        .collect()
}

/// The section of an experiment that measured nothing.
fn refused(run: &Run, name: &str) -> Option<Section> {
    let words = name.replace('_', " ");
    let (first, rest) = words.split_at_checked(1)?;
    Some(Section {
        id: name.to_owned(),
        title: format!("{}{rest}", first.to_uppercase()),
        method: vec!["All that this experiment asked for failed or was refused.".to_owned()],
        tables: vec![refusal::table(run, name)?],
        ..Section::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::fixture;

    #[test]
    fn what_was_refused_altogether_is_told() {
        let run = fixture::run(vec![
            fixture::refused("page_size", "a", "gorgeous", "too small"),
            fixture::search("recall", "a", "diskann", 10, 0.9),
        ]);
        let sections = sections(&run);
        let ids: Vec<&str> = sections.iter().map(|each| each.id.as_str()).collect();
        assert_eq!(ids, ["recall", "page_size"]);
        assert_eq!(sections[1].title, "Page size");
        assert_eq!(sections[1].tables[0].rows.len(), 1);
    }

    #[test]
    fn names_are_told_apart() {
        for (at, (name, _)) in EXPERIMENTS.iter().enumerate() {
            assert!(EXPERIMENTS[at + 1..].iter().all(|(other, _)| other != name));
        }
    }
}
