//! Tables: cells of a quantity, and which of them win.

use super::document::{Column, Goodness, Table, TableCell};

/// What a cell without a value shows.
const ABSENT: &str = "–";

/// A column of names or settings.
pub(crate) fn neutral(name: impl Into<String>) -> Column {
    column(name, Goodness::Neutral)
}

/// A column in which values of this goodness win.
pub(crate) fn column(name: impl Into<String>, goodness: Goodness) -> Column {
    Column {
        name: name.into(),
        goodness,
    }
}

/// A cell of text.
pub(crate) fn text(text: impl Into<String>) -> TableCell {
    TableCell {
        text: text.into(),
        ..TableCell::default()
    }
}

/// A cell of a number, written by `format`; a dash where there is none.
pub(crate) fn number(value: Option<f64>, format: fn(f64) -> String) -> TableCell {
    let value = value.filter(|value| value.is_finite());
    TableCell {
        text: value.map_or_else(|| ABSENT.to_owned(), format),
        number: value,
        best: false,
    }
}

/// A table in which rows compete with those that have the same text in the first `compared`
/// columns (with all where that is 0): the best number of each column is marked where there is
/// another.
pub(crate) fn table(
    id: impl Into<String>,
    title: impl Into<String>,
    columns: Vec<Column>,
    rows: Vec<Vec<TableCell>>,
    compared: usize,
) -> Table {
    let mut table = Table {
        id: id.into(),
        title: title.into(),
        columns,
        rows,
    };
    let wins: Vec<Vec<bool>> = (0..table.rows.len())
        .map(|row| {
            (0..table.columns.len())
                .map(|at| wins(&table, row, at, compared))
                .collect()
        })
        .collect();
    for (row, wins) in table.rows.iter_mut().zip(wins) {
        for (cell, best) in row.iter_mut().zip(wins) {
            cell.best = best;
        }
    }
    table
}

/// Whether the cell in a row and column has the best of several numbers.
fn wins(table: &Table, row: usize, at: usize, compared: usize) -> bool {
    let goodness = table.columns.get(at).map(|column| column.goodness);
    let Some(own) = table.rows.get(row) else {
        return false;
    };
    let Some(value) = own.get(at).and_then(|cell| cell.number) else {
        return false;
    };
    let rivals: Vec<f64> = table
        .rows
        .iter()
        .filter(|other| leading(other, compared).eq(leading(own, compared)))
        .filter_map(|other| other.get(at)?.number)
        .collect();
    let beaten = |rival: f64| match goodness {
        Some(Goodness::Higher) => rival > value,
        Some(Goodness::Lower) => rival < value,
        Some(Goodness::Neutral) | None => true,
    };
    rivals.len() > 1 && !rivals.into_iter().any(beaten)
}

fn leading(row: &[TableCell], count: usize) -> impl Iterator<Item = &str> {
    row.iter().take(count).map(|cell| cell.text.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::number;

    fn best(table: &Table, at: usize) -> Vec<bool> {
        table.rows.iter().map(|row| row[at].best).collect()
    }

    #[test]
    fn the_best_of_each_group_wins() {
        let row = |data: &str, speed: Option<f64>, pages: f64| {
            vec![
                text(data),
                super::number(speed, number::plain),
                super::number(Some(pages), number::plain),
            ]
        };
        let columns = || {
            vec![
                neutral("data"),
                column("speed", Goodness::Higher),
                column("pages", Goodness::Lower),
            ]
        };
        let rows = vec![
            row("a", Some(1.0), 5.0),
            row("a", Some(2.0), 4.0),
            row("a", None, 4.0),
            row("b", Some(9.0), 1.0),
        ];
        let grouped = table("t", "", columns(), rows.clone(), 1);
        assert_eq!(best(&grouped, 0), [false; 4]);
        assert_eq!(best(&grouped, 1), [false, true, false, false]);
        assert_eq!(best(&grouped, 2), [false, true, true, false]);
        let together = table("t", "", columns(), rows, 0);
        assert_eq!(best(&together, 1), [false, false, false, true]);
    }

    #[test]
    fn what_is_absent_is_a_dash() {
        let cell = super::number(Some(f64::NAN), number::plain);
        assert_eq!(cell.text, "–");
        assert_eq!(cell.number, None);
    }
}
