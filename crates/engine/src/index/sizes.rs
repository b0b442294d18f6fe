//! From the options of a search to the sizes of its queries.

use super::Version;
use super::collect::ResultPlaces;
use crate::calibration::{Misses, whole_list};
use crate::error::{Error, ErrorKind, Result};
use crate::execution::driver::WorkerShape;
use crate::execution::{NodeSet, QuerySizes};
use crate::options::{Effort, SearchOptions};
use crate::plan::sizes;

/// Largest candidate list of a search.
pub const MAX_LIST_SIZE: u32 = 100_000;

/// A list may grow to so many times its length for dead rows near a query, beside the growth for
/// the mean share of dead rows.
const MOST_GROWTH: f64 = 4.0;
/// A list may grow to so many times the length that would hold enough admitted nodes if these were
/// spread evenly, which they seldom are.
const GROWTH_ROOM: f64 = 2.0;

impl Version {
    /// Sizes of a query that begins with a list of this size, of nodes that are `admitted`.
    pub(super) fn sizes_for(
        &self,
        options: &SearchOptions,
        list_size: u32,
        admitted: Option<&NodeSet>,
    ) -> Result<QuerySizes> {
        let times = self.nodes_per_living();
        match admitted {
            Some(set) => self.sizes_among(options, (list_size, set.len())),
            None if times > 1.0 && options.radius.is_none() => {
                let longer = (f64::from(list_size) * times).ceil() as u32;
                let longer = longer.min(MAX_LIST_SIZE);
                let fits = |own: u32| {
                    let sizes = self.sizes_up_to(options, (own, own));
                    sizes.is_ok_and(|sizes| self.has_room(sizes))
                };
                let list_size = crate::memory::largest(list_size, longer, fits);
                let living = f64::from(self.node_count()) - self.dead_count() as f64;
                self.sizes_among(options, (list_size, (living / MOST_GROWTH) as u64))
            }
            None => self.sizes(options, list_size),
        }
    }

    /// Nodes per living node: how much longer a list has to be, if dead rows are spread evenly.
    pub(super) fn nodes_per_living(&self) -> f64 {
        let nodes = f64::from(self.node_count());
        let living = (nodes - self.dead_count() as f64).max(1.0);
        (nodes / living).clamp(1.0, MOST_GROWTH)
    }

    /// The places for results of a query: as many as are asked for, even if there are fewer rows.
    pub(super) fn places(&self, options: &SearchOptions) -> ResultPlaces {
        ResultPlaces {
            k: options.k as usize,
            rows: self.node_count() as usize,
            fills: options.radius.is_none(),
        }
    }

    /// Sizes of a query that begins with a list of this size.
    pub(super) fn sizes(&self, options: &SearchOptions, list_size: u32) -> Result<QuerySizes> {
        let limit = match options.radius {
            None => list_size,
            Some(_) => options.k,
        };
        self.sizes_up_to(options, (list_size, limit))
    }

    /// The same where `admitted` nodes may be found: the list grows until it holds as many of them
    /// as it would otherwise hold nodes, as far as memory goes.
    fn sizes_among(
        &self,
        options: &SearchOptions,
        (list_size, admitted): (u32, u64),
    ) -> Result<QuerySizes> {
        let share = f64::from(self.node_count()) / admitted.max(1) as f64;
        let wished = (f64::from(list_size.max(options.k)) * share * GROWTH_ROOM).ceil();
        let most = u64::from(MAX_LIST_SIZE.max(list_size));
        let most = (wished as u64).clamp(list_size.into(), most) as u32;
        let fits = |limit: u32| {
            let sizes = self.sizes_up_to(options, (list_size, limit));
            sizes.is_ok_and(|sizes| self.has_room(sizes))
        };
        let limit = crate::memory::largest(list_size, most, fits);
        self.sizes_up_to(options, (list_size, limit))
    }

    /// Whether one query of these sizes fits the memory set aside for searches.
    pub(super) fn has_room(&self, sizes: QuerySizes) -> bool {
        self.worker_bytes(&WorkerShape::compact(1, sizes)) <= self.for_searches()
    }

