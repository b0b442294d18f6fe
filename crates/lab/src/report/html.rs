//! The report as one page of HTML that needs no network: text, plots and tables drawn by scripts in
//! the page from the report itself, which is embedded once, as JSON.
//!
//! Invariants: the page shows no number that the JSON lacks; the page asks for nothing (its own
//! policy forbids it); no text of a report is ever markup.

use pageway::{Error, ErrorKind, Result};
use serde::Serialize;

use super::document::Report;
use super::style::Styles;

const PAGE: &str = include_str!("../../assets/report/page.html");
const LOOKS: &str = include_str!("../../assets/report/page.css");
/// In this order: each uses what stands before it.
const SCRIPTS: [&str; 6] = [
    include_str!("../../assets/vendor/d3.min.js"),
    include_str!("../../assets/report/axis.js"),
    include_str!("../../assets/report/plot.js"),
    include_str!("../../assets/report/figure.js"),
    include_str!("../../assets/report/table.js"),
    include_str!("../../assets/report/page.js"),
];

/// What the scripts of the page read.
#[derive(Serialize)]
struct Embedded<'r> {
    report: &'r Report,
    styles: Styles,
}

/// The page: about 0.35 MB and the report.
pub fn html(report: &Report) -> Result<String> {
    let json = embedded(report)?;
    let scripts: Vec<String> = SCRIPTS
        .iter()
        .map(|script| format!("<script>\n{script}</script>"))
        .collect();
    Ok(fill(PAGE, |slot| match slot {
        "title" => text(&report.title),
        "looks" => LOOKS.to_owned(),
        "json" => json.clone(),
        "scripts" => scripts.join("\n"),
        _ => String::new(),
    }))
}

/// JSON in which nothing can end the element that holds it. Numbers that are not finite are null.
fn embedded(report: &Report) -> Result<String> {
    let styles = Styles::of(report);
    let json = serde_json::to_string(&Embedded { report, styles }).map_err(|error| {
        Error::new(
            ErrorKind::Internal,
            format!("the report is no JSON: {error}"),
        )
    })?;
    Ok(json
        .replace('<', "\\u003c")
        .replace('>', "\\u003e")
        .replace('&', "\\u0026")
        .replace('\u{2028}', "\\u2028")
        .replace('\u{2029}', "\\u2029"))
}

/// The template with each `<!-- slot NAME -->` replaced, in one pass: what is filled in is not read
/// again.
fn fill(template: &str, content: impl Fn(&str) -> String) -> String {
    let mut parts = template.split("<!-- slot ");
    let mut page = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (slot, rest) = part.split_once(" -->").unwrap_or(("", part));
        page += &content(slot);
        page += rest;
    }
    page
}

/// Text of HTML and XML, in elements and quoted attributes.
pub(super) fn text(words: &str) -> String {
    words
        .replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
        .replace('\'', "&#39;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_filled_in_is_not_read_again() {
        let page = fill("a<!-- slot x -->b<!-- slot y -->", |slot| {
            format!("<!-- slot {slot} -->")
        });
        assert_eq!(page, "a<!-- slot x -->b<!-- slot y -->");
    }

    #[test]
    fn every_slot_of_the_page_is_known() {
        let known = ["title", "looks", "json", "scripts"];
        let mut seen = Vec::new();
        for part in PAGE.split("<!-- slot ").skip(1) {
            seen.push(part.split_once(" -->").unwrap().0);
        }
        seen.dedup();
        assert!(known.iter().all(|name| seen.contains(name)));
        assert!(seen.iter().all(|name| known.contains(name)));
    }

    #[test]
    fn no_script_ends_its_element_early() {
        for script in SCRIPTS {
            assert!(!script.contains("</script") && !script.contains("<!--"));
        }
    }
}
