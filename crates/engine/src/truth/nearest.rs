//! The k nearest neighbours of one query, kept sorted in the place where they will be returned.
//!
//! Rows must be offered in rising order: then a row at the distance of the last neighbour has the
//! larger id and loses, so that ties are settled by id with one comparison. Most rows lose.

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
        self.distances.last().copied().unwrap_or(f32::NEG_INFINITY)
    }

    /// Costs a binary search and a move of up to `k` places.
    #[expect(
        clippy::indexing_slicing,
        reason = "place < k: the distance beats the last one"
    )]
    fn insert(&mut self, id: u32, distance: f32) {
        assert!(
            distance < self.bound(),
            "only rows that beat the bound are inserted"
        );
        // Adding zero turns -0.0 into 0.0, so that equal distances are equal bits.
        let distance = distance + 0.0;
        let place = self.distances.partition_point(|other| *other <= distance);
        let last = self.ids.len() - 1;
        self.ids.copy_within(place..last, place + 1);
        self.distances.copy_within(place..last, place + 1);
        self.ids[place] = id;
        self.distances[place] = distance;
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
        for k in 1..=9 {
            let (mut ids, mut distances) = Nearest::unfilled(k);
            let mut nearest = Nearest::new(&mut ids, &mut distances);
            for (id, distance) in (0..).zip(offered) {
                if distance < nearest.bound() {
                    nearest.insert(id, distance);
                }
            }
            let found: Vec<(f32, u32)> = distances.into_iter().zip(ids.clone()).collect();
            assert_eq!(found, oracle[..k], "k {k}");
            assert_eq!(first_unfilled(&ids), None);
        }
    }

    #[test]
    fn places_without_rows_are_seen() {
        let (mut ids, mut distances) = Nearest::unfilled(3);
        Nearest::new(&mut ids, &mut distances).insert(4, 1.0);
        assert_eq!(first_unfilled(&ids), Some(1));
    }
}