    fn sizes_up_to(
        &self,
        options: &SearchOptions,
        (list_size, limit): (u32, u32),
    ) -> Result<QuerySizes> {
        let own = self.manifest.spec.execution.schedule.beam();
        let beam = options.beam.unwrap_or(own);
        let sizes = sizes(self.node_count(), (options.k, list_size, limit), beam)?;
        Ok(match options.radius {
            Some(_) => sizes,
            None => sizes.holding(sizes.results),
        })
    }
}

/// The smallest list size that is calibrated to reach a recall of queries that miss so much.
///
/// # Errors
/// `Unsupported` when none does, `InvalidInput` for a k that cannot be.
pub(super) fn list_size_for(
    version: &Version,
    (k, recall): (u32, f32),
    misses: Misses,
) -> Result<u32> {
    let exact = SearchOptions::nearest(k);
    mean_list_size_for(version, (&exact, recall), misses).map(whole_list)
}

/// The same as a mean over queries, for searches with these options.
fn mean_list_size_for(
    version: &Version,
    (options, recall): (&SearchOptions, f32),
    misses: Misses,
) -> Result<f32> {
    let k = options.k;
    check_k(k)?;
    // Of fewer rows all are found by what finds them in their number.
    let k = k.min(version.node_count().max(1));
    if version.segments.is_empty() {
        return Ok(k as f32);
    }
    let calibration = version.calibration_of(&options.with_k(k));
    if calibration.curves.is_empty() && !version.is_whole() {
        return Err(unmeasured());
    }
    calibration.mean_list_size(k, recall, misses)
}

/// The error for an index whose recall is not known and cannot be measured now.
fn unmeasured() -> Error {
    Error::new(
        ErrorKind::Unsupported,
        "recall was not measured, and is not while the index is open to be changed or has dead \
         rows: merge it fully (pageway merge --full), which measures it where rows came or died, \
         then close it and calibrate it (pageway calibrate); or give a list size (effort)",
    )
}

/// The list size that an effort asks for, of queries that miss so much.
///
/// # Errors
/// `Unsupported` for a recall out of reach, `InvalidInput` for a list size that cannot be.
pub(super) fn list_size(version: &Version, options: &SearchOptions, misses: Misses) -> Result<u32> {
    mean_list_size(version, options, misses).map(whole_list)
}

/// The same as a mean over queries of which some have a list of one place more than others.
pub(super) fn mean_list_size(
    version: &Version,
    options: &SearchOptions,
    misses: Misses,
) -> Result<f32> {
    match options.effort {
        Effort::Recall(_) if options.radius.is_some() => Err(Error::new(
            ErrorKind::Unsupported,
            "the recall of searches within a radius is not calibrated: give a list size",
        )),
        Effort::Recall(recall) => mean_list_size_for(version, (options, recall), misses),
        Effort::ListSize(size) if (1..=MAX_LIST_SIZE).contains(&size) => {
            let least = options.radius.map_or(options.k, |_| 1);
            Ok(size.max(least) as f32)
        }
        Effort::ListSize(size) => Err(Error::invalid(format!(
            "list size {size}: give 1 to {MAX_LIST_SIZE}"
        ))),
    }
}

/// Refuses a k, a limit or a radius that cannot be.
///
/// # Errors
/// `InvalidInput`.
pub(super) fn check(version: &Version, options: &SearchOptions) -> Result<()> {
    let metric = version.manifest.spec.shape.metric;
    let estimates = options.radius.is_some() || !options.tolerance.is_exact();
    if estimates && !options.exact && !metric.is_guide() {
        return Err(Error::new(
            ErrorKind::Unsupported,
            format!(
                "codes estimate no distances of {metric}: give neither a radius nor a tolerance, or \
                 search exactly"
            ),
        ));
    }
    let Some(radius) = options.radius else {
        return check_k(options.k);
    };
    if radius.is_nan() {
        return Err(Error::invalid("radius: not a number"));
    }
    if !(1..=MAX_LIST_SIZE).contains(&options.k) {
        return Err(Error::invalid(format!(
            "limit {}: give 1 to {MAX_LIST_SIZE}",
            options.k
        )));
    }
    Ok(())
}

/// Checks k, which may be more than there are rows: the places of those that lack stay empty.
pub(super) fn check_k(k: u32) -> Result<()> {
    if (1..=MAX_LIST_SIZE).contains(&k) {
        return Ok(());
    }
    Err(Error::invalid(format!(
        "k = {k}: give 1 to {MAX_LIST_SIZE}"
    )))
}
