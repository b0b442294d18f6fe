//! Tables as comma-separated values (RFC 4180), for spreadsheets and scripts.
//!
//! A cell with a number is that number, unrounded; any other is its text.

use super::document::{Table, TableCell};

/// One table: a line of names, then a line per row, each ended by CR LF.
pub fn csv(table: &Table) -> String {
    let names = table.columns.iter().map(|column| field(&column.name));
    let mut text = line(names);
    for row in &table.rows {
        text += &line(row.iter().map(value));
    }
    text
}

fn line(fields: impl Iterator<Item = String>) -> String {
    fields.collect::<Vec<_>>().join(",") + "\r\n"
}

fn value(cell: &TableCell) -> String {
    match cell.number.filter(|number| number.is_finite()) {
        Some(number) => number.to_string(),
        None => field(&cell.text),
    }
}

/// Quoted where a comma, a quote or a break would end the field, or a blank be lost at its ends.
fn field(text: &str) -> String {
    let special = text.contains([',', '"', '\r', '\n']) || text.trim() != text;
    if special {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::document::{Column, Goodness};

    fn cell(text: &str, number: Option<f64>) -> TableCell {
        TableCell {
            text: text.to_owned(),
            number,
            best: false,
        }
    }

    fn table(names: &[&str], rows: Vec<Vec<TableCell>>) -> Table {
        let column = |name: &&str| Column {
            name: (*name).to_owned(),
            goodness: Goodness::Neutral,
        };
        Table {
            id: "t".to_owned(),
            title: String::new(),
            columns: names.iter().map(column).collect(),
            rows,
        }
    }

    #[test]
    fn fields_are_quoted_where_they_must_be() {
        let rows = vec![vec![cell("a,b", None), cell("say \"x\"", None)]];
        let text = csv(&table(&["plain", "two\nlines"], rows));
        assert_eq!(
            text,
            "plain,\"two\nlines\"\r\n\"a,b\",\"say \"\"x\"\"\"\r\n"
        );
    }

    #[test]
    fn numbers_are_whole_and_what_is_none_is_text() {
        let rows = vec![vec![
            cell("1.2k", Some(1234.5678)),
            cell("refused", Some(f64::NAN)),
            cell(" padded", None),
        ]];
        let text = csv(&table(&["a", "b", "c"], rows));
        assert_eq!(text, "a,b,c\r\n1234.5678,refused,\" padded\"\r\n");
    }
}
