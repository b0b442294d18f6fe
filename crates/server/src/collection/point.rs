//! Points, out of the rows of indexes and back.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::atomic::Ordering;
use std::time::Duration;

use pageway::{Filter, Index, RowParts, StoredRow};
use serde_json::{Map, Value};

use super::change::PutRow;
use super::commit::bytes_of;
use super::document::{PointDocument, SparseVectors, check_length, check_payload};
use super::open::OpenCollection;
use super::schema::{DenseField, Schema};
use crate::failure::{Failure, Outcome};
use crate::wire::{PointId, VectorInput, VectorValue, absence, presence};

/// Points that are loaded at a time.
const AT_ONCE: usize = 16;
/// Times that those are read again whose rows are of several versions, and the pause before each.
const TRIES: u32 = 500;
const PAUSE: Duration = Duration::from_millis(1);

/// A point, as far as it was read.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Point {
    pub(crate) id: PointId,
    pub(crate) document: PointDocument,
    /// Of each dense vector of the schema.
    pub(crate) vectors: Vec<Option<Vec<f32>>>,
}

/// Which vectors are read, by their numbers.
pub(super) type VectorWish<'w> = &'w dyn Fn(usize) -> bool;

/// A point out of the rows of indexes.
struct LoadedPoint {
    point: Point,
    /// Bytes of its document.
    bytes: u64,
    /// Whether all of it is of one version, as far as that was looked at.
    is_one: bool,
}

impl LoadedPoint {
    /// Of a row of the first index.
    fn new(schema: &Schema, id: PointId, row: &StoredRow) -> Outcome<Self> {
        let document = PointDocument::decode(row.attributes.as_deref())?;
        let mut vectors = vec![None; schema.dense.len()];
        if let (Some(slot), Some(field)) = (vectors.first_mut(), schema.dense.first())
            && !row.vector.is_empty()
            && !document.marks.contains(&absence(&field.name))
        {
            *slot = Some(numbers_of(&row.vector));
        }
        Ok(Self {
            point: Point {
                id,
                document,
                vectors,
            },
            bytes: row.attributes.as_ref().map_or(0, String::len) as u64,
            is_one: true,
        })
    }

    /// Takes the vector of a row of another index, with its version where it was read.
    fn take(&mut self, (number, field): (usize, &DenseField), row: &StoredRow) -> Outcome<()> {
        let own = &self.point.document;
        // One that the point has no more, and the index still has.
        if own.marks.contains(&absence(&field.name)) {
            return Ok(());
        }
        if let Some(json) = row.attributes.as_deref() {
            self.is_one &= PointDocument::decode(Some(json))?.version == own.version;
        }
        if let Some(slot) = self.point.vectors.get_mut(number) {
            *slot = Some(numbers_of(&row.vector));
        }
        Ok(())
    }
}

impl Point {
    /// A new point.
    ///
    /// # Errors
    /// Names the place of what is wrong.
    pub(super) fn new(
        schema: &Schema,
        (id, vector): (PointId, VectorInput),
        payload: Option<Map<String, Value>>,
        place: &str,
    ) -> Outcome<Self> {
        let mut point = Self {
            id,
            document: PointDocument {
                payload: payload.unwrap_or_default(),
                ..PointDocument::default()
            },
            vectors: vec![None; schema.dense.len()],
        };
        check_payload(&point.document.payload, place)?;
        point.set_vectors(schema, vector, place)?;
        Ok(point)
    }

    /// Puts vectors in place of those of their names.
    pub(super) fn set_vectors(
        &mut self,
        schema: &Schema,
        vector: VectorInput,
        place: &str,
    ) -> Outcome<()> {
        let vectors = vector.into_named();
        for value in vectors.values() {
            if let VectorValue::Sparse(own) = value {
                own.check(&format!("{place}.vector.?"))?;
            }
        }
        for (name, value) in vectors {
            let path = format!("{place}.vector.{name}");
            match (schema.dense_at(&name), schema.is_dense(&name)) {
                (Some(at), _) => {
                    let field = schema
                        .dense
                        .get(at)
                        .ok_or_else(|| Failure::no_vector(&name))?;
                    let numbers = field.take(value, &path)?;
                    if let Some(slot) = self.vectors.get_mut(at) {
                        *slot = Some(numbers);
                    }
                }
                (None, Some(_)) => self.set_sparse(name, value, &path)?,
                (None, None) => return Err(Failure::no_vector(&name)),
            }
        }
        Ok(())
    }

