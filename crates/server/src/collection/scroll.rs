//! Points by their ids, and in the order of their ids: numbers first, then UUIDs.
//!
//! Indexes have rows in the order of numbers. Rows with UUIDs lie in another order: a scroll passes
//! over all of them, keeps the next ids in a window, and takes pages out of that as long as nothing
//! changes.

use std::collections::BinaryHeap;
use std::sync::PoisonError;
use std::sync::atomic::Ordering;
use std::time::Instant;

use pageway::{Filter, RowParts};
use serde_json::Value;

use super::open::OpenCollection;
use super::output::{OutputWish, PointOutput, ScrollOutput};
use super::point::Point;
use crate::failure::{Failure, Outcome};
use crate::room::AnswerRoom;
use crate::wire::{PayloadParts, PointId, Retrieve, Scroll, VectorParts, parts_of};

/// The first id of rows with names.
const FIRST_NAMED: u64 = 1 << 63;
/// Ids of a window: 24 bytes each.
const WINDOW_IDS: usize = 1 << 16;

/// Ids of rows with names that match a filter, in order, without a gap.
pub(crate) struct IdWindow {
    filter: Option<Value>,
    /// Beginnings and ends of changes of the collection before it was made.
    changes: u64,
    /// What it begins with, whether or not that is there.
    first: PointId,
    ids: Vec<PointId>,
    /// Whether there are none behind it.
    is_last: bool,
}

impl OpenCollection {
    /// The points of some ids.
    pub(crate) fn retrieve(
        &self,
        request: &Retrieve,
        room: &AnswerRoom,
    ) -> Outcome<Vec<PointOutput>> {
        request.check()?;
        let (payload, vector) =
            parts_of(request.with_payload.as_ref(), request.with_vector.as_ref());
        let wish = OutputWish {
            payload: &payload,
            vector: &vector,
            room,
        };
        self.points(&request.ids, wish)
    }

    /// The point of an id.
    pub(crate) fn point(&self, id: PointId, room: &AnswerRoom) -> Outcome<PointOutput> {
        let wish = OutputWish {
            payload: &PayloadParts::All(true),
            vector: &VectorParts::All(true),
            room,
        };
        let found = self.points(&[id], wish)?.pop();
        let absent = || Failure::not_found(format_args!("Point with id {id} does not exists!"));
        found.ok_or_else(absent)
    }

    /// What is wanted of some points.
    pub(super) fn points(
        &self,
        ids: &[PointId],
        wish: OutputWish<'_>,
    ) -> Outcome<Vec<PointOutput>> {
        self.points_that(ids, wish, &|_| Ok(true))
    }

    /// The same of points that a filter let through, but for those that have changed since the
    /// counter of changes was read, and that it lets through no more.
    pub(super) fn points_of(
        &self,
        ids: &[PointId],
        (filter, changes): (Option<&Value>, u64),
        wish: OutputWish<'_>,
    ) -> Outcome<Vec<PointOutput>> {
        let filter = self.filter(filter)?;
        let matches = |point: &Point| point.matches(filter.as_ref());
        self.points_that(ids, wish, &|point| {
            Ok(self.rests_since(changes) || matches(point)?)
        })
    }

    /// The same of those that are to be shown as they are now.
    pub(super) fn points_that(
        &self,
        ids: &[PointId],
        wish: OutputWish<'_>,
        is_shown: &dyn Fn(&Point) -> Outcome<bool>,
    ) -> Outcome<Vec<PointOutput>> {
        let mut output = Vec::with_capacity(ids.len());
        wish.payload.check()?;
        let wants = self.wanted_vectors(wish.vector)?;
        self.visit_points(ids, &wants, &mut |points, documents| {
            wish.take_room(&points, documents)?;
            for point in points {
                if is_shown(&point)? {
                    output.push(PointOutput::new(&self.schema, point, wish));
                }
            }
            Ok(())
        })?;
        Ok(output)
    }

