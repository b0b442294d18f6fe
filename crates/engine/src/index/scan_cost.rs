//! What a scan of all vectors costs beside a walk: in scores of codes, as queries count what they
//! spent.

use super::Version;
use crate::execution::{Gathering, PAGE_COST};
use crate::options::{Answers, SearchOptions};

/// Pages that are read one behind the other in the time of one that a walk waits for.
const IN_A_ROW: f64 = 4.0;
/// What a distance to one of many vectors in a row costs, and bytes of a vector that cost as much
/// again as a score.
const DISTANCE: (f64, f64) = (1.0, 800.0);

impl Version {
    /// What each of so many queries of a call costs that are compared with all vectors, which are
    /// read once for as many of them as there is memory for.
    pub(super) fn scan_cost(&self, options: &SearchOptions, queries: usize) -> f64 {
        let queries = queries.max(1);
        let passes = queries.div_ceil(self.scanned_at_once(options.k));
        let read = self.vector_pages() as f64 * PAGE_COST / IN_A_ROW;
        let (least, bytes) = DISTANCE;
        let row_bytes = self.manifest.spec.shape.vectors().row_bytes() as f64;
        let compared = f64::from(self.node_count()) * (least + row_bytes / bytes);
        read * passes as f64 / queries as f64 + compared
    }

    /// What each of the queries that found this costs, mean.
    pub(super) fn walk_cost(&self, found: &Answers) -> f64 {
        let gathering = self.segments.iter().map(|one| one.shape.gathering());
        let expansion = gathering.map(Gathering::expansion_cost).fold(0.0, f64::max);
        let spent: f64 = found.stats.iter().map(|own| own.cost(expansion)).sum();
        spent / found.stats.len().max(1) as f64
    }

    /// Pages that hold the vectors of all segments.
    fn vector_pages(&self) -> u64 {
        let own = self.segments.iter().map(|one| {
            let (first, span) = one.vector_place(0);
            let (last, _) = one.vector_place(one.node_count().saturating_sub(1));
            (last + 1).saturating_sub(first) * u64::from(span)
        });
        own.sum()
    }
}
