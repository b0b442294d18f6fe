//! A recorded query as rounds of reads, segment by segment.
//!
//! A read that was sent when a page of the same segment arrived belongs to the round after that
//! page; one that was sent at another time begins a round of its own. Reads at the end, for exact
//! distances alone, wait for the walks of all segments.

use std::collections::BTreeMap;

use pageway::QueryStats;
use pageway::lab::{ReadTrace, ReadTurn};

/// Reads that wait for the round before and for nothing else.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct Round {
    /// Nanoseconds of computing before they are sent.
    pub(super) compute_ns: u64,
    /// Pages of the segment, one a read.
    pub(super) pages: Vec<u32>,
}

/// What a query did in one segment.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct SegmentWalk {
    /// Number of the segment.
    pub(super) segment: u32,
    /// The walk.
    pub(super) rounds: Vec<Round>,
    /// Reads once all segments have walked.
    pub(super) last: Round,
    /// Nanoseconds of computing behind its last read.
    pub(super) tail_ns: u64,
}

/// What a query did.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct ClusterWalk {
    /// Segments that were asked.
    pub(super) segments: Vec<SegmentWalk>,
    /// Nodes that were expanded.
    pub(super) hops: u64,
}

/// Computing by the rounds that were over when it was done.
#[derive(Default)]
struct Noted {
    rounds: Vec<Vec<u32>>,
    last: Vec<u32>,
    compute_ns: BTreeMap<usize, u64>,
    tail_ns: u64,
}

impl Noted {
    fn computes(&mut self, rounds: usize, ns: u64) {
        *self.compute_ns.entry(rounds).or_default() += ns;
    }

    fn reads(&mut self, round: usize, page: u32) {
        if self.rounds.len() <= round {
            self.rounds.resize(round + 1, Vec::new());
        }
        if let Some(pages) = self.rounds.get_mut(round) {
            pages.push(page);
        }
    }

    fn finish(mut self, segment: u32) -> SegmentWalk {
        let rounds = std::mem::take(&mut self.rounds).into_iter().enumerate();
        let rounds: Vec<Round> = rounds
            .map(|(number, pages)| Round {
                compute_ns: self.compute_ns.remove(&number).unwrap_or(0),
                pages,
            })
            .collect();
        SegmentWalk {
            segment,
            rounds,
            last: Round {
                compute_ns: self.compute_ns.values().sum(),
                pages: self.last,
            },
            tail_ns: self.tail_ns,
        }
    }
}

impl ClusterWalk {
    /// A recorded query, and what it counted.
    pub(super) fn of(trace: &ReadTrace, stats: &QueryStats) -> Self {
        let mut noted: BTreeMap<u16, Noted> = trace
            .asked
            .iter()
            .map(|segment| (*segment, Noted::default()))
            .collect();
        // Round of each read, counted from 0.
        let mut round_of: Vec<usize> = Vec::with_capacity(trace.places.len());
        for turn in &trace.turns {
            let place = |read: u32| trace.places.get(read as usize).copied();
            let supplied = turn.supplied.and_then(place);
            let own_round = turn.supplied.and_then(|read| round_of.get(read as usize));
            let own_round = own_round.copied().unwrap_or(0);
            let computed = turn.compute_ns + turn.work_ns;
            match supplied {
                None => begin(&mut noted, computed),
                Some(own) => {
                    if let Some(one) = noted.get_mut(&own.segment) {
                        if own.is_last {
                            one.tail_ns += computed;
                        } else {
                            one.computes(own_round + 1, computed);
                        }
                    }
                }
            }
            let sent: Vec<_> = sent(turn, round_of.len(), trace).collect();
            let before: BTreeMap<u16, usize> = noted
                .iter()
                .map(|(segment, one)| (*segment, one.rounds.len()))
                .collect();
            for place in sent {
                let follows = supplied.filter(|own| own.segment == place.segment && !own.is_last);
                let begun = before.get(&place.segment).copied().unwrap_or(0);
                let round = follows.map_or(begun, |_| own_round + 1);
                round_of.push(round);
                let one = noted.entry(place.segment).or_default();
                if place.is_last {
                    one.last.push(place.page);
                } else {
                    one.reads(round, place.page);
                }
            }
        }
        Self {
            segments: noted
                .into_iter()
                .map(|(segment, one)| one.finish(segment.into()))
                .collect(),
            hops: stats.hops,
        }
    }

