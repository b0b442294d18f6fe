//! The state that changes go through, one batch after the other, in the order of the log.

use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::sync::Arc;

use pageway_attributes::is_name_id;
use pageway_store::{LogFloor, Lsn, Records, Sequence, StoreError};
use pageway_types::NodeId;

use super::record::{HEAD_BYTES, Operation, head, tail};
use crate::delta::{Delta, NewRows, RowDocument, RowLinks, document_bytes};
use crate::error::{Error, ErrorKind, Result};
use crate::index::Version;
use crate::segment::IdLookup;

/// A row that lives.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Place {
    /// A node of a segment, by the number of the segment in its version.
    Segment(usize, NodeId),
    /// A row of the last delta, or of the one before.
    Delta { frozen: bool, row: u32 },
}

/// Places of the ids of a batch in segments, looked up before its turn.
pub(super) struct Known {
    /// Number of the version that was searched.
    pub(super) version: u64,
    /// Segment and node of each id, where one has it.
    pub(super) places: Vec<Option<(usize, NodeId)>>,
}

/// Changes of one caller that make one record of the log.
pub(super) struct Batch {
    pub(super) operation: Operation,
    /// Empty if the index gives them.
    pub(super) ids: Vec<u64>,
    /// Number of rows.
    pub(super) count: u32,
    pub(super) rows: Vec<u8>,
    /// Attributes of each row; empty where none has any.
    pub(super) documents: Vec<RowDocument>,
    /// Places of the ids in segments, looked up before its turn.
    pub(super) known: Option<Known>,
    /// Neighbours of its rows in the segment, searched for before its turn.
    pub(super) links: Option<RowLinks>,
    /// Where the rows must be for the batch to do anything.
    pub(super) expected: Option<FoundPlaces>,
    effect: Effect,
}

/// Where living rows were at a moment.
pub(super) struct FoundPlaces {
    pub(super) version: Arc<Version>,
    /// The last delta, and the one before.
    pub(super) active: Arc<Delta>,
    pub(super) frozen: Option<Arc<Delta>>,
    /// The place of each id.
    pub(super) places: Vec<Option<Place>>,
}

/// What a batch does, as decided in its turn.
#[derive(Default)]
struct Effect {
    kills: Vec<Place>,
    refused: Option<Refusal>,
    absent: u64,
}

/// Why a batch does nothing.
pub(super) enum Refusal {
    /// There is no room for its rows before the delta is flushed.
    Full,
    /// A row is not where it was expected.
    Moved,
    /// Anything else.
    Because(Error),
}

/// What a batch did.
#[derive(Default)]
pub(super) struct Done {
    pub(super) rows: u64,
    pub(super) killed: u64,
    pub(super) absent: u64,
    pub(super) first_id: Option<u64>,
    pub(super) refused: Option<Refusal>,
    /// A batch that was refused.
    pub(super) back: Option<Box<Batch>>,
}

impl Batch {
    /// A batch before its turn.
    pub(super) fn new(operation: Operation, (ids, count): (Vec<u64>, u32), rows: Vec<u8>) -> Self {
        Self {
            operation,
            ids,
            count,
            rows,
            documents: Vec::new(),
            known: None,
            links: None,
            expected: None,
            effect: Effect::default(),
        }
    }

    /// The same with attributes of each row, if any has some.
    pub(super) fn with_documents(mut self, documents: Vec<RowDocument>) -> Self {
        if documents.iter().any(Option::is_some) {
            self.documents = documents;
        }
        self
    }

    /// The same, to be applied only if the rows are still where they were found.
    pub(super) fn with_expected(mut self, found: FoundPlaces) -> Self {
        self.expected = Some(found);
        self
    }

    /// Its rows, and the bytes of their attributes.
    pub(super) fn size(&self) -> (usize, u64) {
        (self.count as usize, document_bytes(&self.documents))
    }

    /// Bytes it holds.
    pub(super) fn bytes(&self) -> u64 {
        let rows = self.rows.len() + 40 * self.count as usize + HEAD_BYTES;
        let links = self.links.iter().flat_map(|links| &links.lists);
        let links: usize = links.map(|list| 24 + 4 * list.len()).sum();
        (rows + links) as u64 + document_bytes(&self.documents)
    }
}

