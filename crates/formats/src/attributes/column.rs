//! What the cells of a column stand for: the narrowest kind that all of them are.

use pageway::FieldKind;
use serde_json::{Number, Value};

/// How tables of Python write a number that is missing.
const NO_NUMBER: &str = "NaN";

/// Kinds of cells; all cells of a column are of one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Kind {
    /// `true` or `false`, also with a capital.
    Bool,
    /// A whole number, written as it is counted: `007` and `+1` are none.
    Integer,
    /// Any number.
    Float,
    /// An object or a list, as JSON.
    Json,
    Text,
}

/// A column, by what it was said to hold, or the cells that were seen.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct Column {
    said: Option<FieldKind>,
    kind: Option<Kind>,
}

impl Column {
    /// A column that holds what a schema says, if it says anything.
    pub(super) fn of(said: Option<FieldKind>) -> Self {
        let kind = said.map(|said| match said {
            FieldKind::Integer => Kind::Integer,
            FieldKind::Float => Kind::Float,
            FieldKind::Bool => Kind::Bool,
            FieldKind::Geo => Kind::Json,
            FieldKind::Keyword | FieldKind::Datetime | FieldKind::Text | FieldKind::Uuid => {
                Kind::Text
            }
        });
        Self { said, kind }
    }

    /// Takes a cell into account.
    pub(super) fn see(&mut self, cell: &str) {
        if cell.is_empty()
            || cell == NO_NUMBER
            || self.said.is_some()
            || self.kind == Some(Kind::Text)
        {
            return;
        }
        let own = kind_of(cell);
        self.kind = Some(match (self.kind, own) {
            (None, own) => own,
            (Some(kind), own) if kind == own => kind,
            (Some(Kind::Integer | Kind::Float), Kind::Integer | Kind::Float) => Kind::Float,
            _ => Kind::Text,
        });
    }

    /// What a cell stands for; nothing where it is empty, or `NaN` in a column of no texts.
    ///
    /// # Errors
    /// A sentence for what is not of the column's kind.
    pub(super) fn value(self, cell: &str) -> Result<Option<Value>, String> {
        if cell.is_empty() || cell == NO_NUMBER && self.kind != Some(Kind::Text) {
            return Ok(None);
        }
        let value = match self.kind {
            Some(Kind::Bool) => truth(cell).map(Value::Bool),
            Some(Kind::Integer) => integer(cell),
            Some(Kind::Float) => integer(cell).or_else(|| float(cell)),
            Some(Kind::Json) => json(cell),
            Some(Kind::Text) | None => Some(Value::String(cell.to_owned())),
        };
        // A list of what was said stands in a cell as JSON.
        let value = value.or_else(|| self.said.and(json(cell)));
        let words = || match self.said {
            Some(said) => format!("holds {cell:?}, the schema says {said}"),
            None => format!("{cell:?} is unlike the cells of the column"),
        };
        value.ok_or_else(words).map(Some)
    }
}

fn kind_of(cell: &str) -> Kind {
    match cell {
        _ if truth(cell).is_some() => Kind::Bool,
        _ if integer(cell).is_some() => Kind::Integer,
        _ if float(cell).is_some() => Kind::Float,
        _ if json(cell).is_some() => Kind::Json,
        _ => Kind::Text,
    }
}

fn truth(cell: &str) -> Option<bool> {
    match cell {
        "true" | "True" => Some(true),
        "false" | "False" => Some(false),
        _ => None,
    }
}

fn integer(cell: &str) -> Option<Value> {
    let own: i64 = cell.parse().ok()?;
    (own.to_string() == cell).then(|| Value::Number(own.into()))
}

/// A number as JSON writes it, but for those that begin with a needless zero.
fn float(cell: &str) -> Option<Value> {
    let digits = cell.strip_prefix('-').unwrap_or(cell);
    let own = digits.starts_with(|first: char| first.is_ascii_digit());
    let numeric = |one: char| one.is_ascii_digit() || "+-.eE".contains(one);
    let padded = digits.len() > 1 && digits.starts_with('0') && !digits.starts_with("0.");
    if !own || padded || !cell.chars().all(numeric) || !cell.contains(['.', 'e', 'E']) {
        return None;
    }
    Number::from_f64(cell.parse().ok()?).map(Value::Number)
}

fn json(cell: &str) -> Option<Value> {
    if !cell.starts_with(['[', '{']) {
        return None;
    }
    serde_json::from_str(cell).ok()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn values(cells: &[&str]) -> Value {
        let mut column = Column::default();
        for cell in cells {
            column.see(cell);
        }
        let values = cells.iter().map(|cell| column.value(cell).unwrap());
        values.map(Option::unwrap_or_default).collect()
    }

    #[test]
    fn a_column_is_of_the_narrowest_kind() {
        let cases: [(&[&str], Value); 11] = [
            (&["True", "NaN", "False"], json!([true, null, false])),
            (&["NaN", "2", "1.5"], json!([null, 2, 1.5])),
            (&["NaN", "a"], json!(["NaN", "a"])),
            (&["1", "", "-2"], json!([1, null, -2])),
            (&["1", "2.5", "1e3"], json!([1, 2.5, 1000.0])),
            (&["true", "false"], json!([true, false])),
            (&["true", "1"], json!(["true", "1"])),
            (&["007", "1"], json!(["007", "1"])),
            (&["1.5", "n/a"], json!(["1.5", "n/a"])),
            (&["[1, 2]", "{\"a\": 3}"], json!([[1, 2], {"a": 3}])),
            (
                &["99999999999999999999", "inf"],
                json!(["99999999999999999999", "inf"]),
            ),
        ];
        for (cells, expected) in cases {
            assert_eq!(values(cells), expected, "{cells:?}");
        }
    }

    #[test]
    fn what_a_schema_says_wins() {
        let value = |said, cell: &str| {
            let mut column = Column::of(Some(said));
            column.see("noun");
            column.value(cell)
        };
        assert_eq!(value(FieldKind::Keyword, "12"), Ok(Some(json!("12"))));
        assert_eq!(value(FieldKind::Float, "12"), Ok(Some(json!(12))));
        assert_eq!(value(FieldKind::Integer, "[1, 2]"), Ok(Some(json!([1, 2]))));
        assert_eq!(value(FieldKind::Geo, ""), Ok(None));
        let words = value(FieldKind::Integer, "noun").unwrap_err();
        assert_eq!(words, "holds \"noun\", the schema says integer");
    }

    #[test]
    fn a_cell_that_came_later_is_refused() {
        let mut column = Column::default();
        column.see("1");
        assert!(column.value("two").unwrap_err().contains("\"two\""));
    }
}