    /// Reads in all.
    pub(super) fn reads(&self) -> usize {
        self.segments.iter().map(SegmentWalk::reads).sum()
    }

    /// Rounds of reads that wait for each other: those of the longest walk, and one at the end.
    pub(super) fn rounds(&self) -> usize {
        let walked = self.segments.iter().map(|one| one.rounds.len()).max();
        let last = self.segments.iter().any(|one| !one.last.pages.is_empty());
        walked.unwrap_or(0) + usize::from(last)
    }

    /// Whether walks themselves read, and not their ends alone.
    pub(super) fn walks_on_disk(&self) -> bool {
        self.segments.iter().any(|one| !one.rounds.is_empty())
    }
}

impl SegmentWalk {
    /// Reads in all.
    pub(super) fn reads(&self) -> usize {
        let walked: usize = self.rounds.iter().map(|round| round.pages.len()).sum();
        walked + self.last.pages.len()
    }
}

/// The first turn is for all segments alike.
fn begin(noted: &mut BTreeMap<u16, Noted>, ns: u64) {
    let share = ns / noted.len().max(1) as u64;
    for one in noted.values_mut() {
        one.computes(0, share);
    }
}

/// Places of the reads of a turn, of which `before` were sent before.
fn sent(
    turn: &ReadTurn,
    before: usize,
    trace: &ReadTrace,
) -> impl Iterator<Item = pageway::lab::ReadPlace> {
    let own = trace.places.iter().skip(before);
    own.take(turn.reads as usize).copied()
}

#[cfg(test)]
mod tests {
    use pageway::lab::ReadPlace;

    use super::*;

    fn turn(supplied: Option<u32>, reads: u32, compute_ns: u64) -> ReadTurn {
        ReadTurn {
            supplied,
            compute_ns,
            reads,
            work_ns: 0,
        }
    }

    fn place(segment: u16, page: u32, is_last: bool) -> ReadPlace {
        ReadPlace {
            segment,
            page,
            is_last,
        }
    }

    #[test]
    fn rounds_are_those_of_each_segment_and_reads_at_the_end_wait_for_all() {
        // Two segments walk side by side, the first in two rounds; then each reads once more.
        let trace = ReadTrace {
            query: 0,
            turns: vec![
                turn(None, 3, 60),
                turn(Some(2), 0, 5),
                turn(Some(0), 0, 7),
                turn(Some(1), 1, 11),
                turn(Some(3), 2, 13),
                turn(Some(5), 0, 17),
                turn(Some(4), 0, 19),
            ],
            places: vec![
                place(0, 10, false),
                place(0, 11, false),
                place(4, 90, false),
                place(0, 12, false),
                place(0, 13, true),
                place(4, 91, true),
            ],
            asked: vec![0, 4, 7],
        };
        let stats = QueryStats::default();
        let walk = ClusterWalk::of(&trace, &stats);
        assert_eq!((walk.reads(), walk.rounds()), (6, 3));
        assert!(walk.walks_on_disk());
        let [first, second, third] = walk.segments.as_slice() else {
            panic!("{walk:?}")
        };
        let pages: Vec<&[u32]> = first.rounds.iter().map(|one| &one.pages[..]).collect();
        assert_eq!(pages, [&[10, 11][..], &[12][..]]);
        let computed: Vec<u64> = first.rounds.iter().map(|one| one.compute_ns).collect();
        assert_eq!(
            (computed.as_slice(), first.last.compute_ns),
            (&[20, 18][..], 13)
        );
        assert_eq!(
            (first.last.pages.as_slice(), first.tail_ns),
            (&[13][..], 19)
        );
        assert_eq!(
            (second.segment, second.rounds.len(), second.last.compute_ns),
            (4, 1, 5)
        );
        assert_eq!(
            (third.segment, third.reads(), third.last.compute_ns),
            (7, 0, 20)
        );
    }
}
