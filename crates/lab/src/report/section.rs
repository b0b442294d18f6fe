//! From a row of the table of experiments to a section of the report.

use super::book::{Book, BookEntry};
use super::document::{Figure, Section};
use super::figure::{self, Sight};
use super::{claim, grid, group, method, own, select};
use crate::record::{Record, Run};

/// The sections of the experiments that a run measured something of.
pub(super) fn sections(run: &Run, book: &Book) -> Vec<Section> {
    let each = book.experiment.iter();
    each.filter_map(|experiment| section(run, book, experiment))
        .collect()
}

fn section(run: &Run, book: &Book, experiment: &BookEntry) -> Option<Section> {
    let sight = Sight {
        run,
        book,
        experiment: &experiment.id,
        cut: experiment.cut.as_deref(),
    };
    let measured = group::measured(run, experiment.records(), experiment.task);
    let name = experiment.own.as_deref().unwrap_or_default();
    let prepared = own::prepared(sight, name, &measured);
    let records: Vec<&Record> = match &prepared {
        Some(prepared) => prepared.iter().collect(),
        None => measured.clone(),
    };
    let words = own::words(sight, name, &records);
    if measured.is_empty() && words.is_empty() {
        return None;
    }
    let records = select::fixed(&records, &experiment.fix);
    let cores = run.machine.cores.to_string();
    let mut method: Vec<String> = experiment
        .words
        .iter()
        .map(|words| words.replace("{cores}", &cores))
        .collect();
    method.extend(words);
    if !measured.is_empty() {
        method.extend(method::settings(&measured));
    }
    let judge = |claim: &claim::Claim| claim.judge(sight, &experiment.source, &records);
    Some(Section {
        id: experiment.id.clone(),
        title: experiment.title.clone(),
        source: experiment.source.clone(),
        method,
        figures: figures(sight, experiment, &records),
        tables: experiment
            .tables
            .iter()
            .filter(|_| !records.is_empty())
            .flat_map(|row| match &row.named {
                Some(name) => own::tables(sight, name, &records),
                None => grid::tables(sight, row, &records),
            })
            .collect(),
        findings: experiment.claims.iter().map(judge).collect(),
    })
}

/// Figures with those of one heading beside each other.
fn figures(sight: Sight<'_>, experiment: &BookEntry, records: &[&Record]) -> Vec<Figure> {
    let mut figures = Vec::new();
    for row in &experiment.figures {
        figures.extend(match row.named {
            Some(_) => own::figures(sight, row, records),
            None => figure::figures(sight, row, records),
        });
    }
    figures.retain(|figure| !figure.marks.is_empty());
    let mut titles: Vec<String> = Vec::new();
    for figure in &figures {
        if !titles.contains(&figure.title) {
            titles.push(figure.title.clone());
        }
    }
    figures.sort_by_key(|figure| titles.iter().position(|title| *title == figure.title));
    figures
}
