//! The comparison of all queries with a block of rows, for every kind of exact answer.
//!
//! Within a block, tiles of rows that fit the level-1 cache meet groups of queries that fit the
//! level-2 cache: each tile is compared with a whole group before the next one is touched, so the
//! inner loop never waits for memory. Groups run in parallel; each query's result depends on
//! nothing but the order of rows, so any number of threads gives the same bytes. Where a [`Screen`]
//! serves, it leaves out most rows before they are compared.
//!
//! ```text
//!            block of the base
//!            [tile][tile][tile] ...            tile: 16 KiB of rows
//! group 0    q x t, q x t, ...                 one task
//! group 1    ...                               one task
//! ```

use pageway_kernels::{DistanceFn, KernelSet, PANEL_ROWS, lanes};
use pageway_types::{Metric, Progress, RowId, VectorRead};

use super::screen::{Screen, TILE_ROWS};
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
    metric: Metric,
    kernels: &'static KernelSet,
    distance: DistanceFn,
    /// Whether groups may hold a screen.
    screened: bool,
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
        let (shape, kernels) = (queries.shape(), kernels()?);
        Ok(Self {
            queries,
            exclude,
            row_bytes: shape.row_bytes(),
            metric,
            kernels,
            distance: kernels.distance(shape.element, metric),
            screened: false,
            progress,
        })
    }

    /// The same with a screen for each group, of [`screen_bytes`] for each thread.
    pub(super) fn screened(self) -> Self {
        Self {
            screened: true,
            ..self
        }
    }

    /// Queries per task.
    pub(super) fn group_queries(&self) -> usize {
        group_queries(&self.queries, rayon::current_num_threads())
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
        let mut screen = self.screen(group);
        let tile_bytes = match &screen {
            Some(_) => TILE_ROWS * self.row_bytes,
            None => whole_rows(TILE_BYTES),
        };
        let span_bytes = whole_rows(SPAN_BYTES).next_multiple_of(tile_bytes);
        let mut row = first;
        for span in rows.chunks(span_bytes) {
            self.progress.check()?;
            for tile in span.chunks(tile_bytes) {
                let multiplied = screen.as_mut();
                match multiplied.and_then(|own| own.multiply(tile).then_some(own)) {
                    Some(screen) => self.marked((row, tile), group, screen),
                    None => group
                        .iter_mut()
                        .for_each(|asker| self.tile(row, tile, asker)),
                }
                row = row.saturating_add((tile.len() / self.row_bytes) as u32);
            }
            self.progress
                .advance((span.len() / self.row_bytes * group.len()) as u64);
        }
        Ok(())
    }

    /// A screen for a group, if it serves.
    fn screen<K: Keep>(&self, group: &[Asker<'_, K>]) -> Option<Screen> {
        if !self.screened {
            return None;
        }
        let question = (self.queries.shape(), self.metric);
        let queries = group.iter().map(|asker| asker.query);
        let mut screen = Screen::new(self.kernels, question, queries)?;
        for (query, asker) in group.iter().enumerate() {
            screen.set_bound(query, asker.kept.bound());
        }
        Some(screen)
    }

    /// Compares the rows of a tile that was multiplied with the queries that they may be near to.
    fn marked<K: Keep>(
        &self,
        (first, tile): (u32, &[u8]),
        group: &mut [Asker<'_, K>],
        screen: &mut Screen,
    ) {
        let rows = tile.chunks_exact(self.row_bytes).enumerate();
        for ((at, row), id) in rows.zip(first..) {
            for (panel, askers) in group.chunks_mut(PANEL_ROWS).enumerate() {
                for lane in lanes(screen.marks(at, panel)) {
                    if let Some(asker) = askers.get_mut(lane)
                        && self.meet((id, row), asker)
                    {
                        screen.set_bound(panel * PANEL_ROWS + lane, asker.kept.bound());
                    }
                }
            }
        }
    }

    /// Compares one query with all rows of a tile.
    fn tile<K: Keep>(&self, first: u32, tile: &[u8], asker: &mut Asker<'_, K>) {
        for row in (first..).zip(tile.chunks_exact(self.row_bytes)) {
            self.meet(row, asker);
        }
    }

    /// The inner loop: compares one query with one row; whether it took it in.
    #[inline]
    fn meet<K: Keep>(&self, (id, row): (u32, &[u8]), asker: &mut Asker<'_, K>) -> bool {
        let distance = (self.distance)(asker.query, row);
        let counts = distance < asker.kept.bound() && id != asker.exclude;
        if counts {
            asker.kept.insert(id, distance);
        }
        counts
    }
}

/// Queries per task for so many threads: within the cache, a few tasks for each thread, or one of a
/// panel.
fn group_queries(queries: &VectorSlice<'_>, threads: usize) -> usize {
    let count = queries.count() as usize;
    let panel = count.div_ceil(threads).min(PANEL_ROWS);
    let shared_out = count.div_ceil(threads * 4).max(panel);
    (GROUP_BYTES / queries.shape().row_bytes())
        .min(GROUP_QUERIES_MAX)
        .min(shared_out)
        .max(1)
}

/// Bytes that the screens of all threads hold; 0 where they would not serve.
pub(super) fn screen_bytes(queries: &VectorSlice<'_>, metric: Metric, threads: usize) -> usize {
    let (shape, group) = (queries.shape(), group_queries(queries, threads));
    if Screen::serves(shape, metric, group) {
        threads * Screen::bytes(shape, group)
    } else {
        0
    }
}