    /// Which vectors are wanted, by their numbers.
    pub(super) fn wanted_vectors<'w>(
        &'w self,
        vector: &'w VectorParts,
    ) -> Outcome<impl Fn(usize) -> bool + 'w> {
        let is_known = |name: &str| self.schema.is_dense(name).is_some();
        if let Some(unknown) = vector.names().iter().find(|name| !is_known(name)) {
            return Err(Failure::no_vector(unknown));
        }
        Ok(move |number: usize| {
            let field = self.schema.dense.get(number);
            field.is_some_and(|field| vector.wants(&field.name))
        })
    }

    /// Points in the order of their ids, or of a field.
    pub(crate) fn scroll(
        &self,
        request: &Scroll,
        (deadline, room): (Instant, &AnswerRoom),
    ) -> Outcome<ScrollOutput> {
        let limit = request.limit()?;
        let (payload, vector) =
            parts_of(request.with_payload.as_ref(), request.with_vector.as_ref());
        let wish = OutputWish {
            payload: &payload,
            vector: &vector,
            room,
        };
        if let Some(order) = &request.order_by {
            if request.offset.is_some() {
                return Err(Failure::wrong("`offset` and `order_by` do not go together"));
            }
            let asked = (&order.clone().into(), request.filter.as_ref());
            return Ok(ScrollOutput {
                points: self.ordered(asked, ((limit, 0), deadline), wish)?,
                next_page_offset: None,
            });
        }
        let changes = self.changes.load(Ordering::Acquire);
        let first = request.offset.unwrap_or(PointId::Number(0));
        let mut ids = self.next_ids(request.filter.as_ref(), (first, limit + 1), deadline)?;
        let next = ids.get(limit).copied();
        ids.truncate(limit);
        Ok(ScrollOutput {
            points: self.points_of(&ids, (request.filter.as_ref(), changes), wish)?,
            next_page_offset: next,
        })
    }

    /// The next ids of points that match, from one on.
    pub(super) fn next_ids(
        &self,
        filter: Option<&Value>,
        (first, count): (PointId, usize),
        deadline: Instant,
    ) -> Outcome<Vec<PointId>> {
        let compiled = self.filter(filter)?;
        let Some(index) = self.first().filter(|index| !index.is_empty()) else {
            return Ok(Vec::new());
        };
        let mut ids = Vec::new();
        if let PointId::Number(number) = first
            && number < FIRST_NAMED
        {
            let page = index.scroll(compiled.as_ref(), (number, count), RowParts::default())?;
            let numbers = page.rows.iter().filter(|row| row.id < FIRST_NAMED);
            ids.extend(numbers.map(|row| PointId::Number(row.id)));
            if ids.len() == count {
                return Ok(ids);
            }
        }
        let rest = count - ids.len();
        ids.extend(self.next_named((filter, compiled.as_ref()), (first, rest), deadline)?);
        Ok(ids)
    }

    fn next_named(
        &self,
        (json, filter): (Option<&Value>, Option<&Filter>),
        (first, count): (PointId, usize),
        deadline: Instant,
    ) -> Outcome<Vec<PointId>> {
        let mut window = self.window.lock().unwrap_or_else(PoisonError::into_inner);
        let changes = self.changes.load(Ordering::Acquire);
        if let Some(window) = &*window
            && window.changes == changes
            && window.filter.as_ref() == json
            && let Some(ids) = window.from(first, count)
        {
            return Ok(ids);
        }
        // Numbers as large as those of names come before UUIDs, and after all others.
        let mut best: BinaryHeap<PointId> = BinaryHeap::new();
        let mut is_last = true;
        let named = (FIRST_NAMED, RowParts::default(), Some(deadline));
        self.visit(filter, named, &mut |id, _| {
            if id >= first {
                best.push(id);
            }
            if best.len() > WINDOW_IDS.max(count) {
                best.pop();
                is_last = false;
            }
            Ok(())
        })?;
        let made = IdWindow {
            filter: json.cloned(),
            changes,
            first,
            ids: best.into_sorted_vec(),
            is_last,
        };
        let ids = made.from(first, count).unwrap_or_default();
        *window = Some(made);
        Ok(ids)
    }

    /// Shows every point that matches, in no order, with its document.
    pub(super) fn visit_documents(
        &self,
        filter: Option<&Value>,
        deadline: Instant,
        visit: &mut dyn FnMut(PointId, Option<&str>) -> Outcome<()>,
    ) -> Outcome<()> {
        let filter = self.filter(filter)?;
        let parts = RowParts {
            vectors: false,
            attributes: true,
        };
        self.visit(filter.as_ref(), (0, parts, Some(deadline)), visit)
    }
}

impl IdWindow {
    /// The next ids from one on; none where it does not know them.
    fn from(&self, first: PointId, count: usize) -> Option<Vec<PointId>> {
        if first < self.first {
            return None;
        }
        let at = self.ids.partition_point(|id| *id < first);
        let found = self.ids.iter().skip(at).take(count).copied();
        let found: Vec<PointId> = found.collect();
        (found.len() == count || self.is_last).then_some(found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_give_what_they_know() {
        let id = |number: u8| PointId::Uuid(pageway::Uuid([number; 16]));
        let window = |is_last| IdWindow {
            filter: None,
            changes: 0,
            first: id(3),
            ids: vec![id(3), id(5), id(9)],
            is_last,
        };
        assert_eq!(window(false).from(id(4), 2), Some(vec![id(5), id(9)]));
        assert_eq!(window(false).from(id(4), 3), None);
        assert_eq!(window(true).from(id(4), 3), Some(vec![id(5), id(9)]));
        assert_eq!(window(true).from(id(2), 1), None);
    }
}
