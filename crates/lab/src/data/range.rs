//! Range searches over a prepared set: a radius that gives so many results, and all results in it.

use std::path::PathBuf;

use pageway::truth::{ExactOptions, RangeQuestion, TruthFile, exact_range, write_range_truth};
use pageway::{Error, Progress, Result};

use super::place::Place;
use super::prepare::{Held, Prepared};
use crate::files;

/// Results of the median query, where nothing else is asked for.
pub const USUAL_RESULTS: usize = 50;

/// A radius within which the median query has about so many results: the median of the distances of
/// the neighbours of that rank. No more than the truth is deep.
///
/// # Errors
/// `InvalidInput` for no results and a truth without distances; what reading it gives.
pub fn radius_for(prepared: &Prepared, results: usize) -> Result<f32> {
    let truth = TruthFile::open(&files::vfs(), &prepared.truth, Some(prepared.rows))?;
    let Some(rank) = results.min(truth.k()).checked_sub(1) else {
        return Err(Error::invalid("a radius for no results was asked for"));
    };
    let all = truth.read_all()?;
    let last = |query: usize| all.distances_of(query).get(rank).copied();
    let mut distances: Vec<f32> = (0..all.query_count()).filter_map(last).collect();
    distances.sort_unstable_by(f32::total_cmp);
    let median = distances.get(distances.len() / 2).copied();
    median.ok_or_else(|| Error::invalid("a radius needs a truth with distances"))
}

/// All rows within a radius of every query, in a `.rangeres` file; from the cache of `place` when
/// it is there.
///
/// Computes `rows * queries` distances and holds the queries and `place.memory_bytes`.
///
/// # Errors
/// As [`pageway::truth::exact_range`]; `Io`; `NoSpace`.
pub fn prepare_range(
    prepared: &Prepared,
    radius: f32,
    place: &Place,
    progress: &dyn Progress,
) -> Result<PathBuf> {
    let mark = files::text_checksum(&format!(
        "{} {} {} {radius}",
        files::fingerprint(&prepared.base)?,
        files::fingerprint(&prepared.queries)?,
        prepared.metric
    ));
    let path = place.made().join(format!("{mark}.rangeres"));
    if files::exists(&path)? {
        return Ok(path);
    }
    files::create_directory(&place.made())?;
    let base = files::open_vectors(&prepared.base, None)?;
    let held = Held::read(&files::open_vectors(&prepared.queries, None)?)?;
    let question = RangeQuestion {
        queries: held.slice()?,
        metric: prepared.metric,
        radius,
    };
    let pool = pageway::lab::thread_pool(place.threads)?;
    let options = ExactOptions {
        memory_bytes: place.memory_bytes,
        pool: &pool,
    };
    let found = exact_range(&base, &question, &options, progress)?;
    write_range_truth(&files::vfs(), &path, &found)?;
    Ok(path)
}
