//! Lists that grow: whether a longer one promises more, how long it becomes, and which of its
//! candidates are taken.

use pageway_types::Guide;

use super::Traversal;
use super::key::{key_distance, key_node};
use super::query::{Gathering, Goal};
use super::traversal::Stage;
use crate::layout::PageCodec;

/// Share of a candidate list that must lie within the radius for a range search to go on with a
/// list of twice the size (Starling's phi).
const RANGE_SHARE: f32 = 0.5;

/// Share of the radius by which the estimate of a candidate may exceed it: about the error of a
/// code.
const RANGE_SLACK: f32 = 0.05;

/// Share of the list of one of several segments that the list of all would have to hold for it to
/// be doubled. All of it where it is scanned.
const SEGMENT_SHARE: f32 = 0.5;

/// Share of the distance of the last candidate of that list by which one may exceed it and still be
/// followed: what lies just beyond it leads to what lies within.
const SEGMENT_SLACK: f32 = 0.05;

/// Share of a candidate list that must not have died for its walk to be over.
const LIVING_SHARE: f32 = 0.75;

/// Part of its length that a list grows by at least.
const LEAST_GROWTH: usize = 4;

impl<C: PageCodec> Traversal<'_, C> {
    /// Whether a longer candidate list promises more: where many of the candidates are such as the
    /// list of all segments would hold, down to distance `nearer`.
    pub(super) fn promises_more(&self, nearer: u32) -> bool {
        let size = self.scratch.candidates.capacity();
        if self.query.lists_admitted
            || size >= self.scratch.shape.sizes.list_limit
            || self
                .query
                .among
                .is_some_and(|among| self.is_too_dear(among))
        {
            return false;
        }
        self.lacks_candidates(nearer)
    }

    /// Whether a walk among some nodes ends before its list is what it should be: all that may be
    /// answers are to be scanned then.
    pub(super) fn falls_short(&self) -> bool {
        let is_walk = self.query.among.is_some() && !self.query.lists_admitted;
        let is_whole = self.scratch.candidates.capacity() >= self.scratch.shape.index.nodes;
        is_walk && !is_whole && self.lacks_candidates(u32::MAX)
    }

    /// Whether the list should be longer, were that possible.
    fn lacks_candidates(&self, nearer: u32) -> bool {
        let candidates = &self.scratch.candidates;
        let size = candidates.capacity();
        match self.query.goal {
            // How many lie within is known once fine codes are read.
            Goal::Within { .. } if self.stage == Stage::Gather && self.reads_fine_codes() => false,
            Goal::Within { .. } => self.scratch.ranking.len() as f32 >= RANGE_SHARE * size as f32,
            Goal::Nearest if self.lacks_living() => true,
            // Lists of one segment grow for want of living candidates alone.
            Goal::Nearest
                if self.query.admission.is_open() && self.scratch.shape.among.segments == 1 =>
            {
                false
            }
            Goal::Nearest if self.query.admission.is_open() => {
                let within = candidates.count_within(nearer) as f32;
                let share = match self.scratch.shape.index.gathering() {
                    Gathering::Scanning => 1.0,
                    Gathering::Reading | Gathering::InMemory => SEGMENT_SHARE,
                };
                candidates.is_full() && within >= share * size as f32
            }
            Goal::Nearest => self.lacks_admitted(),
        }
    }

    /// The list to go on with: twice as long, or as long as holds enough that may be answers.
    fn longer_list(&self) -> usize {
        let candidates = &self.scratch.candidates;
        let size = candidates.capacity();
        let twice = size * 2;
        let enough = self.query.among.map_or(twice, |among| {
            let times = self.list_among(among, 0) / candidates.depth().max(1) as f64;
            (size as f64 * times).ceil() as usize
        });
        let limit = self.scratch.shape.sizes.list_limit;
        enough
            .clamp(size + size.div_ceil(LEAST_GROWTH), twice)
            .min(limit)
    }

    /// Whether too many candidates of a full list died for the others to be a list.
    fn lacks_living(&self) -> bool {
        let (candidates, admission) = (&self.scratch.candidates, self.query.admission);
        if !admission.has_dead() || !admission.is_open() || !candidates.is_full() {
            return false;
        }
        let living = candidates
            .keys()
            .iter()
            .filter(|key| admission.admits(key_node(**key)));
        let shape = &self.scratch.shape;
        let enough = (LIVING_SHARE * shape.sizes.list_size as f32) as usize;
        let alone = shape.among.segments == 1;
        let least = if alone { self.query.sizes.results } else { 1 };
        living.count() < enough.max(least)
    }

    /// Makes the candidate list longer and goes on gathering, with candidates hardly farther than
    /// `nearer`. In a range search, what is beyond the radius by more than estimates err leads
    /// nowhere from then on.
    pub(super) fn widen(&mut self, nearer: u32) {
        let farthest = match (self.query.goal, self.parts.codes.quantizer.metric()) {
            (Goal::Within { radius }, Guide::L2 | Guide::Cosine) => {
                radius + RANGE_SLACK * radius.abs()
            }
            (Goal::Nearest, _) if self.query.admission.is_open() && !self.lacks_living() => {
                let end = key_distance(u64::from(nearer) << 32);
                // A list of all that is not full has no end.
                let farthest = end + SEGMENT_SLACK * end.abs();
                if end.is_nan() {
                    f32::INFINITY
                } else {
                    farthest
                }
            }
            // What lies near results need not lie near the radius: the walk passes through it.
            (Goal::Within { .. }, Guide::InnerProduct) | (Goal::Nearest, _) => f32::INFINITY,
        };
        let size = self.longer_list();
        self.scratch.candidates.grow(size, farthest);
        self.stage = Stage::Gather;
    }

    /// Candidates that may be answers: those that were scored while they were gathered, where only
    /// those are, else all.
    pub(super) fn found(&self) -> usize {
        let fine = self.parts.vectors.is_coded() && self.deviations().is_some();
        let scored = if fine {
            self.parts.entry.clusters().is_none()
        } else {
            self.parts.execution.refine.is_inline()
        };
        if scored {
            self.scratch.ranking.len()
        } else {
            self.scratch.candidates.keys().len()
        }
    }

    /// Whether the last third of the listed candidates that were taken holds an answer: then those
    /// behind it may as well.
    pub(super) fn answers_lie_deep(&self) -> bool {
        let candidates = &self.scratch.candidates;
        let depth = candidates.depth();
        let mut last = candidates.keys().iter().take(depth).skip(depth - depth / 3);
        let ranking = &self.scratch.ranking;
        self.query.lists_admitted && last.any(|key| ranking.holds(key_node(*key)))
    }

    /// Goes on with half as many more of the candidates that the list holds; false where all of
    /// them were taken.
    pub(super) fn deepen(&mut self) -> bool {
        let candidates = &mut self.scratch.candidates;
        let (depth, capacity) = (candidates.depth(), candidates.capacity());
        if depth == 0 || depth >= capacity {
            return false;
        }
        candidates.take_off(depth + depth.div_ceil(2));
        self.stage = Stage::Gather;
        true
    }
}
