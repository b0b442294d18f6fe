//! Points in the order of the values of a field, and some points by chance.
//!
//! Costs a pass over the documents of all points that match. A point with several values is there
//! once for each of them; equal ones are one.

use std::hash::{BuildHasher, RandomState};
use std::sync::atomic::Ordering;
use std::time::Instant;

use pageway::FieldPath;
use pageway::lab::SplitMix64;
use pageway::server::{Moment, Number, visit_values};
use serde_json::Value;

use super::document::PointDocument;
use super::open::OpenCollection;
use super::output::{OutputWish, PointOutput};
use super::point::Point;
use crate::failure::{Failure, Outcome};
use crate::wire::{Direction, OrderBy, PointId, Start};

/// A point, and the value that it is there for.
#[derive(Clone, PartialEq, Debug)]
struct OrderedPoint {
    id: PointId,
    key: Number,
    value: Value,
}

impl OpenCollection {
    /// What is wanted of the first points in an order, but for the first `offset`. What has changed
    /// meanwhile and has no more the value that it was there for is left out.
    pub(super) fn ordered(
        &self,
        (order, filter): (&OrderBy, Option<&Value>),
        ((limit, offset), deadline): ((usize, usize), Instant),
        wish: OutputWish<'_>,
    ) -> Outcome<Vec<PointOutput>> {
        let path = FieldPath::parse(&order.key).map_err(Failure::wrong)?;
        let changes = self.changes.load(Ordering::Acquire);
        let most = (limit + offset, deadline);
        let ordered = self.first_ordered((order, &path), filter, most)?;
        let filter = self.filter(filter)?;
        let mut found = Vec::with_capacity(ordered.len());
        for one in ordered.into_iter().skip(offset) {
            let is_shown = |point: &Point| {
                let has_value = || {
                    let mut has_value = false;
                    visit_values(&point.document.payload, &path, &mut |value| {
                        has_value |=
                            order_key(value).is_some_and(|own| own.compare(one.key).is_eq());
                    });
                    has_value
                };
                Ok(self.rests_since(changes) || has_value() && point.matches(filter.as_ref())?)
            };
            for mut point in self.points_that(&[one.id], wish, &is_shown)? {
                point.order_value = Some(one.value.clone());
                found.push(point);
            }
        }
        Ok(found)
    }

    fn first_ordered(
        &self,
        (order, path): (&OrderBy, &FieldPath),
        filter: Option<&Value>,
        (limit, deadline): (usize, Instant),
    ) -> Outcome<Vec<OrderedPoint>> {
        let direction = order.direction.unwrap_or_default();
        let start = order.start_from.as_ref().map(|Start(value)| {
            let wrong = || Failure::format("start_from: a number or a date is expected");
            order_key(value).ok_or_else(wrong)
        });
        let start = start.transpose()?;
        let mut best: Vec<OrderedPoint> = Vec::new();
        self.visit_documents(filter, deadline, &mut |id, document| {
            let payload = PointDocument::decode(document)?.payload;
            visit_values(&payload, path, &mut |value| {
                let Some(key) = order_key(value) else { return };
                let is_before = start.is_some_and(|start| match direction {
                    Direction::Asc => key.compare(start).is_lt(),
                    Direction::Desc => key.compare(start).is_gt(),
                });
                if !is_before {
                    let value = shown(value);
                    best.push(OrderedPoint { id, key, value });
                }
            });
            if best.len() >= 4 * limit.max(256) {
                keep_first(&mut best, direction, limit);
            }
            Ok(())
        })?;
        keep_first(&mut best, direction, limit);
        Ok(best)
    }

    /// Some points that match, by chance.
    pub(super) fn sample(
        &self,
        filter: Option<&Value>,
        (limit, deadline): (usize, Instant),
    ) -> Outcome<Vec<PointId>> {
        let filter = self.filter(filter)?;
        let mut ids = self.matching(filter.as_ref(), Some(deadline))?;
        let mut random = SplitMix64::new(RandomState::new().hash_one(limit));
        let count = limit.min(ids.len());
        for at in 0..count {
            let other = at + (random.next_u64() % (ids.len() - at) as u64) as usize;
            ids.swap(at, other);
        }
        ids.truncate(count);
        Ok(ids)
    }
}

fn keep_first(best: &mut Vec<OrderedPoint>, direction: Direction, limit: usize) {
    best.sort_unstable_by(|one, next| direction.compare((one.key, one.id), (next.key, next.id)));
    best.dedup_by(|next, one| one.id == next.id && one.key.compare(next.key).is_eq());
    best.truncate(limit);
}

/// A value as it is shown: a date as its microseconds since 1970.
fn shown(value: &Value) -> Value {
    let moment = value.as_str().and_then(Moment::parse);
    moment.map_or_else(|| value.clone(), |moment| moment.micros.into())
}

/// The number that a value has in an order: itself, or the moment that a date names.
pub(crate) fn order_key(value: &Value) -> Option<Number> {
    let moment = value.as_str().and_then(Moment::parse);
    let moment = moment.map(|moment| Number::Int(moment.micros));
    Number::of(value).or(moment)
}