/// The index as changes see it.
pub(super) struct State {
    pub(super) version: Arc<Version>,
    /// One for each segment of the version.
    pub(super) lookups: Vec<Arc<IdLookup>>,
    pub(super) active: Arc<Delta>,
    /// The delta that is closed and not flushed yet, with the last record in it.
    pub(super) frozen: Option<(Arc<Delta>, LogFloor)>,
    /// Living rows of both deltas, by id, including those of decided batches not published yet.
    delta_ids: HashMap<u64, (bool, u32)>,
    /// Rows of the open delta, including those of decided batches.
    pub(super) active_rows: u32,
    /// Bytes of their attributes.
    active_documents: u64,
    /// Rows that a delta may have; attributes count as the rows that take as many bytes.
    pub(super) capacity: u32,
    /// Nodes that decided batches, not published yet, will kill.
    dying: HashSet<(usize, u32)>,
    pub(super) next_id: u64,
    /// Why nothing may change any more.
    pub(super) failed: Option<String>,
}

impl State {
    /// Without a change so far.
    pub(super) fn new(
        version: Arc<Version>,
        lookups: Vec<Arc<IdLookup>>,
        (active, capacity, next_id): (Arc<Delta>, u32, u64),
    ) -> Self {
        Self {
            version,
            lookups,
            active,
            frozen: None,
            delta_ids: HashMap::new(),
            active_rows: 0,
            active_documents: 0,
            capacity,
            dying: HashSet::new(),
            next_id,
            failed: None,
        }
    }

    /// Closes the last delta, whose rows end with record `floor`, and opens another.
    pub(super) fn freeze(&mut self, floor: LogFloor) {
        let next = Arc::new(self.active.following());
        let frozen = std::mem::replace(&mut self.active, Arc::clone(&next));
        frozen.close(next);
        self.delta_ids.values_mut().for_each(|place| place.0 = true);
        self.frozen = Some((frozen, floor));
        (self.active_rows, self.active_documents) = (0, 0);
    }

    /// Whether the last delta has room for so many rows more, and bytes of their attributes.
    pub(super) fn has_room(&self, (rows, documents): (usize, u64)) -> bool {
        let each = self.active.form().bytes();
        let documents = (self.active_documents + documents).div_ceil(each);
        u64::from(self.active_rows) + rows as u64 + documents <= self.capacity.into()
    }

    /// Where the living rows of some ids are; `known` are their places in segments.
    pub(super) fn found(&self, ids: &[u64], known: &[Option<(usize, NodeId)>]) -> FoundPlaces {
        let places = ids.iter().zip(known);
        FoundPlaces {
            version: Arc::clone(&self.version),
            active: Arc::clone(&self.active),
            frozen: self.frozen.as_ref().map(|(delta, _)| Arc::clone(delta)),
            places: places.map(|(id, known)| self.living(*id, *known)).collect(),
        }
    }

    /// The deltas; the closed one comes first.
    pub(super) fn deltas(&self) -> Vec<Arc<Delta>> {
        let frozen = self.frozen.iter().map(|(delta, _)| delta);
        frozen.chain([&self.active]).cloned().collect()
    }

    /// Turns to a version; if `flushed`, its segments hold the rows of the frozen delta.
    pub(super) fn turn_to(
        &mut self,
        (version, lookups): (Arc<Version>, Vec<Arc<IdLookup>>),
        flushed: bool,
    ) {
        self.version = version;
        self.lookups = lookups;
        if flushed {
            self.frozen = None;
            self.delta_ids.retain(|_, (frozen, _)| !*frozen);
        }
    }

    /// Where the living row of an id is.
    fn find(&self, id: u64) -> Result<Option<Place>> {
        if self.delta_ids.contains_key(&id) {
            return Ok(self.living(id, None));
        }
        let found = find_in_segments(&self.version, &self.lookups, id)?;
        Ok(self.living(id, found))
    }

