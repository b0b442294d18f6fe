//! The last queries that took long, of all collections.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

use serde::Serialize;

use crate::collection::SearchPlan;

/// Queries that are kept.
const MOST: usize = 64;

/// The last that took long, newest first.
#[derive(Default)]
pub(crate) struct SlowQueries(Mutex<VecDeque<SlowQuery>>);

/// One of them: no vector, no filter, no payload.
#[derive(Clone, Serialize, Debug)]
pub(crate) struct SlowQuery {
    /// The name that the request gave the collection.
    pub(crate) collection: String,
    #[serde(rename = "op")]
    pub(crate) operation: &'static str,
    /// Seconds since 1970.
    pub(crate) time: u64,
    #[serde(rename = "ms")]
    pub(crate) milliseconds: f64,
    pub(crate) searches: Vec<SearchPlan>,
}

impl SlowQueries {
    /// Keeps one.
    pub(crate) fn note(&self, query: SlowQuery) {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.push_front(query);
        kept.truncate(MOST);
    }

    /// Those of a collection.
    pub(crate) fn of(&self, collection: &str) -> Vec<SlowQuery> {
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let own = kept.iter().filter(|query| query.collection == collection);
        own.cloned().collect()
    }
}
