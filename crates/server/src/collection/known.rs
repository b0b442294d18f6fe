//! Answers of one version of each point, whatever changes meanwhile.
//!
//! What an answer shows of points is read after they were found. Where something has changed since,
//! the query is asked again, and finds those that were read as they were read; until it finds no
//! others that are to be shown.

use std::collections::HashMap;
use std::sync::atomic::Ordering;

use super::open::OpenCollection;
use super::output::OutputWish;
use super::point::{Point, VectorWish};
use super::search::{Hit, Nearest, SearchSettings};
use crate::failure::Outcome;
use crate::wire::{PointId, Query};

/// Times that a query is asked again; then those that were read are shown.
const TRIES: u32 = 4;

/// Points that were read; none of those that are not there, or do not match what is asked.
pub(super) type ReadPoints = HashMap<PointId, Option<Point>>;

/// Points that are found as they were read.
#[derive(Clone, Copy)]
pub(crate) struct KnownPoints<'k> {
    pub(super) points: &'k ReadPoints,
    /// Whether others are searched for too.
    pub(super) has_others: bool,
}

/// A query, how it is asked, and what it shows of points.
pub(super) type Shown<'s> = (&'s Query, SearchSettings<'s>, OutputWish<'s>);

impl OpenCollection {
    /// What a query finds, and the points that it shows, each as it was found.
    pub(super) fn settled<T>(
        &self,
        (query, settings, wish): Shown<'_>,
        ask: &dyn Fn(SearchSettings<'_>) -> Outcome<T>,
        shown: &dyn Fn(&T) -> Vec<PointId>,
    ) -> Outcome<(T, ReadPoints)> {
        let changes = self.changes.load(Ordering::Acquire);
        let known = || settings.known.map(|known| known.points.clone());
        let mut taken = settings.room.taken();
        let wants = self.wanted_vectors(wish.vector)?;
        let mut found = ask(settings)?;
        let (mut ids, mut points) = (shown(&found), known().unwrap_or_default());
        self.read(&ids, &wants, (wish, &mut points))?;
        if self.rests_since(changes) {
            return Ok((found, points));
        }
        let fields = &self.schema.dense;
        let is_used = |number: usize| fields.get(number).is_some_and(|own| query.uses(&own.name));
        let uses = |number: usize| wants(number) || is_used(number);
        let filter = self.filter(query.filter.as_ref())?;
        points = known().unwrap_or_default();
        for _ in 0..TRIES {
            settings.room.return_to(taken);
            self.read(&ids, &uses, (wish, &mut points))?;
            for own in points.values_mut() {
                if let Some(point) = own
                    && !point.matches(filter.as_ref())?
                {
                    *own = None;
                }
            }
            taken = settings.room.taken();
            let known = Some(KnownPoints {
                points: &points,
                has_others: true,
            });
            found = ask(SearchSettings { known, ..settings })?;
            ids = shown(&found);
            ids.retain(|id| !points.contains_key(id));
            if ids.is_empty() {
                break;
            }
        }
        Ok((found, points))
    }

    /// Reads those of some points that were not read yet, and takes room for them.
    pub(super) fn read(
        &self,
        ids: &[PointId],
        uses: VectorWish<'_>,
        (wish, points): (OutputWish<'_>, &mut ReadPoints),
    ) -> Outcome<()> {
        let ids = ids.iter().copied().filter(|id| !points.contains_key(id));
        let ids: Vec<PointId> = ids.collect();
        self.visit_points(&ids, uses, &mut |loaded, documents| {
            wish.take_room(&loaded, documents)?;
            points.extend(loaded.into_iter().map(|point| (point.id, Some(point))));
            Ok(())
        })?;
        for id in ids {
            points.entry(id).or_default();
        }
        Ok(())
    }

    /// Puts points that were read in place of what a search found of them; in the order of ids.
    pub(super) fn put_known(
        &self,
        hits: &mut Vec<Hit>,
        (search, points): (&Nearest<'_>, &ReadPoints),
    ) -> Outcome<()> {
        let filter = self.filter(search.filter)?;
        hits.retain(|hit| !points.contains_key(&hit.id));
        for point in points.values().flatten() {
            let vector = point.vectors.get(search.number).and_then(Option::as_ref);
            if let Some(vector) = vector
                && point.matches(filter.as_ref())?
            {
                hits.push(Hit {
                    id: point.id,
                    score: search.field.distance.score_of(search.vector, vector),
                    document: Some(point.document.clone()),
                });
            }
        }
        hits.sort_unstable_by_key(|hit| hit.id.number());
        Ok(())
    }
}
