//! CSV: a header of names, then a record per row; quotes as in RFC 4180, `.tsv` with tabs.
//!
//! Quotes that are not closed or stand in the middle of a cell are errors, which readers that take
//! them as text do not tell.
//!
//! Two passes: the first finds what each column holds, the second translates.

use std::io::{BufRead, Read};
use std::path::Path;
use std::sync::Arc;

use pageway::{Error, Result, Schema, Vfs};
use serde_json::Map;

use super::column::Column;
use super::{Take, refused};
use crate::reader::read_buffered;

/// Bytes of a record at most.
const RECORD_BYTES_MAX: u64 = 16 << 20;

/// Shows the rows of a file as documents. Empty cells are missing.
///
/// # Errors
/// `InvalidInput` with the line of what is no record, and row and field of what is no value.
pub(super) fn each_document(
    vfs: &Arc<dyn Vfs>,
    (path, schema): (&Path, Option<&Schema>),
    take: &mut Take<'_>,
) -> Result<()> {
    let mut records = Records::open(vfs, path)?;
    let names = records.header()?;
    let kind = |name: &String| schema.and_then(|schema| schema.kind_of(name));
    let mut columns: Vec<Column> = names.iter().map(|name| Column::of(kind(name))).collect();
    while let Some(cells) = records.next_row(names.len())? {
        for (column, cell) in columns.iter_mut().zip(&cells) {
            column.see(cell);
        }
    }
    let mut records = Records::open(vfs, path)?;
    records.header()?;
    let mut row = 0;
    while let Some(cells) = records.next_row(names.len())? {
        let mut document = Map::new();
        for ((name, column), cell) in names.iter().zip(&columns).zip(&cells) {
            let value = column.value(cell);
            let value = value.map_err(|words| refused(&records.name, row, name, words))?;
            document.extend(value.map(|value| (name.clone(), value)));
        }
        take(document)?;
        row += 1;
    }
    Ok(())
}

/// Records of a file, in order.
struct Records {
    name: String,
    input: Box<dyn BufRead>,
    delimiter: char,
    /// Lines read so far.
    line: u64,
}

impl Records {
    fn open(vfs: &Arc<dyn Vfs>, path: &Path) -> Result<Self> {
        let name = path.display().to_string();
        let lower = name.to_ascii_lowercase();
        let tabs = [".tsv", ".tsv.gz"].iter().any(|end| lower.ends_with(end));
        Ok(Self {
            name,
            input: read_buffered(vfs, path)?,
            delimiter: if tabs { '\t' } else { ',' },
            line: 0,
        })
    }

    /// The names of the columns.
    fn header(&mut self) -> Result<Vec<String>> {
        let names = self.next_record()?;
        let names = names.ok_or_else(|| Error::invalid(format!("{}: is empty", self.name)))?;
        for (at, name) in names.iter().enumerate() {
            if name.is_empty() {
                return Err(self.refuse(format!("column {at} has no name")));
            }
            if names.iter().take(at).any(|other| other == name) {
                return Err(self.refuse(format!("two columns are called {name:?}")));
            }
        }
        Ok(names)
    }

    /// The cells of the next row, as many as there are columns.
    fn next_row(&mut self, columns: usize) -> Result<Option<Vec<String>>> {
        let cells = self.next_record()?;
        match cells {
            Some(cells) if cells.len() != columns => {
                Err(self.refuse(format!("{} cells for {columns} columns", cells.len())))
            }
            cells => Ok(cells),
        }
    }

    /// The next record that is not blank. A line end within quotes is a part of its cell.
    fn next_record(&mut self) -> Result<Option<Vec<String>>> {
        let (mut record, mut in_quotes) = (Vec::new(), false);
        loop {
            let left = RECORD_BYTES_MAX.saturating_sub(record.len() as u64);
            let mut bounded = self.input.by_ref().take(left);
            let read = bounded.read_until(b'\n', &mut record);
            let read = read.map_err(|error| Error::from(error).within(&self.name))?;
            self.line += 1;
            if left == read as u64 {
                return Err(self.refuse("a record of more than 16 MiB: is a quote not closed?"));
            }
            let new = record.get(record.len() - read..).unwrap_or_default();
            let quotes = new.split(|byte| *byte == b'"').count() - 1;
            in_quotes ^= !quotes.is_multiple_of(2);
            if in_quotes && read == 0 {
                return Err(self.refuse("a quote is not closed"));
            }
            if in_quotes {
                continue;
            }
            if read == 0 && record.is_empty() {
                return Ok(None);
            }
            if !record.trim_ascii().is_empty() {
                return self.cells(&record).map(Some);
            }
            record.clear();
        }
    }

    fn cells(&self, record: &[u8]) -> Result<Vec<String>> {
        let text = std::str::from_utf8(record).map_err(|_| self.refuse("is no UTF-8"))?;
        let text = text.trim_start_matches('\u{feff}');
        let text = text.trim_end_matches(['\n', '\r']);
        let cells = cells_of(text, self.delimiter);
        cells
            .ok_or_else(|| self.refuse("a quote in the middle of a cell: double it, and quote all"))
    }

    fn refuse(&self, words: impl std::fmt::Display) -> Error {
        Error::invalid(format!("{}, line {}: {words}", self.name, self.line))
    }
}

/// The cells of a record; none where a quote begins or ends in the middle of one.
fn cells_of(record: &str, delimiter: char) -> Option<Vec<String>> {
    let (mut cells, mut rest) = (Vec::new(), record);
    loop {
        let (cell, behind) = if let Some(quoted) = rest.strip_prefix('"') {
            quoted_cell(quoted)?
        } else {
            let (cell, behind) = rest.split_at(rest.find(delimiter).unwrap_or(rest.len()));
            (!cell.contains('"')).then(|| (cell.to_owned(), behind))?
        };
        cells.push(cell);
        match behind.strip_prefix(delimiter) {
            Some(next) => rest = next,
            None => return behind.is_empty().then_some(cells),
        }
    }
}

/// A cell up to the quote that ends it, and what is behind.
fn quoted_cell(text: &str) -> Option<(String, &str)> {
    let (mut cell, mut rest) = (String::new(), text);
    loop {
        let (own, behind) = rest.split_once('"')?;
        cell.push_str(own);
        match behind.strip_prefix('"') {
            Some(next) => {
                cell.push('"');
                rest = next;
            }
            None => return Some((cell, behind)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_are_cut_into_cells() {
        let cells = |record| cells_of(record, ',').map(|cells| cells.join("|"));
        assert_eq!(cells("a,,b"), Some("a||b".to_owned()));
        assert_eq!(cells(""), Some(String::new()));
        assert_eq!(cells("a,"), Some("a|".to_owned()));
        assert_eq!(
            cells("\"a, \"\"b\"\"\n\",c"),
            Some("a, \"b\"\n|c".to_owned())
        );
        assert_eq!(cells("\"\",\"\"\"\""), Some("|\"".to_owned()));
        for wrong in ["a\"b\",c", "\"a\"b,c", "\"a", "5\","] {
            assert_eq!(cells(wrong), None, "{wrong}");
        }
    }
}
