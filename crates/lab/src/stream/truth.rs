//! Exact neighbours among the rows that are in.

use std::collections::HashMap;

use pageway::{Metric, Progress, Result, VectorShape};

use super::live::Live;
use crate::nearest::nearest;

/// Rows that are ranked for each query once.
const RANKED: usize = 2000;

/// All data of a stream, and what ranks it.
pub(crate) struct Ranking<'d> {
    rows: &'d [u8],
    queries: &'d [u8],
    shape: VectorShape,
    metric: Metric,
    /// Nearest rows of all data, of each query.
    nearest: Vec<Vec<u32>>,
}

impl<'d> Ranking<'d> {
    /// Ranks the nearest of all rows for each query.
    ///
    /// # Errors
    /// As exact truth is.
    pub(crate) fn new(
        (rows, queries): (&'d [u8], &'d [u8]),
        (shape, metric): (VectorShape, Metric),
        progress: &dyn Progress,
    ) -> Result<Self> {
        let mut ranking = Self {
            rows,
            queries,
            shape,
            metric,
            nearest: Vec::new(),
        };
        let count = (rows.len() / shape.row_bytes()).min(RANKED);
        ranking.nearest = ranking.scan(rows, count, progress)?;
        Ok(ranking)
    }

    /// The `k` nearest ids of each query.
    ///
    /// # Errors
    /// As exact truth is.
    pub(crate) fn among(
        &self,
        live: &Live,
        k: usize,
        progress: &dyn Progress,
    ) -> Result<Vec<Vec<u64>>> {
        let ids: HashMap<u64, u64> = live.iter().map(|(id, row)| (row, id)).collect();
        let k = k.min(live.len());
        let own = |ranked: &Vec<u32>| -> Vec<u64> {
            let living = ranked.iter().filter_map(|row| ids.get(&u64::from(*row)));
            living.take(k).copied().collect()
        };
        let found: Vec<Vec<u64>> = self.nearest.iter().map(own).collect();
        if found.iter().all(|found| found.len() == k) {
            return Ok(found);
        }
        // Too few of those ranked live: all that live are compared.
        let row_bytes = self.shape.row_bytes();
        let living: Vec<u64> = live.iter().map(|(id, _)| id).collect();
        let row = |(_, row): (u64, u64)| {
            let start = row as usize * row_bytes;
            self.rows.get(start..start + row_bytes).unwrap_or_default()
        };
        let rows: Vec<u8> = live.iter().flat_map(row).copied().collect();
        let places = self.scan(&rows, k, progress)?;
        let id = |place: &u32| living.get(*place as usize).copied();
        Ok(places
            .iter()
            .map(|own| own.iter().filter_map(id).collect())
            .collect())
    }

    fn scan(&self, rows: &[u8], k: usize, progress: &dyn Progress) -> Result<Vec<Vec<u32>>> {
        let like = (self.shape, self.metric);
        let truth = nearest(rows, self.queries, like, k, progress)?;
        Ok((0..truth.query_count())
            .map(|query| truth.ids_of(query).to_vec())
            .collect())
    }
}
