//! Records -> figures, tables and findings -> HTML, Markdown, CSV and SVG.
//!
//! ```text
//! experiment/*   Run -> Section, one file per experiment      document   what a report consists of
//! html, markdown, csv, svg                                    Report -> files
//! ```
//!
//! What experiments share: `group` (records by what they have in common), `quantity` (what is
//! measured), `curve` (its value at a recall), `plot`, `table`, `number`, `method` (settings in
//! words), `evidence` (cases -> verdict), `storage` (what builds tell).

mod curve;
mod document;
mod evidence;
mod experiment;
#[cfg(test)]
mod fixture;
mod group;
mod method;
mod number;
mod plot;
mod quantity;
mod storage;
mod table;

use crate::record::Run;

pub use document::{
    Axis, Bars, Cell, Column, Figure, Finding, Goodness, Lines, Mark, Plot, Report, Scale, Section,
    Series, Table, Verdict,
};

/// Everything that a run tells: its sections are those of the experiments that it has records of.
pub fn report(run: &Run) -> Report {
    Report {
        title: format!("Pageway: {}", run.machine.suite),
        sections: experiment::sections(run),
        ..Report::default()
    }
}
