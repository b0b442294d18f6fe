//! The report as Markdown: the same words and tables, with links to the SVG and CSV files.

use super::document::{Cell, Column, Figure, Finding, Goodness, Report, Section, Table, Verdict};
use super::files;

/// The whole report. Links are relative to the directory it is written to, see [`super::write`].
pub fn markdown(report: &Report) -> String {
    let mut parts = vec![format!("# {}", plain(&report.title))];
    parts.extend(
        report
            .warnings
            .iter()
            .map(|warning| format!("> **Warning:** {}", plain(warning))),
    );
    if !report.facts.is_empty() {
        let fact = |(name, value): &(String, String)| vec![plain(name), plain(value)];
        let rows = report.facts.iter().map(fact).collect();
        parts.push(grid(&["Fact".to_owned(), "Value".to_owned()], &[], rows));
    }
    parts.extend(report.sections.iter().flat_map(section));
    parts.join("\n\n") + "\n"
}

fn section(section: &Section) -> Vec<String> {
    let mut parts = vec![format!("## {}", plain(&section.title))];
    if !section.source.is_empty() {
        parts.push(format!("*Reproduces: {}*", plain(&section.source)));
    }
    parts.extend(section.method.iter().map(|sentence| plain(sentence)));
    if !section.findings.is_empty() {
        parts.push(findings(&section.findings));
    }
    parts.extend(section.figures.iter().flat_map(figure));
    parts.extend(section.tables.iter().flat_map(table));
    parts
}

fn figure(figure: &Figure) -> Vec<String> {
    let title = plain(&figure.title);
    let mut parts = vec![format!("### {title}")];
    if figure.predicted {
        parts.push("**Prediction of a model, not measured.**".to_owned());
    }
    if !figure.note.is_empty() {
        parts.push(plain(&figure.note));
    }
    parts.push(format!("![{title}]({})", files::svg_path(figure)));
    parts.extend(table(&figure.table));
    parts
}

fn table(table: &Table) -> Vec<String> {
    if table.columns.is_empty() {
        return Vec::new();
    }
    let mut parts = Vec::new();
    if !table.title.is_empty() {
        parts.push(format!("### {}", plain(&table.title)));
    }
    let names: Vec<String> = table.columns.iter().map(name).collect();
    let numeric = numeric(table);
    let rows = table.rows.iter().map(|row| row.iter().map(cell).collect());
    parts.push(grid(&names, &numeric, rows.collect()));
    parts.push(format!("[as CSV]({})", files::csv_path(table)));
    parts
}

/// Which columns hold numbers, and are set to the right.
fn numeric(table: &Table) -> Vec<bool> {
    let holds = |at| {
        let mut cells = table.rows.iter().filter_map(|row| row.get(at));
        cells.any(|cell: &Cell| cell.number.is_some())
    };
    (0..table.columns.len()).map(holds).collect()
}

fn name(column: &Column) -> String {
    let mark = match column.goodness {
        Goodness::Neutral => "",
        Goodness::Higher => " ↑",
        Goodness::Lower => " ↓",
    };
    plain(&column.name) + mark
}

fn cell(cell: &Cell) -> String {
    let text = plain(&cell.text);
    if cell.best && !text.is_empty() {
        format!("**{text}**")
    } else {
        text
    }
}

fn findings(findings: &[Finding]) -> String {
    let names = ["Published", "Source", "Here", "Measured"].map(str::to_owned);
    let row = |finding: &Finding| {
        vec![
            plain(&finding.claim),
            plain(&finding.source),
            verdict(finding.verdict).to_owned(),
            plain(&finding.measured),
        ]
    };
    grid(&names, &[], findings.iter().map(row).collect())
}

fn verdict(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Agrees => "**agrees**",
        Verdict::Partly => "**partly**",
        Verdict::Differs => "**differs**",
        Verdict::NotMeasured => "not measured",
    }
}

/// A table of Markdown; columns that `right` names are set to the right.
fn grid(names: &[String], right: &[bool], rows: Vec<Vec<String>>) -> String {
    let rule = (0..names.len()).map(|at| match right.get(at) {
        Some(true) => "---:".to_owned(),
        _ => "---".to_owned(),
    });
    let mut lines = vec![line(names), line(&rule.collect::<Vec<_>>())];
    lines.extend(rows.iter().map(|row| line(row)));
    lines.join("\n")
}

fn line(cells: &[String]) -> String {
    format!("| {} |", cells.join(" | "))
}

/// Text that no reader of Markdown takes for markup, on one line.
fn plain(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for letter in text
        .split_whitespace()
        .collect::<Vec<_>>()
        .join(" ")
        .chars()
    {
        match letter {
            '<' => safe += "&lt;",
            '>' => safe += "&gt;",
            '&' => safe += "&amp;",
            '|' | '*' | '_' | '`' | '[' | ']' | '\\' | '#' | '~' => {
                safe.push('\\');
                safe.push(letter);
            }
            _ => safe.push(letter),
        }
    }
    safe
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markup_in_names_stays_text() {
        assert_eq!(
            plain("a|b <i>&\n*c* [x](y) page_node"),
            "a\\|b &lt;i&gt;&amp; \\*c\\* \\[x\\](y) page\\_node"
        );
    }

    #[test]
    fn the_best_cell_is_bold_and_numbers_stand_right() {
        let column = |name: &str, goodness| Column {
            name: name.to_owned(),
            goodness,
        };
        let number = |text: &str, number, best| Cell {
            text: text.to_owned(),
            number,
            best,
        };
        let speeds = Table {
            id: "speeds".to_owned(),
            title: String::new(),
            columns: vec![
                column("design", Goodness::Neutral),
                column("qps", Goodness::Higher),
            ],
            rows: vec![vec![
                number("aisaq", None, false),
                number("1,200", Some(1200.0), true),
            ]],
        };
        let text = table(&speeds).join("\n");
        let expected = "| design | qps ↑ |\n| --- | ---: |\n| aisaq | **1,200** |\n\
                        [as CSV](csv/speeds.csv)";
        assert_eq!(text, expected);
    }

    #[test]
    fn a_table_without_columns_is_left_out() {
        assert!(table(&Table::default()).is_empty());
    }
}
