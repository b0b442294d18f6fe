//! Figures with the numbers under them.

use crate::report::{Axis, AxisPlace, Figure, Kind, Mark, Scale, number, table};

/// What a figure is called and shows.
#[derive(Clone, Copy)]
pub(super) struct Words<'w> {
    pub(super) id: &'w str,
    pub(super) title: &'w str,
    /// What to see in it.
    pub(super) note: &'w str,
    pub(super) x: &'w str,
    pub(super) y: &'w str,
}

/// A number of a figure: series, place, value.
pub(super) type Dot = (String, AxisPlace, f64);

/// A place that has a name.
pub(super) fn named(name: impl Into<String>) -> AxisPlace {
    AxisPlace::Name(name.into())
}

/// A figure of `dots`, each a row of its table.
pub(super) fn figure(words: Words<'_>, kind: Kind, dots: Vec<Dot>) -> Figure {
    let columns = ["series", words.x, words.y].map(table::neutral);
    let rows = dots.iter().map(|(series, place, value)| {
        let place = match place {
            AxisPlace::Name(name) => table::text(name),
            AxisPlace::Number(at) => table::number(Some(*at), number::plain),
        };
        vec![
            table::text(series),
            place,
            table::number(Some(*value), number::thousands),
        ]
    });
    let table = table::table(words.id, "", columns.into(), rows.collect(), 0);
    let mark = |(series, x, y): Dot| Mark {
        text: number::thousands(y),
        series,
        x,
        y,
    };
    Figure {
        table,
        id: words.id.to_owned(),
        title: words.title.to_owned(),
        note: words.note.to_owned(),
        kind,
        x: axis(words.x, Scale::Linear),
        y: axis(words.y, Scale::Linear),
        marks: dots.into_iter().map(mark).collect(),
        ..Figure::default()
    }
}

/// An axis.
pub(super) fn axis(name: &str, scale: Scale) -> Axis {
    Axis {
        name: name.to_owned(),
        scale,
    }
}

/// Counts from 0 on, by number, from the first to the last that is not 0; nothing else where all
/// are 0.
pub(super) fn counts(series: &str, counts: &[u64]) -> Vec<Dot> {
    let first = counts.iter().position(|count| *count > 0).unwrap_or(0);
    let numbered = counts.iter().enumerate().skip(first);
    numbered
        .map(|(at, count)| {
            (
                series.to_owned(),
                AxisPlace::Number(at as f64),
                *count as f64,
            )
        })
        .collect()
}
