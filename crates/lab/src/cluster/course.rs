//! A query at a site: stages of messages, computing and reads.
//!
//! ```text
//! segments   router -> nodes: walk -> router: the k-th bound -> nodes: reads at the end -> router
//! one graph  home -> nodes of the pages of a step -> home, step by step
//! ```
//!
//! Of segments the router takes two phases, as the engine takes two stages: nodes walk, and send
//! the upper bounds of their best k; the k-th of all goes back, and nodes read what it leaves
//! undecided. Where codes decide nothing the walk itself gives exact answers, and there is one
//! phase. Of one graph a query lives on a home node, which sends each page's owner the query, and
//! gets the distances of what the page names. A step whose lists lie in memory is a message all the
//! same.

use super::design::ClusterDesign;
use super::site::Site;
use super::walk::{ClusterWalk, Round};

/// Bytes of a message beside what it carries: addresses, lengths, request headers.
const HEADER_BYTES: u64 = 100;
/// Of an answer: id, distance, version.
const ANSWER_BYTES: u64 = 20;
/// Of a distance or a bound.
const BOUND_BYTES: u64 = 8;
/// Of a neighbour by its number and distance.
const NEIGHBOR_BYTES: u64 = 8;

/// What is asked.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct QueryTerms {
    /// Bytes of a query.
    pub(super) query_bytes: u64,
    /// Neighbours.
    pub(super) k: u64,
    /// Nodes that a list names, mean.
    pub(super) degree: u64,
    /// Nodes that a step expands.
    pub(super) beam: u64,
}

/// What one node does in a stage.
#[derive(Clone, PartialEq, Debug, Default)]
pub(super) struct Leg {
    /// What is asked for: what is equal is asked of the same replica in all stages.
    pub(super) subject: u64,
    /// Bytes there and back.
    pub(super) bytes: [u64; 2],
    /// Rounds, one after the other.
    pub(super) rounds: Vec<Round>,
    /// Computing behind the last.
    pub(super) tail_ns: u64,
}

/// A query.
#[derive(Clone, PartialEq, Debug, Default)]
pub(super) struct QueryCourse {
    /// What the home of the query is chosen by; none where it is a router's.
    pub(super) home: Option<u64>,
    /// Legs of each stage, all at the same time.
    pub(super) stages: Vec<Vec<Leg>>,
}

impl QueryCourse {
    /// The course of a walk.
    pub(super) fn of(
        (design, number): (ClusterDesign, u64),
        walk: &ClusterWalk,
        site: &Site,
        asked: QueryTerms,
    ) -> Self {
        match design {
            ClusterDesign::Arrival | ClusterDesign::Space => Self::of_segments(walk, site, asked),
            ClusterDesign::Graph => Self::of_graph(number, walk, site, asked),
        }
    }

    fn of_segments(walk: &ClusterWalk, site: &Site, asked: QueryTerms) -> Self {
        let mut walks: Vec<Leg> = Vec::new();
        let mut ends: Vec<Leg> = Vec::new();
        let there = HEADER_BYTES + asked.query_bytes;
        let two_phases = walk.segments.iter().any(|own| !own.last.pages.is_empty());
        let back = if two_phases {
            HEADER_BYTES + asked.k * BOUND_BYTES
        } else {
            HEADER_BYTES + asked.k * ANSWER_BYTES
        };
        let groups = u64::from(site.nodes / site.replicas).max(1);
        for own in &walk.segments {
            let subject = u64::from(own.segment) % groups * u64::from(site.replicas);
            let leg = leg_of(&mut walks, subject, [there, back]);
            for (at, round) in own.rounds.iter().enumerate() {
                join(leg, at, round);
            }
            if own.last.pages.is_empty() {
                leg.tail_ns += own.last.compute_ns + own.tail_ns;
                continue;
            }
            // What is computed before the reads at the end is so before the bounds are sent.
            leg.tail_ns += own.last.compute_ns;
            let bytes = [
                HEADER_BYTES + BOUND_BYTES,
                HEADER_BYTES + asked.k * ANSWER_BYTES,
            ];
            let end = leg_of(&mut ends, subject, bytes);
            let reads = Round {
                compute_ns: 0,
                pages: own.last.pages.clone(),
            };
            join(end, 0, &reads);
            end.tail_ns += own.tail_ns;
        }
        let stages = [walks, ends].into_iter().filter(|legs| !legs.is_empty());
        Self {
            home: None,
            stages: stages.collect(),
        }
    }

