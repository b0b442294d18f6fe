//! Changes that depend on what rows are: of their attributes, and deletes of rows that match.
//!
//! Rows are read where they are, outside of the order that all changes share, and a batch does
//! nothing where one of them is elsewhere when its turn comes: then they are read again. A row
//! whose attributes change is put in anew with its vector, as an upsert does, so that log,
//! recovery, flush and merge know one way in which rows change.

use std::sync::Arc;

use pageway_attributes::{Document, Edit};
use pageway_store::Durability;

use super::common::Common;
use super::options::{Acknowledged, Which};
use super::pieces::{check_size, kept};
use super::put::{RECORD_IDS, Submitted};
use super::record::Operation;
use super::state::{Batch, FoundPlaces, Place, State, find_in_segments};
use crate::delta::{Delta, DeltaView, RowDocument};
use crate::error::{Error, Result};
use crate::filter::Filter;
use crate::source::check_document;

/// Rows whose attributes are changed by one record at most.
const RECORD_ROWS: usize = 64;
/// Bytes of a record beyond which no further row is put into it.
const RECORD_BYTES: usize = 256 << 10;

/// What is done with rows.
#[derive(Clone, Copy)]
pub(super) struct RowChange<'c> {
    /// The change of their attributes; they are deleted where absent.
    pub(super) edit: Option<&'c Edit>,
    /// What they must match at that time.
    pub(super) filter: Option<&'c Filter>,
    pub(super) durability: Durability,
}

/// What makes room for rows, and bytes of their attributes.
pub(super) type MakeRoom<'m> = dyn FnMut((usize, u64)) -> Result<()> + 'm;

/// A batch that is to be tried, and how many of the ids it is about.
struct Attempt {
    batch: Option<Batch>,
    ids: usize,
    absent: u64,
}

impl Common {
    /// Changes rows, or deletes them.
    pub(super) fn change(
        &self,
        which: Which<'_>,
        change: RowChange<'_>,
        make_room: &mut MakeRoom<'_>,
    ) -> Result<Acknowledged> {
        let mut sum = Acknowledged::default();
        let inner = RowChange {
            durability: if change.durability == Durability::Synced {
                Durability::Deferred
            } else {
                change.durability
            },
            ..change
        };
        match which {
            Which::Ids(ids) => self.change_ids(ids, inner, (make_room, &mut sum))?,
            Which::Matching(filter) => {
                let inner = RowChange {
                    filter: Some(filter),
                    ..inner
                };
                self.index.visit_matching(filter, &mut |ids| {
                    self.change_ids(ids, inner, (make_room, &mut sum))
                })?;
                sum.absent = 0;
            }
        }
        if change.durability == Durability::Synced {
            sum.lsn = self.commit.sync()?.0;
            sum.durable = true;
        }
        if change.edit.is_some() {
            sum.changed = std::mem::take(&mut sum.replaced);
        }
        Ok(sum)
    }

