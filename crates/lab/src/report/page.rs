//! The report as one page of HTML that needs no network, and as Markdown: a template each.
//!
//! Words and tables are in the page as they are; plots are drawn by Vega-Lite, which is in the page
//! too, from the figures, which are embedded once, as JSON.
//!
//! Invariants: the page shows no number that the report lacks; the page asks for nothing (its own
//! policy forbids it); no text of a report is ever markup.

use std::io::Read;

use minijinja::syntax::SyntaxConfig;
use minijinja::value::{Serde, Value};
use minijinja::{AutoEscape, Environment, context};
use pageway::{Error, ErrorKind, Result};

use super::document::{Figure, Report};
use super::files;

const PAGE: &str = include_str!("../../assets/report/page.html");
const TEXT: &str = include_str!("../../assets/report/report.md");
const LOOKS: &str = include_str!("../../assets/report/page.css");
const PLOTS: &str = include_str!("../../assets/report/plot.js");
const TABLES: &str = include_str!("../../assets/report/table.js");
/// Vega, Vega-Lite and Vega-Embed, see `assets/vendor/README.md`.
const LIBRARY: &[u8] = include_bytes!("../../assets/vendor/vega.js.gz");

/// The page: about 0.9 MB and the report.
pub fn html(report: &Report) -> Result<String> {
    let mut library = String::new();
    let mut packed = flate2::read::GzDecoder::new(LIBRARY);
    packed.read_to_string(&mut library).map_err(broken)?;
    let sections = report.sections.iter();
    let figures: Vec<&Figure> = sections.flat_map(|section| &section.figures).collect();
    let own = context! {
        looks => safe(LOOKS.to_owned()),
        figures => safe(embedded(&figures)?),
        scripts => [library, PLOTS.to_owned(), TABLES.to_owned()].map(safe),
    };
    render(
        "page.html",
        PAGE,
        &context! { report => Value::from(Serde(report)), ..own },
    )
}

/// Words, tables and findings as Markdown. Links are relative to the directory it is written to.
pub fn markdown(report: &Report) -> Result<String> {
    render(
        "report.md",
        TEXT,
        &context! { report => Value::from(Serde(report)) },
    )
}

fn render(name: &str, template: &str, values: &Value) -> Result<String> {
    let mut templates = Environment::new();
    let spaces = SyntaxConfig::builder()
        .trim_blocks(true)
        .lstrip_blocks(true)
        .build();
    templates.set_syntax(spaces.map_err(broken)?);
    templates.set_auto_escape_callback(|name| match name {
        "page.html" => AutoEscape::Html,
        _ => AutoEscape::None,
    });
    templates.add_filter("plain", |text: String| plain(&text));
    templates.add_filter("csv", |id: String| files::csv_path(&id));
    templates.add_template(name, template).map_err(broken)?;
    let template = templates.get_template(name).map_err(broken)?;
    template.render(values).map_err(broken)
}

fn safe(text: String) -> Value {
    Value::from_safe_string(text)
}

fn broken(error: impl std::fmt::Display) -> Error {
    Error::new(
        ErrorKind::Internal,
        format!("the report cannot be written: {error}"),
    )
}

/// JSON in which nothing can end the element that holds it. Numbers that are not finite are null.
fn embedded(figures: &[&Figure]) -> Result<String> {
    let json = serde_json::to_string(figures).map_err(broken)?;
    Ok(json
        .replace('<', "\\u003c")
        .replace('>', "\\u003e")
        .replace('&', "\\u0026")
        .replace('\u{2028}', "\\u2028")
        .replace('\u{2029}', "\\u2029"))
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
            '|' | '*' | '_' | '`' | '[' | ']' | '\\' | '#' | '~' => safe.extend(['\\', letter]),
            _ => safe.push(letter),
        }
    }
    safe
}
