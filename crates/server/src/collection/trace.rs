//! What the searches of a request cost, and one of them to be answered again exactly.

use std::sync::{Mutex, MutexGuard, PoisonError};

use pageway::{FilterReport, QueryStats};
use serde::Serialize;
use serde_json::Value;

use crate::wire::PointId;

/// Searches of a request that are told one by one, at most.
const MOST_PLANS: usize = 16;

/// How a search went.
#[derive(Clone, PartialEq, Serialize, Debug)]
pub(crate) struct SearchPlan {
    /// The name of the vector.
    pub(crate) vector: String,
    pub(crate) k: u32,
    pub(crate) list_size: u32,
    pub(crate) exact: bool,
    /// The recall that was asked for, where no list was.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) recall: Option<f32>,
    /// What the calibration expects, where there is one and no filter.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) expected_recall: Option<f32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) filter: Option<FilterReport>,
    #[serde(flatten)]
    pub(crate) stats: QueryStats,
}

/// A search to be answered again exactly, and what it found.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct SampledSearch {
    /// The number of the index.
    pub(crate) number: usize,
    pub(crate) vector: Vec<f32>,
    pub(crate) filter: Option<Value>,
    pub(crate) found: Vec<(PointId, f32)>,
    pub(crate) k: usize,
    /// Changes of the collection before the search.
    pub(crate) changes: u64,
}

/// What is noted while a request is answered. Shared by who answers and who tells.
#[derive(Default)]
pub(crate) struct SearchTrace(Mutex<TraceParts>);

#[derive(Default)]
struct TraceParts {
    plans: Vec<SearchPlan>,
    searches: u64,
    total: QueryStats,
    wants_sample: bool,
    sample: Option<SampledSearch>,
}

/// Sums over the searches of a request.
#[derive(Clone, Copy, PartialEq, Default, Debug)]
pub(crate) struct SearchTotal {
    pub(crate) searches: u64,
    pub(crate) stats: QueryStats,
}

impl SearchTrace {
    /// Asks for the next search that is not exact.
    pub(crate) fn want_sample(&self) {
        self.lock().wants_sample = true;
    }

    /// Notes how a search went.
    pub(crate) fn note(&self, plan: SearchPlan) {
        let mut parts = self.lock();
        parts.searches += 1;
        parts.total.add(&plan.stats);
        if parts.plans.len() < MOST_PLANS {
            parts.plans.push(plan);
        }
    }

    /// Keeps a search, where one is wanted.
    pub(crate) fn offer(&self, sample: impl FnOnce() -> SampledSearch) {
        let mut parts = self.lock();
        if parts.wants_sample {
            parts.wants_sample = false;
            parts.sample = Some(sample());
        }
    }

    /// The search that was kept.
    pub(crate) fn take_sample(&self) -> Option<SampledSearch> {
        self.lock().sample.take()
    }

    /// The first searches.
    pub(crate) fn plans(&self) -> Vec<SearchPlan> {
        self.lock().plans.clone()
    }

    /// All searches together.
    pub(crate) fn total(&self) -> SearchTotal {
        let parts = self.lock();
        SearchTotal {
            searches: parts.searches,
            stats: parts.total,
        }
    }

    fn lock(&self) -> MutexGuard<'_, TraceParts> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
