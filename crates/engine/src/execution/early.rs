//! Reads that begin while candidates are still gathered: of pages that are wanted at the end almost
//! for certain.
//!
//! ```text
//!  gather  ---+--------+------>  bounds decide  ->  the last batch of reads, of what is not there
//!             |        |                                     ^
//!             +- pages +- pages  ----- from the disk --------+
//! ```
//! They change no answer: a page that was read early is used when it is wanted, and not before. One
//! that nobody wants in the end was read for nothing, and counts as read. Only a query that has its
//! thread for itself reads early: beside others there is enough to do while reads are in flight.

use super::Traversal;
use super::bounds::{Limits, Verdict};
use super::key::{key_distance, key_node};
use super::query::{Gathering, Goal, Query};
use super::refine::told;
use super::scratch::ScratchShape;
use super::traversal::PageRequest;
use crate::layout::PageCodec;

/// When a share of what would be read, were all candidates known, is read.
#[derive(Debug)]
struct Round {
    /// Once so many candidates are expanded, or clusters looked into, in shares of the list.
    after: f32,
    /// And so many more, which lead to where the answers are.
    way: f32,
    share: f32,
}

/// Hops of a walk to the answers, which short lists do not tell.
const WAY: f32 = 4.0;

/// Of a walk. A batch of reads costs as much as some reads do, so that there are two.
const OF_WALK: &[Round] = &[
    Round {
        after: 0.45,
        way: WAY,
        share: 0.6,
    },
    Round {
        after: 0.8,
        way: WAY,
        share: 1.0,
    },
];

/// Of a scan, which looks into as many clusters as its list is long after it found its answers.
const OF_SCAN: &[Round] = &[Round {
    after: 1.0,
    way: 0.0,
    share: 1.0,
}];

/// Reads of a round at most: a thread has no buffers for more.
const MOST: usize = 64;

/// Candidates for each answer, or read, that are looked at.
const LOOKED_AT_EACH: usize = 4;

/// How far a traversal is with its early reads.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct EarlyReads {
    /// Those to come.
    rounds: &'static [Round],
    /// Whether the list is as long as it will be.
    has_list: bool,
    /// Whether the reads of a round are in the frontier.
    pub(super) chosen: bool,
    /// Where gathering goes on once they are out.
    pub(super) paused: Option<Pause>,
}

/// Where gathering pauses for early reads to go out. It goes on there, so that they change nothing.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Pause {
    /// While candidates are looked for.
    Choosing,
    /// At what is left once there are no reads to choose.
    Working,
}

impl EarlyReads {
    /// Those of a query in a segment: of one that holds most of the nodes, where bounds decide what
    /// is read at the end, and that is vectors.
    fn of(query: &Query<'_>, shape: &ScratchShape) -> Self {
        let is_plain = query.goal == Goal::Nearest
            && query.admission.is_open()
            && !query.tolerance.is_any()
            && query.ladder.is_none();
        let is_largest = shape.index.nodes > shape.among.nodes / 2;
        let rounds = match shape.index.gathering() {
            Gathering::InMemory => OF_WALK,
            Gathering::Scanning if !shape.index.codes.coded => OF_SCAN,
            Gathering::Scanning | Gathering::Reading => &[],
        };
        let pays = is_plain && is_largest;
        Self {
            rounds: if pays { rounds } else { &[] },
            has_list: query.rule.is_none(),
            chosen: false,
            paused: None,
        }
    }

    /// Whether gathering paused here, and goes on now.
    pub(super) fn resumes(&mut self, pause: Pause) -> bool {
        self.paused.take_if(|paused| *paused == pause).is_some()
    }

    /// The list is as long as it will be.
    pub(super) fn begin(&mut self) {
        self.has_list = true;
    }

    /// The share that is to be read now, after so many `hops` for a list of `size`.
    fn due(&mut self, hops: u64, size: usize) -> Option<f32> {
        let (round, others) = self.rounds.split_first()?;
        if !self.has_list || (hops as f32) < round.after * size as f32 + round.way {
            return None;
        }
        self.rounds = others;
        Some(round.share)
    }
}

