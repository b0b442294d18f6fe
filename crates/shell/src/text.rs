//! Numbers, durations and tables for people.

pub use pageway::choices::count;

/// `8 ms`, `1.2 s`, `3 min 20 s`, `2 h 05 min`.
pub fn seconds(seconds: f64) -> String {
    let whole = seconds.round() as u64;
    match seconds {
        s if s < 0.9995 => format!("{:.0} ms", s * 1e3),
        s if s < 100.0 => format!("{s:.1} s"),
        s if s < 3600.0 => format!("{} min {:02} s", whole / 60, whole % 60),
        _ => format!("{} h {:02} min", whole / 3600, whole / 60 % 60),
    }
}

/// `1 row`, `1,234 rows`.
pub fn counted(number: u64, one: &str) -> String {
    let ending = if number == 1 { "" } else { "s" };
    format!("{} {one}{ending}", count(number))
}

/// `20.0 %`.
pub fn percent(share: f64) -> String {
    format!("{:.1} %", share * 100.0)
}

/// What memory is to the raw vectors: a share of them, or more than all. Some of it does not grow
/// with them, so that of few vectors a share says nothing.
pub fn of_raw(bytes: u64, raw_bytes: u64) -> String {
    if bytes > raw_bytes {
        let raw = pageway::format_bytes(raw_bytes);
        return format!("more than the raw vectors ({raw})");
    }
    let share = percent(bytes as f64 / raw_bytes.max(1) as f64);
    format!("{share} of the raw vectors")
}

/// `, stored as f16`, where vectors are stored in another type than their own.
pub fn stored(vectors: pageway::VectorShape, stored: pageway::ElementType) -> String {
    if stored == vectors.element {
        return String::new();
    }
    format!(", stored as {stored}")
}

/// Three digits that matter: `1,234`, `56.7`, `0.123`.
pub fn figure(number: f64) -> String {
    match number.abs() {
        n if n >= 1000.0 => count(number.round() as u64),
        n if n >= 100.0 => format!("{number:.0}"),
        n if n >= 1.0 => format!("{number:.1}"),
        0.0 => "0".to_owned(),
        _ => format!("{number:.3}"),
    }
}

/// A headline over lines of label and value.
#[derive(Default)]
pub struct Facts {
    lines: Vec<(String, String)>,
}

impl Facts {
    const LABEL_WIDTH: usize = 16;

    /// No lines yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a line.
    pub fn fact(mut self, label: impl Into<String>, value: impl Into<String>) -> Self {
        self.lines.push((label.into(), value.into()));
        self
    }

    /// Adds a line where there is something to tell.
    pub fn known(self, label: &str, value: Option<impl Into<String>>) -> Self {
        match value {
            Some(value) => self.fact(label, value),
            None => self,
        }
    }

    /// The lines, indented and aligned, each with its line end.
    pub fn render(&self) -> String {
        let longest = self
            .lines
            .iter()
            .map(|(label, _)| label.chars().count())
            .max();
        let width = longest.unwrap_or(0).max(Self::LABEL_WIDTH);
        let mut text = String::new();
        for (label, value) in &self.lines {
            text.push_str(&format!("  {label:<width$}  {value}\n"));
        }
        text
    }
}

/// Columns of a text for people.
const TEXT_WIDTH: usize = 100;

/// Words broken into lines, each behind `indent`.
pub fn wrapped(words: &str, indent: &str) -> String {
    let mut text = String::new();
    let mut line = String::new();
    for word in words.split_whitespace() {
        let length = line.chars().count() + 1 + word.chars().count();
        if !line.is_empty() && indent.len() + length > TEXT_WIDTH {
            text.push_str(&format!("{indent}{line}\n"));
            line.clear();
        }
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
    }
    if !line.is_empty() {
        text.push_str(&format!("{indent}{line}\n"));
    }
    text
}

/// A name beside what is said of it.
pub fn entry(name: &str, words: &str) -> String {
    const NAME_WIDTH: usize = 14;
    let indent = " ".repeat(NAME_WIDTH + 2);
    let words = wrapped(words, &indent);
    format!("  {name:<NAME_WIDTH$}{}", words.trim_start())
}

/// Columns aligned under their heads.
pub struct Table {
    rows: Vec<Vec<String>>,
    to_the_left: bool,
}

