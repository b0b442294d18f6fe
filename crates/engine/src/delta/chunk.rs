//! Some rows of a delta that follow each other.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use pageway_types::Place;

use super::RowForm;
use super::rounded::{RoundedQuery, RoundedRows, Rounding};

/// Rows that a chunk is not merged beyond: what is copied for a row is a few times itself.
const CHUNK_ROWS: usize = 4096;

/// The attributes of a row as JSON, if it has any.
pub(crate) type RowDocument = Option<Arc<[u8]>>;

/// Rows that come together.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NewRows<'r> {
    pub(crate) ids: &'r [u64],
    /// Their vectors, one after the other.
    pub(crate) vectors: &'r [u8],
    /// Their attributes; empty where none has any.
    pub(crate) documents: &'r [RowDocument],
}

/// Rows, and what is known of each. Only deaths change.
#[derive(Debug)]
pub(super) struct Chunk {
    first: u32,
    ids: Vec<u64>,
    rows: Vec<u8>,
    /// The same rows rounded, where the delta rounds.
    rounded: Option<RoundedRows>,
    documents: Vec<RowDocument>,
    /// The moment at which the row died; 0 while it lives.
    deaths: Vec<AtomicU64>,
}

impl Chunk {
    /// A chunk whose first row has the number `first`.
    pub(super) fn new(first: u32, rows: NewRows<'_>, rounding: Option<Rounding>) -> Self {
        let NewRows {
            ids,
            vectors,
            documents,
        } = rows;
        let mut documents = documents.to_vec();
        documents.resize(ids.len(), None);
        Self {
            first,
            ids: ids.to_vec(),
            rows: vectors.to_vec(),
            rounded: rounding.map(|rounding| rounding.round(vectors)),
            documents,
            deaths: ids.iter().map(|_| AtomicU64::new(0)).collect(),
        }
    }

    /// Number of the row behind the last.
    pub(super) fn end(&self) -> u32 {
        self.first + self.ids.len() as u32
    }

    /// Whether the next chunk is to be merged with this: where it has at least half as many rows.
    pub(super) fn merges_with(&self, next: &Self) -> bool {
        let (own, others) = (self.ids.len(), next.ids.len());
        own <= 2 * others && own + others <= CHUNK_ROWS
    }

    /// This chunk and the next.
    pub(super) fn merged(&self, next: &Self) -> Self {
        let deaths = self.deaths.iter().chain(&next.deaths);
        let copied = deaths.map(|death| AtomicU64::new(death.load(Ordering::Acquire)));
        Self {
            first: self.first,
            ids: [&*self.ids, &*next.ids].concat(),
            rows: [&*self.rows, &*next.rows].concat(),
            rounded: self
                .rounded
                .as_ref()
                .zip(next.rounded.as_ref())
                .map(|(own, next)| own.with(next)),
            documents: [&*self.documents, &*next.documents].concat(),
            deaths: copied.collect(),
        }
    }

    /// Notes that a row dies at a moment; false when it was dead.
    pub(super) fn kill(&self, row: u32, moment: u64) -> bool {
        let at = row.checked_sub(self.first);
        let death = at.and_then(|at| self.deaths.get(at as usize));
        let was = |death: &AtomicU64| {
            death.compare_exchange(0, moment.max(1), Ordering::AcqRel, Ordering::Acquire)
        };
        death.is_some_and(|death| was(death).is_ok())
    }

    /// Numbers of the rows that live at a moment.
    pub(super) fn living(&self, moment: u64) -> impl Iterator<Item = u32> + '_ {
        let rows = (self.first..).zip(&self.deaths);
        rows.filter_map(move |(row, death)| {
            let death = death.load(Ordering::Acquire);
            (death == 0 || death > moment).then_some(row)
        })
    }

    /// Id of a row.
    pub(super) fn id(&self, row: u32) -> Option<u64> {
        self.ids.get(row.checked_sub(self.first)? as usize).copied()
    }

    /// Vector of a row.
    pub(super) fn row(&self, row: u32, row_bytes: usize) -> Option<&[u8]> {
        let start = row.checked_sub(self.first)? as usize * row_bytes;
        self.rows.get(start..start + row_bytes)
    }

    /// Puts the least that the distances of some rows can be into `out`, as rounded rows tell it;
    /// leaves it where there are none.
    pub(super) fn least(&self, rows: &[Place], query: &RoundedQuery, out: &mut [f32]) {
        if let Some(rounded) = &self.rounded {
            query.least(rounded, rows, out);
        }
    }

    /// Puts the distances of some rows into `out`.
    pub(super) fn distances(
        &self,
        (query, form): (&[u8], RowForm),
        rows: &[Place],
        out: &mut [f32],
    ) {
        (form.distances)(query, &self.rows, form.row_bytes, rows, out);
    }

    /// Number of the row at a place of this chunk.
    pub(super) fn number(&self, place: Place) -> u32 {
        self.first + place.0
    }

    /// Places of the rows that live at a moment.
    pub(super) fn living_places(&self, moment: u64) -> impl Iterator<Item = Place> + '_ {
        let first = self.first;
        self.living(moment).map(move |row| Place(row - first))
    }

    /// Places of those of `rows`, ascending, that are of this chunk and live at a moment.
    pub(super) fn living_among<'r>(
        &'r self,
        rows: &'r [u32],
        moment: u64,
    ) -> impl Iterator<Item = Place> + 'r {
        let start = rows.partition_point(|row| *row < self.first);
        let own = rows.get(start..).unwrap_or_default().iter();
        own.take_while(|row| **row < self.end())
            .filter_map(move |row| {
                let place = Place(*row - self.first);
                let death = self.deaths.get(place.0 as usize)?.load(Ordering::Acquire);
                (death == 0 || death > moment).then_some(place)
            })
    }

    /// Attributes of a row.
    pub(super) fn document(&self, row: u32) -> Option<&[u8]> {
        let at = row.checked_sub(self.first)? as usize;
        self.documents.get(at)?.as_deref()
    }
}
