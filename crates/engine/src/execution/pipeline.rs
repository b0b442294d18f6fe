//! The width of a pipeline of reads (PipeANN, OSDI 2025): narrow while the walk approaches, when
//! reads on suspicion are wasted, and wider once it converges and few of them are.

use super::candidates::CandidateList;
use crate::spec::{CompletionSpec, ScheduleSpec};

/// Place in the list of the best candidate not asked for, from which on the walk converges.
const CONVERGED_AT: usize = 5;
/// Share of reads that may turn out useless while the width grows.
const WASTE: f32 = 0.1;

/// State of a pipeline; for other schedules it does nothing.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Pipelining {
    /// Reads that may be in flight now.
    pub(super) width: usize,
    /// Whether pages are taken in the order they were asked for.
    pub(super) in_order: bool,
    most: usize,
    converges: bool,
    useful: u32,
    wasted: u32,
}

impl Pipelining {
    /// A pipeline as the schedule says, of at most `beam` reads.
    pub(super) fn new(schedule: ScheduleSpec, beam: usize) -> Self {
        let (width, in_order) = match schedule {
            ScheduleSpec::Pipelined {
                least, completion, ..
            } => (
                beam.min(least as usize),
                completion == CompletionSpec::InOrder,
            ),
            ScheduleSpec::Lockstep { .. }
            | ScheduleSpec::Overlapped { .. }
            | ScheduleSpec::Prefetch { .. } => (beam, false),
        };
        Self {
            width,
            in_order,
            most: beam,
            converges: false,
            useful: 0,
            wasted: 0,
        }
    }

    /// A candidate was chosen, and the next one has place `cursor` in the list.
    pub(super) fn note_choice(&mut self, cursor: usize) {
        self.converges |= cursor > CONVERGED_AT;
    }

    /// A node that was asked for has arrived.
    pub(super) fn note_completion(&mut self, key: u64, candidates: &CandidateList) {
        if !self.converges || self.width >= self.most {
            return;
        }
        if candidates.contains(key) {
            self.useful += 1;
        } else {
            self.wasted += 1;
        }
        if (self.wasted as f32) <= WASTE * (self.wasted + self.useful) as f32 {
            self.width += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use pageway_types::NodeId;

    use super::super::key::sort_key;
    use super::*;

    #[test]
    fn widens_only_when_converged_and_little_is_wasted() {
        let schedule = ScheduleSpec::Pipelined {
            least: 4,
            most: 32,
            completion: CompletionSpec::AsTheyCome,
        };
        let mut list = CandidateList::default();
        list.reset(2, 0);
        list.insert(NodeId(1), 1.0);
        let (useful, wasted) = (sort_key(1.0, NodeId(1)), sort_key(9.0, NodeId(9)));
        let mut pipeline = Pipelining::new(schedule, 6);
        pipeline.note_completion(useful, &list);
        assert_eq!(pipeline.width, 4, "not converged");
        pipeline.note_choice(6);
        pipeline.note_completion(wasted, &list);
        assert_eq!(pipeline.width, 4, "all wasted");
        for _ in 0..8 {
            pipeline.note_completion(useful, &list);
        }
        assert_eq!(pipeline.width, 4, "a ninth is wasted");
        for _ in 0..5 {
            pipeline.note_completion(useful, &list);
        }
        assert_eq!(pipeline.width, 6, "never above the beam");
    }
}
