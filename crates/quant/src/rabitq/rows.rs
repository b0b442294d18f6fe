//! The rows of a sample as codes see them: at unit length for cosine, and some of them for passes
//! that need not see all.

use pageway_types::{Cancelled, Guide, Progress};

use crate::pq::TrainingSample;
use crate::{QuantError, normalise};

/// Rows read between two looks at `cancelled`.
pub(super) const BLOCK_ROWS: usize = 256;

/// The rows of a sample.
#[derive(Clone, Copy)]
pub(super) struct Rows<'a> {
    sample: TrainingSample<'a>,
}

impl<'a> Rows<'a> {
    /// The rows of a sample, whole ones and one at least.
    pub(super) fn new(sample: &TrainingSample<'a>) -> Result<Self, QuantError> {
        let (values, dimension) = (sample.values.len(), sample.dimension);
        if values == 0 || !values.is_multiple_of(dimension) {
            return Err(QuantError::SampleLength { values, dimension });
        }
        Ok(Self { sample: *sample })
    }

    pub(super) fn count(self) -> usize {
        self.sample.values.len() / self.sample.dimension
    }

    pub(super) fn dimension(self) -> usize {
        self.sample.dimension
    }

    /// Numbers of `limit` rows at most, evenly spread, rising.
    pub(super) fn spread(self, limit: usize) -> impl Iterator<Item = usize> + Clone {
        let count = self.count();
        let taken = count.min(limit);
        (0..taken).map(move |index| (index as u128 * count as u128 / taken as u128) as usize)
    }

    /// Copies a row; it exists.
    pub(super) fn copy(self, number: usize, out: &mut [f32]) {
        let mut rows = self.sample.values.chunks_exact(self.sample.dimension);
        out.copy_from_slice(rows.nth(number).unwrap_or(&[]));
        if self.sample.metric == Guide::Cosine {
            normalise(out);
        }
    }

    /// The mean of all rows.
    pub(super) fn mean(self, progress: &dyn Progress) -> Result<Vec<f32>, Cancelled> {
        let mut sums = vec![0.0f64; self.dimension()];
        let mut row = vec![0.0; self.dimension()];
        for number in 0..self.count() {
            if number.is_multiple_of(BLOCK_ROWS) {
                progress.check()?;
            }
            self.copy(number, &mut row);
            for (sum, value) in sums.iter_mut().zip(&row) {
                *sum += f64::from(*value);
            }
        }
        let count = self.count() as f64;
        Ok(sums.into_iter().map(|sum| (sum / count) as f32).collect())
    }
}
