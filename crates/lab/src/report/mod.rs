//! Records -> figures, tables and findings -> HTML, Markdown and CSV.
//!
//! ```text
//! book       the table of experiments (assets/report/experiments.toml), read
//! section    a row of it -> a section: figure, grid (tables), claim and case
//!            (findings); own, by name
//! page, csv  the report -> files; plots are drawn by Vega-Lite in the page
//! ```
//!
//! What they share: `group` and `select` (which records), `reading` and `quantity` (which number of
//! them), `curve` (its value at a recall), `table`, `number`, `method` (settings in words),
//! `storage` and `terms` (what builds tell), `cut` (data without their cuts), `choice` (the cell
//! that stands for a design). `overview` and `check` come first in a report, `refusal` last.

mod book;
mod case;
mod check;
mod choice;
mod claim;
mod csv;
mod curve;
mod cut;
mod document;
mod figure;
mod files;
#[cfg(test)]
mod fixture;
mod grid;
mod group;
mod method;
pub(crate) mod number;
mod overview;
mod own;
mod page;
mod quantity;
mod reading;
mod refusal;
mod section;
mod select;
mod storage;
pub(crate) mod table;
mod terms;
#[cfg(test)]
mod verdict_tests;

use crate::record::Run;
use pageway::Result;

pub use csv::csv;
pub use document::{
    Axis, AxisPlace, Column, Figure, Finding, Goodness, Kind, Mark, Report, Scale, Section, Table,
    TableCell, Verdict,
};
pub use files::{write, write_page};
pub use page::{html, markdown};
pub use refusal::{Refusal, refusals};

/// Everything that a run tells: what the reader must know first, who wins, a section for each
/// experiment that it has records of, and what was refused.
pub fn report(run: &Run) -> Result<Report> {
    let book = book::Book::open()?;
    let mut sections: Vec<Section> = overview::summary(run, &book).into_iter().collect();
    sections.extend(section::sections(run, &book));
    sections.extend(refusal::section(run));
    Ok(Report {
        title: overview::title(run),
        facts: overview::facts(run),
        warnings: check::warnings(run),
        sections,
    })
}
