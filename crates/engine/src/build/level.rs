//! Whether lists that queries choose by local dimension find on average what they should.
//!
//! The dependence of misses on dimension is a power law fitted to all lists, and taken steeper than
//! the fit. If it is too steep, queries of low dimension have shorter lists than they need, and the
//! longer lists of the others do not make up for it. The queries of the calibration have noted
//! their misses with each list, which tells by how much.

use crate::calibration::{LEVEL_RECALLS, ListPlan};

/// Queries with notes, at least.
const LEAST_QUERIES: usize = 100;

/// The misses of queries with lists of some sizes.
pub(super) struct NotedMisses<'n> {
    /// Sizes, ascending.
    pub(super) sizes: &'n [u32],
    /// The dimension of each query, and its misses with each size that it went up to.
    pub(super) queries: Vec<(f32, Vec<f64>)>,
}

/// The ratio of noted misses to those that list plans for [`LEVEL_RECALLS`] foretell, that of a
/// recall below where too few queries have notes; `None` if they have for none.
pub(super) fn times_missed(
    noted: &NotedMisses<'_>,
    plan: impl Fn(f32) -> Option<ListPlan>,
) -> Option<Vec<f64>> {
    let ratio = |recall| noted.ratio(&plan(recall)?);
    let known = LEVEL_RECALLS.map(ratio);
    let mut last = known.into_iter().find_map(|own| own)?;
    let each = known.into_iter().map(|own| {
        last = own.unwrap_or(last);
        last
    });
    Some(each.collect())
}

impl<'n> NotedMisses<'n> {
    /// From the dimensions of all queries, and for each size the misses of some, by place.
    pub(super) fn new<P: Iterator<Item = (usize, f64)>>(
        sizes: &'n [u32],
        dimensions: &[Option<f32>],
        noted: impl Iterator<Item = P>,
    ) -> Self {
        let mut misses = vec![Vec::new(); dimensions.len()];
        for (at, each) in noted.enumerate() {
            for (query, missed) in each {
                // A query that skipped the list before cannot be interpolated from there.
                if let Some(own) = misses.get_mut(query).filter(|own| own.len() == at) {
                    own.push(missed);
                }
            }
        }
        let known = dimensions.iter().zip(misses);
        Self {
            sizes,
            queries: known
                .filter_map(|(own, misses)| Some(((*own)?, misses)))
                .collect(),
        }
    }

    /// The misses of all queries with the lists of a plan, divided by those that it foretells.
    fn ratio(&self, plan: &ListPlan) -> Option<f64> {
        let pairs = self.queries.iter().filter_map(|(dimension, misses)| {
            let missed = self.missed(misses, plan.size_at(*dimension))?;
            Some((missed, f64::from(plan.misses(Some(*dimension)))))
        });
        let sum =
            |(count, missed, said), (own, expected)| (count + 1, missed + own, said + expected);
        let (count, missed, said) = pairs.fold((0, 0.0, 0.0), sum);
        (count >= LEAST_QUERIES && said > 0.0).then_some(missed / said)
    }

    /// The misses of a query with a list between two of the sizes, interpolated.
    fn missed(&self, misses: &[f64], size: f32) -> Option<f64> {
        let behind = self.sizes.partition_point(|own| (*own as f32) < size);
        let high = *self.sizes.get(behind)? as f32;
        let own = *misses.get(behind)?;
        let Some(before) = behind.checked_sub(1) else {
            return Some(own);
        };
        let low = *self.sizes.get(before)? as f32;
        let share = f64::from((size - low) / (high - low));
        let less = *misses.get(before)?;
        Some(less + share * (own - less))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::execution::ListStep;

    /// A plan with lists of 2 to 8 for dimensions of 10 to 20, which says .2 of all queries.
    fn plan() -> ListPlan {
        let step = |(dimension, list_size)| ListStep {
            dimension,
            list_size,
            misses: 0.2,
        };
        ListPlan {
            first: 1,
            steps: [(10.0, 2.0), (20.0, 8.0)].map(step).to_vec(),
            unusual: 30.0,
        }
    }

    #[test]
    fn queries_that_miss_more_than_is_said_are_told() {
        let (sizes, misses) = ([1, 2, 4, 8], vec![0.8, 0.4, 0.2, 0.1]);
        let of = |dimensions: Vec<f32>| NotedMisses {
            sizes: &sizes,
            queries: dimensions
                .into_iter()
                .map(|own| (own, misses.clone()))
                .collect(),
        };
        let told =
            |noted: &NotedMisses<'_>| times_missed(noted, |recall| (recall < 0.85).then(plan));
        // Half of them miss .4 with a list of 2, half .1 with one of 8.
        let half = of([vec![10.0; 60], vec![20.0; 60]].concat());
        let close = |own: Option<Vec<f64>>, wanted: f64| {
            own.unwrap().iter().all(|own| (own - wanted).abs() < 1e-6)
        };
        assert!(close(told(&half), 1.25));
        // A list of 5 misses .175.
        let middle = of(vec![15.0; 120]);
        assert!(close(told(&middle), 0.875));
        assert_eq!(told(&of(vec![15.0; 99])), None);
        assert_eq!(times_missed(&middle, |_| None), None);
        let short = NotedMisses {
            sizes: &sizes,
            queries: vec![(20.0, vec![0.8, 0.4]); 120],
        };
        assert_eq!(told(&short), None, "nobody went so far");
    }
}