    /// The same, if the node of the segments with this id is known.
    fn living(&self, id: u64, found: Option<(usize, NodeId)>) -> Option<Place> {
        if let Some(&(frozen, row)) = self.delta_ids.get(&id) {
            return Some(Place::Delta { frozen, row });
        }
        let (segment, node) = found.filter(|place| is_living(&self.version, *place))?;
        let is_dying = self.dying.contains(&(segment, node.0));
        (!is_dying).then_some(Place::Segment(segment, node))
    }

    /// Whether a row lives that has this id.
    pub(super) fn is_live(&self, id: u64) -> Result<bool> {
        Ok(self.find(id)?.is_some())
    }

    /// Ids for `count` rows that come without.
    ///
    /// # Errors
    /// `InvalidInput` where there are not so many left below those of names.
    pub(super) fn given_ids(&self, count: u64) -> Result<Range<u64>> {
        let end = self.next_id.saturating_add(count);
        if is_name_id(end.saturating_sub(1)) {
            return Err(Error::invalid(format!(
                "{count} rows without ids: those that are given go from {} to 2^63 - 1: give ids \
                 or names",
                self.next_id
            )));
        }
        Ok(self.next_id..end)
    }

    /// Decides what a batch does, and notes it for the batches that follow. A refused batch changes
    /// nothing.
    fn decide(&mut self, batch: &mut Batch) -> std::result::Result<(), Refusal> {
        if let Some(why) = &self.failed {
            return Err(Refusal::Because(Error::new(
                ErrorKind::ReadOnly,
                why.clone(),
            )));
        }
        let puts = batch.operation.puts();
        if puts && !self.has_room(batch.size()) {
            return Err(Refusal::Full);
        }
        if puts && batch.ids.is_empty() {
            let ids = self.given_ids(batch.count.into());
            batch.ids = ids.map_err(Refusal::Because)?.collect();
            batch.known = Some(Known {
                version: self.version.number,
                places: vec![None; batch.ids.len()],
            });
        }
        let known = batch.known.take();
        let known = known.filter(|known| known.version == self.version.number);
        let mut places = Vec::with_capacity(batch.ids.len());
        for (at, id) in batch.ids.iter().enumerate() {
            let place = match known.as_ref().and_then(|known| known.places.get(at)) {
                Some(known) => Ok(self.living(*id, *known)),
                None => self.find(*id),
            };
            let place = place.map_err(Refusal::Because)?;
            if batch.operation == Operation::Insert && place.is_some() {
                return Err(Refusal::Because(exists(*id)));
            }
            places.push(place);
        }
        if let Some(expected) = &batch.expected {
            let same = expected.version.number == self.version.number
                && Arc::ptr_eq(&expected.active, &self.active);
            if !same || expected.places != places {
                return Err(Refusal::Moved);
            }
        }
        batch.effect.absent = places.iter().filter(|place| place.is_none()).count() as u64;
        batch.effect.kills = places.into_iter().flatten().collect();
        Ok(())
    }

    /// Notes what a decided batch does, for batches that are decided before it is published.
    fn note(&mut self, batch: &Batch) {
        for kill in &batch.effect.kills {
            if let Place::Segment(segment, node) = kill {
                self.dying.insert((*segment, node.0));
            }
        }
        if batch.operation.puts() {
            for (row, id) in (self.active_rows..).zip(&batch.ids) {
                self.delta_ids.insert(*id, (false, row));
                if !is_name_id(*id) {
                    self.next_id = self.next_id.max(id.saturating_add(1));
                }
            }
            self.active_rows += batch.count;
            self.active_documents += document_bytes(&batch.documents);
        } else {
            batch.ids.iter().for_each(|id| {
                self.delta_ids.remove(id);
            });
        }
    }

