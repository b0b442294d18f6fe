//! Where the parts of a report go, and writing them.
//!
//! ```text
//! DIR/report.html    the page, on its own           DIR/csv/TABLE.csv    every table, and the
//! DIR/report.md      its words and tables                                numbers of every plot
//! ```
//!
//! A file is written beside its place and renamed, so that a reader finds the old one or the new.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use pageway::{Error, Result};

use super::document::{AxisPlace, Figure, Mark, Report, Table};
use super::{csv, html, markdown, number, table};
use crate::files;

/// Renders a report into `dir`, which is made if it is missing. Gives the files, the page first.
/// Two figures or two tables of one name are refused: one would hide the other.
pub fn write(report: &Report, dir: &Path) -> Result<Vec<PathBuf>> {
    let parts = render(report)?;
    files::create_directory(&dir.join("csv"))?;
    let mut written = Vec::new();
    for (name, text) in [
        ("report.html", html(report)?),
        ("report.md", markdown(report)?),
    ] {
        written.push(replace(dir, name, &text)?);
    }
    for (name, text) in &parts {
        written.push(replace(dir, name, text)?);
    }
    Ok(written)
}

/// Renders the page of a report alone, to `path`.
///
/// # Errors
/// `Io`, `NoSpace`.
pub fn write_page(report: &Report, path: &Path) -> Result<()> {
    files::write(path, html(report)?.as_bytes())
}

/// Every CSV file by its path within the directory of the report.
fn render(report: &Report) -> Result<BTreeMap<String, String>> {
    let mut parts = BTreeMap::new();
    let mut add = |path: String, text: String| match parts.insert(path.clone(), text) {
        None => Ok(()),
        Some(_) => Err(Error::invalid(format!(
            "two parts of the report would be {path}: give them different ids"
        ))),
    };
    for section in &report.sections {
        for figure in &section.figures {
            add(
                csv_path(&format!("{}-plot", figure.id)),
                csv(&plotted(figure)),
            )?;
        }
        let under_plots = section.figures.iter().map(|figure| &figure.table);
        let tables = under_plots.chain(&section.tables);
        for table in tables.filter(|table| !table.columns.is_empty()) {
            add(csv_path(&table.id), csv(table))?;
        }
    }
    Ok(parts)
}

/// Path of a table's file within the directory of the report.
pub(super) fn csv_path(id: &str) -> String {
    format!("csv/{}.csv", file_name(id))
}

/// Every number of a plot: a row for each.
fn plotted(figure: &Figure) -> Table {
    let columns = ["series", &figure.x.name, &figure.y.name, "words"]
        .map(table::neutral)
        .into();
    let row = |mark: &Mark| {
        let x = match &mark.x {
            AxisPlace::Number(number) => table::number(Some(*number), number::plain),
            AxisPlace::Name(name) => table::text(name),
        };
        let y = table::number(Some(mark.y), number::plain);
        vec![table::text(&mark.series), x, y, table::text(&mark.text)]
    };
    Table {
        columns,
        rows: figure.marks.iter().map(row).collect(),
        ..Table::default()
    }
}

/// A name that no file system and no link takes apart.
fn file_name(id: &str) -> String {
    let safe = |letter: char| match letter {
        'a'..='z' | 'A'..='Z' | '0'..='9' | '-' | '_' => letter,
        '.' => '.',
        _ => '-',
    };
    let name: String = id.chars().map(safe).collect();
    match name.trim_start_matches('.') {
        "" => "unnamed".to_owned(),
        name => name.to_owned(),
    }
}

/// Puts `text` in the place of whatever the file holds.
fn replace(dir: &Path, name: &str, text: &str) -> Result<PathBuf> {
    let path = dir.join(name);
    files::write(&path, text.as_bytes())?;
    Ok(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_files_stay_in_their_directory() {
        assert_eq!(file_name("recall-photo_1.5m"), "recall-photo_1.5m");
        assert_eq!(file_name("../a/b c"), "-a-b-c");
        assert_eq!(file_name(""), "unnamed");
    }
}