    fn change_ids(
        &self,
        mut ids: &[u64],
        change: RowChange<'_>,
        (make_room, sum): (&mut MakeRoom<'_>, &mut Acknowledged),
    ) -> Result<()> {
        let most = if change.edit.is_some() {
            RECORD_ROWS
        } else {
            RECORD_IDS
        };
        while !ids.is_empty() {
            let now = ids.get(..most.min(ids.len())).unwrap_or(ids);
            let tried = self.attempt(now, change);
            let tried = tried.map_err(|error| {
                let before = sum.replaced + sum.deleted;
                error.within(format!("the {before} rows before are changed"))
            })?;
            let Some(Attempt {
                batch,
                ids: done,
                absent,
            }) = tried
            else {
                // A row is on its way into the delta.
                std::thread::yield_now();
                continue;
            };
            if let Some(batch) = batch {
                let size = batch.size();
                match self.submit(batch, change.durability, sum)? {
                    Submitted::Done => {}
                    Submitted::Moved => continue,
                    Submitted::Full(_) => {
                        make_room(size)?;
                        continue;
                    }
                }
            }
            sum.absent += absent;
            ids = ids.get(done..).unwrap_or_default();
        }
        Ok(())
    }

    /// The batch that changes the first of some rows as they are now; none where one cannot be read
    /// yet.
    fn attempt(&self, ids: &[u64], change: RowChange<'_>) -> Result<Option<Attempt>> {
        let mut found = self.locate(ids)?;
        let rows = FoundRows::new(&found);
        let Some(documents) = rows.documents(ids)? else {
            return Ok(None);
        };
        let capacity = self.commit.look(|state| state.capacity)?;
        let row_bytes = self.index.shape().row_bytes();
        let (mut vectors, mut bytes) = (Vec::new(), 0);
        let (mut own, mut kept_documents, mut places) = (Vec::new(), Vec::new(), Vec::new());
        let (mut done, mut absent) = (0, 0);
        for ((id, place), json) in ids.iter().zip(&found.places).zip(documents) {
            if bytes > RECORD_BYTES {
                break;
            }
            done += 1;
            let Some(place) = place else {
                absent += 1;
                continue;
            };
            if change
                .filter
                .is_some_and(|filter| !filter.matches_row(*id, json.as_deref()))
            {
                continue;
            }
            if let Some(edit) = change.edit {
                let document = edited(json.as_deref(), edit);
                let sized = document.and_then(|document| {
                    check_size(&document, row_bytes, capacity)?;
                    Ok(document)
                });
                let document = sized.map_err(|error| error.within(format!("id {id}")))?;
                bytes += row_bytes + document.as_ref().map_or(0, |json| json.len());
                // A record that is nearly full has no room for a long one.
                if bytes > 2 * RECORD_BYTES && !own.is_empty() {
                    done -= 1;
                    break;
                }
                if json == document {
                    continue;
                }
                kept_documents.push(document);
                vectors.extend(rows.vector(place, row_bytes)?);
            }
            own.push(*id);
            places.push(Some(place.clone()));
        }
        if own.is_empty() {
            return Ok(Some(Attempt {
                batch: None,
                ids: done,
                absent,
            }));
        }
        found.places = places;
        let operation = if change.edit.is_some() {
            Operation::Upsert
        } else {
            Operation::Delete
        };
        let count = own.len() as u32;
        let batch = Batch::new(operation, (own, count), vectors);
        Ok(Some(Attempt {
            batch: Some(batch.with_documents(kept_documents).with_expected(found)),
            ids: done,
            absent,
        }))
    }

    /// Where the living rows of some ids are.
    fn locate(&self, ids: &[u64]) -> Result<FoundPlaces> {
        loop {
            let current = |state: &mut State| (Arc::clone(&state.version), state.lookups.clone());
            let (version, lookups) = self.commit.look(current)?;
            let find = |id: &u64| find_in_segments(&version, &lookups, *id);
            let known: Vec<_> = ids.iter().map(find).collect::<Result<_>>()?;
            let found = |state: &mut State| {
                let same = state.version.number == version.number;
                same.then(|| state.found(ids, &known))
            };
            if let Some(found) = self.commit.look(found)? {
                return Ok(found);
            }
        }
    }
}

/// Attributes after a change.
fn edited(json: Option<&[u8]>, edit: &Edit) -> Result<RowDocument> {
    let mut document = match json {
        Some(json) => check_document(json)?,
        None => Document::new(),
    };
    edit.apply(&mut document);
    let document = kept(&document)?;
    if let Some(json) = &document {
        check_document(json)?;
    }
    Ok(document)
}

/// Rows that were found, to be read.
struct FoundRows<'f> {
    found: &'f FoundPlaces,
    active: DeltaView,
    frozen: Option<DeltaView>,
}

impl<'f> FoundRows<'f> {
    fn new(found: &'f FoundPlaces) -> Self {
        Self {
            found,
            active: found.active.view(),
            frozen: found.frozen.as_deref().map(Delta::view),
        }
    }

    /// The view and the number of a row of a delta.
    fn row(&self, place: &Place) -> Option<(&DeltaView, u32)> {
        match place {
            Place::Delta { frozen: true, row } => Some((self.frozen.as_ref()?, *row)),
            Place::Delta { frozen: false, row } => Some((&self.active, *row)),
            Place::Segment(..) => None,
        }
    }

    /// The attributes of all rows; none where a row has not come to its delta yet.
    fn documents(&self, ids: &[u64]) -> Result<Option<Vec<RowDocument>>> {
        let mut documents = vec![None; ids.len()];
        let mut nodes = Vec::new();
        for (at, place) in self.found.places.iter().enumerate() {
            match place {
                None => {}
                Some(Place::Segment(segment, node)) => nodes.push((*segment, node.0, at)),
                Some(place) => {
                    let Some((view, row)) = self.row(place) else {
                        return Ok(None);
                    };
                    if row >= view.len() {
                        return Ok(None);
                    }
                    if let Some(slot) = documents.get_mut(at) {
                        *slot = view.document(row).map(Arc::from);
                    }
                }
            }
        }
        nodes.sort_unstable();
        for own in nodes.chunk_by(|one, next| one.0 == next.0) {
            let segment = own.first().map_or(0, |one| one.0);
            let segment = self.found.version.segments.get(segment);
            let Some(attributes) = segment.and_then(|segment| segment.attributes.as_ref()) else {
                continue;
            };
            let mut places = own.iter();
            let order = own.iter().map(|(_, node, _)| *node);
            attributes.documents().visit(order, &mut |_, json| {
                let slot = places.next().and_then(|(_, _, at)| documents.get_mut(*at));
                if let Some(slot) = slot {
                    *slot = kept(&check_document(json)?)?;
                }
                Ok::<_, Error>(())
            })?;
        }
        Ok(Some(documents))
    }

    fn vector(&self, place: &Place, row_bytes: usize) -> Result<Vec<u8>> {
        if let Place::Segment(segment, node) = place {
            let mut vector = vec![0; row_bytes];
            let segment = self.found.version.segments.get(*segment);
            let read = segment.map(|segment| segment.read_vectors(node.0.into(), &mut vector));
            read.unwrap_or_else(|| Err(gone()))?;
            return Ok(vector);
        }
        let row = self.row(place).and_then(|(view, row)| view.vector(row));
        Ok(row.ok_or_else(gone)?.to_vec())
    }
}

fn gone() -> Error {
    Error::new(
        crate::error::ErrorKind::Internal,
        "a row that was found is gone",
    )
}
