//! Searching a delta: every living row that can be near is scored exactly, of all or of some.

use pageway_types::Place;

use super::chunk::Chunk;
use super::rounded::RoundedQuery;
use super::{DeltaView, RowForm};

/// Rows that are looked at together.
const BLOCK: usize = 64;

/// A row that was found.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Hit {
    /// Its number in the delta.
    pub(crate) row: u32,
    pub(crate) id: u64,
    pub(crate) distance: f32,
}

/// A query of deltas.
#[derive(Debug)]
pub(crate) struct DeltaQuery<'q> {
    row: &'q [u8],
    form: RowForm,
    rounded: Option<RoundedQuery>,
}

impl<'q> DeltaQuery<'q> {
    /// A query of deltas of such rows, as bytes of a row.
    pub(crate) fn new(row: &'q [u8], form: RowForm) -> Self {
        Self {
            row,
            form,
            rounded: form.rounding.map(|rounding| rounding.query(row)),
        }
    }
}

impl DeltaView {
    /// The `most` nearest living rows, of all or of `rows`, ascending, that are at most `farthest`
    /// away and that `admits` wants, nearest first, and how many distances that took; of equally
    /// near ones those with lower ids.
    /// Costs a distance for each row, of rounded rows for those that cannot be near.
    pub(crate) fn nearest(
        &self,
        (query, rows): (&DeltaQuery<'_>, Option<&[u32]>),
        (most, farthest): (usize, f32),
        admits: impl Fn(u32, u64) -> bool,
    ) -> (Vec<Hit>, u64) {
        let nearest = NearestRows {
            found: Vec::new(),
            limit: farthest,
            most,
        };
        let mut scan = RowScan {
            query,
            admits,
            nearest,
            scored: 0,
        };
        for chunk in &self.chunks {
            match rows {
                None => scan.chunk(chunk, chunk.living_places(self.moment)),
                Some(rows) => scan.chunk(chunk, chunk.living_among(rows, self.moment)),
            }
        }
        (scan.nearest.end(), scan.scored)
    }
}

/// A scan under way.
struct RowScan<'q, A> {
    query: &'q DeltaQuery<'q>,
    admits: A,
    nearest: NearestRows,
    /// Distances so far.
    scored: u64,
}

impl<A: Fn(u32, u64) -> bool> RowScan<'_, A> {
    /// Looks at some rows of a chunk, a block at a time.
    fn chunk(&mut self, chunk: &Chunk, mut rows: impl Iterator<Item = Place>) {
        let mut places = Vec::with_capacity(BLOCK);
        let mut distances = [0.0; BLOCK];
        loop {
            places.clear();
            places.extend(rows.by_ref().take(BLOCK));
            if places.is_empty() {
                return;
            }
            if let Some(rounded) = &self.query.rounded {
                self.keep_near((chunk, rounded), &mut places);
            }
            let (distances, _) = distances.split_at_mut(places.len());
            let DeltaQuery { row, form, .. } = *self.query;
            chunk.distances((row, form), &places, distances);
            self.scored += places.len() as u64;
            for (place, distance) in places.iter().zip(distances) {
                if self.nearest.takes(*distance) {
                    self.found(chunk, *place, *distance);
                }
            }
        }
    }

    /// Keeps the places of the rows that can be near, as their rounded ones tell it.
    fn keep_near(&self, (chunk, rounded): (&Chunk, &RoundedQuery), places: &mut Vec<Place>) {
        let mut least = [f32::NEG_INFINITY; BLOCK];
        let (own, _) = least.split_at_mut(places.len());
        chunk.least(places, rounded, own);
        let mut least = least.iter();
        places.retain(|_| least.next().is_none_or(|least| self.nearest.takes(*least)));
    }

    fn found(&mut self, chunk: &Chunk, place: Place, distance: f32) {
        let row = chunk.number(place);
        if let Some(id) = chunk.id(row).filter(|id| (self.admits)(row, *id)) {
            self.nearest.put(Hit { row, id, distance });
        }
    }
}

/// The nearest rows so far.
struct NearestRows {
    found: Vec<Hit>,
    /// How far away those that are not found yet are at most.
    limit: f32,
    most: usize,
}

impl NearestRows {
    /// Whether a row at this distance may be one of them. What is no number may.
    fn takes(&self, distance: f32) -> bool {
        distance <= self.limit || distance.is_nan()
    }

    fn put(&mut self, hit: Hit) {
        self.found.push(hit);
        // Twice as many as wanted are looked through at a time.
        if self.found.len() >= 2 * self.most.max(32) {
            keep_best(&mut self.found, self.most);
            let last = self.found.last();
            self.limit = last.map_or(self.limit, |last| last.distance.min(self.limit));
        }
    }

    fn end(mut self) -> Vec<Hit> {
        keep_best(&mut self.found, self.most);
        self.found
    }
}

fn keep_best(found: &mut Vec<Hit>, most: usize) {
    found.sort_unstable_by(|one, other| {
        let by_distance = one.distance.total_cmp(&other.distance);
        by_distance.then((one.id, one.row).cmp(&(other.id, other.row)))
    });
    found.truncate(most);
}
