//! One search of all queries of a sample, and what is counted of it.

use pageway::lab::ReadTrace;
use pageway::{
    Answers, Effort, Index, Progress, Queries, QueryStats, Quiet, Result, SearchOptions,
};

use crate::model::Counts;
use crate::sample::K;

/// Queries of a pipeline that are recorded.
const TRACED: usize = 50;

/// Means of what queries read.
pub(crate) fn means(stats: &[QueryStats], count: f64) -> Counts {
    let mut sum = QueryStats::default();
    for stats in stats {
        sum.add(stats);
    }
    let mean = |total: u64| total as f64 / count;
    Counts {
        pages: mean(sum.pages),
        reads: mean(sum.reads),
        refine_reads: mean(sum.refine_reads),
        rounds: mean(sum.rounds),
        bytes: mean(sum.bytes_read),
        hops: mean(sum.hops),
        ..Counts::default()
    }
}

/// How an index is searched.
#[derive(Clone, Copy)]
pub(crate) struct Walk<'i> {
    pub(crate) index: &'i Index,
    /// Reads in flight; the index's own where absent.
    pub(crate) beam: Option<u32>,
    /// Whether reads do not come in rounds: then how many are in flight is observed.
    pub(crate) is_pipeline: bool,
}

impl Walk<'_> {
    /// Searches; tells the reads that were in flight as a mean, where they come in no rounds.
    pub(crate) fn search(
        self,
        queries: &Queries<'_>,
        list_size: u32,
        progress: &dyn Progress,
    ) -> Result<(Answers, Option<f64>)> {
        let progress = &Quiet(progress);
        let options = SearchOptions::nearest(K)
            .with_effort(Effort::ListSize(list_size))
            .with_beam(self.beam)
            .with_threads(1)
            .with_interleave(u32::from(self.is_pipeline));
        let index = self.index;
        if !self.is_pipeline {
            return Ok((index.search_with(queries, &options, progress)?, None));
        }
        let (answers, traces) = index.search_recorded(queries, &options, TRACED, progress)?;
        Ok((answers, Some(mean_in_flight(&traces))))
    }
}

/// Reads that are out as a mean over the times at which a page is waited for.
fn mean_in_flight(traces: &[ReadTrace]) -> f64 {
    let (mut waits, mut out) = (0_u64, 0_u64);
    for trace in traces {
        let mut sent = 0;
        for (arrived, turn) in trace.turns.iter().enumerate() {
            sent += u64::from(turn.reads);
            let in_flight = sent.saturating_sub(arrived as u64);
            waits += u64::from(in_flight > 0);
            out += in_flight;
        }
    }
    (out as f64 / waits.max(1) as f64).max(1.0)
}

#[cfg(test)]
mod tests {
    use pageway::lab::ReadTurn;

    use super::*;

    fn trace(reads: &[u32]) -> ReadTrace {
        let turn = |reads: &u32| ReadTurn {
            reads: *reads,
            ..ReadTurn::default()
        };
        ReadTrace {
            query: 0,
            turns: reads.iter().map(turn).collect(),
            ..ReadTrace::default()
        }
    }

    #[test]
    fn a_full_pipeline_has_its_width_in_flight() {
        let found = mean_in_flight(&[trace(&[4, 1, 1, 1, 1, 0, 0, 0, 0])]);
        let expected = (5.0 * 4.0 + 3.0 + 2.0 + 1.0) / 8.0;
        assert!((found - expected).abs() < 1e-9, "{found}");
        assert_eq!(mean_in_flight(&[trace(&[1, 1, 0])]), 1.0);
        assert_eq!(mean_in_flight(&[trace(&[0])]), 1.0);
    }
}
