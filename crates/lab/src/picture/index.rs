//! What an index is, drawn: memory, calibration, files, lists and pages.

use std::path::Path;

use pageway::lab::{GraphSurvey, survey};
use pageway::{
    Calibration, Description, Index, MemoryReport, OpenOptions, Progress, Result, describe,
    format_bytes,
};

use super::plot::{Dot, Words, axis, counts, figure, named};
use crate::report::{AxisPlace, Figure, Kind, Report, Scale, Section, number};

/// Draws the index in `dir`: opens it with its own budget, and reads the pages of lists once.
///
/// # Errors
/// What opening and reading it report.
pub fn index(dir: &Path, progress: &dyn Progress) -> Result<Report> {
    let description = describe(dir)?;
    let opened = Index::open(dir, &OpenOptions::default())?;
    let memory = opened.memory();
    drop(opened);
    let lists = survey(dir, progress)?;
    Ok(Report {
        title: dir.display().to_string(),
        facts: facts(&description, &memory),
        warnings: missing(&description),
        sections: vec![
            memory_section(&memory),
            calibration_section(&description.calibration),
            layout_section(&description, &lists),
        ],
    })
}

fn missing(description: &Description) -> Vec<String> {
    let names = &description.missing;
    let words = || format!("Missing or cut short: {}.", names.join(", "));
    (!names.is_empty()).then(words).into_iter().collect()
}

fn facts(index: &Description, memory: &MemoryReport) -> Vec<(String, String)> {
    let shape = index.spec.shape;
    let vectors = format!(
        "{} of {}, {}",
        number::thousands(index.nodes as f64),
        shape.vectors(),
        shape.metric
    );
    let facts = [
        ("vectors", vectors),
        ("raw vectors", format_bytes(index.raw_bytes)),
        ("disk", format_bytes(index.index_bytes)),
        ("memory of a search", format_bytes(memory.budget_bytes)),
        ("segments", index.segments.len().to_string()),
        ("mean degree", format!("{:.1}", index.mean_degree)),
        ("pages filled", number::percent(index.page_utilisation)),
        ("written by", index.created_by.clone()),
    ];
    facts.map(|(name, value)| (name.to_owned(), value)).into()
}

fn memory_section(memory: &MemoryReport) -> Section {
    let words = Words {
        id: "memory",
        title: "Memory of a search, by part",
        note: "All that a process holds for the index, within its budget.",
        x: "part",
        y: "KiB",
    };
    let dots: Vec<Dot> = memory
        .parts
        .iter()
        .filter(|(_, bytes)| *bytes > 0)
        .map(|(part, bytes)| {
            (
                part.name().to_owned(),
                named(part.name()),
                *bytes as f64 / 1024.0,
            )
        })
        .collect();
    section("memory", "Memory", vec![figure(words, Kind::Bar, dots)])
}

fn calibration_section(calibration: &Calibration) -> Section {
    let words = |id, y, note| Words {
        id,
        title: "Recall and what it costs",
        note,
        x: "recall",
        y,
    };
    let dots = |cost: fn(&pageway::CalibrationRow) -> f64| -> Vec<Dot> {
        let of_curve = |curve: &pageway::CalibrationCurve| -> Vec<Dot> {
            let series = format!("recall@{}", curve.k);
            let dot = |row: &pageway::CalibrationRow| {
                let recall = AxisPlace::Number(f64::from(row.recall));
                (series.clone(), recall, cost(row))
            };
            curve.rows.iter().map(dot).collect()
        };
        calibration.curves.iter().flat_map(of_curve).collect()
    };
    let pages = words(
        "calibration-pages",
        "pages per query",
        "Measured when the index was built, a point per list size; --recall is read off it.",
    );
    let lists = words("calibration-list", "list size", "");
    let mut figures = vec![
        figure(pages, Kind::Line, dots(|row| row.pages.into())),
        figure(lists, Kind::Line, dots(|row| row.list_size.into())),
    ];
    for one in &mut figures {
        one.x = axis("recall", Scale::Recall);
    }
    if calibration.curves.is_empty() {
        figures.clear();
    }
    section("calibration", "Calibration", figures)
}

fn layout_section(description: &Description, lists: &GraphSurvey) -> Section {
    let mut figures = vec![files(description)];
    let filled = counts("pages", &lists.nodes_per_page);
    if !filled.is_empty() {
        let words = Words {
            id: "nodes-per-page",
            title: "Lists per page",
            note: "Pages by the number of nodes whose lists they hold.",
            x: "nodes of a page",
            y: "pages",
        };
        figures.push(figure(words, Kind::Bar, as_names(filled)));
    }
    if lists.degrees.len() > 1 {
        let words = Words {
            id: "degrees",
            title: "Degrees",
            note: "Nodes by the length of their adjacency list.",
            x: "degree",
            y: "nodes",
        };
        figures.push(figure(words, Kind::Line, counts("nodes", &lists.degrees)));
        figures.extend(overlaps(lists));
    }
    section("layout", "Pages and graph", figures)
}

/// Bars have names.
fn as_names(dots: Vec<Dot>) -> Vec<Dot> {
    let name = |(series, place, value): Dot| (series, named(number::plain(place.number())), value);
    dots.into_iter().map(name).collect()
}

fn files(description: &Description) -> Figure {
    let words = Words {
        id: "files",
        title: "Files",
        note: "What the index takes on disk; of the pages of records, what records leave free.",
        x: "file",
        y: "KiB",
    };
    let used = description.page_utilisation;
    let dots = description.files.iter().flat_map(|file| {
        let is_records = file.name.starts_with("records");
        let used = if is_records { used } else { 1.0 };
        let size = file.bytes as f64 / 1024.0;
        [("used", size * used), ("free", size * (1.0 - used))]
            .map(|(series, size)| (series.to_owned(), named(&file.name), size))
    });
    figure(words, Kind::Stack, dots.collect())
}

fn overlaps(lists: &GraphSurvey) -> Option<Figure> {
    let words = Words {
        id: "overlaps",
        title: "Neighbours on the same page",
        note: "Nodes by the share of the others on their page that they name; OR(G) is the mean.",
        x: "share of the page",
        y: "nodes",
    };
    let all: u64 = lists.overlaps.iter().sum();
    let name = |class: usize| match class {
        0 => "none".to_owned(),
        class => format!("to {} %", class * 10),
    };
    let classes = lists.overlaps.iter().enumerate();
    let dots =
        classes.map(|(class, count)| ("nodes".to_owned(), named(name(class)), *count as f64));
    (all > 0).then(|| figure(words, Kind::Bar, dots.collect()))
}

/// A section with its figures.
pub(super) fn section(id: &str, title: &str, figures: Vec<Figure>) -> Section {
    Section {
        id: id.to_owned(),
        title: title.to_owned(),
        figures,
        ..Section::default()
    }
}
