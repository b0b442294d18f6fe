//! What a query cost. Plain counters, filled by the traversal (counts) and the driver (times).

use pageway_store::PageGeometry;
use serde::Serialize;

/// Scores of codes that cost as much as a page that is read.
pub(crate) const PAGE_COST: f64 = 500.0;
/// Those that cost as much as an exact distance.
pub(crate) const EXACT_COST: f64 = 4.0;

/// Those that cost as much as the list of a node, decoded and looked through: on a set of texts,
/// 384 numbers and R 32, 0.9 us against 30 ns.
pub(crate) const LIST_COST: f64 = 30.0;

/// Buckets of `cache_hits`: expansions 0, 1, 2-3, 4-7, ... 32-63, and later ones.
pub const HOP_BUCKETS: usize = 8;

/// Counters of one query, or sums over many.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize)]
#[non_exhaustive]
pub struct QueryStats {
    /// Reads issued: one per record or page fetched.
    pub reads: u64,
    /// Pages asked for at the end, for exact distances alone.
    pub refine_reads: u64,
    /// Those of them that began while candidates were gathered, wanted in the end or not.
    pub early_reads: u64,
    /// Those of them that were read for nothing.
    pub unused_reads: u64,
    /// Pages that the page cache had.
    pub page_hits: u64,
    /// Pages those reads covered; more than `reads` only where records span pages.
    pub pages: u64,
    /// Bytes those reads moved.
    pub bytes_read: u64,
    /// Bytes of them that were used: vectors scored and neighbours followed.
    pub bytes_used: u64,
    /// Dependent rounds of reads; in a pipeline, times that it ran dry.
    pub rounds: u64,
    /// Nodes expanded.
    pub hops: u64,
    /// Exact distances computed.
    pub exact_distances: u64,
    /// Distances estimated from codes.
    pub approximate_distances: u64,
    /// Answers whose distance is an estimate, within the tolerance: codes decided that they are
    /// answers.
    pub estimated: u64,
    /// Expansions served from the node cache, and pages from the page cache, by hop: 0, 1, 2 to 3,
    /// 4 to 7 and so on to 32 to 63, and later ones.
    pub cache_hits: [u64; HOP_BUCKETS],
    /// Nanoseconds spent waiting for reads, or for other queries of the same thread.
    pub wait_ns: u64,
    /// Nanoseconds spent computing.
    pub compute_ns: u64,
    /// Nanoseconds from start to answer.
    pub latency_ns: u64,
}

impl QueryStats {
    /// What was spent, in scores of codes, where an expansion costs as much as `expansion`.
    pub(crate) fn cost(&self, expansion: f64) -> f64 {
        self.approximate_distances as f64
            + self.hops as f64 * expansion
            + self.exact_distances as f64 * EXACT_COST
            + self.reads as f64 * PAGE_COST
    }

    /// Adds the counters of another query.
    pub fn add(&mut self, other: &Self) {
        self.reads += other.reads;
        self.refine_reads += other.refine_reads;
        self.early_reads += other.early_reads;
        self.unused_reads += other.unused_reads;
        self.page_hits += other.page_hits;
        self.pages += other.pages;
        self.bytes_read += other.bytes_read;
        self.bytes_used += other.bytes_used;
        self.rounds += other.rounds;
        self.hops += other.hops;
        self.exact_distances += other.exact_distances;
        self.approximate_distances += other.approximate_distances;
        self.estimated += other.estimated;
        for (mine, theirs) in self.cache_hits.iter_mut().zip(other.cache_hits) {
            *mine += theirs;
        }
        self.wait_ns += other.wait_ns;
        self.compute_ns += other.compute_ns;
        self.latency_ns += other.latency_ns;
    }

    /// Counts a read that moved a unit of pages.
    pub(super) fn count_read(&mut self, geometry: PageGeometry) {
        self.reads += 1;
        self.pages += u64::from(geometry.span());
        self.bytes_read += geometry.unit_bytes() as u64;
    }

    pub(super) fn count_page_hit(&mut self) {
        self.page_hits += 1;
        self.count_cache_hit();
    }

    pub(super) fn count_cache_hit(&mut self) {
        let bucket = (u64::BITS - self.hops.leading_zeros()) as usize;
        if let Some(hits) = self.cache_hits.get_mut(bucket.min(HOP_BUCKETS - 1)) {
            *hits += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hits_fall_into_doubling_buckets() {
        let mut stats = QueryStats::default();
        for hop in [0, 1, 2, 3, 4, 63, 64, 1_000_000] {
            stats.hops = hop;
            stats.count_cache_hit();
        }
        assert_eq!(stats.cache_hits, [1, 1, 2, 1, 0, 0, 1, 2]);
        let mut sum = stats;
        sum.add(&stats);
        assert_eq!(sum.cache_hits[2], 4);
    }
}
