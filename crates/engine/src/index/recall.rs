//! Measures recall on an open index, with exact neighbours from its own vectors, read page by page.

use std::io;

use pageway_types::{NodeId, Progress, RowId, VectorRead, VectorShape};
use rayon::ThreadPool;
use serde::Serialize;

use super::{CopyTest, Index};
use crate::error::{Error, Result};
use crate::execution::{HeldOut, MOST_COPIES};
use crate::options::{Answers, Queries, SearchOptions};
use crate::source::VectorSlice;
use crate::storage::TRANSFER_BYTES;
use crate::truth::{ExactOptions, ExactQuestion, Truth, exact, exact_bytes_min, recall_p5};

/// What threads hold at most to leave rows out of exact answers: less than the searches of a
/// calibration take after that.
const MOST_SCREEN_BYTES: u64 = 4 << 20;

/// Recall of a set of queries, and its cost.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
#[non_exhaustive]
pub struct RecallReport {
    /// Mean recall@k.
    pub recall: f64,
    /// Recall@k that one query in twenty does not reach.
    pub recall_p5: f64,
    /// Neighbours per query.
    pub k: u32,
    /// Candidate list size (L) it took.
    pub list_size: u32,
    /// Queries.
    pub queries: usize,
    /// Pages read per query.
    pub pages_per_query: f64,
}

impl Index {
    /// Searches, finds the exact neighbours by a scan of the whole index as it is now, and
    /// compares: with rows that came since it was built, without those that went, among the rows of
    /// a filter.
    ///
    /// Costs a distance per query and vector, and a pass over the record files, within the memory
    /// of searches; twice that for rows that stand for queries, whose copies are looked for first.
    /// Changes that come between search and scan count as missed.
    ///
    /// # Errors
    /// As `search`; `InvalidInput` for no queries at all, and for options with a radius.
    pub fn measure_recall(
        &self,
        queries: &Queries<'_>,
        options: &SearchOptions,
        progress: &dyn Progress,
    ) -> Result<RecallReport> {
        if queries.rows.is_empty() {
            return Err(Error::invalid("recall of no queries: give at least one"));
        }
        if options.radius.is_some() {
            return Err(Error::invalid(
                "recall is of the k nearest: leave the radius out",
            ));
        }
        let exact = options.with_exact(true);
        let apart = self.apart_from_copies(queries, &exact, progress)?;
        let queries = &queries.with_held_out(apart.as_deref());
        let answers = self.search_with(queries, options, progress)?;
        let truth = self.search_with(queries, &exact, progress)?;
        let recalls = shares_found(&answers, &truth);
        let mean = |sum: f64| sum / recalls.len() as f64;
        let pages: u64 = answers.stats.iter().map(|stats| stats.pages).sum();
        Ok(RecallReport {
            recall: mean(recalls.iter().sum()),
            recall_p5: recall_p5(&recalls).unwrap_or(0.0),
            k: options.k,
            list_size: answers.settings.list_size,
            queries: recalls.len(),
            pages_per_query: mean(pages as f64),
        })
    }

    /// The rows that stand for queries, with their copies, if these are not too many.
    fn apart_from_copies(
        &self,
        queries: &Queries<'_>,
        exact: &SearchOptions,
        progress: &dyn Progress,
    ) -> Result<Option<Vec<HeldOut>>> {
        let Some(held_out) = queries.held_out else {
            return Ok(None);
        };
        let test = CopyTest::of(self)?;
        let wide = u64::from(exact.k) + MOST_COPIES as u64 + 1;
        let wide = wide.min(self.len().max(exact.k.into())) as u32;
        let near = self.search_with(queries, &exact.with_k(wide), progress)?;
        let rows = queries.rows.chunks_exact(self.shape().row_bytes());
        let own = held_out.iter().zip(rows).enumerate();
        let with_copies = own.map(|(query, (own, row))| {
            let near = near
                .of_query(query)
                .map(|own| (NodeId(own.node), own.distance));
            own.first()
                .map_or_else(|| Ok(own.clone()), |node| test.held_out((node, row), near))
        });
        with_copies.collect::<Result<_>>().map(Some)
    }

