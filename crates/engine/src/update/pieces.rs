//! The rows of a call, cut into pieces: each is one record of the log.

use std::collections::VecDeque;

use pageway_attributes::Schema;
use pageway_store::MAX_RECORD_BYTES;

use super::options::Rows;
use super::record::HEAD_BYTES;
use super::state::Batch;
use crate::delta::{DOCUMENT_BYTES, ROW_BYTES, RowDocument, document_bytes};
use crate::error::{Error, MemoryLack, Result};
use crate::source::{TextRead, check_document, check_kinds};
use crate::update::record::Operation;

/// Bytes of a record, about; a long call makes several.
const RECORD_BYTES: usize = 256 << 10;
/// Rows whose attributes are read at a time.
const ROWS_AT_ONCE: usize = 16;

/// The rows of a call that are in no piece yet. Holds the attributes of one record, and of a few
/// rows more.
pub(super) struct Pieces<'r> {
    rows: &'r Rows<'r>,
    row_bytes: usize,
    /// Rows of a piece at most, and bytes of their attributes; a single row may have more.
    most: (usize, u64),
    /// The first row that is in no piece yet.
    next: usize,
    /// Rows of all pieces.
    pub(super) count: usize,
    /// Attributes of the rows that follow.
    ahead: VecDeque<RowDocument>,
}

impl<'r> Pieces<'r> {
    /// The pieces of `rows`, for a delta of `capacity` rows.
    pub(super) fn new(rows: &'r Rows<'r>, capacity: u32) -> Self {
        let row_bytes = rows.shape.row_bytes();
        Self {
            rows,
            row_bytes,
            most: most_of_record(row_bytes, capacity),
            next: 0,
            count: rows.rows.len() / row_bytes,
            ahead: VecDeque::new(),
        }
    }

    /// Whether all rows surely fit one piece.
    pub(super) fn are_one(&self) -> bool {
        self.count <= self.most.0 && self.rows.attributes.is_none()
    }

    /// Whether no rows are left.
    pub(super) fn is_done(&self) -> bool {
        self.next >= self.count
    }

    /// The next piece.
    ///
    /// # Errors
    /// As reading attributes is.
    pub(super) fn next(&mut self, operation: Operation) -> Result<Option<Batch>> {
        if self.is_done() {
            return Ok(None);
        }
        let (start, left) = (self.next, self.count - self.next);
        let documents = match self.rows.attributes {
            Some(attributes) => self.documents(attributes, left.min(self.most.0))?,
            None => Vec::new(),
        };
        let here = if documents.is_empty() {
            left.min(self.most.0)
        } else {
            documents.len()
        };
        self.next += here;
        let bytes = start * self.row_bytes..self.next * self.row_bytes;
        let vectors = self.rows.rows.get(bytes).unwrap_or_default().to_vec();
        let ids = self.rows.ids.and_then(|ids| ids.get(start..self.next));
        let place = (ids.unwrap_or_default().to_vec(), here as u32);
        let batch = Batch::new(operation, place, vectors);
        Ok(Some(batch.with_documents(documents)))
    }

    /// The attributes of the next rows, of `most` rows at most.
    fn documents(&mut self, attributes: &dyn TextRead, most: usize) -> Result<Vec<RowDocument>> {
        let mut documents: Vec<RowDocument> = Vec::new();
        let mut bytes = 0;
        while documents.len() < most {
            if self.ahead.is_empty() {
                let first = self.next + documents.len();
                let count = ROWS_AT_ONCE.min(self.count - first);
                attributes.visit(first as u64, count as u64, &mut |json| {
                    self.ahead.push_back(row_document(json)?);
                    Ok(())
                })?;
            }
            let Some(document) = self.ahead.front() else {
                return Err(Error::invalid(format!(
                    "{} ends early: it changed while it was read",
                    attributes.name()
                )));
            };
            bytes += document_bytes(std::slice::from_ref(document));
            if bytes > self.most.1 && !documents.is_empty() {
                break;
            }
            documents.extend(self.ahead.pop_front());
        }
        Ok(documents)
    }
}

/// Rows of a record at most, and bytes of their attributes; a single row may have more. An empty
/// delta has room for both.
pub(super) fn most_of_record(row_bytes: usize, capacity: u32) -> (usize, u64) {
    let rows = (RECORD_BYTES / (row_bytes + 8)).clamp(1, (capacity as usize / 2).max(1));
    let room = u64::from(capacity) / 2 * (row_bytes as u64 + ROW_BYTES);
    (rows, room.min(RECORD_BYTES as u64))
}

/// The attributes of a row as they are stored; `None` if the document is empty.
fn row_document(json: &[u8]) -> Result<RowDocument> {
    kept(&check_document(json)?)
}

/// A document as it is stored; `None` if it is empty.
pub(super) fn kept(document: &pageway_attributes::Document) -> Result<RowDocument> {
    if document.is_empty() {
        return Ok(None);
    }
    let json = serde_json::to_vec(document);
    let json = json.map_err(|error| Error::invalid(format!("a document: {error}")))?;
    Ok(Some(json.into()))
}

/// Refuses attributes that are not valid, or of another number of rows, before any row is put in.
/// Costs a pass over them.
///
/// # Errors
/// `InvalidInput` naming the row.
pub(super) fn check_attributes(
    attributes: &dyn TextRead,
    (count, row_bytes): (usize, usize),
    (capacity, schema): (u32, Option<&Schema>),
) -> Result<()> {
    if attributes.count() != count as u64 {
        return Err(Error::invalid(format!(
            "{}: attributes of {} rows for {count} rows: give a document for each",
            attributes.name(),
            attributes.count()
        )));
    }
    let mut row = attributes.first();
    attributes.visit(0, count as u64, &mut |json| {
        let place = format!("{}, row {row}", attributes.name());
        row += 1;
        let checked = check_document(json).and_then(|document| {
            check_kinds(&document, schema)?;
            check_size(&kept(&document)?, row_bytes, capacity)
        });
        checked.map_err(|error| error.within(&place))
    })
}

/// Refuses attributes that no record, or no delta, has room for.
///
/// # Errors
/// `InvalidInput`.
pub(super) fn check_size(document: &RowDocument, row_bytes: usize, capacity: u32) -> Result<()> {
    let length = document.as_ref().map_or(0, |json| json.len());
    let most = MAX_RECORD_BYTES.saturating_sub(HEAD_BYTES + 8 + row_bytes + 4);
    if length > most {
        return Err(Error::invalid(format!(
            "attributes of {length} bytes: {most} are possible beside a vector of {row_bytes} bytes"
        )));
    }
    match document {
        Some(_) => check_room(length, row_bytes, capacity),
        None => Ok(()),
    }
}

/// Refuses attributes of a length that no delta has room for.
///
/// # Errors
/// `InvalidInput`.
pub(super) fn check_room(length: usize, row_bytes: usize, capacity: u32) -> Result<()> {
    let room = u64::from(capacity.saturating_sub(1)) * (row_bytes as u64 + ROW_BYTES);
    let bytes = length as u64 + DOCUMENT_BYTES;
    if bytes > room {
        let words = format!(
            "attributes of {bytes} bytes: the memory for updates holds {room} bytes of such: open \
             the index with more memory for updates"
        );
        return Err(Error::lacking(MemoryLack::Rows, words));
    }
    Ok(())
}
