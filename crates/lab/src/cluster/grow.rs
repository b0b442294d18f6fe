//! Walks as they might be over more rows, and over more segments.
//!
//! A query asks so many times as many segments, each of which is a recorded one of it: its rounds
//! are repeated evenly, and its reads and its computing are scaled. Fractions are kept by chance,
//! so that means are those that were asked for.

use pageway::lab::SplitMix64;
use serde::Serialize;

use super::walk::{ClusterWalk, Round, SegmentWalk};

/// By what factors the counts of a query grow.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub(super) struct Factors {
    /// Segments that are asked.
    pub(super) asked: f64,
    /// Reads in all.
    pub(super) reads: f64,
    /// Rounds of the walk.
    pub(super) rounds: f64,
    /// Codes that are scored, nodes that are expanded, and so computing.
    pub(super) codes: f64,
}

/// A walk over `segments` segments.
pub(super) fn grow(
    walk: &ClusterWalk,
    segments: u32,
    factors: Factors,
    random: &mut SplitMix64,
) -> ClusterWalk {
    let old = walk.segments.len();
    if old == 0 {
        return walk.clone();
    }
    let asked = whole(old as f64 * factors.asked, random).clamp(1, segments.max(1) as usize);
    let each = Each {
        reads: factors.reads * old as f64 / asked as f64,
        rounds: factors.rounds,
        compute: factors.codes * old as f64 / asked as f64,
    };
    let first = random.below(u64::from(segments.max(1))) as usize;
    let own = (0..asked).filter_map(|number| {
        let source = walk.segments.get(number % old)?;
        // Segments that a query asks are taken to be spread over all.
        let segment = (first + number * segments as usize / asked) % segments.max(1) as usize;
        Some(each.of(source, segment as u32, random))
    });
    ClusterWalk {
        segments: own.collect(),
        hops: whole(walk.hops as f64 * factors.codes, random) as u64,
    }
}

/// Factors within a segment.
struct Each {
    reads: f64,
    rounds: f64,
    compute: f64,
}

impl Each {
    fn of(&self, source: &SegmentWalk, segment: u32, random: &mut SplitMix64) -> SegmentWalk {
        let old = source.rounds.len();
        let least = usize::from(old > 0);
        let new = whole(old as f64 * self.rounds, random).max(least);
        let chosen: Vec<&Round> = (0..new)
            .filter_map(|number| source.rounds.get(number * old / new))
            .collect();
        // Some rounds are repeated more often than others: sums are kept.
        let reads = self.reads * kept(source, &chosen, |round| round.pages.len() as u64);
        let compute = self.compute * kept(source, &chosen, |round| round.compute_ns);
        let rounds = chosen.iter();
        SegmentWalk {
            segment,
            rounds: rounds
                .map(|round| scaled(round, (reads, compute), random))
                .collect(),
            last: scaled(&source.last, (self.reads, self.compute), random),
            tail_ns: (source.tail_ns as f64 * self.compute) as u64,
        }
    }
}

/// The sum over all rounds of a walk by that over the chosen ones.
fn kept(source: &SegmentWalk, chosen: &[&Round], count: fn(&Round) -> u64) -> f64 {
    let all: u64 = source.rounds.iter().map(count).sum();
    let own: u64 = chosen.iter().map(|round| count(round)).sum();
    all as f64 / own.max(1) as f64
}

/// A round with so many times as many reads and as much computing.
fn scaled(round: &Round, (reads, compute): (f64, f64), random: &mut SplitMix64) -> Round {
    let old = round.pages.len();
    let new = whole(old as f64 * reads, random);
    let page = |number: usize, random: &mut SplitMix64| match round.pages.get(number) {
        Some(page) => *page,
        None => random.below(1 << 31) as u32,
    };
    Round {
        compute_ns: (round.compute_ns as f64 * compute) as u64,
        pages: (0..new).map(|number| page(number, random)).collect(),
    }
}

/// A whole number whose mean is `value`.
fn whole(value: f64, random: &mut SplitMix64) -> usize {
    (value.max(0.0) + random.unit()) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    fn walk() -> ClusterWalk {
        let round = |pages: u32| Round {
            compute_ns: 1000,
            pages: (0..pages).collect(),
        };
        let one = |segment| SegmentWalk {
            segment,
            rounds: vec![round(4), round(4), round(2)],
            last: round(3),
            tail_ns: 500,
        };
        ClusterWalk {
            segments: vec![one(0), one(2)],
            hops: 20,
        }
    }

    #[test]
    fn counts_grow_by_their_factors_as_means() {
        let factors = Factors {
            asked: 3.5,
            reads: 2.3,
            rounds: 1.4,
            codes: 1.7,
        };
        let mut random = SplitMix64::new(1);
        let grown: Vec<ClusterWalk> = (0..4000)
            .map(|_| grow(&walk(), 16, factors, &mut random))
            .collect();
        let mean = |count: &dyn Fn(&ClusterWalk) -> f64| {
            grown.iter().map(count).sum::<f64>() / grown.len() as f64
        };
        let near = |found: f64, expected: f64| {
            assert!((found / expected - 1.0).abs() < 0.03, "{found} {expected}");
        };
        near(mean(&|one| one.segments.len() as f64), 7.0);
        near(mean(&|one| one.reads() as f64), 26.0 * 2.3);
        near(mean(&|one| one.hops as f64), 34.0);
        let rounds = |one: &ClusterWalk| {
            let each = one.segments.iter().map(|own| own.rounds.len());
            each.sum::<usize>() as f64 / one.segments.len() as f64
        };
        near(mean(&rounds), 4.2);
        for one in &grown {
            let mut own: Vec<u32> = one.segments.iter().map(|own| own.segment).collect();
            own.sort_unstable();
            own.dedup();
            assert_eq!(own.len(), one.segments.len(), "each once");
            assert!(own.iter().all(|segment| *segment < 16));
        }
    }

    #[test]
    fn a_query_asks_no_more_segments_than_there_are() {
        let factors = Factors {
            asked: 9.0,
            reads: 1.0,
            rounds: 1.0,
            codes: 1.0,
        };
        let mut random = SplitMix64::new(2);
        let grown = grow(&walk(), 5, factors, &mut random);
        assert_eq!(grown.segments.len(), 5);
        assert!(
            grow(&ClusterWalk::default(), 5, factors, &mut random)
                .segments
                .is_empty()
        );
    }
}
