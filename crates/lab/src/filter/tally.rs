//! What the answers of a cell come to.

use std::collections::BTreeMap;

use pageway::truth::{Found, Truth, recall_p5, recalls};
use pageway::{Answers, Result};

use super::record::Counts;
use crate::stream::mean;

/// Sums over questions.
#[derive(Default)]
pub(super) struct Tally {
    recalls: Vec<f64>,
    least: Option<usize>,
    wrong: u64,
    short: u64,
    pages: u64,
    codes: u64,
    vectors: u64,
    strategies: BTreeMap<&'static str, u64>,
    rescued: u64,
    documents: u64,
}

impl Tally {
    /// Takes the answers to a question, in calls one after the other, of `k` rows for each query.
    ///
    /// # Errors
    /// `InvalidInput` where answers and truth are not of the same queries.
    pub(super) fn take(
        &mut self,
        calls: &[Answers],
        (truth, k, owed): (Option<&Truth>, usize, usize),
        matches: &dyn Fn(u32) -> bool,
    ) -> Result<()> {
        let (mut rows, mut distances) = (Vec::new(), Vec::new());
        for answers in calls {
            rows.extend_from_slice(&answers.rows);
            distances.extend_from_slice(&answers.distances);
            self.take_costs(answers);
        }
        for own in rows.chunks(k) {
            let own = || own.iter().filter(|row| **row != u32::MAX);
            let count = own().count();
            self.least = Some(self.least.map_or(count, |least| least.min(count)));
            self.short += u64::from(count < owed);
            self.wrong += own().filter(|row| !matches(**row)).count() as u64;
        }
        let found = Found {
            ids: &rows,
            distances: &distances,
            width: k,
        };
        match truth {
            Some(truth) => self.recalls.extend(recalls(&found, truth, owed)?),
            // Nothing is to be found, and all of it is.
            None => self.recalls.extend(rows.chunks(k).map(|_| 1.0)),
        }
        Ok(())
    }

    fn take_costs(&mut self, answers: &Answers) {
        for stats in &answers.stats {
            self.pages += stats.pages;
            self.codes += stats.approximate_distances;
            self.vectors += stats.exact_distances;
        }
        if let Some(report) = answers.filter {
            let queries = answers.stats.len() as u64;
            *self.strategies.entry(report.strategy.name()).or_default() += queries;
            self.rescued += report.rescued as u64;
            self.documents += report.documents;
        }
    }

    /// The whole, by query.
    pub(super) fn counts(self) -> Counts {
        let queries = self.recalls.len();
        let each = |sum: u64| sum as f64 / queries.max(1) as f64;
        Counts {
            queries,
            recall: mean(&self.recalls),
            recall_p5: recall_p5(&self.recalls).unwrap_or(0.0),
            least_returned: self.least.unwrap_or(0),
            short: self.short,
            wrong: self.wrong,
            pages: each(self.pages),
            codes: each(self.codes),
            vectors: each(self.vectors),
            strategies: self.strategies,
            rescued: self.rescued,
            documents: self.documents,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_missing_and_what_does_not_match_is_counted() {
        let mut answers = Answers::default();
        // Two queries: one finds a true row and a wrong one, one finds a row too few.
        answers.rows = vec![4, 9, 5, u32::MAX];
        answers.distances = vec![1.0, 3.0, 1.0, f32::NAN];
        answers.stats = vec![pageway::QueryStats::default(); 2];
        answers.stats[1].pages = 7;
        let truth = Truth {
            k: 3,
            ids: vec![4, 6, 8, 5, 4, 6],
            distances: vec![1.0, 2.0, 5.0, 1.0, 2.0, 2.0],
        };
        let mut tally = Tally::default();
        let matches = |row: u32| row < 9;
        tally
            .take(&[answers], (Some(&truth), 2, 2), &matches)
            .unwrap();
        let counts = tally.counts();
        assert_eq!((counts.queries, counts.least_returned), (2, 1));
        assert_eq!((counts.short, counts.wrong), (1, 1));
        assert!((counts.recall - 0.5).abs() < 1e-12 && (counts.pages - 3.5).abs() < 1e-12);
    }
}
