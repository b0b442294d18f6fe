//! Answers of a query in groups by the values of a field.

use pageway::FieldPath;
use pageway::server::visit_values;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::open::OpenCollection;
use super::output::{OutputWish, PointOutput};
use super::search::SearchSettings;
use crate::failure::{Failure, Outcome};
use crate::wire::{GroupQuery, PayloadParts, PointId, VectorParts};

/// Points that are looked at at most.
const MOST: usize = 10_000;
/// Points of a first look, for each that is wanted.
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
        let (size, limit) = request.sizes()?;
        let path = FieldPath::parse(&request.group_by).map_err(Failure::wrong)?;
        let mut query = request.query.clone();
        let wanted = query
            .with_payload
            .take()
            .unwrap_or(PayloadParts::All(false));
        wanted.check()?;
        let vectors = query.with_vector.take();
        query.with_payload = Some(PayloadParts::All(true));
        let mut look = (EACH * size * limit).clamp(100, MOST);
        let taken = settings.room.taken();
        let groups = loop {
            settings.room.return_to(taken);
            query.prefetch_more(look);
            let points = self.query_range(&query, (look, 0), settings)?;
            let is_all = points.len() < look;
            let groups = grouped(points, &path, (size, limit));
            let full = groups
                .iter()
                .filter(|group| group.hits.len() == size)
                .count();
            if full == limit || is_all || look == MOST {
                break groups;
            }
            look = (4 * look).min(MOST);
        };
        let mut groups = groups;
        let ids = groups
            .iter()
            .flat_map(|group| group.hits.iter().map(|hit| hit.id));
        let ids: Vec<PointId> = ids.collect();
        let mut loaded = std::collections::HashMap::new();
        if let Some(vectors) = vectors.filter(VectorParts::is_wanted) {
            let wish = OutputWish {
                payload: &PayloadParts::All(false),
                vector: &vectors,
                room: settings.room,
            };
            for point in self.points(&ids, wish)? {
                loaded.insert(point.id, point.vector);
            }
        }
        for hit in groups.iter_mut().flat_map(|group| &mut group.hits) {
            let payload = hit.payload.take().filter(|_| wanted.is_wanted());
            hit.payload = payload.map(|payload| wanted.of(payload));
            hit.vector = loaded.get(&hit.id).cloned().flatten();
        }
        Ok(groups)
    }

    /// Puts the points of this collection whose ids are those of groups beside them.
    pub(crate) fn look_up(&self, groups: &mut [PointGroup], wish: OutputWish<'_>) -> Outcome<()> {
        let id_of = |group: &PointGroup| PointId::deserialize(&group.id).ok();
        let ids: Vec<PointId> = groups.iter().filter_map(id_of).collect();
        let points = self.points(&ids, wish)?;
        for group in groups {
            let own = id_of(group);
            let found = points.iter().find(|point| Some(point.id) == own);
            group.lookup = found.cloned();
        }
        Ok(())
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
