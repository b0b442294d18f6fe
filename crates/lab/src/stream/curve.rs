//! Recall over pages: indexes are compared where they read as much.

use pageway::{Answers, Index, Result, SearchOptions};

use super::summary::{mean, percentile5};
use crate::in_memory::InMemory;

/// What a search for all queries came to.
#[derive(Clone, Copy, PartialEq, Debug, Default, serde::Serialize)]
pub struct Found {
    /// Recall@k, mean over queries.
    pub recall: f64,
    /// That which one query in twenty does not reach.
    pub recall_p5: f64,
    /// Pages of a query, mean.
    pub pages: f64,
}

impl Found {
    /// What a search for all queries finds of the nearest ids of each.
    pub(crate) fn by(
        index: &Index,
        data: InMemory<'_>,
        options: &SearchOptions,
        truth: &[Vec<u64>],
    ) -> Result<Self> {
        let answers = index.search(&data.all_queries(), options)?;
        // Of none, all are found.
        let share = |(hits, wanted)| match wanted {
            0 => 1.0,
            wanted => hits as f64 / wanted as f64,
        };
        let recalls: Vec<f64> = hits(&answers, truth).map(share).collect();
        let pages = answers.stats.iter().map(|one| one.pages as f64);
        Ok(Self {
            recall: mean(&recalls),
            pages: mean(&pages.collect::<Vec<f64>>()),
            recall_p5: percentile5(recalls),
        })
    }
}

/// Of each query, how many of its nearest ids were found, and how many those are.
pub(crate) fn hits(answers: &Answers, truth: &[Vec<u64>]) -> impl Iterator<Item = (usize, usize)> {
    truth.iter().enumerate().map(|(query, truth)| {
        let own = answers.lims.get(query).zip(answers.lims.get(query + 1));
        let own = own.and_then(|(from, to)| answers.ids.get(*from..*to));
        let found = own.unwrap_or_default();
        let hits = truth.iter().filter(|id| found.contains(id)).count();
        (hits, truth.len())
    })
}

/// What searches with ever longer lists came to.
#[derive(Clone, PartialEq, Debug, Default)]
pub(super) struct Curve(pub(super) Vec<Found>);

impl Curve {
    /// Recall where so many pages are read, between the points on both sides; none beyond the ends.
    fn recall_at(&self, pages: f64) -> Option<f64> {
        let sides = self.0.iter().zip(self.0.iter().skip(1));
        let (low, high) = sides
            .into_iter()
            .find(|(low, high)| low.pages <= pages && pages <= high.pages)?;
        let width = high.pages - low.pages;
        let share = if width > 0.0 {
            (pages - low.pages) / width
        } else {
            1.0
        };
        Some(low.recall + share * (high.recall - low.recall))
    }

    /// How much more recall `other` has where both read as many pages, mean over the points of
    /// either that lie within the other; none where no point does.
    pub(super) fn gap_to(&self, other: &Self) -> Option<f64> {
        let own = self.0.iter();
        let own = own.filter_map(|one| Some(other.recall_at(one.pages)? - one.recall));
        let theirs = other.0.iter();
        let theirs = theirs.filter_map(|one| Some(one.recall - self.recall_at(one.pages)?));
        let gaps: Vec<f64> = own.chain(theirs).collect();
        (!gaps.is_empty()).then(|| gaps.iter().sum::<f64>() / gaps.len() as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn curve(points: &[(f64, f64)]) -> Curve {
        let found = |&(pages, recall)| Found {
            recall,
            recall_p5: 0.0,
            pages,
        };
        Curve(points.iter().map(found).collect())
    }

    #[test]
    fn indexes_are_compared_where_they_read_as_much() {
        let ours = curve(&[(10.0, 0.8), (20.0, 0.9), (40.0, 0.95)]);
        assert_eq!(ours.recall_at(15.0), Some(0.8500000000000001));
        assert_eq!((ours.recall_at(9.0), ours.recall_at(41.0)), (None, None));
        assert!(ours.gap_to(&ours).is_some_and(|gap| gap.abs() < 1e-12));
        // The same recall for half of the pages.
        let fresh = curve(&[(5.0, 0.8), (10.0, 0.9), (20.0, 0.95)]);
        let gap = ours.gap_to(&fresh).unwrap_or_default();
        assert!((gap - 0.075).abs() < 1e-9, "{gap}");
        assert_eq!(curve(&[(1.0, 0.5)]).gap_to(&ours), None);
        let still = curve(&[(3.0, 0.8), (3.0, 0.9)]);
        assert!(still.gap_to(&still).is_some());
    }
}
