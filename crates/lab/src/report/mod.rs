//! Records -> figures, tables and findings -> HTML, Markdown, CSV and SVG.
//!
//! ```text
//! experiment/*   Run -> Section, one file per experiment      document   what a report consists of
//! html, markdown, csv, svg                                    Report -> files
//! ```

mod curve;
mod document;

pub use document::{
    Axis, Bars, Cell, Column, Figure, Finding, Goodness, Lines, Mark, Plot, Report, Scale, Section,
    Series, Table, Verdict,
};
