//! What a query asks for: it carries its sizes, so that the memory it runs in need not be made for
//! it.

use std::time::Instant;

use super::admission::Admission;
use super::among::WalkAmong;
use super::ladder::{Ladder, QueryLadder};
use super::lift::Lift;
use super::list_rule::{ListRule, share_of_row};
use super::scratch::IndexShape;
use super::stats::LIST_COST;
use super::tolerance::Tolerance;

/// What counts as an answer.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) enum Goal {
    /// The nearest.
    Nearest,
    /// All within this distance, as far as there is room for results. The candidate list doubles
    /// while many of what it found lie within.
    Within { radius: f32 },
}

/// How much of everything a query takes; also what memory is laid out for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct QuerySizes {
    /// Results wanted (k), or at most.
    pub(crate) results: usize,
    /// Candidate list size (L) to begin with: candidates at so many of its first places are
    /// expanded, or as many clusters are looked into as it takes.
    pub(crate) list_size: usize,
    /// Candidates that the list holds: at least L, and more where more are wanted than expanded.
    pub(crate) capacity: usize,
    /// Capacity to grow to; `capacity` where the list does not grow.
    pub(crate) list_limit: usize,
    /// Reads in flight at most (W), of one segment.
    pub(crate) beam: usize,
}

/// Least results and least list size that memory is laid out for.
const LEAST_CLASS: usize = 32;
/// Classes of results are so many times apart.
const RESULTS_STEP: usize = 8;

/// Candidates for each answer, at least, where all that may be one are listed.
const LISTED_EACH: usize = 4;

/// Those that are read for each answer at first, where more are read as answers lie deep.
const READ_EACH: usize = 2;

/// How many times the usual list candidates are taken from, where those that may be answers are
/// listed by codes without error bounds.
const DEEPER: usize = 4;

/// How one segment is gathered from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Gathering {
    /// By a walk that reads pages.
    Reading,
    /// By a walk in memory: candidates cost arithmetic, and bounds decide what is read for them.
    InMemory,
    /// From the nearest clusters.
    Scanning,
}

impl Gathering {
    /// What an expansion costs beside its codes and pages, in scores of codes.
    pub(crate) const fn expansion_cost(self) -> f64 {
        match self {
            Self::Reading | Self::InMemory => LIST_COST,
            // A cluster has no list.
            Self::Scanning => 0.0,
        }
    }

    /// Candidates that one of several segments begins with, in shares of what its part of the list
    /// is by its nodes, and at least. A short list is caught between near nodes more easily: where
    /// a candidate costs a read it grows by what it found, where it costs none it begins longer.
    /// Longer ones, of 8, and of 4 shares and 10, read a quarter more pages and scored a tenth more
    /// codes, for recall beyond what was asked.
    const fn first_list(self) -> (usize, usize) {
        match self {
            Self::Reading => (1, 3),
            Self::InMemory => (2, 6),
            Self::Scanning => (2, 8),
        }
    }
}

/// The segments that a query is over.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Siblings {
    /// How many there are.
    pub(crate) segments: usize,
    /// Nodes of all of them.
    pub(crate) nodes: usize,
    /// Whether their codes differ in kind or length, and so in what estimates err by.
    pub(crate) differ: bool,
}

impl Siblings {
    /// A segment that stands alone.
    pub(crate) const fn alone(nodes: usize) -> Self {
        Self {
            segments: 1,
            nodes,
            differ: false,
        }
    }

    /// Those of these shapes.
    pub(crate) fn of(shapes: impl Iterator<Item = IndexShape> + Clone) -> Self {
        let codes = || shapes.clone().map(|own| own.codes);
        let first = codes().next();
        Self {
            segments: shapes.clone().count(),
            nodes: shapes.clone().map(|own| own.nodes).sum(),
            differ: codes().any(|own| Some(own) != first),
        }
    }
}

impl QuerySizes {
    /// Of no query.
    pub(crate) const NONE: Self = Self {
        results: 0,
        list_size: 0,
        capacity: 0,
        list_limit: 0,
        beam: 0,
    };

