//! Answers of a query in groups by the values of a field.

use std::collections::HashMap;

use pageway::FieldPath;
use pageway::server::visit_values;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::open::OpenCollection;
use super::output::{OutputWish, PointOutput};
use super::search::SearchSettings;
use crate::failure::{Failure, Outcome};
use crate::wire::{GroupQuery, PayloadParts, PointId, Query, VectorParts};

/// Points that are looked at at most.
const MOST: usize = 10_000;
/// Points of a first look, for each that is wanted; of each look after it, for those before.
const EACH: usize = 4;

/// Points with one value.
#[derive(Serialize, Debug)]
pub(crate) struct PointGroup {
    hits: Vec<PointOutput>,
    id: Value,
    /// The point of another collection whose id the value is.
    #[serde(skip_serializing_if = "Option::is_none")]
    lookup: Option<PointOutput>,
}

impl OpenCollection {
    /// The best points of each of the best groups. Looks at more points until there are enough.
    pub(crate) fn groups(
        &self,
        request: &GroupQuery,
        settings: SearchSettings<'_>,
    ) -> Outcome<Vec<PointGroup>> {
        let search = GroupSearch::new(request)?;
        let Some(vectors) = &search.vectors else {
            let groups = self.groups_of(search.clone(), settings)?;
            return Ok(search.shown(groups, Vec::new()));
        };
        let wish = OutputWish {
            payload: &PayloadParts::All(false),
            vector: vectors,
            room: settings.room,
        };
        let ask = |settings: SearchSettings<'_>| self.groups_of(search.clone(), settings);
        let ids = |groups: &Vec<PointGroup>| ids_of(groups);
        let (groups, points) = self.settled((&search.query, settings, wish), &ask, &ids)?;
        let points = points.into_values().flatten();
        let loaded = points.map(|point| PointOutput::new(&self.schema, point, wish));
        Ok(search.shown(groups, loaded.collect()))
    }

    fn groups_of(
        &self,
        mut search: GroupSearch,
        settings: SearchSettings<'_>,
    ) -> Outcome<Vec<PointGroup>> {
        let taken = settings.room.taken();
        loop {
            settings.room.return_to(taken);
            let points = self.query_range(&search.query, (search.look, 0), settings)?;
            if let Some(groups) = search.look_at(points) {
                return Ok(groups);
            }
        }
    }

    /// Puts the points of this collection whose ids are those of groups beside them.
    pub(crate) fn look_up(&self, groups: &mut [PointGroup], wish: OutputWish<'_>) -> Outcome<()> {
        let points = self.points(&values_of(groups), wish)?;
        set_lookups(groups, &points);
        Ok(())
    }
}

/// A query that is asked again for more points until there are enough groups.
#[derive(Clone)]
pub(crate) struct GroupSearch {
    /// What is asked, with whole payloads.
    pub(crate) query: Query,
    /// Points to ask for.
    pub(crate) look: usize,
    /// Vectors that are wanted of the points of groups.
    pub(crate) vectors: Option<VectorParts>,
    payload: PayloadParts,
    path: FieldPath,
    sizes: (usize, usize),
}

impl GroupSearch {
    /// The first look.
    pub(crate) fn new(request: &GroupQuery) -> Outcome<Self> {
        let (size, limit) = request.sizes()?;
        let path = FieldPath::parse(&request.grouping.group_by).map_err(Failure::wrong)?;
        let mut query = request.query.clone();
        let payload = query.with_payload.take();
        let payload = payload.unwrap_or(PayloadParts::All(false));
        payload.check()?;
        let vectors = query.with_vector.take().filter(VectorParts::is_wanted);
        query.with_payload = Some(PayloadParts::All(true));
        let look = (EACH * size * limit).clamp(100, MOST);
        query.prefetch_more(look);
        Ok(Self {
            query,
            look,
            vectors,
            payload,
            path,
            sizes: (size, limit),
        })
    }

    /// The groups of what was found; none where more points are to be looked at first.
    pub(crate) fn look_at(&mut self, points: Vec<PointOutput>) -> Option<Vec<PointGroup>> {
        let (size, limit) = self.sizes;
        let is_all = points.len() < self.look;
        let groups = grouped(points, &self.path, self.sizes);
        let full = groups
            .iter()
            .filter(|group| group.hits.len() == size)
            .count();
        if full == limit || is_all || self.look == MOST {
            return Some(groups);
        }
        self.look = (EACH * self.look).min(MOST);
        self.query.prefetch_more(self.look);
        None
    }

    /// What is wanted of groups; `loaded` are their points with vectors, and those without them
    /// are no more.
    pub(crate) fn shown(
        &self,
        mut groups: Vec<PointGroup>,
        loaded: Vec<PointOutput>,
    ) -> Vec<PointGroup> {
        let loaded = loaded.into_iter().map(|point| (point.id, point.vector));
        let loaded: HashMap<PointId, _> = loaded.collect();
        if self.vectors.is_some() {
            for group in &mut groups {
                group.hits.retain(|hit| loaded.contains_key(&hit.id));
            }
            groups.retain(|group| !group.hits.is_empty());
        }
        for hit in groups.iter_mut().flat_map(|group| &mut group.hits) {
            let payload = hit.payload.take().filter(|_| self.payload.is_wanted());
            hit.payload = payload.map(|payload| self.payload.of(payload));
            hit.vector = loaded.get(&hit.id).cloned().flatten();
        }
        groups
    }
}

/// The ids of the points of groups.
pub(crate) fn ids_of(groups: &[PointGroup]) -> Vec<PointId> {
    let hits = groups.iter().flat_map(|group| &group.hits);
    hits.map(|hit| hit.id).collect()
}

/// The values of groups that are ids.
pub(crate) fn values_of(groups: &[PointGroup]) -> Vec<PointId> {
    groups.iter().filter_map(PointGroup::value_id).collect()
}

/// Puts the points whose ids are the values of groups beside them.
pub(crate) fn set_lookups(groups: &mut [PointGroup], points: &[PointOutput]) {
    for group in groups {
        let own = group.value_id();
        let found = points.iter().find(|point| Some(point.id) == own);
        group.lookup = found.cloned();
    }
}

impl PointGroup {
    fn value_id(&self) -> Option<PointId> {
        PointId::deserialize(&self.id).ok()
    }
}

/// Puts points, best first, into groups: each into those of all its values.
fn grouped(
    points: Vec<PointOutput>,
    path: &FieldPath,
    (size, limit): (usize, usize),
) -> Vec<PointGroup> {
    let mut groups: Vec<PointGroup> = Vec::new();
    for point in points {
        let mut ids: Vec<Value> = Vec::new();
        if let Some(payload) = &point.payload {
            visit_values(payload, path, &mut |value| {
                let is_id = value.is_string() || value.is_i64() || value.is_u64();
                if is_id && !ids.contains(value) {
                    ids.push(value.clone());
                }
            });
        }
        for id in ids {
            let is_full = groups.len() == limit;
            match groups.iter_mut().find(|group| group.id == id) {
                Some(group) if group.hits.len() < size => group.hits.push(point.clone()),
                None if !is_full => groups.push(PointGroup {
                    hits: vec![point.clone()],
                    id,
                    lookup: None,
                }),
                Some(_) | None => {}
            }
        }
    }
    groups
}
