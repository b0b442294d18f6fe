//! Rows that stand for queries, and which others are as good as copies of them.
//!
//! A query is not in the data. A row that stands for one and has a copy would find that at once,
//! and neighbour lists name one of some copies, so that the way to the others is hidden with a row:
//! copies are held out together.

use pageway_kernels::DistanceFn;
use pageway_types::Metric;

use super::Index;
use crate::error::Result;
use crate::resolve;

/// Copies that are held out beside a row, at most.
pub(crate) const MOST_COPIES: usize = 64;
/// Who lies within this share of how far others lie is as good as a copy. Most distances are
/// squared.
const NEAR: f32 = 0.002;

/// Tells copies of a row among its neighbours.
pub(crate) struct CopyTest {
    distance: DistanceFn,
    near: f32,
}

impl CopyTest {
    /// For rows of an index.
    ///
    /// # Errors
    /// A choice of kernels that cannot be.
    pub(crate) fn of(index: &Index) -> Result<Self> {
        let (element, metric) = (index.shape().element, index.metric());
        Ok(Self {
            distance: resolve::kernels()?.distance(element, metric),
            // What is as far from a row as itself may be elsewhere; exactly as far is rare.
            near: if metric == Metric::InnerProduct {
                0.0
            } else {
                NEAR
            },
        })
    }

    /// Places of the copies of a row among its true neighbours, of which some more than
    /// [`MOST_COPIES`] are told.
    pub(crate) fn places(&self, row: &[u8], nearest: &[f32]) -> Vec<usize> {
        let own = (self.distance)(row, row);
        let apart = |other: &f32| (other - own).abs();
        let beyond = nearest.get(MOST_COPIES).or(nearest.last());
        let near = self.near * beyond.map_or(0.0, apart);
        let all = nearest.iter().enumerate();
        all.filter(|(_, other)| apart(other) <= near)
            .map(|(place, _)| place)
            .collect()
    }
}
