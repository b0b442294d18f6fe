//! Answers of shards as the one answer that an index with all of their points gives.
//!
//! A point that several shards give is there once: as the newest of them has it.

use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, HashMap};

use crate::collection::{FacetHit, PointOutput, ScrollOutput, order_key};
use crate::wire::{Direction, PointId};

/// One point of each id, in no order: the newest, and of those the one that `is_better`.
fn newest(
    lists: Vec<Vec<PointOutput>>,
    is_better: impl Fn(&PointOutput, &PointOutput) -> bool,
) -> Vec<PointOutput> {
    let mut points: Vec<PointOutput> = Vec::new();
    let mut places: HashMap<PointId, usize> = HashMap::new();
    for point in lists.into_iter().flatten() {
        match places.entry(point.id) {
            Entry::Vacant(place) => {
                place.insert(points.len());
                points.push(point);
            }
            Entry::Occupied(place) => {
                if let Some(known) = points.get_mut(*place.get())
                    && (point.version > known.version
                        || (point.version == known.version && is_better(&point, known)))
                {
                    *known = point;
                }
            }
        }
    }
    points
}

/// The best by their scores, but for the first `offset`. Equal ones are in the order of shards, and
/// of their answers: those of a shard are the first of any more that it gives.
pub(crate) fn by_score(
    lists: Vec<Vec<PointOutput>>,
    more_is_better: bool,
    (limit, offset): (usize, usize),
) -> Vec<PointOutput> {
    let score = |point: &PointOutput| {
        let own = point.score.unwrap_or_default();
        if more_is_better { -own } else { own }
    };
    let mut points = newest(lists, |one, other| score(one) < score(other));
    points.sort_by(|one, next| score(one).total_cmp(&score(next)));
    points.into_iter().skip(offset).take(limit).collect()
}

/// The first by their ids, but for the first `offset`.
pub(crate) fn by_id(
    lists: Vec<Vec<PointOutput>>,
    (limit, offset): (usize, usize),
) -> Vec<PointOutput> {
    let mut points = newest(lists, |_, _| false);
    points.sort_unstable_by_key(|point| point.id);
    points.into_iter().skip(offset).take(limit).collect()
}

/// The first by the values that they are there for, each point once for each value.
pub(crate) fn by_value(
    lists: Vec<Vec<PointOutput>>,
    direction: Direction,
    (limit, offset): (usize, usize),
) -> Vec<PointOutput> {
    let keyed = lists.into_iter().flatten().filter_map(|point| {
        let key = order_key(point.order_value.as_ref()?)?;
        Some((key, point))
    });
    let mut keyed: Vec<_> = keyed.collect();
    keyed.sort_unstable_by(|(key, one), (next_key, next)| {
        direction.compare((*key, one.id), (*next_key, next.id))
    });
    let points = keyed.into_iter().map(|(_, point)| point);
    points.skip(offset).take(limit).collect()
}

/// A page of points in the order of their ids.
pub(crate) fn scroll(pages: Vec<ScrollOutput>, limit: usize) -> ScrollOutput {
    let next = pages.iter().filter_map(|page| page.next_page_offset).min();
    let lists = pages.into_iter().map(|page| page.points).collect();
    let mut points = by_id(lists, (usize::MAX, 0));
    // What lies beyond where a shard ended may come after points that it did not show.
    if let Some(next) = next {
        points.retain(|point| point.id < next);
    }
    let beyond = points.get(limit).map(|point| point.id);
    points.truncate(limit);
    ScrollOutput {
        points,
        next_page_offset: beyond.or(next),
    }
}

/// The points of some ids, in their order.
pub(crate) fn in_order_of(ids: &[PointId], lists: Vec<Vec<PointOutput>>) -> Vec<PointOutput> {
    let points = newest(lists, |_, _| false).into_iter();
    let mut points: HashMap<PointId, PointOutput> = points.map(|point| (point.id, point)).collect();
    ids.iter().filter_map(|id| points.remove(id)).collect()
}

/// The values that most points have, of counts of all values of each shard.
pub(crate) fn facets(lists: Vec<Vec<FacetHit>>, limit: usize) -> Vec<FacetHit> {
    let mut counts: BTreeMap<FacetValue, FacetHit> = BTreeMap::new();
    for hit in lists.into_iter().flatten() {
        match counts.get_mut(&FacetValue::of(&hit)) {
            Some(known) => known.count += hit.count,
            None => {
                counts.insert(FacetValue::of(&hit), hit);
            }
        }
    }
    let mut hits: Vec<FacetHit> = counts.into_values().collect();
    // Those with as many points stay in the order of their values.
    hits.sort_by_key(|hit| std::cmp::Reverse(hit.count));
    hits.truncate(limit);
    hits
}