impl Table {
    /// Columns of numbers, aligned to the right.
    pub fn new(heads: &[&str]) -> Self {
        Self {
            rows: vec![heads.iter().map(|head| (*head).to_owned()).collect()],
            to_the_left: false,
        }
    }

    /// Columns of words, aligned to the left.
    pub fn left(heads: &[&str]) -> Self {
        Self {
            to_the_left: true,
            ..Self::new(heads)
        }
    }

    /// Adds a row: a cell per head.
    pub fn row(&mut self, cells: Vec<String>) {
        self.rows.push(cells);
    }

    /// The rows, each with its line end.
    pub fn render(&self) -> String {
        let columns = self.rows.iter().map(Vec::len).max().unwrap_or(0);
        let cell_width = |row: &Vec<String>, column: usize| {
            row.get(column).map_or(0, |cell| cell.chars().count())
        };
        let widths: Vec<usize> = (0..columns)
            .map(|column| {
                self.rows
                    .iter()
                    .map(|row| cell_width(row, column))
                    .max()
                    .unwrap_or(0)
            })
            .collect();
        let mut text = String::new();
        for row in &self.rows {
            let mut line = String::new();
            for (cell, width) in row.iter().zip(&widths) {
                line.push_str(&if self.to_the_left {
                    format!("  {cell:<width$}")
                } else {
                    format!("  {cell:>width$}")
                });
            }
            text.push_str(line.trim_end());
            text.push('\n');
        }
        text
    }
}

/// A word of a command line, in quotes where a shell would take it apart.
pub fn word(text: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "-_./:=+,@%".contains(c);
    if !text.is_empty() && text.chars().all(is_plain) {
        return text.to_owned();
    }
    format!("'{}'", text.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_is_not_several() {
        let words = [0, 1, 1234].map(|number| counted(number, "row"));
        assert_eq!(words, ["0 rows", "1 row", "1,234 rows"]);
    }

    #[test]
    fn words_of_a_command_line_stay_whole() {
        let cases = [
            ("a/b-1.index", "a/b-1.index"),
            ("größe", "größe"),
            ("my index", "'my index'"),
            ("it's", r"'it'\''s'"),
            ("", "''"),
        ];
        for (text, word_of_it) in cases {
            assert_eq!(word(text), word_of_it);
        }
    }

    #[test]
    fn few_vectors_have_no_share() {
        assert_eq!(of_raw(250, 1000), "25.0 % of the raw vectors");
        assert_eq!(of_raw(20_830, 1000), "more than the raw vectors (1.0 kB)");
    }

    #[test]
    fn durations_use_the_unit_that_fits() {
        let cases = [
            (0.0, "0 ms"),
            (0.0084, "8 ms"),
            (0.9999, "1.0 s"),
            (99.94, "99.9 s"),
            (200.0, "3 min 20 s"),
            (7500.0, "2 h 05 min"),
        ];
        for (duration, text) in cases {
            assert_eq!(seconds(duration), text);
        }
    }

    #[test]
    fn figures_keep_three_digits() {
        let cases = [
            (12345.6, "12,346"),
            (123.4, "123"),
            (12.34, "12.3"),
            (0.0, "0"),
            (0.98765, "0.988"),
        ];
        for (number, text) in cases {
            assert_eq!(figure(number), text);
        }
    }

    #[test]
    fn facts_and_tables_align() {
        let facts = Facts::new().fact("a", "1").fact("longer", "2");
        assert_eq!(
            facts.render(),
            "  a                 1\n  longer            2\n"
        );
        let mut table = Table::new(&["recall", "QPS"]);
        table.row(vec!["0.95".into(), "12,000".into()]);
        assert_eq!(table.render(), "  recall     QPS\n    0.95  12,000\n");
        let mut table = Table::left(&["name", "kind"]);
        table.row(vec!["x".into(), "b".into()]);
        assert_eq!(table.render(), "  name  kind\n  x     b\n");
    }

    #[test]
    fn long_words_break_at_spaces() {
        let words = "word ".repeat(50);
        let text = wrapped(&words, "    ");
        let lines: Vec<&str> = text.lines().collect();
        assert!(lines.len() > 2, "{text}");
        for line in &lines {
            assert!(
                line.starts_with("    word") && line.len() <= TEXT_WIDTH,
                "{line}"
            );
        }
        assert_eq!(text.split_whitespace().count(), 50);
        assert_eq!(wrapped("  ", "x"), "");
        assert_eq!(entry("a", "b c"), "  a             b c\n");
    }
}