    /// Exact neighbours of raw rows, as node numbers. `own`: the nodes of the rows, if they are
    /// rows of segments; these are no neighbours.
    pub(crate) fn exact(
        &self,
        (rows, own): (&[u8], Option<&[NodeId]>),
        k: u32,
        (pool, progress): (&ThreadPool, &dyn Progress),
    ) -> Result<Truth> {
        // The rows of the base, which is the index itself, are its nodes.
        let held_out: Option<Vec<RowId>> =
            own.map(|nodes| nodes.iter().map(|node| RowId(node.0)).collect());
        let question = ExactQuestion {
            queries: VectorSlice::new(rows, self.shape())?,
            metric: self.metric(),
            k: k as usize,
            exclude: held_out.as_deref(),
        };
        let screens = question.screen_bytes(pool.current_num_threads());
        let beside = Some(screens).filter(|bytes| *bytes <= MOST_SCREEN_BYTES);
        let beside = beside.unwrap_or(0) + TRANSFER_BYTES as u64;
        let memory_bytes = exact_bytes_min(&question) + beside;
        exact(
            self,
            &question,
            &ExactOptions { memory_bytes, pool },
            progress,
        )
    }
}

/// For each query the share of its true neighbours that was found; 1 if it has none. An answer with
/// an exact distance that is as near as the last true neighbour counts as one.
fn shares_found(answers: &Answers, truth: &Answers) -> Vec<f64> {
    let own = |answers: &Answers, query: usize| {
        let lims = answers.lims.get(query).zip(answers.lims.get(query + 1));
        let places = lims.map_or(0..0, |(from, to)| *from..*to);
        let found = places.filter_map(|at| {
            let id = answers.ids.get(at).filter(|id| **id != u64::MAX)?;
            Some((*id, *answers.distances.get(at)?, *answers.errors.get(at)?))
        });
        found.collect::<Vec<(u64, f32, f32)>>()
    };
    let share = |query: usize| {
        let nearest = own(truth, query);
        let Some((_, farthest, _)) = nearest.last() else {
            return 1.0;
        };
        let is_one = |(id, distance, error): &(u64, f32, f32)| {
            let is_as_near = *error == 0.0 && distance <= farthest;
            is_as_near || nearest.iter().any(|(own, ..)| own == id)
        };
        let hits = own(answers, query).iter().filter(|one| is_one(one)).count();
        hits.min(nearest.len()) as f64 / nearest.len() as f64
    };
    (0..truth.stats.len()).map(share).collect()
}

/// The vectors of the segments of an index, dead ones included, read off their record pages.
impl VectorRead for Index {
    fn count(&self) -> u64 {
        self.version().node_count().into()
    }

    fn shape(&self) -> VectorShape {
        Self::shape(self)
    }

    fn read(&self, first: u64, out: &mut [u8]) -> io::Result<()> {
        let row_bytes = self.shape().row_bytes();
        let version = self.version();
        let end = first + (out.len() / row_bytes) as u64;
        if first >= end || end > version.node_count().into() || !out.len().is_multiple_of(row_bytes)
        {
            return Err(Error::invalid("rows out of range").into());
        }
        let mut rest = out;
        for segment in &version.segments {
            let base = u64::from(segment.base);
            let from = first.max(base);
            let to = end.min(base + u64::from(segment.node_count()));
            let Some(rows) = to.checked_sub(from).filter(|rows| *rows > 0) else {
                continue;
            };
            let (own, others) = rest.split_at_mut(rows as usize * row_bytes);
            segment.read_vectors(from - base, own)?;
            rest = others;
        }
        Ok(())
    }
}
