//! Synthetic attributes: the rank of each row by distance to each of a few queries, the anchors,
//! and a rank at random.

use pageway::lab::SplitMix64;
use pageway::{Error, Progress, Result};

use super::axes::Correlation;
use crate::in_memory::InMemory;

/// Queries that rows are ranked by.
pub(super) const ANCHORS: usize = 4;
/// Queries of a question at most.
const ASKED: usize = 100;
/// Seed of what is drawn.
const SEED: u64 = 3;

/// Ranks of rows, and which queries are asked.
pub(super) struct Ranks {
    /// By field, then row: the anchors' first, the one at random last.
    by_field: Vec<Vec<u32>>,
    /// By anchor: all queries, the nearest first.
    queries: Vec<Vec<u32>>,
    /// By anchor: queries that are drawn.
    drawn: Vec<Vec<u32>>,
}

impl Ranks {
    /// Costs a distance per row and anchor.
    ///
    /// # Errors
    /// `InvalidInput` without rows, or with fewer queries than anchors; `Cancelled`.
    pub(super) fn new(data: InMemory<'_>, progress: &dyn Progress) -> Result<Self> {
        let (count, asked) = (data.count() as usize, data.query_count());
        if count == 0 || asked < ANCHORS {
            return Err(Error::invalid(format!(
                "{count} rows, {asked} queries: give a row and {ANCHORS} queries at least"
            )));
        }
        let mut random = SplitMix64::new(SEED);
        let draw = |most: usize, random: &mut SplitMix64| {
            let mut drawn = shuffled(asked, random);
            drawn.truncate(most);
            drawn
        };
        let anchors = data.queries_at(&draw(ANCHORS, &mut random));
        let to_anchors = |queries| InMemory {
            rows: &anchors,
            queries,
            ..data
        };
        let orders_of_rows = orders(to_anchors(data.rows), progress)?;
        let mut by_field: Vec<Vec<u32>> = orders_of_rows.iter().map(|one| ranks(one)).collect();
        by_field.push(shuffled(count, &mut random));
        Ok(Self {
            by_field,
            queries: orders(to_anchors(data.queries), progress)?,
            drawn: (0..ANCHORS).map(|_| draw(ASKED, &mut random)).collect(),
        })
    }

    /// By field, then row.
    pub(super) fn columns(&self) -> &[Vec<u32>] {
        &self.by_field
    }

    /// Rows whose rank in a field is below a bound.
    pub(super) fn below(&self, (column, bound): (usize, u64)) -> Vec<u32> {
        let ranks = (0..).zip(self.by_field.get(column).into_iter().flatten());
        let own = ranks.filter(|(_, rank)| u64::from(**rank) < bound);
        own.map(|(row, _)| row).collect()
    }

    /// A JSON object a row.
    pub(super) fn documents(&self) -> Vec<String> {
        let names: Vec<String> = field_names().collect();
        let count = self.by_field.first().map_or(0, Vec::len);
        let document = |row: usize| {
            let pair = |(name, ranks): (&String, &Vec<u32>)| {
                let rank = ranks.get(row)?;
                Some(format!("\"{name}\": {rank}"))
            };
            let pairs: Vec<String> = names.iter().zip(&self.by_field).filter_map(pair).collect();
            format!("{{{}}}", pairs.join(", "))
        };
        (0..count).map(document).collect()
    }

    /// The field and the queries of each question.
    pub(super) fn asked(&self, correlation: Correlation) -> Vec<(usize, Vec<u32>)> {
        let first = |queries: &Vec<u32>| queries.iter().take(ASKED).copied().collect();
        let last = |queries: &Vec<u32>| queries.iter().rev().take(ASKED).copied().collect();
        match correlation {
            Correlation::Positive => self.queries.iter().map(first).enumerate().collect(),
            Correlation::Negative => self.queries.iter().map(last).enumerate().collect(),
            Correlation::Given => Vec::new(),
            Correlation::None => {
                let drawn = self.drawn.iter().cloned();
                drawn.map(|queries| (ANCHORS, queries)).collect()
            }
        }
    }
}

