//! Exact neighbours among the rows that are in.

use std::collections::HashMap;

use pageway::truth::Truth;
use pageway::{Progress, Result};

use super::live::Live;
use crate::in_memory::InMemory;

/// Rows that are ranked for each query once.
const RANKED: u64 = 2000;

/// All data of a stream, and what ranks it.
pub(crate) struct Ranking<'d> {
    data: InMemory<'d>,
    /// Nearest rows of all data, of each query.
    nearest: Truth,
}

impl<'d> Ranking<'d> {
    /// Ranks the nearest of all rows for each query.
    ///
    /// # Errors
    /// As exact truth is.
    pub(crate) fn new(data: InMemory<'d>, progress: &dyn Progress) -> Result<Self> {
        let count = data.count().min(RANKED);
        let nearest = data.nearest(count as usize, progress)?;
        Ok(Self { data, nearest })
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
        let own = |query: usize| -> Vec<u64> {
            let ranked = self.nearest.ids_of(query).iter();
            let living = ranked.filter_map(|row| ids.get(&u64::from(*row)));
            living.take(k).copied().collect()
        };
        let queries = 0..self.nearest.query_count();
        let found: Vec<Vec<u64>> = queries.clone().map(own).collect();
        if found.iter().all(|found| found.len() == k) {
            return Ok(found);
        }
        // Too few of those ranked live: all that live are compared.
        let living: Vec<u64> = live.iter().map(|(id, _)| id).collect();
        let rows = self.data.rows_at(live.iter().map(|(_, row)| row));
        let data = InMemory {
            rows: &rows,
            ..self.data
        };
        let places = data.nearest(k, progress)?;
        let own = |query: usize| {
            let places = places.ids_of(query).iter();
            places.filter_map(|place| living.get(*place as usize).copied())
        };
        Ok(queries.map(|query| own(query).collect()).collect())
    }
}
