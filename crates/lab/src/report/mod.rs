//! Records -> figures, tables and findings -> HTML, Markdown, CSV and SVG.
//!
//! ```text
//! experiment/*   Run -> Section, one file per experiment      document   what a report consists of
//! html, markdown, csv, svg                                    Report -> files
//! ```
//!
//! What experiments share: `group` (records by what they have in common), `quantity` (what is
//! measured), `curve` (its value at a recall), `plot`, `table`, `number`, `method` (settings in
//! words), `evidence` (cases -> verdict), `storage` (what builds tell), `refusal` (cells without
//! numbers), `setting` (values over a setting), `cut` (data without their cuts), `choice` (the cell
//! that stands for a design).

mod check;
mod choice;
mod csv;
mod curve;
mod cut;
mod date;
mod document;
mod evidence;
mod experiment;
mod files;
#[cfg(test)]
mod fixture;
mod group;
mod html;
mod markdown;
mod method;
mod number;
mod overview;
mod plot;
mod quantity;
mod refusal;
mod setting;
mod storage;
mod style;
mod svg;
mod table;

use crate::record::Run;

pub use csv::csv;
pub use document::{
    Axis, Bars, Cell, Column, Figure, Finding, Goodness, Lines, Mark, Plot, Report, Scale, Section,
    Series, Table, Verdict,
};
pub use files::write;
pub use html::html;
pub use markdown::markdown;
pub use style::Styles;
pub use svg::svg;

/// Everything that a run tells: what the reader must know first, who wins, and a section for each
/// experiment that it has records of.
pub fn report(run: &Run) -> Report {
    let mut sections: Vec<Section> = overview::summary(run).into_iter().collect();
    sections.extend(experiment::sections(run));
    Report {
        title: overview::title(run),
        facts: overview::facts(run),
        warnings: check::warnings(run),
        sections,
    }
}