    fn set_sparse(&mut self, name: String, value: VectorValue, path: &str) -> Outcome<()> {
        let VectorValue::Sparse(mut own) = value else {
            return Err(Failure::wrong(format_args!(
                "Conversion between regular and sparse vectors failed: {path}"
            )));
        };
        let pairs = own.indices.drain(..).zip(own.values.drain(..));
        let sorted: BTreeMap<u32, f32> = pairs.collect();
        own.indices = sorted.keys().copied().collect();
        own.values = sorted.into_values().collect();
        self.document.sparse.insert(name, own);
        Ok(())
    }

    /// Takes vectors away; names that it does not have are passed over.
    pub(super) fn remove_vectors(&mut self, schema: &Schema, names: &[String]) {
        for name in names {
            let slot = schema
                .dense_at(name)
                .and_then(|at| self.vectors.get_mut(at));
            if let Some(slot) = slot {
                *slot = None;
            }
            self.document.sparse.remove(name);
        }
    }

    /// The point as its rows keep it.
    pub(super) fn into_row(mut self, schema: &Schema) -> Outcome<PutRow> {
        let fields = schema.dense.iter().zip(&self.vectors);
        let absent = fields.filter(|(_, vector)| vector.is_none());
        let absent = absent.map(|(field, _)| absence(&field.name));
        let present = self.document.sparse.keys().map(|name| presence(name));
        self.document.marks = absent.chain(present).collect();
        check_payload(&self.document.payload, &format!("point {}", self.id))?;
        let document = self.document.encode()?;
        let longest = schema.longest_bytes();
        check_length(&document, longest, &format!("point {}", self.id))?;
        let bytes = |vector: &Option<Vec<f32>>| vector.as_deref().map(bytes_of);
        Ok(PutRow {
            id: self.id,
            document,
            vectors: self.vectors.iter().map(bytes).collect(),
        })
    }

    /// Whether a filter lets it through.
    pub(super) fn matches(&self, filter: Option<&Filter>) -> Outcome<bool> {
        let Some(filter) = filter else {
            return Ok(true);
        };
        let document = self.document.encode()?;
        Ok(filter.matches(self.id.number(), Some(&document)))
    }

    /// The sparse vectors.
    pub(super) fn sparse(&self) -> &SparseVectors {
        &self.document.sparse
    }
}

/// Ids as indexes know them.
struct SplitIds {
    numbers: Vec<u64>,
    names: Vec<String>,
}

impl SplitIds {
    fn new(ids: &[PointId]) -> Self {
        let mut own = Self {
            numbers: Vec::new(),
            names: Vec::new(),
        };
        for id in ids {
            match (id, id.name()) {
                (_, Some(name)) => own.names.push(name),
                (PointId::Number(number), None) => own.numbers.push(*number),
                (PointId::Uuid(_), None) => {}
            }
        }
        own
    }

    fn rows(&self, index: &Index, parts: RowParts) -> Outcome<Vec<StoredRow>> {
        let mut rows = Vec::new();
        if !self.numbers.is_empty() {
            rows.extend(index.rows(&self.numbers, parts)?);
        }
        if !self.names.is_empty() {
            rows.extend(index.rows_named(&self.names, parts)?);
        }
        Ok(rows)
    }
}

impl OpenCollection {
    /// The points of some ids, in their order, each once, with the vectors that are wanted. Those
    /// that are not there are left out.
    pub(super) fn load(&self, ids: &[PointId], wish: VectorWish<'_>) -> Outcome<Vec<Point>> {
        let mut points = Vec::with_capacity(ids.len());
        self.visit_points(ids, wish, &mut |loaded, _| {
            points.extend(loaded);
            Ok(())
        })?;
        Ok(points)
    }

