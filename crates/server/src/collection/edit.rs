//! Operations that change points, each from a request to what becomes of its points.

use std::collections::HashSet;
use std::time::Duration;

use pageway::server::clock;
use pageway::{Edit, FieldPath};

use super::change::Change;
use super::commit::last_of_each;
use super::open::{OpenCollection, WriteOrder};
use super::point::Point;
use super::schema::Schema;
use crate::failure::{Failure, Outcome};
use crate::wire::{
    BatchOperation, DeletePayload, DeleteVectors, PointId, PointInsert, PointsInsert, Selector,
    SetPayload, UpdateMode, UpdateVectors,
};

/// Points that are changed at once.
const AT_ONCE: usize = 256;
/// Ids of a condition: what the engine takes at most.
pub(super) const FILTER_IDS: usize = 10_000;

impl OpenCollection {
    /// Does an operation; gives its number, and the time until it was on the disk.
    pub(crate) fn change(&self, operation: BatchOperation) -> Outcome<(u64, Duration)> {
        let number = {
            let mut order = self.order();
            let number = self.next_operation(&mut order)?;
            self.change_in(&mut order, (number, operation))?;
            // Of a partition it is that of the last record, which reads may ask for.
            let shared = self.shared.get();
            shared.map_or(number, |replica| replica.sign().sequence)
        };
        let began = clock::now();
        self.sync()?;
        Ok((number, clock::now().saturating_duration_since(began)))
    }

    fn change_in(
        &self,
        order: &mut WriteOrder,
        (number, operation): (u64, BatchOperation),
    ) -> Outcome<()> {
        match operation {
            BatchOperation::Upsert(insert) => self.insert(order, (number, insert)),
            BatchOperation::Delete(selector) => self.delete(order, &selector),
            BatchOperation::SetPayload(set) => {
                let edit = set_edit(&set)?;
                self.edit(order, (number, &set.selector), &edit)
            }
            BatchOperation::OverwritePayload(set) => {
                // The whole payload, whatever the key: as Qdrant has it.
                set.key.as_deref().map(path).transpose()?;
                self.edit(
                    order,
                    (number, &set.selector),
                    &Edit::Overwrite(set.payload),
                )
            }
            BatchOperation::DeletePayload(delete) => {
                let edit = remove_edit(&delete)?;
                self.edit(order, (number, &delete.selector), &edit)
            }
            BatchOperation::ClearPayload(selector) => {
                self.edit(order, (number, &selector), &Edit::Clear)
            }
            BatchOperation::UpdateVectors(update) => self.update_vectors(order, (number, update)),
            BatchOperation::DeleteVectors(delete) => self.delete_vectors(order, (number, &delete)),
        }
    }

    fn insert(
        &self,
        order: &mut WriteOrder,
        (number, mut insert): (u64, PointsInsert),
    ) -> Outcome<()> {
        let given = insert.take_points()?.into_iter().enumerate();
        let point = |(at, one)| new_point(&self.schema, (at, one), number);
        let points: Outcome<Vec<Point>> = given.map(point).collect();
        let mut points = last_of_each(points?);
        let mode = insert.update_mode.unwrap_or_default();
        let filter = insert.update_filter.filter(|filter| !filter.is_null());
        if mode != UpdateMode::Upsert || filter.is_some() {
            let ids: Vec<PointId> = points.iter().map(|point| point.id).collect();
            let known = self.load(&ids, &|_| false)?;
            let known: HashSet<PointId> = known.iter().map(|point| point.id).collect();
            let matching = self.matching_of(&ids, filter.as_ref())?;
            points.retain(|point| match (mode, known.contains(&point.id)) {
                (UpdateMode::Upsert | UpdateMode::InsertOnly, false) => true,
                (UpdateMode::InsertOnly, true) | (UpdateMode::UpdateOnly, false) => false,
                (UpdateMode::Upsert | UpdateMode::UpdateOnly, true) => {
                    matching.as_ref().is_none_or(|own| own.contains(&point.id))
                }
            });
        }
        self.put(order, points)
    }

    /// Those of some ids whose points match; none where there is no filter.
    fn matching_of(
        &self,
        ids: &[PointId],
        filter: Option<&serde_json::Value>,
    ) -> Outcome<Option<HashSet<PointId>>> {
        let Some(filter) = filter else {
            return Ok(None);
        };
        let mut found = HashSet::new();
        for ids in ids.chunks(FILTER_IDS) {
            let among = serde_json::json!({"must": [filter, {"has_id": ids}]});
            found.extend(self.matching(self.filter(Some(&among))?.as_ref(), None)?);
        }
        Ok(Some(found))
    }

    fn delete(&self, order: &mut WriteOrder, selector: &Selector) -> Outcome<()> {
        let ids = self.selected(selector)?;
        for ids in ids.chunks(16 * AT_ONCE) {
            let changes: Vec<Change> = ids.iter().map(|id| Change::Delete(*id)).collect();
            self.commit(order, &changes)?;
        }
        Ok(())
    }

