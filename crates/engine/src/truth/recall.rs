//! recall@k: the share of the true `k` nearest neighbours that a search found.
//!
//! For one query, `recall@k = |found ∩ nearest| / k`, where `nearest` are the first `k` neighbours
//! of the truth and `found` the first `k` answers of the search, each id counted once. Where
//! distances are known, any row at the distance of the k-th true neighbour counts as one of them:
//! which of several equals is listed is chance. Such a row is known from the truth beyond `k`, or
//! from the distance that the search reports. Over many queries, recall is the mean.

use super::error::TruthError;
use super::table::Truth;
use crate::error::Error;

/// What a search found: `width` answers per query, nearest first.
#[derive(Clone, Copy, Debug)]
pub struct Found<'a, I> {
    /// Row numbers of the base; places without an answer hold any number that is no row.
    pub ids: &'a [I],
    /// Distances in step with `ids`; empty when they are not known.
    pub distances: &'a [f32],
    /// Answers per query, at least the `k` of the comparison.
    pub width: usize,
}

/// Mean recall@k over all queries of `truth`. Cost: `O(width log width)` per query.
///
/// # Errors
/// `InvalidInput` when `k` is 0 or above the width of either side, or when the lists do not have
/// one row per query of the truth.
pub fn recall<I: Copy + Into<u64>>(
    found: &Found<'_, I>,
    truth: &Truth,
    k: usize,
) -> Result<f64, Error> {
    let hits = hits(found, truth, k)?;
    Ok(hits.iter().sum::<usize>() as f64 / (hits.len() * k) as f64)
}

/// Recall@k of each query of `truth`, in order. Cost and errors as [`recall`].
pub fn recalls<I: Copy + Into<u64>>(
    found: &Found<'_, I>,
    truth: &Truth,
    k: usize,
) -> Result<Vec<f64>, Error> {
    let hits = hits(found, truth, k)?;
    Ok(hits
        .into_iter()
        .map(|hits| hits as f64 / k as f64)
        .collect())
}

/// The recall that one query in twenty does not reach: the 5th percentile. None of no queries.
pub fn recall_p5(recalls: &[f64]) -> Option<f64> {
    let mut sorted = recalls.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    sorted.get(sorted.len() / 20).copied()
}

/// True neighbours among the answers of each query.
fn hits<I: Copy + Into<u64>>(
    found: &Found<'_, I>,
    truth: &Truth,
    k: usize,
) -> Result<Vec<usize>, Error> {
    let queries = check(found, truth, k)?;
    let rows = found.ids.chunks_exact(found.width);
    let mut hits = Vec::with_capacity(queries);
    let mut answers = Vec::with_capacity(k);
    for (query, ids) in rows.enumerate() {
        let distances = found.distances.iter().skip(query * found.width).copied();
        answers.clear();
        answers.extend(
            ids.iter()
                .map(|id| (*id).into())
                .zip(distances.chain(std::iter::repeat(f32::NAN)))
                .take(k),
        );
        answers.sort_unstable_by_key(|(id, _)| *id);
        answers.dedup_by_key(|(id, _)| *id);
        let (ids, distances) = (truth.ids_of(query), truth.distances_of(query));
        hits.push(count_hits(&answers, ids, distances, k));
    }
    Ok(hits)
}

/// How many of the distinct answers, sorted by id, are true.
fn count_hits(answers: &[(u64, f32)], ids: &[u32], distances: &[f32], k: usize) -> usize {
    let last = k
        .checked_sub(1)
        .and_then(|rank| distances.get(rank))
        .copied();
    let is_tie = |distance: Option<&f32>| last.is_some() && distance.copied() == last;
    let listed = ids
        .iter()
        .enumerate()
        .filter(|(rank, _)| *rank < k || is_tie(distances.get(*rank)));
    let mut counts = vec![false; answers.len()];
    for (_, id) in listed {
        let place = answers.binary_search_by_key(&u64::from(*id), |(answer, _)| *answer);
        if let Some(count) = place.ok().and_then(|place| counts.get_mut(place)) {
            *count = true;
        }
    }
    let ties = answers.iter().map(|(_, distance)| is_tie(Some(distance)));
    counts
        .iter()
        .zip(ties)
        .filter(|(listed, tie)| **listed || *tie)
        .count()
}

fn check<I>(found: &Found<'_, I>, truth: &Truth, k: usize) -> Result<usize, TruthError> {
    let length = |what, found, expected| {
        Err(TruthError::Length {
            what,
            found,
            expected,
        })
    };
    let max = truth.k.min(found.width);
    if k == 0 || k > max {
        let what = "neighbours in the truth and of answers per query";
        return Err(TruthError::K {
            k,
            max: max as u64,
            what,
        });
    }
    let queries = truth.query_count();
    if queries == 0 {
        return Err(TruthError::NoQueries);
    }
    let expected = queries * found.width;
    if found.ids.len() != expected {
        return length("ids found", found.ids.len(), expected);
    }
    if !found.distances.is_empty() && found.distances.len() != expected {
        return length("distances found", found.distances.len(), expected);
    }
    Ok(queries)
}
