//! Average precision: the share of the true results that a range search found.
//!
//! For one query, `|found| / |true|`, as every result that a search returns lies within the radius
//! (Starling, SIGMOD 2024, equation 3). Over many queries it is the mean of those that have true
//! results; the others have nothing to find.

use super::table::RangeTruth;
use crate::error::Error;
use crate::truth::TruthError;

/// Share of the radius by which the distances of other programs may differ from ours.
const TOLERANCE: f32 = 1e-5;

/// What a range search found.
#[derive(Clone, Copy, Debug)]
pub struct RangeFound<'a, I> {
    /// Where the results of each query begin, and the number of all results.
    pub lims: &'a [usize],
    /// Ids, as the truth has them.
    pub ids: &'a [I],
    /// Distances in step with `ids`.
    pub distances: &'a [f32],
    /// The radius.
    pub radius: f32,
    /// Number of the first query, for messages.
    pub first: u64,
}

/// Sums over queries that have true results.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
#[non_exhaustive]
pub struct RangeScore {
    /// Of the shares that were found.
    pub precision: f64,
    /// Queries that count.
    pub queries: u64,
    /// True results of all queries.
    pub results: u64,
}

impl RangeScore {
    /// Adds the score of other queries.
    pub fn add(&mut self, other: &Self) {
        self.precision += other.precision;
        self.queries += other.queries;
        self.results += other.results;
    }

    /// Average precision; `None` where no query has a true result.
    pub fn mean(&self) -> Option<f64> {
        (self.queries > 0).then(|| self.precision / self.queries as f64)
    }
}

/// Compares what was found with the truth, query by query.
///
/// # Errors
/// `InvalidInput` when both are not of the same number of queries, and for a result clearly within
/// the radius that the truth lacks: such a truth is of another radius or other vectors.
pub fn average_precision<I: Copy + Into<u64>>(
    found: &RangeFound<'_, I>,
    truth: &RangeTruth,
) -> Result<RangeScore, Error> {
    let (queries, expected) = (found.lims.len().saturating_sub(1), truth.query_count());
    if queries != expected {
        let what = "queries";
        return Err(TruthError::Length {
            what,
            found: queries,
            expected,
        }
        .into());
    }
    let mut score = RangeScore::default();
    for (query, lims) in found.lims.windows(2).enumerate() {
        let [begin, end] = lims else { continue };
        let ids = found.ids.get(*begin..*end).unwrap_or(&[]);
        let distances = found.distances.get(*begin..*end).unwrap_or(&[]);
        let results = ids
            .iter()
            .map(|id| (*id).into())
            .zip(distances.iter().copied());
        let hits = found.count_hits(query as u64, results, truth.ids_of(query))?;
        let expected = truth.ids_of(query).len();
        if expected > 0 {
            score.precision += hits as f64 / expected as f64;
            score.queries += 1;
            score.results += expected as u64;
        }
    }
    Ok(score)
}

impl<I> RangeFound<'_, I> {
    /// True results among those found, each id counted once.
    fn count_hits(
        &self,
        query: u64,
        found: impl Iterator<Item = (u64, f32)>,
        expected: &[u32],
    ) -> Result<usize, TruthError> {
        let mut expected: Vec<u64> = expected.iter().map(|id| u64::from(*id)).collect();
        expected.sort_unstable();
        let clearly_within = self.radius - self.radius.abs() * TOLERANCE;
        let mut hits = vec![false; expected.len()];
        for (id, distance) in found {
            match expected.binary_search(&id) {
                Ok(place) => hits
                    .iter_mut()
                    .skip(place)
                    .take(1)
                    .for_each(|hit| *hit = true),
                Err(_) if distance < clearly_within => {
                    return Err(TruthError::NotListed {
                        query: self.first + query,
                        id,
                        distance,
                    });
                }
                Err(_) => {}
            }
        }
        Ok(hits.into_iter().filter(|hit| *hit).count())
    }
}
