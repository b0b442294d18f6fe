//! Recalls of queries, counted: any number of queries in the memory of k counters.

use pageway::Result;
use pageway::truth::{Found, Truth, recalls};

/// How many queries found how many of their k nearest.
#[derive(Default)]
pub(super) struct Recalls(Vec<u64>);

impl Recalls {
    /// Adds the answers of some queries.
    pub(super) fn add(&mut self, found: &Found<'_, u64>, truth: &Truth, k: usize) -> Result<()> {
        let Self(counts) = self;
        counts.resize(k + 1, 0);
        for recall in recalls(found, truth, k)? {
            if let Some(count) = counts.get_mut((recall * k as f64).round() as usize) {
                *count += 1;
            }
        }
        Ok(())
    }

    fn queries(&self) -> u64 {
        self.0.iter().sum()
    }

    /// The share that `hits` of k are.
    fn share(&self, hits: f64) -> f64 {
        hits / self.0.len().saturating_sub(1).max(1) as f64
    }

    /// Mean recall; none of no queries.
    pub(super) fn mean(&self) -> Option<f64> {
        let each = self.0.iter().zip(0u64..);
        let hits: u64 = each.map(|(count, hits)| count * hits).sum();
        let queries = self.queries();
        (queries > 0).then(|| self.share(hits as f64 / queries as f64))
    }

    /// The recall that one query in twenty does not reach.
    pub(super) fn p5(&self) -> Option<f64> {
        let before = self.queries() / 20;
        let mut seen = 0;
        let reached = self.0.iter().position(|count| {
            seen += count;
            seen > before
        });
        reached.map(|hits| self.share(hits as f64))
    }
}

#[cfg(test)]
mod tests {
    use pageway::truth::recall_p5;

    use super::*;

    #[test]
    fn counts_tell_what_the_recalls_told() {
        assert_eq!(
            (Recalls::default().mean(), Recalls::default().p5()),
            (None, None)
        );
        let mut recalls = Recalls(vec![0; 5]);
        let mut each = Vec::new();
        for query in 0..100usize {
            let hits = if query < 5 { query % 3 } else { 4 - query % 2 };
            recalls.0[hits] += 1;
            each.push(hits as f64 / 4.0);
        }
        let mean = each.iter().sum::<f64>() / 100.0;
        assert!((recalls.mean().unwrap() - mean).abs() < 1e-12);
        assert_eq!(recalls.p5(), recall_p5(&each));
        assert_eq!(recalls.p5(), Some(0.75));
    }
}
