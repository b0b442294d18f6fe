//! What a report becomes: nothing of it is lost, nothing of it is markup, nothing is fetched.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::disallowed_methods,
    reason = "a failed assumption of a test is a failed test, and tests read what was written"
)]

use pageway_lab::report::{
    Axis, AxisPlace, Column, Figure, Finding, Goodness, Kind, Mark, Report, Scale, Section, Table,
    TableCell, Verdict, html, markdown, write,
};
use serde_json::Value;

const NASTY: &str = "a<b> & \"c\" 'd' </script><!-- \u{2028} {{x}}";

fn table(id: &str) -> Table {
    let column = |name: &str, goodness| Column {
        name: name.to_owned(),
        goodness,
    };
    let cell = |text: &str, number| TableCell {
        text: text.to_owned(),
        number,
        best: number == Some(12.5),
    };
    Table {
        id: id.to_owned(),
        title: "Numbers".to_owned(),
        columns: vec![
            column("design", Goodness::Neutral),
            column("speed", Goodness::Higher),
        ],
        rows: vec![
            vec![cell("diskann", None), cell("12.5", Some(12.5))],
            vec![cell("a, \"b\"", None), cell("–", Some(f64::NAN))],
        ],
    }
}

fn figure(id: &str, kind: Kind) -> Figure {
    let mark = |x, y| Mark {
        series: "diskann".to_owned(),
        x,
        y,
        text: "12.5".to_owned(),
    };
    Figure {
        id: id.to_owned(),
        title: "Speed".to_owned(),
        data: "photos".to_owned(),
        kind,
        x: Axis {
            name: "recall".to_owned(),
            scale: Scale::Recall,
        },
        marks: vec![
            mark(AxisPlace::Number(0.912_345), 12.25),
            mark(AxisPlace::Name("x".to_owned()), f64::NAN),
        ],
        table: table(&format!("{id}-table")),
        ..Figure::default()
    }
}

fn report() -> Report {
    let case = |holds| (holds, "photos: diskann 1: 2.00x".to_owned());
    let finding = Finding {
        claim: "It is fast".to_owned(),
        source: "A paper".to_owned(),
        verdict: Verdict::Partly,
        cases: vec![case(true), case(false), case(true)],
    };
    Report {
        title: "A report".to_owned(),
        facts: vec![("Cores".to_owned(), "2".to_owned())],
        warnings: vec!["Beware".to_owned()],
        sections: vec![Section {
            id: "speed".to_owned(),
            title: "Speed".to_owned(),
            figures: vec![figure("lines", Kind::Line), figure("bars", Kind::Bar)],
            tables: vec![table("own")],
            findings: vec![finding],
            ..Section::default()
        }],
    }
}

fn embedded(page: &str) -> &str {
    let start = "<script type=\"application/json\" id=\"figures\">";
    let json = page.split_once(start).unwrap().1;
    json.split_once("</script>").unwrap().0
}

/// The page without the library, whose text is not ours.
fn own(page: &str) -> String {
    let (before, after) = page.split_once("</script>").unwrap();
    let (_, ours) = after.split_once("// One renderer").unwrap();
    before.to_owned() + ours
}

#[test]
fn every_number_of_a_plot_is_embedded_and_every_table_is_there() {
    let page = html(&report()).unwrap();
    let figures: Value = serde_json::from_str(embedded(&page)).unwrap();
    assert_eq!(figures[0]["marks"][0]["x"], 0.912_345);
    assert_eq!(figures[0]["marks"][1]["y"], Value::Null);
    assert_eq!(page.matches("data-number=\"12.5\"").count(), 3);
    assert_eq!(page.matches("<figure").count(), 2);
    for words in [
        "2 of 3 cases hold",
        "Beware",
        "partly",
        "A paper",
        "data-number=\"12.5\" class=\"best\"",
    ] {
        assert!(page.contains(words), "{words}");
    }
}

#[test]
fn names_are_never_markup() {
    let mut report = report();
    NASTY.clone_into(&mut report.title);
    let section = &mut report.sections[0];
    NASTY.clone_into(&mut section.title);
    NASTY.clone_into(&mut section.findings[0].claim);
    NASTY.clone_into(&mut section.figures[0].title);
    NASTY.clone_into(&mut section.figures[0].marks[0].series);
    NASTY.clone_into(&mut section.tables[0].rows[0][0].text);
    let page = html(&report).unwrap();
    assert!(!page.contains("a<b>") && !page.contains("<!-- \u{2028}"));
    let figures: Value = serde_json::from_str(embedded(&page)).unwrap();
    assert_eq!(figures[0]["marks"][0]["series"], NASTY);
    assert!(!markdown(&report).unwrap().contains("a<b>"));
}

/// Nothing in the page makes a request: its policy forbids it, and nothing of ours has an address.
#[test]
fn the_page_asks_for_nothing() {
    let page = html(&report()).unwrap();
    assert!(page.contains("default-src 'none'") && !page.contains("connect-src"));
    let own = own(&page);
    for asking in ["src=\"", "<link", "<iframe", "@import", "url(", "fetch("] {
        assert!(!own.contains(asking), "{asking}");
    }
    for (at, _) in own.match_indices("href=\"") {
        assert_eq!(&own[at + 6..at + 7], "#");
    }
    assert!((600_000..1_200_000).contains(&page.len()), "{}", page.len());
    assert_eq!(
        page.matches("<script").count(),
        page.matches("</script>").count()
    );
}

#[test]
fn an_empty_report_is_a_page() {
    let page = html(&Report::default()).unwrap();
    assert_eq!(embedded(&page), "[]");
    assert!(markdown(&Report::default()).unwrap().starts_with('#'));
}

#[test]
fn files_are_written_and_written_again() {
    let dir = tempfile::tempdir().unwrap();
    let first = write(&report(), dir.path()).unwrap();
    assert_eq!(first, write(&report(), dir.path()).unwrap());
    assert_eq!(first[0], dir.path().join("report.html"));
    let markdown = std::fs::read_to_string(dir.path().join("report.md")).unwrap();
    let links = markdown
        .split("](")
        .skip(1)
        .map(|rest| rest.split_once(')').unwrap().0);
    let linked: Vec<&str> = links.collect();
    assert!(
        linked.iter().all(|link| dir.path().join(link).exists()),
        "{linked:?}"
    );
    // The page, the text, each table, and the numbers of each plot.
    assert_eq!((linked.len(), first.len()), (3, 2 + 3 + 2));
    let plot = std::fs::read_to_string(dir.path().join("csv/lines-plot.csv")).unwrap();
    assert!(plot.contains("diskann,0.912345,12.25,12.5\r\n"), "{plot}");
}

#[test]
fn two_figures_of_one_name_are_refused() {
    let mut report = report();
    let twin = report.sections[0].figures[0].clone();
    report.sections[0].figures.push(twin);
    let dir = tempfile::tempdir().unwrap();
    let error = write(&report, dir.path()).unwrap_err();
    assert!(error.to_string().contains("different ids"), "{error}");
    assert!(!dir.path().join("report.html").exists());
}
