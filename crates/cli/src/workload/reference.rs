//! What the answers of a workload are compared with, and how well they do: recall of the nearest,
//! average precision within a radius.

use pageway::truth::{
    Found, RangeFound, RangeScore, RangeTruth, RangeTruthFile, TruthFile, average_precision,
};
use pageway::{Answers, Index, Result};

use super::Workload;
use super::recalls::Recalls;

/// What answers are compared with.
pub(crate) enum Reference {
    /// Nothing.
    Unknown,
    /// Exact neighbours; within a radius, cut there.
    Nearest(TruthFile),
    /// Exact results within the radius, or a larger one.
    Ranges(RangeTruthFile),
    /// What a scan of the index found within the radius, by node.
    Scanned(RangeTruth),
}

/// Sums over queries, each where it can be known.
#[derive(Default)]
pub(super) struct Score {
    pub(super) recalls: Recalls,
    pub(super) precision: Option<RangeScore>,
}

impl Score {
    /// Adds a chunk whose first query has this number.
    pub(super) fn add(
        &mut self,
        workload: &Workload<'_>,
        first: u64,
        answers: &Answers,
    ) -> Result<()> {
        let reference = workload.reference;
        match (reference, workload.options.radius) {
            (Reference::Nearest(file), None) => {
                let expected = file.read(first, answers.stats.len())?;
                let found = Found {
                    ids: &answers.ids,
                    distances: &answers.distances,
                    width: answers.k,
                };
                self.recalls.add(&found, &expected, answers.k)?;
            }
            (Reference::Unknown, _) | (_, None) => {}
            (_, Some(radius)) => {
                let part = precision(reference, workload.index, (first, radius), answers)?;
                self.precision.get_or_insert_default().add(&part);
            }
        }
        Ok(())
    }
}

/// The precision of a chunk.
fn precision(
    reference: &Reference,
    index: &Index,
    (first, radius): (u64, f32),
    answers: &Answers,
) -> Result<RangeScore> {
    let count = answers.stats.len();
    let mut found = RangeFound {
        lims: &answers.lims,
        ids: &answers.ids,
        distances: &answers.distances,
        radius,
        first,
    };
    let nodes: Vec<u64>;
    let truth = match reference {
        Reference::Unknown => return Ok(RangeScore::default()),
        Reference::Ranges(file) => file.read(first, count)?.within(radius),
        Reference::Nearest(file) => file.read_within(first, count, (radius, index.len()))?,
        Reference::Scanned(truth) => {
            // The vectors of an index are numbered by node.
            nodes = answers.nodes.iter().map(|node| u64::from(*node)).collect();
            found.ids = &nodes;
            truth.part(first as usize..first as usize + count)
        }
    };
    average_precision(&found, &truth)
}