    /// Sizes of the walk over a segment of `nodes` nodes.
    ///
    /// A walk over one of several begins with some shares of its part of the list, and grows it
    /// while the list of all of them would hold more of its candidates.
    pub(crate) fn of_walk(self, nodes: usize, (gathering, among): (Gathering, Siblings)) -> Self {
        let (shares, least) = gathering.first_list();
        let part = |size: usize| {
            if among.segments < 2 {
                return size;
            }
            let shared = size.saturating_mul(shares).saturating_mul(nodes);
            let part = shared.div_ceil(among.nodes.max(1));
            part.max(least).min(size)
        };
        let list_size = part(self.list_size).min(nodes);
        Self {
            results: self.results.min(nodes),
            list_size,
            capacity: part(self.capacity).min(nodes).max(list_size),
            list_limit: self.list_limit.max(self.capacity).min(nodes),
            beam: self.beam,
        }
    }

    /// The same with room for so many candidates.
    pub(crate) fn holding(self, candidates: usize) -> Self {
        let capacity = self.capacity.max(candidates);
        Self {
            capacity,
            list_limit: self.list_limit.max(capacity),
            ..self
        }
    }

    /// The same beginning with half of the list: what it holds tells how long it should be.
    pub(crate) fn halved(self) -> Self {
        let half = self.list_size.div_ceil(2).max(self.results);
        let list_size = half.min(self.list_size);
        Self {
            list_size,
            capacity: list_size.max(self.results),
            ..self
        }
    }

    /// The same where the candidates are listed: as many as there are, and no more than before. It
    /// holds more where `deepens`: then they are taken as far down as answers are found.
    pub(crate) fn of_list(self, count: u64, deepens: bool) -> Self {
        let count = count.max(1) as usize;
        let list = |each: usize| self.list_size.max(self.results.saturating_mul(each));
        let whole = list(LISTED_EACH);
        let (list_size, more) = if deepens {
            let more = whole.saturating_mul(DEEPER).min(self.list_limit);
            (list(READ_EACH).min(count), more)
        } else {
            (whole.min(count), 0)
        };
        let capacity = more.min(count).max(list_size);
        Self {
            list_size,
            capacity,
            list_limit: capacity,
            ..self
        }
    }

    /// The same with a list of this size, no longer than these; it grows where these do.
    pub(crate) fn with_list(self, list_size: usize) -> Self {
        let list_size = list_size.min(self.list_size);
        let capacity = list_size.max(self.results);
        Self {
            list_size,
            capacity,
            list_limit: if self.grows() {
                self.list_limit
            } else {
                capacity
            },
            ..self
        }
    }

    /// Whether the list may grow.
    pub(crate) fn grows(self) -> bool {
        self.list_limit > self.capacity
    }

    /// The capacity class of these sizes: memory laid out for it serves all queries of the class.
    pub(crate) fn class(self) -> Self {
        let mut results = LEAST_CLASS;
        while results < self.results {
            results = results.saturating_mul(RESULTS_STEP);
        }
        let list = |size: usize| size.next_power_of_two().max(LEAST_CLASS);
        Self {
            results,
            list_size: list(self.list_size),
            capacity: list(self.capacity),
            list_limit: if self.grows() {
                list(self.list_limit).max(2 * list(self.capacity))
            } else {
                list(self.capacity)
            },
            beam: self.beam,
        }
    }

    /// Whether memory laid out for these sizes serves a query of `other`.
    pub(crate) fn cover(self, other: Self) -> bool {
        // A list is laid out for the longest that it may become.
        let longest = |sizes: Self| sizes.list_limit.max(sizes.capacity);
        self.results >= other.results
            && self.list_size >= other.list_size
            && longest(self) >= longest(other)
            && self.beam >= other.beam
            && (self.grows() || !other.grows())
    }
}