    /// Makes a decided batch visible: first its rows, then the deaths of those they replace.
    fn apply(&mut self, batch: &Batch) -> Done {
        let active = Arc::clone(&self.active);
        let _changing = active.changing();
        if batch.operation.puts() {
            let own = batch.effect.kills.iter().filter_map(|kill| match kill {
                Place::Delta { frozen: false, row } => Some(*row),
                Place::Delta { frozen: true, .. } | Place::Segment(..) => None,
            });
            let rows = NewRows {
                ids: &batch.ids,
                vectors: &batch.rows,
                documents: &batch.documents,
            };
            let links = batch.links.as_ref();
            if let Some(links) =
                links.filter(|links| links.numbering.number == self.version.numbering().number)
            {
                self.active.link(links);
            }
            self.active.replace(own, rows);
        }
        for kill in &batch.effect.kills {
            match kill {
                Place::Segment(segment, node) => {
                    let segment = self.version.segments.get(*segment);
                    let dead = segment.and_then(|segment| segment.dead.as_deref());
                    dead.map(|dead| dead.insert(*node));
                }
                Place::Delta { frozen: true, row } => {
                    self.frozen.as_ref().map(|(delta, _)| delta.kill(*row));
                }
                Place::Delta { frozen: false, row } => {
                    self.active.kill(*row);
                }
            }
        }
        self.dying.clear();
        Done {
            rows: if batch.operation.puts() {
                batch.count.into()
            } else {
                0
            },
            killed: batch.effect.kills.len() as u64,
            absent: batch.effect.absent,
            first_id: batch.ids.first().copied(),
            refused: None,
            back: None,
        }
    }

    /// Applies a record of the log again, the one after `last`. Closes the delta if it is full, so
    /// that a flush has no more rows than a delta may have; there are at most two deltas, and the
    /// second takes all that is left.
    ///
    /// # Errors
    /// `Io` or `Corrupt` as tables of ids are.
    pub(super) fn replay(&mut self, batch: &mut Batch, last: Lsn) -> Result<()> {
        let is_full = batch.operation.puts() && !self.has_room(batch.size());
        if is_full && self.frozen.is_none() && self.active_rows > 0 {
            self.freeze(last.into());
        }
        let capacity = std::mem::replace(&mut self.capacity, u32::MAX);
        let decided = self.decide(batch);
        self.capacity = capacity;
        match decided {
            Ok(()) => {}
            Err(Refusal::Because(error)) => return Err(error),
            Err(Refusal::Full | Refusal::Moved) => {
                return Err(Error::invalid("more rows than an index can have"));
            }
        }
        self.note(batch);
        self.apply(batch);
        Ok(())
    }
}

impl Sequence for State {
    type Batch = Batch;
    type Outcome = Done;

    fn resolve(
        &mut self,
        batch: &mut Batch,
        records: &mut Records<'_>,
    ) -> std::result::Result<(), StoreError> {
        if let Err(refused) = self.decide(batch) {
            batch.effect.refused = Some(refused);
            return Ok(());
        }
        if !batch.operation.puts() && batch.effect.kills.is_empty() {
            return Ok(());
        }
        let head = head(batch.operation, &batch.ids, !batch.documents.is_empty());
        let tail = tail(&batch.documents);
        records.reserve(1, (head.len() + batch.rows.len() + tail.len()) as u64)?;
        records.push_parts(&[&head, &batch.rows, &tail])?;
        self.note(batch);
        Ok(())
    }

    fn publish(&mut self, mut batch: Batch, _last: Lsn) -> Done {
        match batch.effect.refused.take() {
            Some(refused) => Done {
                refused: Some(refused),
                back: Some(Box::new(batch)),
                ..Done::default()
            },
            None => self.apply(&batch),
        }
    }

    fn abandon(&mut self, _batch: Batch) {}
}

/// Whether a node of a version has not died.
fn is_living(version: &Version, (segment, node): (usize, NodeId)) -> bool {
    let segment = version.segments.get(segment);
    let dead = segment.and_then(|segment| segment.dead.as_deref());
    !dead.is_some_and(|dead| dead.contains(node))
}

/// Where the living row of an id is in the segments of a version. Costs a read for each segment
/// that may have it.
pub(super) fn find_in_segments(
    version: &Version,
    lookups: &[Arc<IdLookup>],
    id: u64,
) -> Result<Option<(usize, NodeId)>> {
    for (number, lookup) in lookups.iter().enumerate().rev() {
        if let Some(node) = lookup.find(id)?
            && is_living(version, (number, node))
        {
            return Ok(Some((number, node)));
        }
    }
    Ok(None)
}

pub(super) fn exists(id: u64) -> Error {
    Error::invalid(format!(
        "id {id}: a row has it already; upsert replaces it, or delete it first"
    ))
}
