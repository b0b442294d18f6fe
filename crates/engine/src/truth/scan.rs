//! The comparison of all queries with a block of rows, for every kind of exact answer.
//!
//! Within a block, tiles of rows that fit the level-1 cache meet groups of queries that fit the
//! level-2 cache: each tile is compared with a whole group before the next one is touched, so the
//! inner loop never waits for memory. Groups run in parallel; each query's result depends on
//! nothing but the order of rows, so any number of threads gives the same bytes.
//!
//! ```text
//!            block of the base
//!            [tile][tile][tile] ...            tile: 16 KiB of rows
//! group 0    q x t, q x t, ...                 one task
//! group 1    ...                               one task
//! ```

use pageway_kernels::DistanceFn;
use pageway_types::{Metric, Progress, RowId, VectorRead};

use crate::error::Error;
use crate::source::{VectorSlice, kernels};

/// Rows that meet a whole group of queries while they are in the level-1 cache.
pub(super) const TILE_BYTES: usize = 16 << 10;
/// Queries of a group: as many as half a level-2 cache holds, and few enough to share out.
const GROUP_BYTES: usize = 256 << 10;
const GROUP_QUERIES_MAX: usize = 128;
/// Rows between two looks at cancellation: a few tens of milliseconds with a full group.
const SPAN_BYTES: usize = 512 << 10;

/// What a query keeps of the rows it meets. Rows are offered in rising order.
pub(super) trait Keep {
    /// Rows at this distance or farther need not be offered.
    fn bound(&self) -> f32;

    /// Takes in a row below the bound.
    fn insert(&mut self, id: u32, distance: f32);
}

/// A query, and what it keeps.
pub(super) struct Asker<'s, K> {
    pub(super) query: &'s [u8],
    /// Row that does not count; `u32::MAX`, which is no row, when all count.
    pub(super) exclude: u32,
    pub(super) kept: K,
}

/// What stays the same from block to block.
pub(super) struct Scan<'s> {
    queries: VectorSlice<'s>,
    exclude: Option<&'s [RowId]>,
    row_bytes: usize,
    distance: DistanceFn,
    progress: &'s dyn Progress,
}

impl<'s> Scan<'s> {
    /// A scan for `queries`; of `exclude`, one row per query does not count.
    ///
    /// # Errors
    /// `Unsupported` on a machine without kernels.
    pub(super) fn new(
        queries: VectorSlice<'s>,
        metric: Metric,
        exclude: Option<&'s [RowId]>,
        progress: &'s dyn Progress,
    ) -> Result<Self, Error> {
        let shape = queries.shape();
        Ok(Self {
            queries,
            exclude,
            row_bytes: shape.row_bytes(),
            distance: kernels()?.distance(shape.element, metric),
            progress,
        })
    }

    /// Queries per task: within the cache, and enough tasks for all threads.
    pub(super) fn group_queries(&self) -> usize {
        let queries = self.queries.count() as usize;
        let shared_out = queries.div_ceil(rayon::current_num_threads() * 4);
        (GROUP_BYTES / self.row_bytes)
            .min(GROUP_QUERIES_MAX)
            .min(shared_out)
            .max(1)
    }

    /// The queries from `first` on, each with its part of `kept`.
    pub(super) fn askers<K>(
        &self,
        first: usize,
        kept: impl Iterator<Item = K>,
    ) -> Vec<Asker<'s, K>> {
        let queries = self
            .queries
            .bytes()
            .chunks_exact(self.row_bytes)
            .skip(first);
        let exclude = self.exclude.unwrap_or(&[]).iter().skip(first);
        let exclude = exclude
            .map(|node| node.0)
            .chain(std::iter::repeat(u32::MAX));
        let queries = queries.zip(exclude).zip(kept);
        let asker = |((query, exclude), kept)| Asker {
            query,
            exclude,
            kept,
        };
        queries.map(asker).collect()
    }

    /// Compares one group with a block of rows, tile by tile.
    ///
    /// # Errors
    /// `Cancelled`.
    pub(super) fn group<K: Keep>(
        &self,
        first: u32,
        rows: &[u8],
        group: &mut [Asker<'_, K>],
    ) -> Result<(), Error> {
        let whole_rows = |bytes: usize| (bytes / self.row_bytes).max(1) * self.row_bytes;
        let (span_bytes, tile_bytes) = (whole_rows(SPAN_BYTES), whole_rows(TILE_BYTES));
        let mut row = first;
        for span in rows.chunks(span_bytes) {
            self.progress.check()?;
            for tile in span.chunks(tile_bytes) {
                for asker in &mut *group {
                    self.tile(row, tile, asker);
                }
                row = row.saturating_add((tile.len() / self.row_bytes) as u32);
            }
            self.progress
                .advance((span.len() / self.row_bytes * group.len()) as u64);
        }
        Ok(())
    }

    /// The inner loop: one query, one tile.
    fn tile<K: Keep>(&self, first: u32, tile: &[u8], asker: &mut Asker<'_, K>) {
        let mut bound = asker.kept.bound();
        for (id, row) in (first..).zip(tile.chunks_exact(self.row_bytes)) {
            let distance = (self.distance)(asker.query, row);
            if distance < bound && id != asker.exclude {
                asker.kept.insert(id, distance);
                bound = asker.kept.bound();
            }
        }
    }
}
