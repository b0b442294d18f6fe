//! Range search: every vector within a radius, as far as the walk finds them.
//!
//! Starling's algorithm (SIGMOD 2024, section 5.3): while at least half as many results lie within
//! the radius as the candidate list is long, the list doubles, takes back what it had turned away,
//! and the walk resumes where it stopped.

use pageway_types::Progress;
use serde::Serialize;

use super::Index;
use super::search::{Call, MAX_LIST_SIZE};
use crate::error::{Error, Result};
use crate::execution::driver::Outcomes;
use crate::execution::{Goal, QueryStats};
use crate::options::{Queries, SearchOptions, SearchSettings};
use crate::plan::{RANGE_LIMIT, RANGE_LIST_SIZE};

/// How to search a range.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct RangeOptions {
    /// Distance within which a vector is a result: squared for L2, negated for the inner product,
    /// one minus the cosine for cosine; as searches return it.
    pub radius: f32,
    /// Candidate list size to begin with.
    pub list_size: u32,
    /// Results per query at most, nearest first; also the size the candidate list may grow to.
    pub limit: u32,
    /// Reads in flight (W); the index's own where absent.
    pub beam: Option<u32>,
    /// Threads; 0 for those set aside at open.
    pub threads: usize,
    /// Queries in flight per thread; 0 for those set aside at open.
    pub interleave: u32,
}

impl RangeOptions {
    /// Options for a radius, with defaults for the rest.
    pub const fn new(radius: f32) -> Self {
        Self {
            radius,
            list_size: RANGE_LIST_SIZE,
            limit: RANGE_LIMIT,
            beam: None,
            threads: 0,
            interleave: 0,
        }
    }
}

/// What range searches found: results `lims[q] .. lims[q + 1]` are those of query `q`, nearest
/// first.
#[derive(Clone, PartialEq, Debug, Default, Serialize)]
pub struct RangeAnswers {
    /// Where the results of each query begin, and the number of all results: one more than queries.
    pub lims: Vec<usize>,
    /// Ids: the user's own, or row numbers.
    pub ids: Vec<u64>,
    /// Row numbers in the data the index was built from.
    pub rows: Vec<u32>,
    /// Numbers inside the index: those of [`Index`] as a source of vectors.
    pub nodes: Vec<u32>,
    /// Exact distances.
    pub distances: Vec<f32>,
    /// What each query cost.
    #[serde(skip)]
    pub stats: Vec<QueryStats>,
    /// Queries that found as many results as there was room for: there may be more.
    pub truncated: usize,
    /// How the searches ran; the list size is the one they began with.
    #[serde(skip)]
    pub settings: SearchSettings,
}

impl Index {
    /// Finds the vectors within a radius of each query.
    ///
    /// Costs about a page read per result and list place, fewer where pages are shared.
    ///
    /// # Errors
    /// `InvalidInput` for a radius that is not a number, or sizes that cannot be or do not fit the
    /// memory set aside for searches; `Corrupt` or `Io` when pages cannot be read.
    pub fn range(
        &self,
        queries: &Queries<'_>,
        options: &RangeOptions,
        progress: &dyn Progress,
    ) -> Result<RangeAnswers> {
        let count = self.check_queries(queries)?;
        check(options)?;
        let search = SearchOptions {
            beam: options.beam,
            ..SearchOptions::default()
        };
        let sizes = (options.limit, options.list_size, options.limit);
        let call = Call {
            scratch: self.scratch(&search, sizes)?,
            goal: Goal::Within {
                radius: options.radius,
            },
            exact: true,
            threads: options.threads,
            interleave: options.interleave,
            traced: false,
            recorded: 0,
        };
        let (outcomes, settings) = self.call(queries, &call, (count, progress))?;
        Ok(RangeAnswers {
            settings,
            ..collect(
                &outcomes,
                count,
                (call.scratch.results, self.len() as usize),
            )
        })
    }
}

fn check(options: &RangeOptions) -> Result<()> {
    if options.radius.is_nan() {
        return Err(Error::invalid("radius: not a number"));
    }
    for (name, size) in [("list size", options.list_size), ("limit", options.limit)] {
        if !(1..=MAX_LIST_SIZE).contains(&size) {
            return Err(Error::invalid(format!(
                "{name} {size}: give 1 to {MAX_LIST_SIZE}"
            )));
        }
    }
    Ok(())
}

/// Puts the results of all threads into the order of the queries. A query may find `limit` of all
/// `rows`.
fn collect(outcomes: &[Outcomes], count: usize, (limit, rows): (usize, usize)) -> RangeAnswers {
    let mut places = vec![(0, 0, 0); count];
    for (thread, outcome) in outcomes.iter().enumerate() {
        let mut start = 0;
        for (query, results, _) in &outcome.queries {
            if let Some(place) = places.get_mut(*query) {
                *place = (thread, start, *results);
            }
            start += results;
        }
    }
    let mut answers = RangeAnswers {
        lims: vec![0],
        stats: vec![QueryStats::default(); count],
        ..RangeAnswers::default()
    };
    for (thread, start, results) in places {
        let found = outcomes
            .get(thread)
            .map_or(&[][..], |outcome| &outcome.found);
        for neighbor in found.get(start..start + results).unwrap_or_default() {
            answers.ids.push(neighbor.user_id);
            answers.rows.push(neighbor.row);
            answers.nodes.push(neighbor.node.0);
            answers.distances.push(neighbor.distance);
        }
        answers.truncated += usize::from(results >= limit && results < rows);
        answers.lims.push(answers.ids.len());
    }
    for (query, _, stats) in outcomes.iter().flat_map(|outcome| &outcome.queries) {
        if let Some(slot) = answers.stats.get_mut(*query) {
            *slot = *stats;
        }
    }
    answers
}
