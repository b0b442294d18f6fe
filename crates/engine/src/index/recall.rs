//! Measuring recall on an open index: the truth comes from its own vectors, read page by page.

use std::io;

use pageway_types::{Progress, RowId, VectorRead, VectorShape};
use serde::Serialize;

use super::Index;
use crate::error::{Error, Result};
use crate::options::{Queries, SearchOptions};
use crate::source::VectorSlice;
use crate::storage::TRANSFER_BYTES;
use crate::threads::thread_pool;
use crate::truth::{
    ExactOptions, ExactQuestion, Found, Truth, exact, exact_bytes_min, recall_p5, recalls,
};

/// Recall of a set of queries, and what it cost.
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
    /// Searches, computes the exact neighbours by a scan of the whole index, and compares.
    ///
    /// Costs a distance per query and vector, and one pass over the record file.
    ///
    /// # Errors
    /// As `search`; `InvalidInput` for no queries at all, and for options with a radius.
    pub fn measure_recall(
        &self,
        queries: &Queries<'_>,
        options: &SearchOptions,
        progress: &dyn Progress,
    ) -> Result<RecallReport> {
        let version = self.version();
        version.check_whole("recall is measured")?;
        if queries.rows.is_empty() {
            return Err(Error::invalid("recall of no queries: give at least one"));
        }
        if queries.filter.is_some() {
            return Err(Error::invalid(
                "recall is measured among all rows: leave the filter out",
            ));
        }
        if options.radius.is_some() {
            return Err(Error::invalid(
                "recall is of the k nearest: leave the radius out",
            ));
        }
        let answers = self.search_with(queries, options, progress)?;
        let truth = self.exact(queries, options.k, progress)?;
        let found = Found {
            ids: &answers.nodes,
            distances: &answers.distances,
            width: answers.k,
        };
        let pages: u64 = answers.stats.iter().map(|stats| stats.pages).sum();
        let recalls = recalls(&found, &truth, answers.k)?;
        Ok(RecallReport {
            recall: recalls.iter().sum::<f64>() / recalls.len() as f64,
            recall_p5: recall_p5(&recalls).unwrap_or(0.0),
            k: options.k,
            list_size: answers.settings.list_size,
            queries: answers.stats.len(),
            pages_per_query: pages as f64 / answers.stats.len() as f64,
        })
    }

    /// Exact neighbours of `queries`, as node numbers.
    pub(crate) fn exact(
        &self,
        queries: &Queries<'_>,
        k: u32,
        progress: &dyn Progress,
    ) -> Result<Truth> {
        let pool = thread_pool(0)?;
        // The base is the index itself, whose rows are its nodes.
        let held_out: Option<Vec<RowId>> = queries
            .held_out
            .map(|nodes| nodes.iter().map(|node| RowId(node.0)).collect());
        let question = ExactQuestion {
            queries: VectorSlice::new(queries.rows, self.shape())?,
            metric: self.metric(),
            k: k as usize,
            exclude: held_out.as_deref(),
        };
        let memory_bytes = exact_bytes_min(&question) + 8 * TRANSFER_BYTES as u64;
        exact(
            self,
            &question,
            &ExactOptions {
                memory_bytes,
                pool: &pool,
            },
            progress,
        )
    }
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
