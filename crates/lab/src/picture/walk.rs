//! What recorded queries did, drawn: reads in flight, turns, pages, and what decided.

use pageway::lab::ReadTurn;
use pageway_shell::trace::{Header, Trace};

use super::index::section;
use super::plot::{Dot, Words, counts, figure, named};
use crate::report::{AxisPlace, Kind, Report, Section, number};

/// Queries whose walks are drawn one by one.
const DRAWN: usize = 4;

/// Draws a recorded search.
pub fn walk(trace: &Trace) -> Report {
    let sections = [
        Some(turns_section(trace)),
        Some(pages_section(trace)),
        decided_section(&trace.header),
    ];
    Report {
        title: format!("Walks through {}", trace.header.subject.index),
        facts: facts(&trace.header),
        warnings: Vec::new(),
        sections: sections.into_iter().flatten().collect(),
    }
}

fn facts(header: &Header) -> Vec<(String, String)> {
    let (subject, settings, measured) = (&header.subject, &header.settings, &header.measured);
    let recall = |recall: Option<f64>| recall.map_or("not known".to_owned(), number::recall);
    let facts = [
        ("vectors", number::thousands(subject.rows as f64)),
        ("dimensions", subject.dimensions.to_string()),
        ("queries", number::thousands(measured.queries as f64)),
        ("neighbours", settings.k.to_string()),
        ("list size", settings.list_size.to_string()),
        ("beam", settings.beam.to_string()),
        ("recall, measured", recall(measured.recall)),
        ("recall, calibrated", recall(measured.expected_recall)),
        (
            "reads per query",
            format!("{:.1}", measured.reads_per_query),
        ),
        ("bytes of a read", number::bytes(subject.read_bytes as f64)),
    ];
    facts.map(|(name, value)| (name.to_owned(), value)).into()
}

/// Walks one by one: what a query waits for, and when it computes.
fn turns_section(trace: &Trace) -> Section {
    let drawn = || trace.queries.iter().take(DRAWN).enumerate();
    let flying = drawn().flat_map(|(query, turns)| in_flight(query, turns));
    let computing = drawn().flat_map(|(query, turns)| computed(query, turns));
    let flight = Words {
        id: "flight",
        title: "Reads in flight",
        note: "The first queries, turn by turn: in turn 0 the first reads go out, and each further \
               turn begins with a page that arrived. One wave of reads is one round.",
        x: "turn",
        y: "reads in flight",
    };
    let time = Words {
        id: "time",
        title: "Computing so far",
        note: "What the same queries computed up to a turn, waiting not counted.",
        x: "turn",
        y: "microseconds",
    };
    section(
        "turns",
        "Walks",
        vec![
            figure(flight, Kind::Line, flying.collect()),
            figure(time, Kind::Line, computing.collect()),
        ],
    )
}

fn in_flight(query: usize, turns: &[ReadTurn]) -> Vec<Dot> {
    let mut flying = 0_i64;
    let dots = turns.iter().enumerate().map(|(at, turn)| {
        flying += i64::from(turn.reads) - i64::from(turn.supplied.is_some());
        (name(query), AxisPlace::Number(at as f64), flying as f64)
    });
    dots.collect()
}

fn computed(query: usize, turns: &[ReadTurn]) -> Vec<Dot> {
    let mut done = 0;
    let dots = turns.iter().enumerate().map(|(at, turn)| {
        done += turn.compute_ns + turn.work_ns;
        (name(query), AxisPlace::Number(at as f64), done as f64 / 1e3)
    });
    dots.collect()
}

fn name(query: usize) -> String {
    format!("query {query}")
}

/// How much queries differ.
fn pages_section(trace: &Trace) -> Section {
    let pages = trace.header.subject.pages_per_read.max(1) as usize;
    let mut by_pages = Vec::new();
    for turns in &trace.queries {
        let read = turns.len().saturating_sub(1) * pages;
        if by_pages.len() <= read {
            by_pages.resize(read + 1, 0);
        }
        if let Some(count) = by_pages.get_mut(read) {
            *count += 1;
        }
    }
    let words = Words {
        id: "pages",
        title: "Pages of a query",
        note: "Recorded queries by the pages that they read.",
        x: "pages",
        y: "queries",
    };
    let dots = counts("queries", &by_pages);
    section("pages", "Pages", vec![figure(words, Kind::Line, dots)])
}

/// What decided who is an answer: codes, or vectors that were read.
fn decided_section(header: &Header) -> Option<Section> {
    let work = header.work?;
    let words = |id, title, note, x| Words {
        id,
        title,
        note,
        x,
        y: "per query",
    };
    let decided = words(
        "decided",
        "What decided",
        "Distances of a query: by codes, which need no read, and exact ones.",
        "distances",
    );
    let reads = words(
        "reads",
        "What was read for",
        "Reads on the way, and reads at the end for exact distances alone.",
        "reads",
    );
    let bars = |bars: [(&str, f64); 2]| -> Vec<Dot> {
        let dot = |(name, value): (&str, f64)| (name.to_owned(), named(name), value);
        bars.map(dot).into()
    };
    let on_the_way = header.measured.reads_per_query - work.refine_reads;
    let mut one = section(
        "decided",
        "What decided",
        vec![
            figure(
                decided,
                Kind::Bar,
                bars([
                    ("by codes", work.estimates),
                    ("exact", work.exact_distances),
                ]),
            ),
            figure(
                reads,
                Kind::Bar,
                bars([
                    ("on the way", on_the_way),
                    ("at the end", work.refine_reads),
                ]),
            ),
        ],
    );
    one.method = vec![format!(
        "Means per query: {:.1} rounds of reads that wait for each other, {:.1} nodes expanded, \
         {:.2} of {} answers by codes alone.",
        work.rounds, work.hops, work.estimated_answers, header.settings.k
    )];
    Some(one)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn turn(supplied: Option<u32>, reads: u32) -> ReadTurn {
        ReadTurn {
            supplied,
            compute_ns: 1000,
            reads,
            work_ns: 500,
        }
    }

    #[test]
    fn reads_in_flight_end_at_none() {
        let turns = [
            turn(None, 2),
            turn(Some(0), 1),
            turn(Some(1), 0),
            turn(Some(2), 0),
        ];
        let flying: Vec<f64> = in_flight(0, &turns).iter().map(|dot| dot.2).collect();
        assert_eq!(flying, [2.0, 2.0, 1.0, 0.0]);
        let done: Vec<f64> = computed(0, &turns).iter().map(|dot| dot.2).collect();
        assert_eq!(done, [1.5, 3.0, 4.5, 6.0]);
    }
}