/// How long the lists of a call are.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CallLists<'c> {
    /// Sizes of each query, or of the longest list that one may choose.
    pub(crate) sizes: QuerySizes,
    /// Share of the queries whose list has a place less.
    pub(crate) shorter: f32,
    /// Whether candidates are listed, not found.
    pub(crate) admitted: bool,
    /// What queries choose their lists by, where they do.
    pub(crate) rule: Option<ListRule<'c>>,
    /// What is added to distances that tell local dimensions, where they are no distances yet.
    pub(crate) lift: Option<Lift>,
    /// How far a walk goes for nodes that may be answers, where not all may.
    pub(crate) among: Option<WalkAmong>,
    /// Share of the answers that error bounds may leave out, where no calibration has told what
    /// they do.
    pub(crate) left_out: Option<f32>,
    /// Lists that queries note on their way to the longest, in place of answers.
    pub(crate) ladder: Option<&'c Ladder<'c>>,
}

impl CallLists<'_> {
    /// The same for every query.
    pub(crate) const fn fixed(sizes: QuerySizes) -> Self {
        Self {
            sizes,
            shorter: 0.0,
            admitted: false,
            rule: None,
            lift: None,
            among: None,
            left_out: None,
            ladder: None,
        }
    }

    /// Sizes of a query: one has always the same.
    pub(crate) fn sizes_of(&self, vector: &[u8]) -> QuerySizes {
        let divides = self.shorter > 0.0 && self.sizes.list_size > 1;
        if divides && self.shorter > share_of_row(vector) {
            self.sizes.with_list(self.sizes.list_size - 1)
        } else {
            self.sizes
        }
    }
}

/// One query.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Query<'q> {
    /// Raw elements, of the index's shape.
    pub(crate) vector: &'q [u8],
    /// What it is for.
    pub(crate) goal: Goal,
    /// How much it takes.
    pub(crate) sizes: QuerySizes,
    /// What may be an answer.
    pub(crate) admission: Admission<'q>,
    /// When nobody waits for the answer any more.
    pub(crate) deadline: Option<Instant>,
    /// Whether the candidates are what may be an answer, all of it and nothing else.
    pub(crate) lists_admitted: bool,
    /// How far off the distance of an answer may be.
    pub(crate) tolerance: Tolerance,
    /// What chooses its list size, where the query does; its sizes are those of the longest list
    /// until then.
    pub(crate) rule: Option<ListRule<'q>>,
    /// What is added to distances of candidates that tell its local dimension.
    pub(crate) lift: f32,
    /// How far it goes for nodes that may be answers, where not all may.
    pub(crate) among: Option<WalkAmong>,
    /// Share of the answers that error bounds may leave out, where that is told.
    pub(crate) left_out: Option<f32>,
    /// Lists that it notes on its way to the longest, in place of answers.
    pub(crate) ladder: Option<QueryLadder<'q>>,
}

