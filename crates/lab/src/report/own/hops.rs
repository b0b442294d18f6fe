//! Cache hits by hop, in buckets that double: the first hop, the second, hops 3 and 4, 5 to 8.

use crate::record::Record;
use crate::report::document::{Axis, AxisPlace, Figure, Goodness, Mark, Scale};
use crate::report::figure::{FigureRow, Sight};
use crate::report::select::{Pick, ValuePlace};
use crate::report::{choice, group, number, table};

/// Recall at which strategies are compared.
const TARGET: f64 = 0.95;
/// Fewest expansions per query that make a share.
const LEAST_EXPANSIONS: f64 = 0.5;

/// Share of the hops of each bucket that a cache served, by strategy, at the memory compared at.
pub(super) fn figures(sight: Sight<'_>, row: &FigureRow, records: &[&Record]) -> Vec<Figure> {
    let mut figures = Vec::new();
    for (data, records) in group::by_data(records) {
        let Some(memory) = Pick::Place(ValuePlace::Middle).value(&records, "memory_ratio") else {
            continue;
        };
        let at = group::at_axis(&records, "memory_ratio", memory);
        let share = number::percent(memory);
        let title = row.look.title.clone().unwrap_or_default();
        figures.push(figure(
            (format!("{}-hops-{data}", sight.experiment), data),
            format!("{title}, memory for {share} of the raw vectors"),
            &group::named(&at),
        ));
    }
    figures
}

fn figure((id, data): (String, &str), title: String, groups: &[(String, Vec<&Record>)]) -> Figure {
    let curves: Vec<(&String, Vec<Mark>)> = groups
        .iter()
        .map(|(name, records)| (name, marks(name, &choice::reaching(records, TARGET))))
        .collect();
    let buckets = curves
        .iter()
        .map(|(_, marks)| marks.len())
        .max()
        .unwrap_or_default();
    let mut columns = vec![table::neutral("design")];
    columns.extend(
        (0..buckets).map(|bucket| table::column(format!("hop {}", name(bucket)), Goodness::Higher)),
    );
    let rows = curves.iter().map(|(name, marks)| {
        let mut row = vec![table::text(*name)];
        row.extend(
            (0..buckets)
                .map(|bucket| table::number(marks.get(bucket).map(|mark| mark.y), number::percent)),
        );
        row
    });
    Figure {
        table: table::table(&id, "", columns, rows.collect(), 0),
        id,
        title,
        data: data.to_owned(),
        x: Axis {
            name: "hop".to_owned(),
            scale: Scale::Log,
        },
        y: Axis {
            name: "share of hops that a cache served".to_owned(),
            ..Axis::default()
        },
        marks: curves.into_iter().flat_map(|(_, marks)| marks).collect(),
        ..Figure::default()
    }
}

/// Share of hits by hop of the repetitions of a cell.
fn marks(series: &str, cell: &[&Record]) -> Vec<Mark> {
    let Some(record) = cell.first() else {
        return Vec::new();
    };
    let hops = record.number("hops_per_query").unwrap_or_default();
    let hits = record.result.get("cache_hits_by_hop");
    let hits = hits.and_then(|hits| hits.as_array()).into_iter().flatten();
    hits.enumerate()
        .filter_map(|(bucket, hits)| mark(series, bucket, (hits.as_f64()?, hops)))
        .collect()
}

/// The mark of a bucket; none where walks hardly get.
fn mark(series: &str, bucket: usize, (hits, hops): (f64, f64)) -> Option<Mark> {
    let (first, end) = bounds(bucket);
    let end = end.min(hops);
    let expansions = end - first;
    (expansions >= LEAST_EXPANSIONS).then(|| {
        let share = (hits / expansions).min(1.0);
        Mark {
            series: series.to_owned(),
            x: AxisPlace::Number(f64::midpoint(first + 1.0, end.ceil())),
            y: share,
            text: format!("{} of hop {}", number::percent(share), name(bucket)),
        }
    })
}

/// Hops of a bucket, counted from 0: the first, and the one after the last. The last is open.
fn bounds(bucket: usize) -> (f64, f64) {
    let first = |bucket: usize| {
        let power = bucket.checked_sub(1);
        power.map_or(0.0, |power| 2f64.powi(power as i32))
    };
    let end = if bucket + 1 < pageway::lab::HOP_BUCKETS {
        first(bucket + 1)
    } else {
        f64::INFINITY
    };
    (first(bucket), end)
}

/// Hops of a bucket, counted from 1.
fn name(bucket: usize) -> String {
    let (first, end) = bounds(bucket);
    match end {
        _ if end.is_infinite() => format!("{} and later", first + 1.0),
        _ if end - first <= 1.0 => end.to_string(),
        _ => format!("{} to {end}", first + 1.0),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::report::fixture::{give, search};

    #[test]
    fn buckets_double() {
        let buckets: Vec<(f64, f64)> = (0..4).map(bounds).collect();
        assert_eq!(buckets, [(0.0, 1.0), (1.0, 2.0), (2.0, 4.0), (4.0, 8.0)]);
        assert_eq!(bounds(7), (64.0, f64::INFINITY));
        let names: Vec<String> = [0, 1, 2, 3, 7].map(name).into();
        assert_eq!(names, ["1", "2", "3 to 4", "5 to 8", "65 and later"]);
    }

    #[test]
    fn hits_are_shares_of_the_hops_of_a_bucket() {
        let numbers = json!({
            "hops_per_query": 20.0,
            "cache_hits_by_hop": [0.0, 1.0, 0.0, 0.0, 0.0, 2.0, 0.0, 0.0],
        });
        let record = give(search("cache", "photos", "dynamic", 20, 0.96), numbers);
        let shares: Vec<f64> = marks("dynamic", &[&record])
            .iter()
            .map(|mark| mark.y)
            .collect();
        // Hops 17 to 20 are all that a mean walk has of the sixth bucket.
        assert_eq!(shares, [0.0, 1.0, 0.0, 0.0, 0.0, 0.5]);
    }
}
