//! Searching a delta: every living row that can be near is scored exactly, of all or of some.

use pageway_types::Place;

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
    /// near ones those that came first.
    /// Costs a distance for each row, of rounded rows for those that cannot be near.
    pub(crate) fn nearest(
        &self,
        (query, rows): (&DeltaQuery<'_>, Option<&[u32]>),
        (most, farthest): (usize, f32),
        admits: impl Fn(u32, u64) -> bool,
    ) -> (Vec<Hit>, u64) {
        let mut nearest = NearestRows {
            found: Vec::new(),
            limit: farthest,
            most,
        };
        let (mut places, mut scored) = (Vec::with_capacity(BLOCK), 0);
        let mut least = [0.0; BLOCK];
        for chunk in &self.chunks {
            let (mut all, mut some);
            let mut living: &mut dyn Iterator<Item = Place> = match rows {
                None => {
                    all = chunk.living_places(self.visible);
                    &mut all
                }
                Some(rows) => {
                    some = chunk.living_among(rows, self.visible);
                    &mut some
                }
            };
            loop {
                places.clear();
                places.extend((&mut living).take(BLOCK));
                if places.is_empty() {
                    break;
                }
                let (least, _) = least.split_at_mut(places.len());
                chunk.least(&places, query.rounded.as_ref(), least);
                for (place, least) in places.iter().zip(&*least) {
                    let row = chunk.number(*place);
                    let own = chunk.id(row).zip(chunk.row(row, query.form.row_bytes));
                    let Some((id, vector)) = own.filter(|_| nearest.takes(*least)) else {
                        continue;
                    };
                    scored += 1;
                    let distance = (query.form.distance)(query.row, vector);
                    if nearest.takes(distance) && admits(row, id) {
                        nearest.put(Hit { row, id, distance });
                    }
                }
            }
        }
        (nearest.end(), scored)
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
        by_distance.then(one.row.cmp(&other.row))
    });
    found.truncate(most);
}