    fn of_graph(number: u64, walk: &ClusterWalk, site: &Site, asked: QueryTerms) -> Self {
        let mut stages = Vec::new();
        let segments = || walk.segments.iter();
        if walk.walks_on_disk() {
            for round in segments().flat_map(|own| &own.rounds) {
                stages.push(step(round, site, asked));
            }
        } else {
            let ns: u64 = segments().map(|own| own.last.compute_ns).sum();
            stages.extend(steps_in_memory((number, walk.hops, ns), site, asked));
        }
        for own in segments().filter(|own| !own.last.pages.is_empty()) {
            let compute_ns = if walk.walks_on_disk() {
                own.last.compute_ns
            } else {
                0
            };
            let last = Round {
                compute_ns: compute_ns + own.tail_ns,
                pages: own.last.pages.clone(),
            };
            stages.push(step(&last, site, asked));
        }
        Self {
            home: Some(number),
            stages,
        }
    }

    /// Reads in all.
    #[cfg(test)]
    fn reads(&self) -> usize {
        let rounds = self.stages.iter().flatten().flat_map(|leg| &leg.rounds);
        rounds.map(|round| round.pages.len()).sum()
    }

    /// Messages there, each of which has one back, and bytes of all.
    pub(super) fn calls(&self) -> (usize, u64) {
        let legs = || self.stages.iter().flatten();
        let bytes = legs().map(|leg| leg.bytes.iter().sum::<u64>()).sum();
        (legs().count(), bytes)
    }
}

/// The leg of a subject among those of a stage.
fn leg_of(legs: &mut Vec<Leg>, subject: u64, bytes: [u64; 2]) -> &mut Leg {
    let at = legs.iter().position(|leg| leg.subject == subject);
    let at = at.unwrap_or_else(|| {
        legs.push(Leg {
            subject,
            bytes,
            ..Leg::default()
        });
        legs.len() - 1
    });
    #[expect(clippy::indexing_slicing, reason = "it was found or pushed")]
    &mut legs[at]
}

/// Segments of one node walk side by side.
fn join(leg: &mut Leg, at: usize, round: &Round) {
    if leg.rounds.len() <= at {
        leg.rounds.resize(at + 1, Round::default());
    }
    if let Some(own) = leg.rounds.get_mut(at) {
        own.compute_ns += round.compute_ns;
        own.pages.extend(&round.pages);
    }
}

/// A step of a walk whose pages are read: each by the node that has it.
fn step(round: &Round, site: &Site, asked: QueryTerms) -> Vec<Leg> {
    let mut legs = Vec::new();
    let each = round.compute_ns / round.pages.len().max(1) as u64;
    for page in &round.pages {
        let owner = mixed(u64::from(*page)) % u64::from(site.nodes);
        let leg = leg_of(
            &mut legs,
            owner,
            [HEADER_BYTES + asked.query_bytes, HEADER_BYTES],
        );
        let one = Round {
            compute_ns: 0,
            pages: vec![*page],
        };
        join(leg, 0, &one);
        leg.tail_ns += each;
        for (bytes, more) in leg.bytes.iter_mut().zip([4, named(asked)]) {
            *bytes += more;
        }
    }
    legs
}

