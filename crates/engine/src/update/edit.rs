//! Changes that depend on what rows are: of their attributes, and deletes of rows that match.
//!
//! Rows are read before their batch has its turn in the order of changes. If one of them moved by
//! then, the batch does nothing, and the rows are read again. A row whose attributes change is put
//! in anew with its vector, as by an upsert, so log, recovery, flush and merge know one kind of
//! change.

use std::sync::Arc;

use pageway_attributes::{Document, Edit, Schema, put_row_name, split_row_name, take_row_name};
use pageway_store::Durability;

use super::common::Common;
use super::options::{Acknowledged, Which};
use super::pieces::{check_size, kept, most_of_record};
use super::put::{RECORD_IDS, Submitted, check_ids};
use super::record::Operation;
use super::state::{Batch, FoundPlaces, Place, State, find_in_segments};
use crate::delta::{Delta, DeltaView, RowDocument, document_bytes};
use crate::error::{Error, Result};
use crate::filter::Filter;
use crate::source::{IdRead, NamedRows, TextSlice, check_document, check_kinds};

/// Rows whose attributes are changed by one record at most.
const RECORD_ROWS: usize = 64;

/// A change of rows.
#[derive(Clone, Copy)]
pub(super) struct RowChange<'c> {
    /// The change of their attributes; `None` deletes the rows.
    pub(super) edit: Option<&'c Edit>,
    /// What rows must match when they change.
    pub(super) filter: Option<&'c Filter>,
    pub(super) durability: Durability,
}

/// Makes room for rows, and bytes of their attributes.
pub(super) type MakeRoom<'m> = dyn FnMut((usize, u64)) -> Result<()> + 'm;

/// Ids whose rows are changed next, and the names that those rows must have.
#[derive(Clone, Copy)]
struct ChosenKeys<'w> {
    ids: &'w [u64],
    names: Option<&'w [String]>,
}

impl<'w> ChosenKeys<'w> {
    fn first(self, most: usize) -> Self {
        let cut = most.min(self.ids.len());
        Self {
            ids: self.ids.get(..cut).unwrap_or_default(),
            names: self.names.and_then(|names| names.get(..cut)),
        }
    }

    fn behind(self, done: usize) -> Self {
        Self {
            ids: self.ids.get(done..).unwrap_or_default(),
            names: self.names.and_then(|names| names.get(done..)),
        }
    }

    /// The ids in order, each with the name that its row must have, if any.
    fn rows(self) -> impl Iterator<Item = (u64, Option<&'w str>)> {
        let name = move |at: usize| self.names.and_then(|names| names.get(at));
        let ids = self.ids.iter().enumerate();
        ids.map(move |(at, id)| (*id, name(at).map(String::as_str)))
    }
}

