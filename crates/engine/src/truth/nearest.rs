//! The k nearest neighbours of one query, kept as a heap in the place where they will be returned.
//!
//! The farthest is the root, so that one comparison tells most rows that they lose. Rows must be
//! offered in rising order: then a row at the distance of the root has the larger id and loses too.
//! Among equal distances, the larger id counts as the farther.

use super::scan::Keep;

/// Id of a place that no row has taken yet.
const UNFILLED: u32 = u32::MAX;

/// A view of one query's row of the result.
pub(super) struct Nearest<'t> {
    ids: &'t mut [u32],
    distances: &'t mut [f32],
}

impl<'t> Nearest<'t> {
    /// A view of `k` places, at least one; fresh ones come from [`Nearest::unfilled`].
    pub(super) fn new(ids: &'t mut [u32], distances: &'t mut [f32]) -> Self {
        assert!(
            !ids.is_empty() && ids.len() == distances.len(),
            "ids and distances in step"
        );
        Self { ids, distances }
    }

    /// Fresh ids and distances for `length` places.
    pub(super) fn unfilled(length: usize) -> (Vec<u32>, Vec<f32>) {
        (vec![UNFILLED; length], vec![f32::INFINITY; length])
    }
}

impl Keep for Nearest<'_> {
    /// The distance of the last neighbour so far.
    fn bound(&self) -> f32 {
        self.distances.first().copied().unwrap_or(f32::NEG_INFINITY)
    }

    /// Takes the place of the farthest. Costs a comparison or two for each doubling of `k`.
    fn insert(&mut self, id: u32, distance: f32) {
        assert!(
            distance < self.bound(),
            "only rows that beat the bound are inserted"
        );
        // Adding zero turns -0.0 into 0.0, so that equal distances are equal bits.
        self.sink(self.ids.len(), (distance + 0.0, id));
    }
}

#[expect(clippy::indexing_slicing, reason = "places of a heap of `length <= k`")]
impl Nearest<'_> {
    /// Puts a neighbour in place of the root of the heap of the first `length`.
    fn sink(&mut self, length: usize, own: (f32, u32)) {
        let mut at = 0;
        loop {
            let mut child = 2 * at + 1;
            if child + 1 < length && self.at(child) < self.at(child + 1) {
                child += 1;
            }
            if child >= length || self.at(child) <= own {
                break;
            }
            self.put(at, self.at(child));
            at = child;
        }
        self.put(at, own);
    }

    /// Puts the neighbours in order, nearest first; no row can be inserted any more.
    pub(super) fn sort(mut self) {
        for end in (1..self.ids.len()).rev() {
            let (farthest, last) = (self.at(0), self.at(end));
            self.sink(end, last);
            self.put(end, farthest);
        }
    }

    fn at(&self, place: usize) -> (f32, u32) {
        (self.distances[place], self.ids[place])
    }

    fn put(&mut self, place: usize, (distance, id): (f32, u32)) {
        self.distances[place] = distance;
        self.ids[place] = id;
    }
}

/// The first place that no row has taken.
pub(super) fn first_unfilled(ids: &[u32]) -> Option<usize> {
    ids.iter().position(|id| *id == UNFILLED)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keeps_the_nearest_in_order_with_ties_by_id() {
        let offered = [
            5.0,
            1.0,
            3.0,
            1.0,
            -0.0,
            0.0,
            9.0,
            3.0,
            1.0,
            f32::NAN,
            f32::INFINITY,
        ];
        let mut oracle: Vec<(f32, u32)> = offered
            .iter()
            .zip(0..)
            .map(|(d, id)| (d + 0.0, id))
            .collect();
        oracle.retain(|(distance, _)| distance.is_finite());
        oracle.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        for k in 1..=oracle.len() {
            let (mut ids, mut distances) = Nearest::unfilled(k);
            let mut nearest = Nearest::new(&mut ids, &mut distances);
            for (id, distance) in (0..).zip(offered) {
                if distance < nearest.bound() {
                    nearest.insert(id, distance);
                }
            }
            nearest.sort();
            let found: Vec<(f32, u32)> = distances.into_iter().zip(ids.clone()).collect();
            assert_eq!(found, oracle[..k], "k {k}");
            assert_eq!(first_unfilled(&ids), None);
        }
    }

    #[test]
    fn places_without_rows_are_seen() {
        let (mut ids, mut distances) = Nearest::unfilled(3);
        let mut nearest = Nearest::new(&mut ids, &mut distances);
        nearest.insert(4, 1.0);
        nearest.sort();
        assert_eq!(first_unfilled(&ids), Some(1));
    }
}
