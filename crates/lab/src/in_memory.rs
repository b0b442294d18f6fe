//! Rows and queries in memory, and exact neighbours among them: what suites measure on that do
//! without a child process.

use std::ops::Range;

use pageway::source::VectorSlice;
use pageway::truth::{ExactOptions, ExactQuestion, Truth, exact};
use pageway::{Metric, Progress, Queries, Result, VectorShape};

/// Memory of a block of rows that are compared.
const BLOCK_BYTES: u64 = 16 << 20;

/// Rows, and queries over them.
#[derive(Clone, Copy, Debug)]
pub struct InMemory<'d> {
    /// Rows of the data.
    pub rows: &'d [u8],
    /// Queries of the same shape.
    pub queries: &'d [u8],
    /// Shape of both.
    pub shape: VectorShape,
    /// Distance.
    pub metric: Metric,
}

impl<'d> InMemory<'d> {
    /// Number of rows.
    pub fn count(&self) -> u64 {
        (self.rows.len() / self.shape.row_bytes()) as u64
    }

    /// Number of queries.
    pub(crate) fn query_count(&self) -> usize {
        self.queries.len() / self.shape.row_bytes()
    }

    /// Rows by their numbers; none where there are not as many.
    pub(crate) fn rows_of(&self, rows: Range<u64>) -> &'d [u8] {
        self.slice(self.rows, rows)
    }

    /// One row; none where there are not as many.
    pub(crate) fn row(&self, number: u64) -> &'d [u8] {
        self.rows_of(number..number + 1)
    }

    /// Some of the rows, one after the other.
    pub(crate) fn rows_at(&self, numbers: impl IntoIterator<Item = u64>) -> Vec<u8> {
        let rows = numbers.into_iter().flat_map(|number| self.row(number));
        rows.copied().collect()
    }

    /// One query; none where there are not as many.
    pub(crate) fn query(&self, number: u64) -> &'d [u8] {
        self.slice(self.queries, number..number + 1)
    }

    /// Some of the queries, one after the other.
    pub(crate) fn queries_at(&self, numbers: &[u32]) -> Vec<u8> {
        let queries = numbers
            .iter()
            .flat_map(|number| self.query((*number).into()));
        queries.copied().collect()
    }

    /// All queries, to be searched for.
    pub(crate) fn all_queries(&self) -> Queries<'d> {
        Queries::new(self.queries, self.shape)
    }

    fn slice(&self, all: &'d [u8], numbers: Range<u64>) -> &'d [u8] {
        let row_bytes = self.shape.row_bytes();
        let bytes = numbers.start as usize * row_bytes..numbers.end as usize * row_bytes;
        all.get(bytes).unwrap_or_default()
    }

    /// The `k` nearest rows of each query, with all cores. Costs a distance per row and query.
    ///
    /// # Errors
    /// As exact truth is.
    pub(crate) fn nearest(&self, k: usize, progress: &dyn Progress) -> Result<Truth> {
        let question = ExactQuestion {
            queries: VectorSlice::new(self.queries, self.shape)?,
            metric: self.metric,
            k,
            exclude: None,
        };
        let pool = pageway::lab::thread_pool(0)?;
        let options = ExactOptions {
            memory_bytes: (self.query_count() * k * 8) as u64 + BLOCK_BYTES,
            pool: &pool,
        };
        let rows = VectorSlice::new(self.rows, self.shape)?;
        exact(&rows, &question, &options, progress)
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use pageway::ElementType;

    use super::*;

    /// Rows and queries made up for tests: bytes, compared by L2.
    pub(crate) struct MadeUp {
        pub(crate) rows: Vec<u8>,
        pub(crate) queries: Vec<u8>,
    }

    /// Dimension of what is made up.
    pub(crate) const DIMENSION: u32 = 8;

    impl MadeUp {
        /// So many rows and queries, none of which is a row.
        pub(crate) fn new(rows: u32, queries: u32) -> Self {
            let mix = |at: u32| (at.wrapping_mul(2_654_435_769) >> 13) as u8;
            let vectors = |first: u32, count: u32| {
                let numbers = first * DIMENSION..(first + count) * DIMENSION;
                numbers.map(mix).collect()
            };
            Self {
                rows: vectors(0, rows),
                queries: vectors(5000, queries),
            }
        }

        pub(crate) fn data(&self) -> InMemory<'_> {
            of_bytes(&self.rows, &self.queries, DIMENSION)
        }
    }

    /// Bytes compared by L2.
    pub(crate) fn of_bytes<'d>(rows: &'d [u8], queries: &'d [u8], dimension: u32) -> InMemory<'d> {
        InMemory {
            rows,
            queries,
            shape: VectorShape {
                dimension,
                element: ElementType::U8,
            },
            metric: Metric::L2,
        }
    }
}
