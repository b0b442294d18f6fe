//! What a report becomes: nothing of it is lost, nothing of it is markup, nothing is fetched.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "a failed assumption of a test is a failed test, and tests read what was written"
)]

#[path = "report/example.rs"]
mod example;

use std::path::Path;

use pageway_lab::report::{Plot, Report, Styles, Table, html, markdown, svg, write};
use serde_json::Value;

const NASTY: &str = "a<b> & \"c\" 'd' </script><!-- \u{2028} {{x}}";

fn tables(report: &Report) -> Vec<&Table> {
    let sections = report.sections.iter();
    sections
        .flat_map(|section| {
            let under = section.figures.iter().map(|figure| &figure.table);
            under.chain(&section.tables).collect::<Vec<_>>()
        })
        .collect()
}

fn embedded(page: &str) -> &str {
    let start = "<script type=\"application/json\" id=\"embedded\">";
    let json = page.split_once(start).unwrap().1;
    json.split_once("</script>").unwrap().0
}

#[test]
fn every_number_of_a_report_is_embedded() {
    let report = example::report();
    let page = html(&report).unwrap();
    let json: Value = serde_json::from_str(embedded(&page)).unwrap();
    let expected = serde_json::to_string(&report).unwrap();
    assert_eq!(
        json["report"],
        serde_json::from_str::<Value>(&expected).unwrap()
    );
    let numbers = tables(&report).into_iter().flat_map(|table| &table.rows);
    let mut seen = 0;
    for number in numbers.flatten().filter_map(|cell| cell.number) {
        assert!(embedded(&page).contains(&serde_json::to_string(&number).unwrap()));
        seen += 1;
    }
    assert!(seen > 100);
}

#[test]
fn names_are_never_markup() {
    let mut report = example::report();
    NASTY.clone_into(&mut report.title);
    report.sections.truncate(1);
    NASTY.clone_into(&mut report.sections[0].title);
    NASTY.clone_into(&mut report.sections[0].figures[0].title);
    let Plot::Lines(lines) = &mut report.sections[0].figures[0].plot else {
        panic!("the first figure of the example has lines");
    };
    NASTY.clone_into(&mut lines.series[0].name);
    let page = html(&report).unwrap();
    assert!(!page.contains("a<b>") && !page.contains("<!-- \u{2028}"));
    let json: Value = serde_json::from_str(embedded(&page)).unwrap();
    assert_eq!(json["report"]["title"], NASTY);
    let picture = svg(&report.sections[0].figures[0], &Styles::of(&report)).unwrap();
    assert!(picture.contains("a&lt;b&gt; &amp; &quot;c&quot; &#39;d&#39;"));
    assert!(!picture.contains("a<b>"));
    assert!(!markdown(&report).contains("a<b>"));
}

/// Nothing in the page makes a request: no attribute, no rule and no call names an address.
#[test]
fn the_page_asks_for_nothing() {
    let page = html(&example::report()).unwrap();
    for asking in [
        "src=\"", "<link", "<iframe", "@import", "url(h", "url(\"", "url('", "url(/",
    ] {
        assert!(!page.contains(asking), "{asking}");
    }
    for address in page
        .match_indices("href=\"")
        .map(|(at, _)| &page[at + 6..at + 7])
    {
        assert!(["#", "r"].contains(&address), "{address}");
    }
    assert!(page.contains("default-src 'none'"));
    assert!(!page.contains("connect-src"));
    assert!(page.len() < 700_000, "{}", page.len());
}