/// A value in the order in which one server has them.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum FacetValue {
    Bool(bool),
    Int(i64),
    Text(String),
}

impl FacetValue {
    fn of(hit: &FacetHit) -> Self {
        let value = &hit.value;
        if let Some(own) = value.as_bool() {
            return Self::Bool(own);
        }
        match value.as_i64() {
            Some(own) => Self::Int(own),
            None => Self::Text(value.as_str().unwrap_or_default().to_owned()),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn points(all: Value) -> Vec<PointOutput> {
        serde_json::from_value(all).unwrap()
    }

    fn ids(points: &[PointOutput]) -> Vec<u64> {
        let number = |point: &PointOutput| match point.id {
            PointId::Number(number) => number,
            PointId::Uuid(_) => u64::MAX,
        };
        points.iter().map(number).collect()
    }

    #[test]
    fn scores_go_down_or_up_and_the_newest_of_a_point_counts() {
        let lists = || {
            vec![
                points(json!([
                    {"id": 4, "score": 0.9, "version": 1},
                    {"id": 2, "score": 0.5, "version": 1}])),
                points(json!([
                    {"id": 3, "score": 0.7, "version": 1},
                    {"id": 1, "score": 0.5, "version": 1},
                    {"id": 4, "score": 0.1, "version": 2}])),
            ]
        };
        assert_eq!(ids(&by_score(lists(), true, (9, 0))), [3, 2, 1, 4]);
        assert_eq!(ids(&by_score(lists(), true, (2, 1))), [2, 1]);
        assert_eq!(ids(&by_score(lists(), false, (9, 0))), [4, 2, 1, 3]);
    }

    #[test]
    fn pages_end_where_the_first_shard_ends() {
        let page = |all: Value, next: Value| -> ScrollOutput {
            serde_json::from_value(json!({"points": all, "next_page_offset": next})).unwrap()
        };
        let pages = |limit| {
            let one = page(json!([{"id": 1}, {"id": 5}]), json!(7));
            scroll(
                vec![one, page(json!([{"id": 2}, {"id": 9}]), Value::Null)],
                limit,
            )
        };
        let found = pages(2);
        assert_eq!(ids(&found.points), [1, 2]);
        assert_eq!(found.next_page_offset, Some(PointId::Number(5)));
        let found = pages(9);
        assert_eq!(ids(&found.points), [1, 2, 5]);
        assert_eq!(found.next_page_offset, Some(PointId::Number(7)));
    }

    #[test]
    fn values_and_requests_have_their_orders() {
        let lists = || {
            vec![
                points(json!([{"id": 1, "order_value": 3}, {"id": 1, "order_value": 1.5}])),
                points(json!([{"id": 2, "order_value": 3}])),
            ]
        };
        let up = by_value(lists(), Direction::Asc, (9, 0));
        assert_eq!(ids(&up), [1, 1, 2]);
        assert_eq!(ids(&by_value(lists(), Direction::Desc, (9, 0))), [2, 1, 1]);
        assert_eq!(ids(&by_value(lists(), Direction::Asc, (1, 1))), [1]);
        let own = [PointId::Number(2), PointId::Number(7), PointId::Number(1)];
        assert_eq!(ids(&in_order_of(&own, lists())), [2, 1]);
        let long = |last: u64| json!(1_700_000_000_000_000_000 + last);
        let lists = vec![
            points(json!([{"id": 1, "order_value": long(20)}, {"id": 2, "order_value": 1.7e18}])),
            points(json!([{"id": 3, "order_value": long(10)}])),
        ];
        assert_eq!(ids(&by_value(lists, Direction::Asc, (9, 0))), [2, 3, 1]);
    }

    #[test]
    fn counts_add_up() {
        let hits = |all: Value| -> Vec<FacetHit> { serde_json::from_value(all).unwrap() };
        let lists = vec![
            hits(json!([{"value": "b", "count": 3}, {"value": "a", "count": 2}])),
            hits(json!([{"value": "c", "count": 4}, {"value": "a", "count": 1}])),
        ];
        let found = serde_json::to_value(facets(lists, 2)).unwrap();
        assert_eq!(
            found,
            json!([{"value": "c", "count": 4}, {"value": "a", "count": 3}])
        );
    }
}