    /// The same a few at a time, and the bytes of their documents.
    pub(super) fn visit_points(
        &self,
        ids: &[PointId],
        wish: VectorWish<'_>,
        visit: &mut dyn FnMut(Vec<Point>, u64) -> Outcome<()>,
    ) -> Outcome<()> {
        // An id that comes again stands for nothing.
        let mut known = HashSet::new();
        let ids: Vec<PointId> = ids.iter().copied().filter(|id| known.insert(*id)).collect();
        for some in ids.chunks(AT_ONCE) {
            let (points, bytes) = self.load_some(some, wish)?;
            visit(points, bytes)?;
        }
        Ok(())
    }

    /// Points, each as it was at one moment: all as they were while nothing changed or, where
    /// something did, those of which every index has the same version, and the others again.
    fn load_some(&self, ids: &[PointId], wish: VectorWish<'_>) -> Outcome<(Vec<Point>, u64)> {
        let has_several = (1..self.schema.dense.len()).any(wish);
        let changes = self.changes.load(Ordering::Acquire);
        let mut loaded = self.load_once(ids, (wish, false))?;
        if has_several && !self.rests_since(changes) {
            loaded.clear();
            let mut left = ids.to_vec();
            for _ in 0..TRIES {
                let again = self.load_once(&left, (wish, true))?;
                let is_one = |own: &LoadedPoint| own.is_one && self.is_whole(&own.point, wish);
                let (whole, torn): (Vec<_>, Vec<_>) = again.into_iter().partition(is_one);
                loaded.extend(whole);
                left = torn.iter().map(|own| own.point.id).collect();
                if left.is_empty() {
                    break;
                }
                std::thread::sleep(PAUSE);
            }
            // What a change stands still in the midst of is given as it is.
            loaded.extend(self.load_once(&left, (wish, false))?);
        }
        let bytes = loaded.iter().map(|own| own.bytes).sum();
        let loaded = loaded.into_iter().map(|own| (own.point.id, own.point));
        let mut found: HashMap<PointId, Point> = loaded.collect();
        let points = ids.iter().filter_map(|id| found.remove(id)).collect();
        Ok((points, bytes))
    }

    /// Whether nothing has changed since the counter of changes was read, nor did then.
    pub(super) fn rests_since(&self, changes: u64) -> bool {
        changes.is_multiple_of(2) && self.changes.load(Ordering::Acquire) == changes
    }

    /// Whether a point has the vectors that are wanted and that its document says it has.
    fn is_whole(&self, point: &Point, wish: VectorWish<'_>) -> bool {
        let fields = self.schema.dense.iter().zip(&point.vectors).enumerate();
        let mut wanted = fields.filter(|(number, _)| wish(*number));
        wanted.all(|(_, (field, vector))| {
            vector.is_some() || point.document.marks.contains(&absence(&field.name))
        })
    }

    /// Points out of rows as each index has them now; with the versions of all these rows, or only
    /// that of the first.
    fn load_once(
        &self,
        ids: &[PointId],
        (wish, has_versions): (VectorWish<'_>, bool),
    ) -> Outcome<Vec<LoadedPoint>> {
        let split = SplitIds::new(ids);
        let (Some(first), count) = (self.first(), self.schema.dense.len()) else {
            return Ok(Vec::new());
        };
        let parts = RowParts {
            vectors: count > 0 && wish(0),
            attributes: true,
        };
        let mut found: HashMap<PointId, LoadedPoint> = HashMap::new();
        for row in split.rows(first, parts)? {
            if let Some(id) = PointId::of_row(&row) {
                found.insert(id, LoadedPoint::new(&self.schema, id, &row)?);
            }
        }
        let parts = RowParts {
            vectors: true,
            attributes: has_versions,
        };
        let fields = self.schema.dense.iter().enumerate().skip(1);
        for own in fields.filter(|(number, _)| wish(*number)) {
            let Some(index) = self.index(own.0) else {
                continue;
            };
            for row in split.rows(index, parts)? {
                let id = PointId::of_row(&row);
                if let Some(point) = id.and_then(|id| found.get_mut(&id)) {
                    point.take(own, &row)?;
                }
            }
        }
        Ok(found.into_values().collect())
    }
}

/// Numbers of a row.
fn numbers_of(bytes: &[u8]) -> Vec<f32> {
    let (numbers, _) = bytes.as_chunks();
    numbers.iter().map(|own| f32::from_le_bytes(*own)).collect()
}
