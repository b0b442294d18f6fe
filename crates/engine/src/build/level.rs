//! Whether lists that queries choose by their dimensions find on average what they should.
//!
//! How misses go with dimensions is a power fitted to all lists, taken steeper than it shows. Where
//! it is too steep, queries of low dimension have shorter lists than they need, which longer ones
//! the others do not make up for. The queries of the calibration have noted what they miss with
//! each list, so they tell by how much.

use crate::calibration::ListPlan;

/// Recalls whose lists are looked at.
const RECALLS: [f32; 3] = [0.8, 0.9, 0.95];
/// Queries that tell, at least.
const LEAST_QUERIES: usize = 100;

/// What queries missed with lists of some sizes.
pub(super) struct NotedMisses<'n> {
    /// Sizes, ascending.
    pub(super) sizes: &'n [u32],
    /// Of each query its dimension, where that is known, and what it missed with each size, as far
    /// as it went.
    pub(super) queries: Vec<(f32, Vec<f64>)>,
}

/// How many times what plans for some recalls say queries miss whose lists they choose; none where
/// too few have noted it.
pub(super) fn times_missed(
    noted: &NotedMisses<'_>,
    plan: impl Fn(f32) -> Option<ListPlan>,
) -> Option<f64> {
    let plans = RECALLS.into_iter().filter_map(plan);
    let ratios: Vec<f64> = plans.filter_map(|plan| noted.ratio(&plan)).collect();
    let mean = ratios.iter().sum::<f64>() / ratios.len().max(1) as f64;
    (!ratios.is_empty()).then_some(mean)
}

impl<'n> NotedMisses<'n> {
    /// Of queries of these dimensions, what some of them, by their places, missed with each size.
    pub(super) fn new<P: Iterator<Item = (usize, f64)>>(
        sizes: &'n [u32],
        dimensions: &[Option<f32>],
        noted: impl Iterator<Item = P>,
    ) -> Self {
        let mut misses = vec![Vec::new(); dimensions.len()];
        for (at, each) in noted.enumerate() {
            for (query, missed) in each {
                // Who was not searched for with a list before has no line from there.
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

    /// Misses of all queries with the lists of a plan, beside those that it says.
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

    /// What a query misses with a list between two of the sizes, on the line between them.
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
        assert!((told(&half).unwrap() - 1.25).abs() < 1e-6);
        // A list of 5 misses .175.
        let middle = of(vec![15.0; 120]);
        assert!((told(&middle).unwrap() - 0.875).abs() < 1e-6);
        assert_eq!(told(&of(vec![15.0; 99])), None);
        assert_eq!(times_missed(&middle, |_| None), None);
        let short = NotedMisses {
            sizes: &sizes,
            queries: vec![(20.0, vec![0.8, 0.4]); 120],
        };
        assert_eq!(told(&short), None, "nobody went so far");
    }
}