#[test]
fn what_is_no_number_breaks_nothing() {
    let mut report = example::report();
    for figure in report
        .sections
        .iter_mut()
        .flat_map(|section| &mut section.figures)
    {
        for row in figure.table.rows.iter_mut().flatten() {
            row.number = row.number.map(|_| f64::NAN);
        }
        match &mut figure.plot {
            Plot::Lines(lines) => {
                lines.series[0].marks.clear();
                for (at, mark) in lines
                    .series
                    .iter_mut()
                    .flat_map(|s| &mut s.marks)
                    .enumerate()
                {
                    mark.x = [f64::NAN, f64::INFINITY, -1.0][at % 3];
                    mark.y = [0.5, f64::NEG_INFINITY, -1.0][at % 3];
                }
            }
            Plot::Bars(bars) => {
                bars.series[0].1.clear();
                for height in bars.series.iter_mut().flat_map(|(_, heights)| heights) {
                    *height = Some(f64::NAN);
                }
            }
        }
    }
    let styles = Styles::of(&report);
    let page = html(&report).unwrap();
    serde_json::from_str::<Value>(embedded(&page)).unwrap();
    for figure in report.sections.iter().flat_map(|section| &section.figures) {
        let picture = svg(figure, &styles).unwrap();
        assert!(
            !picture.contains("NaN") && !picture.contains("inf"),
            "{}",
            figure.id
        );
    }
    assert!(markdown(&report).contains("# "));
}

#[test]
fn an_empty_report_is_a_page() {
    let page = html(&Report::default()).unwrap();
    let json: Value = serde_json::from_str(embedded(&page)).unwrap();
    assert_eq!(json["report"]["sections"], Value::Array(Vec::new()));
}

/// Pictures show every curve: a mark for each number, in the colour that the page gives its series.
#[test]
fn pictures_have_a_mark_for_every_number() {
    let report = example::report();
    let styles = Styles::of(&report);
    for figure in report.sections.iter().flat_map(|section| &section.figures) {
        let picture = svg(figure, &styles).unwrap();
        let (drawn, expected) = match &figure.plot {
            Plot::Lines(lines) => {
                let marks: usize = lines.series.iter().map(|s| s.marks.len()).sum();
                (
                    picture.matches("translate(").count(),
                    marks + lines.series.len(),
                )
            }
            Plot::Bars(bars) => {
                let heights = bars.series.iter().flat_map(|(_, heights)| heights);
                let bars_drawn = heights.flatten().count();
                (
                    picture.matches("<rect").count(),
                    bars_drawn + bars.series.len() + 1,
                )
            }
        };
        assert_eq!(drawn, expected, "{}", figure.id);
    }
}

#[test]
fn files_are_written_and_written_again() {
    let dir = tempfile::tempdir().unwrap();
    let report = example::report();
    let first = write(&report, dir.path()).unwrap();
    let again = write(&report, dir.path()).unwrap();
    assert_eq!(first, again);
    assert_eq!(first[0], dir.path().join("report.html"));
    let markdown = std::fs::read_to_string(dir.path().join("report.md")).unwrap();
    let links = markdown
        .split("](")
        .skip(1)
        .map(|rest| rest.split_once(')').unwrap().0);
    let mut linked = 0;
    for link in links {
        assert!(dir.path().join(link).exists(), "{link}");
        linked += 1;
    }
    assert_eq!(linked + 2, first.len());
    assert!(first.iter().all(|path| path.exists()));
    let leftovers = std::fs::read_dir(dir.path().join("csv")).unwrap();
    for entry in leftovers {
        let name = entry.unwrap().path();
        assert_eq!(name.extension().unwrap(), "csv");
    }
}

#[test]
fn two_figures_of_one_name_are_refused() {
    let mut report = example::report();
    let twin = report.sections[0].figures[0].clone();
    report.sections[1].figures.push(twin);
    let dir = tempfile::tempdir().unwrap();
    let error = write(&report, dir.path()).unwrap_err();
    assert!(error.to_string().contains("different ids"), "{error}");
    assert!(!dir.path().join("report.html").exists());
}

/// Writes the example where `PAGEWAY_REPORT_DIR` says, to look at.
#[test]
#[ignore = "writes a report for people to look at"]
fn write_the_example() {
    let dir = std::env::var("PAGEWAY_REPORT_DIR").unwrap();
    let files = write(&example::report(), Path::new(&dir)).unwrap();
    println!("{}", files[0].display());
    assert!(files[0].exists());
}
