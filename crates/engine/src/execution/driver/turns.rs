//! Queries that are turned to the axes of codes before they begin, some of them at once: a matrix
//! that is larger than the caches near a core is what a turn waits for, and comes once for all.

use std::collections::VecDeque;

use super::super::{Query, Segment};
use super::Job;
use super::worker::WorkerShape;

/// Queries that are turned at once, at most.
const MOST: usize = 8;

/// Queries that are left for each of those, at least: threads end together.
const LEFT_EACH: usize = 32;

/// Where queries are turned.
pub(crate) struct TurnSpace {
    /// Whose codes they are turned for; all others turn them for themselves.
    segment: usize,
    most: usize,
    queries: Vec<f32>,
    turned: Vec<f32>,
}

/// A query that was turned for the codes of a segment.
#[derive(Clone, Copy)]
pub(crate) struct Turned<'a> {
    pub(crate) segment: usize,
    pub(crate) values: &'a [f32],
}

/// Queries that were taken and did not begin.
pub(super) struct TurnQueue<'s, 'j> {
    space: &'s mut TurnSpace,
    taken: VecDeque<(usize, Query<'j>)>,
    /// Those that were turned with the ones that are left.
    count: usize,
    /// Values of each.
    values: usize,
}

/// Queries of a worker that are turned at once; none where each comes alone.
pub(super) fn together(shape: &WorkerShape) -> usize {
    match shape.interleave {
        0 | 1 => 0,
        several => several.min(MOST),
    }
}

impl TurnSpace {
    /// For the codes of the largest of the segments, unless that is asked by queries near it alone.
    pub(super) fn new(segments: &[Segment], shape: &WorkerShape) -> Self {
        let sizes = segments.iter().map(|own| own.shape.nodes).enumerate();
        let segment = sizes
            .max_by_key(|(_, nodes)| *nodes)
            .map_or(0, |(at, _)| at);
        let own = segments.get(segment).filter(|own| own.region.is_none());
        let index = own.map(|own| own.shape);
        let both = index.map_or(0, |index| index.codes.turned_values);
        let before = index.map_or(0, |index| index.dimension.min(both));
        let most = if both > 0 { together(shape) } else { 0 };
        Self {
            segment,
            most,
            queries: vec![0.0; most * before],
            turned: vec![0.0; most * (both - before)],
        }
    }
}

impl<'s, 'j> TurnQueue<'s, 'j> {
    pub(super) fn new(space: &'s mut TurnSpace) -> Self {
        Self {
            space,
            taken: VecDeque::with_capacity(MOST),
            count: 0,
            values: 0,
        }
    }

    /// The next query that nobody has taken, turned where it was with others.
    pub(super) fn next(
        &mut self,
        job: &Job<'j>,
        segments: &[Segment],
    ) -> Option<(usize, Query<'j>, Option<Turned<'_>>)> {
        if self.taken.is_empty() {
            let count = (job.left() / LEFT_EACH).min(self.space.most);
            if count < 2 {
                let (index, query) = job.take()?;
                return Some((index, query, None));
            }
            self.taken.extend((0..count).map_while(|_| job.take()));
            self.turn(segments);
        }
        let at = self.count - self.taken.len();
        let (index, query) = self.taken.pop_front()?;
        let first = at * self.values;
        let values = self.space.turned.get(first..first + self.values);
        let segment = self.space.segment;
        let turned = values.filter(|values| !values.is_empty());
        Some((
            index,
            query,
            turned.map(|values| Turned { segment, values }),
        ))
    }

    /// Turns the queries that were taken.
    fn turn(&mut self, segments: &[Segment]) {
        self.count = self.taken.len();
        self.values = 0;
        let space = &mut *self.space;
        let Some(segment) = segments.get(space.segment) else {
            return;
        };
        let dimension = segment.shape.dimension;
        let (queries, _) = space.queries.split_at_mut(self.count * dimension);
        for ((_, query), own) in self.taken.iter().zip(queries.chunks_exact_mut(dimension)) {
            segment.parts.widen(query.vector, own);
        }
        let quantizer = segment.parts.quantizer();
        self.values = quantizer.turn(segment.kernels, queries, &mut space.turned);
    }
}
