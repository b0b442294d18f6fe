//! Misses of few neighbours, beside those of more.
//!
//! Of one neighbour a query finds all or nothing, so that some hundred queries say little of what
//! long lists miss: often nothing. With the same lists they miss of ten neighbours about as large
//! a share, and each tells ten times. So many times as much as with shorter lists is what a list is
//! taken to miss before its own queries are counted, and that counts as a few misses of theirs.

use super::curve::CalibrationRow;

/// Misses of its own queries that what more neighbours say counts as.
const WEIGHT: f64 = 3.0;
/// Lists that tell by how much shares differ: as long as the one asked for, and down to a part.
const NEAR: u32 = 2;

/// Puts what is missed of more neighbours beside what is missed of fewer, for ascending `ranks`.
pub(crate) fn pool_ranks(ranks: &[u32], rows: &mut [Vec<CalibrationRow>]) {
    for at in (1..rows.len()).rev() {
        let (fewer, more) = rows.split_at_mut(at);
        let own = fewer.last_mut().zip(ranks.get(at - 1));
        if let (Some((own, k)), Some(more)) = (own, more.first()) {
            pool(*k, own, more);
        }
    }
}

fn pool(k: u32, own: &mut [CalibrationRow], more: &[CalibrationRow]) {
    let pairs: Vec<Option<Pair>> = own.iter().map(|row| Pair::of(k, row, more)).collect();
    for (at, row) in own.iter_mut().enumerate() {
        let Some(Some(pair)) = pairs.get(at) else {
            continue;
        };
        let near = |other: &&Pair| other.list_size * NEAR >= pair.list_size;
        let shorter = pairs.iter().take(at + 1).flatten().filter(near);
        let sums = shorter.fold((0.0, 0.0), |(own, more), each| {
            (own + each.missed, more + each.of_more)
        });
        pair.put_in(row, sums.0 / sums.1);
    }
}

/// What is missed with one list.
struct Pair {
    list_size: u32,
    /// Mean shares of the neighbours that are missed, of few and of more.
    missed: f64,
    of_more: f64,
    /// The share that is missed where one is, and how many such misses were seen.
    each: f64,
    count: f64,
}

impl Pair {
    /// None where the list was not searched with for more neighbours, or missed none of them.
    fn of(k: u32, row: &CalibrationRow, more: &[CalibrationRow]) -> Option<Self> {
        let beside = more
            .binary_search_by_key(&row.list_size, |other| other.list_size)
            .ok()?;
        let of_more = 1.0 - f64::from(more.get(beside)?.recall);
        let missed = 1.0 - f64::from(row.recall);
        let variance = f64::from(row.standard_error).powi(2) * f64::from(row.queries);
        let each = if missed > 0.0 {
            ((variance + missed * missed) / missed).clamp(missed.min(1.0), 1.0)
        } else {
            1.0 / f64::from(k.max(1))
        };
        (of_more > 0.0).then_some(Self {
            list_size: row.list_size,
            missed,
            of_more,
            each,
            count: missed * f64::from(row.queries) / each,
        })
    }

    /// Puts in what is missed where `share` times as much is expected as of more neighbours.
    fn put_in(&self, row: &mut CalibrationRow, share: f64) {
        let expected = share * self.of_more;
        if expected <= 0.0 || !expected.is_finite() {
            return;
        }
        let queries = f64::from(row.queries) + WEIGHT * self.each / expected;
        let missed = (self.each * (self.count + WEIGHT) / queries).min(1.0);
        row.recall = (1.0 - missed) as f32;
        row.standard_error = (missed * (self.each - missed).max(0.0) / queries).sqrt() as f32;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of one neighbour, so many of 500 queries missed by each list.
    fn of_one(missed: &[(u32, u32)]) -> Vec<CalibrationRow> {
        let row = |&(list_size, missed): &(u32, u32)| {
            let share = f64::from(missed) / 500.0;
            CalibrationRow {
                list_size,
                queries: 500,
                recall: (1.0 - share) as f32,
                standard_error: (share * (1.0 - share) / 500.0).sqrt() as f32,
                ..CalibrationRow::default()
            }
        };
        missed.iter().map(row).collect()
    }

    /// Of ten, a share of them by each list.
    fn of_ten(missed: &[(u32, f32)]) -> Vec<CalibrationRow> {
        let row = |&(list_size, missed): &(u32, f32)| CalibrationRow {
            list_size,
            queries: 500,
            recall: 1.0 - missed,
            standard_error: 0.002,
            ..CalibrationRow::default()
        };
        missed.iter().map(row).collect()
    }

    fn pooled(one: &[(u32, u32)], ten: &[(u32, f32)]) -> Vec<CalibrationRow> {
        let mut rows = [of_one(one), of_ten(ten)];
        pool_ranks(&[1, 10], &mut rows);
        let [one, _] = rows;
        one
    }

    #[test]
    fn a_list_that_missed_nothing_is_not_taken_to_find_all() {
        let rows = pooled(&[(20, 10), (30, 0)], &[(20, 0.04), (30, 0.02)]);
        // Half of what ten miss was missed with the shorter list, a third with both.
        let last = 1.0 - rows[1].recall;
        assert!((0.002..0.005).contains(&last), "{last}");
        assert!(rows[1].standard_error > 0.001);
        let first = 1.0 - rows[0].recall;
        assert!((first - 0.02).abs() < 1e-4, "{first}: it is as expected");
    }

    #[test]
    fn many_misses_speak_for_themselves() {
        // Fewer than the shorter list lets expect, with misses enough to be believed.
        let rows = pooled(&[(4, 200), (6, 60)], &[(4, 0.4), (6, 0.3)]);
        let last = 1.0 - rows[1].recall;
        assert!((last - 0.12).abs() < 0.006, "{last}");
    }

    #[test]
    fn lists_that_were_not_searched_with_for_more_are_left() {
        let one = &[(3, 50), (6, 0)];
        let rows = pooled(one, &[(30, 0.01)]);
        assert_eq!(rows, of_one(one));
        let none = pooled(&[(3, 0)], &[(3, 0.1)]);
        assert_eq!(none, of_one(&[(3, 0)]), "no share is known");
        let all = pooled(&[(3, 5)], &[(3, 0.0)]);
        assert_eq!(all, of_one(&[(3, 5)]));
    }

    #[test]
    fn each_rank_is_told_by_the_next() {
        let mut rows = [
            of_one(&[(20, 10), (30, 0)]),
            of_one(&[(20, 10), (30, 0)]),
            of_ten(&[(20, 0.04), (30, 0.02)]),
        ];
        pool_ranks(&[1, 2, 10], &mut rows);
        assert!(rows[0][1].recall < 0.999 && rows[1][1].recall < 0.999);
        let mut alone = [of_one(&[(20, 10)])];
        pool_ranks(&[1], &mut alone);
        assert_eq!(alone[0], of_one(&[(20, 10)]));
    }
}