impl<C: PageCodec> Traversal<'_, C> {
    /// Begins reads early from now on, where that pays.
    pub(super) fn read_early(&mut self) {
        self.early = EarlyReads::of(&self.query, &self.scratch.shape);
    }

    /// Whether it is time for early reads and there are some: they are in the frontier then, and
    /// go out before gathering goes on. While other reads are in flight the disk is busy.
    pub(super) fn turns_early(&mut self, pause: Pause) -> bool {
        if self.in_flight > 0 {
            return false;
        }
        let size = self.scratch.candidates.depth();
        let Some(share) = self.early.due(self.stats.hops, size) else {
            return false;
        };
        self.choose_early(share);
        let chosen = !self.scratch.pages.frontier.is_empty();
        self.early.chosen = chosen;
        self.early.paused = chosen.then_some(pause);
        chosen
    }

    /// Puts the pages of a share of the best candidates into the frontier: of those that bounds do
    /// not rule out, nor hold for answers that may come from codes.
    fn choose_early(&mut self, share: f32) {
        let mut keys = std::mem::take(&mut self.scratch.keys);
        self.bound_early(&mut keys);
        let (map, cached) = (self.parts.codec.map(), &self.parts.cache.vectors);
        let (parts, tolerance) = (self.parts, self.query.tolerance);
        let suffices = |key, error| {
            let distance = parts.possible(key_distance(key));
            parts.identities.is_some() && tolerance.admits(distance, error)
        };
        let scratch = &mut *self.scratch;
        let bounds = &scratch.bounds;
        let wanted = (0..).zip(&keys).filter_map(|(at, key)| {
            let node = key_node(*key);
            let is_read = match bounds.verdict(at) {
                Verdict::Out => false,
                Verdict::In => !suffices(*key, bounds.interval(at).1),
                Verdict::Open => true,
            };
            (is_read && !cached.contains(node)).then_some(node)
        });
        let count = (wanted.clone().count() as f32 * share) as usize;
        let frontier = &mut scratch.pages.frontier;
        let nearest = wanted.take(count.min(MOST));
        for page in nearest.map(|node| map.vector_page_of(node)) {
            if frontier.iter().all(|other| other.page != page) {
                frontier.push(PageRequest::refining(self.segment, page));
            }
        }
        // The last is handed out first.
        frontier.reverse();
        // Other segments are to see bounds of all candidates, or none.
        scratch.bounds.forget();
        self.scratch.keys = keys;
    }

    /// Leaves the best candidates in `keys`, and judges them as if there were no others: none is
    /// ruled out where fewer are looked at than are wanted.
    fn bound_early(&mut self, keys: &mut Vec<u64>) {
        let (admission, shape) = (self.query.admission, &self.scratch.shape);
        let part = shape.sizes.results * shape.index.nodes / shape.among.nodes.max(1);
        let listed = self.scratch.candidates.keys().iter().copied();
        let admitted = listed.filter(|key| admission.admits(key_node(*key)));
        keys.clear();
        keys.extend(admitted.take(LOOKED_AT_EACH * part.min(MOST)));
        let mut bounds = std::mem::take(&mut self.scratch.bounds);
        let errors = keys.iter().map(|key| match self.parts.entry.clusters() {
            Some(table) => self.error_in_scan(table, *key),
            None => self.gathered_error(*key),
        });
        let estimates = keys.iter().map(|key| key_distance(*key));
        bounds.take(self.deciding_share(), estimates.zip(errors.map(told)));
        let mut room = bounds.lend_room();
        let limits = Limits::of(Goal::Nearest, part, std::iter::once(&bounds), &mut room);
        bounds.take_back(room);
        bounds.judge(limits);
        self.scratch.bounds = bounds;
    }

    /// The next page to read early, if any; gathering goes on once there is none.
    pub(super) fn next_early(&mut self) -> Option<PageRequest> {
        if !self.early.chosen {
            return None;
        }
        let next = self.scratch.pages.frontier.pop();
        self.early.chosen = next.is_some();
        next
    }
}
