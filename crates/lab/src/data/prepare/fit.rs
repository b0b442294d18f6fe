//! Whether a truth is of these vectors: a look at a few queries.
//!
//! Neighbours must come in the order of their distances, and none of a sample of other rows may be
//! nearer than the last of them. A truth of other vectors, another metric, another cut, or with ids
//! that count from one fails at the first query.

use pageway::truth::TruthFile;
use pageway::{Error, Result, VectorRead};

use super::truth::{Held, Want};

/// Queries that are looked at.
const QUERIES: u64 = 8;
/// Other rows that are looked at.
const OTHERS: u64 = 512;
/// What rounding may make of a distance, in shares of it.
const TOLERANCE: f32 = 1e-3;

/// What a look at a truth showed.
pub(super) struct Fitting {
    /// Its distances are what this engine calls a distance.
    pub(super) distances: bool,
}

/// Looks at a truth.
///
/// # Errors
/// `InvalidInput` with query and row for a truth that is not of these vectors; `Io`.
pub(super) fn check(want: &Want<'_>, truth: &TruthFile) -> Result<Fitting> {
    let queries = want.queries.count();
    let rows = want.base.count();
    let others: Vec<u64> = spread(rows, OTHERS).collect();
    let strangers = Held::gather(want.base, &others)?;
    let mut fitting = Fitting {
        distances: truth.has_distances(),
    };
    for number in spread(queries, QUERIES) {
        let published = truth.read(number, 1)?;
        let query = Held::gather(want.queries, &[number])?;
        let ids: Vec<u64> = published.ids.iter().map(|id| u64::from(*id)).collect();
        let neighbours = Held::gather(want.base, &ids)?.distances(&query, want.metric)?;
        check_order(number, &ids, &neighbours)?;
        let last = neighbours.last().copied().unwrap_or(f32::INFINITY);
        let distances = strangers.distances(&query, want.metric)?;
        let nearer = others
            .iter()
            .zip(&distances)
            .find(|(row, distance)| **distance < last - slack(last) && !ids.contains(*row));
        if let Some((row, distance)) = nearer {
            return Err(Error::invalid(format!(
                "is no truth of these vectors: for query {number}, row {row} at distance {distance} \
                 is nearer than the last neighbour at {last}"
            )));
        }
        let same = |(ours, theirs): (&f32, &f32)| (ours - theirs).abs() <= slack(*ours);
        fitting.distances &= neighbours.iter().zip(&published.distances).all(same);
    }
    Ok(fitting)
}

fn check_order(query: u64, ids: &[u64], distances: &[f32]) -> Result<()> {
    let pairs = distances.windows(2).zip(ids.windows(2));
    for (distances, ids) in pairs {
        if let (&[near, far], &[id, next]) = (distances, ids)
            && near > far + slack(far)
        {
            return Err(Error::invalid(format!(
                "is no truth of these vectors: for query {query}, row {next} at distance {far} \
                 comes behind row {id} at distance {near}"
            )));
        }
    }
    Ok(())
}

fn slack(distance: f32) -> f32 {
    TOLERANCE * distance.abs().max(1e-3)
}

/// Up to `parts` numbers below `count`, evenly.
fn spread(count: u64, parts: u64) -> impl Iterator<Item = u64> {
    let parts = parts.min(count);
    (0..parts).map(move |part| part * count / parts)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_spread_without_repeats() {
        assert_eq!(spread(100, 4).collect::<Vec<_>>(), [0, 25, 50, 75]);
        assert_eq!(spread(3, 8).collect::<Vec<_>>(), [0, 1, 2]);
        assert_eq!(spread(0, 8).count(), 0);
    }

    #[test]
    fn an_order_may_be_off_by_rounding_only() {
        assert!(check_order(0, &[4, 5, 6], &[1.0, 0.9999, 2.0]).is_ok());
        let error = check_order(3, &[4, 5], &[2.0, 1.0]).unwrap_err();
        assert!(error.context().contains("query 3, row 5"), "{error}");
        assert!(check_order(0, &[4, 5], &[-9.0, -8.0]).is_ok());
    }
}