/// Steps of a walk whose lists lie in the memory of the nodes.
fn steps_in_memory(
    (number, hops, compute_ns): (u64, u64, u64),
    site: &Site,
    asked: QueryTerms,
) -> Vec<Vec<Leg>> {
    let beam = asked.beam.max(1);
    let each = compute_ns / hops.max(1);
    let nodes = u64::from(site.nodes);
    let stage = |first: u64| {
        let mut legs = Vec::new();
        for hop in first..hops.min(first + beam) {
            let owner = mixed(number << 20 ^ hop) % nodes;
            let leg = leg_of(
                &mut legs,
                owner,
                [HEADER_BYTES + asked.query_bytes, HEADER_BYTES],
            );
            leg.tail_ns += each;
            for (bytes, more) in leg.bytes.iter_mut().zip([4, named(asked)]) {
                *bytes += more;
            }
        }
        legs
    };
    (0..hops).step_by(beam as usize).map(stage).collect()
}

/// Bytes of what a list names.
fn named(asked: QueryTerms) -> u64 {
    asked.degree * NEIGHBOR_BYTES
}

/// A number by which others are dealt evenly: the first output of SplitMix64.
fn mixed(number: u64) -> u64 {
    pageway::lab::SplitMix64::new(number).next_u64()
}

#[cfg(test)]
mod tests {
    use super::super::site::tests::site;
    use super::super::walk::SegmentWalk;
    use super::*;

    const ASKED: QueryTerms = QueryTerms {
        query_bytes: 128,
        k: 10,
        degree: 32,
        beam: 4,
    };

    fn round(pages: &[u32]) -> Round {
        Round {
            compute_ns: 1000,
            pages: pages.to_vec(),
        }
    }

    fn walk(segments: &[u32], last: &[u32]) -> ClusterWalk {
        let one = |segment: &u32| SegmentWalk {
            segment: *segment,
            rounds: vec![round(&[1, 2]), round(&[3])],
            last: round(last),
            tail_ns: 10,
        };
        ClusterWalk {
            segments: segments.iter().map(one).collect(),
            hops: 10,
        }
    }

    #[test]
    fn segments_of_a_node_are_one_call_and_reads_at_the_end_another() {
        // Segments 1 and 5 are on one of four nodes.
        let of = |last: &[u32]| {
            QueryCourse::of(
                (ClusterDesign::Space, 3),
                &walk(&[1, 5, 2], last),
                &site(),
                ASKED,
            )
        };
        let two = of(&[7]);
        assert_eq!((two.stages.len(), two.reads(), two.calls().0), (2, 12, 4));
        let [walks, ends] = two.stages.as_slice() else {
            panic!("{two:?}")
        };
        assert_eq!(
            (walks[0].rounds[0].pages.len(), walks[0].tail_ns),
            (4, 2000)
        );
        assert_eq!((ends[0].rounds[0].pages.len(), ends[0].tail_ns), (2, 20));
        let bytes = 2 * (228 + 180) + 2 * (108 + 300);
        assert_eq!(two.calls().1, bytes);
        let one = of(&[]);
        assert_eq!((one.stages.len(), one.calls()), (1, (2, 2 * (228 + 300))));
        assert_eq!(one.stages[0][0].tail_ns, 2020);
    }

    #[test]
    fn a_graph_takes_a_message_a_step_to_each_node_that_has_a_page() {
        let course = QueryCourse::of((ClusterDesign::Graph, 3), &walk(&[0], &[7]), &site(), ASKED);
        assert_eq!((course.stages.len(), course.reads()), (3, 4));
        assert!((3..=4).contains(&course.calls().0));
        let in_memory = ClusterWalk {
            segments: vec![SegmentWalk {
                last: round(&[7, 8]),
                ..SegmentWalk::default()
            }],
            hops: 10,
        };
        let course = QueryCourse::of((ClusterDesign::Graph, 3), &in_memory, &site(), ASKED);
        // Ten hops of which four are a step, and the reads at the end.
        assert_eq!((course.stages.len(), course.reads()), (4, 2));
        let computed: u64 = course.stages.iter().flatten().map(|leg| leg.tail_ns).sum();
        assert_eq!(computed, 1000);
    }
}