impl Query<'_> {
    /// Whether an index that is not empty has an answer, whatever the query is.
    pub(super) fn must_find(&self) -> bool {
        self.goal == Goal::Nearest && self.admission.is_all() && self.ladder.is_none()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const ALL: [Gathering; 3] = [Gathering::Reading, Gathering::InMemory, Gathering::Scanning];

    const fn sizes(results: usize, list_size: usize, list_limit: usize) -> QuerySizes {
        QuerySizes {
            results,
            list_size,
            capacity: list_size,
            list_limit,
            beam: 4,
        }
    }

    #[test]
    fn neighbouring_queries_share_a_class() {
        assert_eq!(sizes(10, 50, 50).class(), sizes(20, 64, 64).class());
        assert_ne!(sizes(10, 50, 50).class(), sizes(20, 65, 65).class());
        assert!(!sizes(10, 50, 50).class().grows());
        assert!(sizes(10, 50, 51).class().grows());
    }

    #[test]
    fn one_segment_takes_the_sizes_as_they_are() {
        let of = |size, nodes, (gathering, segments): (Gathering, usize)| {
            let nodes_of_all = nodes * segments;
            let among = Siblings {
                segments,
                nodes: nodes_of_all,
                differ: false,
            };
            sizes(10, size, size).of_walk(nodes, (gathering, among))
        };
        for gathering in ALL {
            assert_eq!(of(50, 1000, (gathering, 1)), sizes(10, 50, 50));
            assert_eq!(of(50, 30, (gathering, 1)), sizes(10, 30, 30));
            assert_eq!(of(50, 5, (gathering, 1)), sizes(5, 5, 5));
        }
        let begins = ALL.map(|gathering| of(80, 1000, (gathering, 8)).list_size);
        assert_eq!(begins, [10, 20, 20]);
        assert_eq!(of(10, 1000, (Gathering::Reading, 8)), sizes(10, 3, 10));
    }

    #[test]
    fn a_large_segment_begins_with_almost_all_of_the_list_and_a_small_one_with_little() {
        let among = Siblings {
            segments: 3,
            nodes: 102_000,
            differ: false,
        };
        for gathering in ALL {
            let of = |nodes| {
                sizes(10, 80, 80)
                    .of_walk(nodes, (gathering, among))
                    .list_size
            };
            assert!(of(100_000) >= 78, "{gathering:?}");
            assert!(of(1000) <= 10, "{gathering:?}");
        }
    }

    #[test]
    fn lists_begin_short_and_can_grow_as_before() {
        let halved = sizes(10, 50, 80).halved();
        assert_eq!((halved.list_size, halved.list_limit), (25, 80));
        assert_eq!(sizes(10, 14, 28).halved().list_size, 10);
        let deep = |count| {
            let own = sizes(10, 15, 200).of_list(count, true);
            (own.list_size, own.capacity)
        };
        assert_eq!(
            [deep(5), deep(100), deep(1000)],
            [(5, 5), (20, 100), (20, 160)]
        );
        let listed = sizes(10, 15, 200).of_list(1000, false);
        assert_eq!((listed.list_size, listed.capacity), (40, 40));
    }

    #[test]
    fn a_share_of_the_queries_has_a_list_of_one_place_less() {
        for shorter in [0.0, 0.3, 0.9] {
            let lists = CallLists {
                shorter,
                ..CallLists::fixed(sizes(10, 12, 12))
            };
            let rows = (0..4000_u32).map(|row| [row.to_le_bytes(), [7; 4], [1; 4]].concat());
            let sizes: Vec<usize> = rows.map(|row| lists.sizes_of(&row).list_size).collect();
            let fewer = sizes.iter().filter(|size| **size == 11).count();
            assert!(sizes.iter().all(|size| [11, 12].contains(size)));
            assert!((fewer as f32 / 4000.0 - shorter).abs() < 0.03, "{fewer}");
        }
        let one = CallLists {
            shorter: 0.9,
            ..CallLists::fixed(sizes(1, 1, 1))
        };
        assert_eq!(one.sizes_of(&[0; 8]).list_size, 1);
    }

    proptest! {
        #[test]
        fn a_class_covers_its_queries_and_itself(
            results in 1usize..5000,
            list_size in 1usize..5000,
            more in 0usize..5000,
            held in 0usize..5000,
            segments in 1usize..10,
        ) {
            let wanted = sizes(results, list_size, list_size + more).holding(held);
            let class = wanted.class();
            prop_assert!(class.cover(wanted));
            prop_assert!(class.cover(class));
            prop_assert_eq!(class.class(), class);
            for gathering in ALL {
                let nodes = 900 + 450 * (segments - 1);
                let among = Siblings {
                    segments,
                    nodes,
                    differ: false,
                };
                let of_walk = |sizes: QuerySizes| sizes.of_walk(900, (gathering, among));
                let (walk, room) = (of_walk(wanted), of_walk(class));
                prop_assert!(room.list_size >= walk.list_size);
                prop_assert!(room.capacity >= walk.capacity);
                prop_assert!(room.list_limit >= walk.list_limit);
            }
        }
    }
}