    /// Changes points as they are now, some at a time; 404 after those in which one is missing.
    fn rewrite(
        &self,
        order: &mut WriteOrder,
        (number, ids): (u64, &[PointId]),
        change: &mut dyn FnMut(&mut Point) -> Outcome<()>,
    ) -> Outcome<()> {
        for ids in ids.chunks(AT_ONCE) {
            let mut changed = Vec::with_capacity(ids.len());
            let mut missing: HashSet<PointId> = ids.iter().copied().collect();
            for before in self.load(ids, &|_| true)? {
                missing.remove(&before.id);
                let mut point = before.clone();
                change(&mut point)?;
                if point != before {
                    point.document.version = number;
                    changed.push(point);
                }
            }
            self.put(order, changed)?;
            check_missing(ids.iter().find(|id| missing.contains(id)))?;
        }
        Ok(())
    }

    fn edit(
        &self,
        order: &mut WriteOrder,
        (number, selector): (u64, &Selector),
        edit: &Edit,
    ) -> Outcome<()> {
        let ids = self.selected(selector)?;
        self.rewrite(order, (number, &ids), &mut |point| {
            edit.apply(&mut point.document.payload);
            Ok(())
        })
    }

    fn update_vectors(
        &self,
        order: &mut WriteOrder,
        (number, update): (u64, UpdateVectors),
    ) -> Outcome<()> {
        update.check()?;
        let ids: Vec<PointId> = update.points.iter().map(|point| point.id).collect();
        let known = self.load(&ids, &|_| true)?;
        let mut known: std::collections::HashMap<PointId, Point> =
            known.into_iter().map(|point| (point.id, point)).collect();
        let filter = update.update_filter.filter(|filter| !filter.is_null());
        let matching = self.matching_of(&ids, filter.as_ref())?;
        for (at, change) in update.points.into_iter().enumerate() {
            let Some(point) = known.get_mut(&change.id) else {
                continue;
            };
            if matching.as_ref().is_none_or(|own| own.contains(&change.id)) {
                point.set_vectors(&self.schema, change.vector, &format!("points[{at}]"))?;
                point.document.version = number;
            }
        }
        let missing = ids.iter().find(|id| !known.contains_key(id)).copied();
        let changed = known
            .into_values()
            .filter(|point| point.document.version == number);
        self.put(order, changed.collect())?;
        check_missing(missing.as_ref())
    }

    fn delete_vectors(
        &self,
        order: &mut WriteOrder,
        (number, delete): (u64, &DeleteVectors),
    ) -> Outcome<()> {
        let unknown = delete
            .vector
            .iter()
            .find(|name| self.schema.is_dense(name).is_none());
        if let Some(name) = unknown {
            return Err(Failure::no_vector(name));
        }
        let mut ids = self.selected(&delete.selector)?;
        if delete.selector.points.is_some() {
            // Those of both, where other operations pass over the filter.
            if let Some(filter) = self.filter(delete.selector.filter.as_ref())? {
                ids.extend(self.matching(Some(&filter), None)?);
                let mut known = HashSet::new();
                ids.retain(|id| known.insert(*id));
            }
        }
        self.rewrite(order, (number, &ids), &mut |point| {
            point.remove_vectors(&self.schema, &delete.vector);
            Ok(())
        })
    }
}

fn check_missing(id: Option<&PointId>) -> Outcome<()> {
    let missing = |id| Failure::not_found(format_args!("No point with id {id} found"));
    id.map_or(Ok(()), |id| Err(missing(id)))
}

fn new_point(schema: &Schema, (at, one): (usize, PointInsert), number: u64) -> Outcome<Point> {
    let place = format!("points[{at}]");
    let mut point = Point::new(schema, (one.id, one.vector), one.payload, &place)?;
    point.document.version = number;
    Ok(point)
}

/// Refuses points that no collection of a schema would take.
///
/// # Errors
/// What the collection would refuse them with.
pub(crate) fn check_insert(schema: &Schema, insert: &PointsInsert) -> Outcome<()> {
    for (at, one) in insert.clone().take_points()?.into_iter().enumerate() {
        new_point(schema, (at, one), 0)?.into_row(schema)?;
    }
    Ok(())
}

fn path(text: &str) -> Outcome<FieldPath> {
    FieldPath::parse(text).map_err(Failure::wrong)
}

fn set_edit(set: &SetPayload) -> Outcome<Edit> {
    Ok(Edit::Set {
        at: set.key.as_deref().map(path).transpose()?,
        fields: set.payload.clone(),
    })
}

fn remove_edit(delete: &DeletePayload) -> Outcome<Edit> {
    let paths: Outcome<Vec<FieldPath>> = delete.keys.iter().map(|key| path(key)).collect();
    Ok(Edit::Remove(paths?))
}