/// Names of the fields.
pub(super) fn field_names() -> impl Iterator<Item = String> {
    let anchors = (0..ANCHORS).map(|at| format!("a{at}"));
    anchors.chain(std::iter::once("mixed".to_owned()))
}

/// For each anchor, in the place of rows, all queries, the nearest first, ties by number.
fn orders(to_anchors: InMemory<'_>, progress: &dyn Progress) -> Result<Vec<Vec<u32>>> {
    let width = to_anchors.count() as usize;
    let found = to_anchors.nearest(width, progress)?;
    let mut away: Vec<Vec<(f32, u32)>> = vec![Vec::with_capacity(found.query_count()); width];
    for (row, number) in (0..found.query_count()).zip(0..) {
        let distances = found.distances_of(row).iter();
        for (anchor, distance) in found.ids_of(row).iter().zip(distances) {
            if let Some(own) = away.get_mut(*anchor as usize) {
                own.push((*distance, number));
            }
        }
    }
    Ok(away.into_iter().map(in_order).collect())
}

fn in_order(mut away: Vec<(f32, u32)>) -> Vec<u32> {
    away.sort_unstable_by(|one, other| one.0.total_cmp(&other.0).then(one.1.cmp(&other.1)));
    away.into_iter().map(|(_, row)| row).collect()
}

/// The place of each row in an order.
fn ranks(order: &[u32]) -> Vec<u32> {
    let mut ranks = vec![0; order.len()];
    for (rank, row) in (0..).zip(order) {
        if let Some(place) = ranks.get_mut(*row as usize) {
            *place = rank;
        }
    }
    ranks
}

/// The numbers below `count`, in an order that is drawn.
fn shuffled(count: usize, random: &mut SplitMix64) -> Vec<u32> {
    let mut order: Vec<u32> = (0..count as u32).collect();
    for at in (1..count).rev() {
        order.swap(at, random.below(at as u64 + 1) as usize);
    }
    order
}

#[cfg(test)]
mod tests {
    use pageway::NoProgress;

    use super::*;
    use crate::in_memory::tests::of_bytes;

    #[test]
    fn ranks_follow_distances_and_every_field_has_each_rank_once() {
        let rows: Vec<u8> = (0..200u32)
            .flat_map(|at| [at as u8, (at * 37) as u8])
            .collect();
        let queries: Vec<u8> = (0..150u32)
            .flat_map(|at| [(at * 3) as u8, at as u8])
            .collect();
        let ranked = |queries: &[u8]| Ranks::new(of_bytes(&rows, queries, 2), &NoProgress);
        let found = ranked(&queries).unwrap();
        let away = |a: &[u8], b: &[u8]| -> u32 {
            let pairs = a.iter().zip(b);
            pairs.map(|(a, b)| u32::from(a.abs_diff(*b)).pow(2)).sum()
        };
        let (near, far) = (Correlation::Positive, Correlation::Negative);
        for ((field, near), (_, far)) in found.asked(near).into_iter().zip(found.asked(far)) {
            // An anchor is the query nearest to itself.
            let anchor = &queries[near[0] as usize * 2..][..2];
            let mut order: Vec<usize> = (0..200).collect();
            order.sort_by_key(|row| found.columns()[field][*row]);
            let steps: Vec<u32> = order
                .iter()
                .map(|row| away(anchor, &rows[row * 2..]))
                .collect();
            assert!(steps.is_sorted(), "{steps:?}");
            let asked = |of: &[u32]| -> Vec<u32> {
                let own = of
                    .iter()
                    .map(|at| away(anchor, &queries[*at as usize * 2..]));
                own.collect()
            };
            assert!(asked(&near).is_sorted() && asked(&far).iter().rev().is_sorted());
            assert!(asked(&near)[99] <= asked(&far)[49]);
        }
        for column in found.columns() {
            let mut sorted = column.clone();
            sorted.sort_unstable();
            assert!(sorted.iter().copied().eq(0..200));
        }
        let document = &found.documents()[7];
        let mixed = found.columns()[ANCHORS][7];
        assert!(
            document.ends_with(&format!("\"mixed\": {mixed}}}")),
            "{document}"
        );
        assert!(ranked(&queries[..6]).is_err());
    }
}