/// The rows of a batch while it is made.
#[derive(Default)]
struct Attempt {
    ids: Vec<u64>,
    places: Vec<Option<Place>>,
    vectors: Vec<u8>,
    documents: Vec<RowDocument>,
    /// Bytes of the documents.
    bytes: u64,
    /// Ids that were looked at.
    done: usize,
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
            Which::Ids(ids) => {
                check_ids(ids)?;
                let wanted = ChosenKeys { ids, names: None };
                self.change_rows(wanted, inner, (make_room, &mut sum))?;
            }
            Which::Names(names) => {
                self.change_named(names, inner, (make_room, &mut sum))?;
            }
            Which::Matching(filter) => {
                let inner = RowChange {
                    filter: Some(filter),
                    ..inner
                };
                self.index.visit_matching(filter, &mut |ids| {
                    let wanted = ChosenKeys { ids, names: None };
                    self.change_rows(wanted, inner, (make_room, &mut sum))
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

    fn change_named(
        &self,
        names: &[String],
        change: RowChange<'_>,
        rest: (&mut MakeRoom<'_>, &mut Acknowledged),
    ) -> Result<()> {
        let named = NamedRows {
            names: &TextSlice::names(names),
            attributes: None,
        };
        let mut ids = vec![0; names.len()];
        named.read(0, &mut ids)?;
        check_ids(&ids).map_err(|error| named.explain(error))?;
        let wanted = ChosenKeys {
            ids: &ids,
            names: Some(names),
        };
        let done = self.change_rows(wanted, change, rest);
        done.map_err(|error| named.explain(error))
    }

    fn change_rows(
        &self,
        mut wanted: ChosenKeys<'_>,
        change: RowChange<'_>,
        (make_room, sum): (&mut MakeRoom<'_>, &mut Acknowledged),
    ) -> Result<()> {
        while !wanted.ids.is_empty() {
            let tried = self.attempt(wanted, change);
            let tried = tried.map_err(|error| {
                let before = sum.replaced + sum.deleted;
                error.within(format!("the {before} rows before are changed"))
            })?;
            let Some((batch, done, absent)) = tried else {
                // A row is on its way into the delta.
                std::thread::yield_now();
                continue;
            };
            if let Some(batch) = batch {
                let size = batch.size();
                match self.submit(batch, change.durability, sum)? {
                    Submitted::Done => {}
                    Submitted::Moved(_) => continue,
                    Submitted::Full(_) => {
                        make_room(size)?;
                        continue;
                    }
                }
            }
            sum.absent += absent;
            wanted = wanted.behind(done);
        }
        Ok(())
    }

    /// Tries to make a batch that changes the first of some rows; `None` if a row cannot be read
    /// yet. Returns the batch, if it changes any row, the ids it is about, and how many of them no
    /// row has.
    fn attempt(
        &self,
        wanted: ChosenKeys<'_>,
        change: RowChange<'_>,
    ) -> Result<Option<(Option<Batch>, usize, u64)>> {
        let row_bytes = self.index.shape().row_bytes();
        let sizes = (row_bytes, self.commit.look(|state| state.capacity)?);
        let (most, most_bytes) = most_of_record(sizes.0, sizes.1);
        let wanted = wanted.first(change.edit.map_or(RECORD_IDS, |_| RECORD_ROWS.min(most)));
        let mut found = self.locate(wanted.ids)?;
        let rows = FoundRows::new(&found);
        let Some(documents) = rows.documents(wanted.ids)? else {
            return Ok(None);
        };
        let schema = rows.found.version.manifest.schema.as_ref();
        let mut attempt = Attempt::default();
        for (((id, name), place), json) in wanted.rows().zip(&found.places).zip(documents) {
            attempt.done += 1;
            let Some(place) = place.as_ref().filter(|_| has_name(json.as_deref(), name)) else {
                attempt.absent += 1;
                continue;
            };
            let matches = |filter: &Filter| filter.matches_row(id, json.as_deref());
            if !change.filter.is_none_or(matches) {
                continue;
            }
            if let Some(edit) = change.edit {
                let document = edited(json.as_deref(), edit, sizes, schema);
                let document = document.map_err(|error| error.within(format!("id {id}")))?;
                if json == document {
                    continue;
                }
                if !attempt.takes(document, most_bytes) {
                    break;
                }
                attempt.vectors.extend(rows.vector(place, row_bytes)?);
            }
            attempt.ids.push(id);
            attempt.places.push(Some(place.clone()));
        }
        let operation = change.edit.map_or(Operation::Delete, |_| Operation::Upsert);
        found.places = std::mem::take(&mut attempt.places);
        Ok(Some(attempt.batch(operation, found)))
    }

    /// The batch, so that each row replaces the one with its name; it does nothing if another row
    /// took the name meanwhile.
    ///
    /// # Errors
    /// `InvalidInput` where a row has the id of a name and not that name.
    pub(super) fn expecting_names(&self, batch: Batch) -> Result<Batch> {
        loop {
            let found = self.locate(&batch.ids)?;
            let Some(before) = FoundRows::new(&found).documents(&batch.ids)? else {
                std::thread::yield_now();
                continue;
            };
            let places = batch.ids.iter().zip(&found.places);
            for ((id, place), (old, new)) in places.zip(before.iter().zip(&batch.documents)) {
                let new = new.as_deref().and_then(name_of);
                if place.is_some() && old.as_deref().and_then(name_of) != new {
                    return Err(Error::invalid(format!(
                        "id {id}: a row has this id, and not this name: give it another name"
                    )));
                }
            }
            return Ok(batch.with_expected(found));
        }
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

impl Attempt {
    /// Takes the document of a row that changes, unless those of several rows are more than `most`
    /// bytes then.
    fn takes(&mut self, document: RowDocument, most: u64) -> bool {
        self.bytes += document_bytes(std::slice::from_ref(&document));
        if self.bytes > most && !self.ids.is_empty() {
            self.done -= 1;
            return false;
        }
        self.documents.push(document);
        true
    }

    /// The batch, if it changes any row, the ids it is about, and how many of them no row has.
    fn batch(self, operation: Operation, found: FoundPlaces) -> (Option<Batch>, usize, u64) {
        let (done, absent) = (self.done, self.absent);
        if self.ids.is_empty() {
            return (None, done, absent);
        }
        let count = self.ids.len() as u32;
        let batch = Batch::new(operation, (self.ids, count), self.vectors)
            .with_documents(self.documents)
            .with_expected(found);
        (Some(batch), done, absent)
    }
}

/// Attributes after a change, if a delta has room for them.
fn edited(
    json: Option<&[u8]>,
    edit: &Edit,
    (row_bytes, capacity): (usize, u32),
    schema: Option<&Schema>,
) -> Result<RowDocument> {
    let mut document = match json {
        Some(json) => check_document(json)?,
        None => Document::new(),
    };
    let name = take_row_name(&mut document);
    edit.apply(&mut document);
    check_kinds(&document, schema)?;
    if let Some(name) = name {
        put_row_name(&mut document, name);
    }
    let document = kept(&document)?;
    if let Some(json) = &document {
        check_document(json)?;
    }
    check_size(&document, row_bytes, capacity)?;
    Ok(document)
}

/// Whether a row with this document has the name asked for, if any.
fn has_name(json: Option<&[u8]>, name: Option<&str>) -> bool {
    name.is_none_or(|name| json.and_then(name_of).as_deref() == Some(name))
}

fn name_of(json: &[u8]) -> Option<String> {
    split_row_name(json).ok()?.0
}

/// Rows that were found and are to be read.
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

    /// The attributes of all rows; `None` if a row is not in its delta yet.
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
