//! What one thread needs to search: a lane of page reads, and for each query in flight a scratch
//! per segment.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use pageway_store::{IoBackend, MAX_LANE_BUFFERS, PageGeometry, PageIo, PageReader};
use pageway_types::{NodeId, Progress};

use super::super::query::Siblings;
use super::super::ranking::Neighbor;
use super::super::route::Route;
use super::super::scratch::{IndexShape, Scratch, ScratchShape};
use super::super::{
    Admission, CallLists, Finished, Goal, HeldOut, LadderNote, MetRows, NodeSet, Query,
    QueryLadder, QuerySizes, Search, Segment, Tolerance,
};
use super::ReadTrace;
use super::turns::{TurnSpace, together};
use crate::error::{Error, ErrorKind, Result};
use crate::memory::largest;

/// Sizes of a worker: they fix its bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct WorkerShape {
    /// Queries in flight.
    pub(crate) interleave: usize,
    /// Reads in flight, of all its queries: page buffers.
    pub(crate) buffers: usize,
    /// Of each query.
    pub(crate) sizes: QuerySizes,
}

/// What the bytes of a worker depend on beside its shape.
pub(crate) struct WorkerSite<S> {
    /// What the scratch of each segment must suit.
    pub(crate) segments: S,
    /// Centres that are known of their rows.
    pub(crate) centres: usize,
    /// Bytes and pages of the largest read.
    pub(crate) geometry: PageGeometry,
    /// How reads are made.
    pub(crate) backend: IoBackend,
}

/// Reads in flight that a last batch gains from: more than most of them are.
const LAST_BATCH: usize = 64;

/// Buffers for each query after the first without which one more in flight would gain little.
const BUFFERS_EACH: usize = 4;

impl WorkerShape {
    /// With as few buffers as so many queries in flight are worth their memory with.
    pub(crate) fn compact(interleave: usize, sizes: QuerySizes) -> Self {
        let others = interleave.saturating_sub(1) * sizes.beam.min(BUFFERS_EACH);
        Self {
            interleave,
            buffers: sizes.beam + others,
            sizes,
        }
    }

    /// With as many buffers as they can use.
    pub(crate) fn roomy(interleave: usize, sizes: QuerySizes) -> Self {
        let buffers = (interleave * sizes.beam).max(LAST_BATCH);
        Self {
            interleave,
            buffers: buffers.min(MAX_LANE_BUFFERS as usize),
            sizes,
        }
    }

    /// The best of these: with up to `interleave` queries in flight in `most` bytes, then with as
    /// many buffers as fit its `share` of them. One query in flight, should not even that fit.
    pub(crate) fn fitting(
        (interleave, sizes): (usize, QuerySizes),
        (most, share): (u64, u64),
        bytes: impl Fn(&Self) -> u64,
    ) -> Self {
        let compact = |interleave: u32| Self::compact(interleave as usize, sizes);
        let fits = |interleave| bytes(&compact(interleave)) <= most;
        let shape = compact(largest(1, interleave as u32, fits));
        let with = |buffers: u32| Self {
            buffers: buffers as usize,
            ..shape
        };
        let roomy = Self::roomy(shape.interleave, sizes).buffers;
        let fits = |buffers| bytes(&with(buffers)) <= share;
        with(largest(shape.buffers as u32, roomy as u32, fits))
    }

    /// Whether a worker of this shape can do what one of `other` is wanted for.
    pub(crate) fn covers(&self, other: &Self) -> bool {
        self.interleave >= other.interleave
            && self.buffers >= other.buffers
            && self.sizes.cover(other.sizes)
    }
}

/// Bookkeeping of one query in flight in one segment, rounded up.
const LANE_BYTES: usize = 1024;

/// Bookkeeping of one read in flight, rounded up.
const BUFFER_BYTES: usize = 64;

impl<S: Iterator<Item = IndexShape> + ExactSizeIterator + Clone> WorkerSite<S> {
    /// Bytes of a worker.
    pub(crate) fn bytes(&self, shape: &WorkerShape) -> u64 {
        let among = Siblings::of(self.segments.clone());
        let scratches = self
            .segments
            .clone()
            .map(|index| ScratchShape::of_walk(shape.sizes, index, among).bytes() + LANE_BYTES);
        let reads = PageReader::lane_bytes(self.geometry, shape.buffers as u32, self.backend);
        let dimension = self.segments.clone().map(|index| index.dimension).next();
        let route = Route::bytes(self.centres, dimension.unwrap_or(0));
        let queries = shape.interleave * (scratches.sum::<usize>() + route);
        let staging = self.geometry.payload_bytes();
        let turned = self.segments.clone().map(|index| index.codes.turned_values);
        let turned = together(shape) * turned.max().unwrap_or(0) * size_of::<f32>();
        (queries + turned + staging + shape.buffers * BUFFER_BYTES + reads) as u64
    }
}

/// The means of one searching thread.
pub(crate) struct Worker {
    pub(crate) shape: WorkerShape,
    pub(super) io: Box<dyn PageIo>,
    /// Query by query, segment by segment.
    pub(super) scratches: Vec<Scratch>,
    /// Where a page of the page cache is copied to.
    pub(super) staging: Vec<u8>,
    /// Number of the first file of each segment, among those of the lane.
    pub(super) first_files: Vec<u32>,
    /// Where queries are turned at once.
    pub(super) turns: TurnSpace,
}

impl Worker {
    /// A worker with its lane open. There is a segment at least.
    ///
    /// # Errors
    /// When memory or a lane is refused.
    pub(crate) fn new(segments: &[Segment], shape: WorkerShape) -> Result<Self> {
        let geometries = segments.iter().map(|segment| segment.pages.geometry());
        let largest = largest_read(geometries).ok_or_else(no_segment)?;
        let (mut readers, mut first_files) = (Vec::new(), Vec::with_capacity(segments.len()));
        for segment in segments {
            first_files.push(readers.len() as u32);
            readers.extend(segment.pages.readers());
        }
        let (own, others) = readers.split_first().ok_or_else(no_segment)?;
        let mut scratches = Vec::with_capacity(shape.interleave * segments.len());
        let among = Siblings::of(segments.iter().map(|segment| segment.shape));
        for _ in 0..shape.interleave {
            for segment in segments {
                let own = ScratchShape::of_walk(shape.sizes, segment.shape, among);
                let scorers = segment.parts.scorers(segment.kernels);
                scratches.push(Scratch::new(own, scorers, segment.parts.entry())?);
            }
        }
        Ok(Self {
            shape,
            io: own.lane_with(others, shape.buffers as u32)?,
            scratches,
            staging: vec![0; largest.payload_bytes()],
            first_files,
            turns: TurnSpace::new(segments, &shape),
        })
    }

    /// Whether it notes the nodes that queries expand.
    pub(crate) fn is_traced(&self) -> bool {
        self.scratches.iter().any(Scratch::is_traced)
    }

    /// Notes the nodes that queries expand; see [`Outcomes::visits`].
    pub(crate) fn record_traces(&mut self) {
        self.scratches.iter_mut().for_each(Scratch::record_trace);
    }

    /// Keeps the vectors that the one query of the next job compares in the first segment.
    pub(crate) fn record_met(&mut self, met: MetRows) {
        if let Some(scratch) = self.scratches.first_mut() {
            scratch.record_met(met);
        }
    }

    /// Ends that; what was kept.
    pub(crate) fn take_met(&mut self) -> Option<MetRows> {
        self.scratches.iter_mut().find_map(Scratch::take_met)
    }
}

/// The geometry of the largest read, of segments whose pages are of one size.
pub(crate) fn largest_read(geometries: impl Iterator<Item = PageGeometry>) -> Option<PageGeometry> {
    geometries.max_by_key(|geometry| geometry.unit_bytes())
}

fn no_segment() -> Error {
    Error::new(ErrorKind::Internal, "an index without a segment")
}

/// What a search notes beside answers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct JobNotes {
    /// First queries that are recorded.
    pub(crate) recorded: usize,
    /// Nodes nearest to each query that are noted, at most.
    pub(crate) near: usize,
}

/// Queries of one search call, shared by its threads.
pub(crate) struct Job<'j> {
    /// Raw rows.
    pub(crate) rows: &'j [u8],
    /// Bytes of a row.
    pub(crate) row_bytes: usize,
    /// Per query the row that must not be found.
    pub(crate) held_out: Option<&'j [HeldOut]>,
    /// What may be found, where that is not everything.
    pub(crate) admitted: Option<&'j NodeSet>,
    /// How long their lists are.
    pub(crate) lists: CallLists<'j>,
    /// What they are for.
    pub(crate) goal: Goal,
    /// When nobody waits for answers any more.
    pub(crate) deadline: Option<Instant>,
    /// How far off the distance of an answer may be.
    pub(crate) tolerance: Tolerance,
    /// Queries in flight of a thread, at most.
    pub(crate) interleave: usize,
    /// What is noted beside answers.
    pub(crate) notes: JobNotes,
    /// The next query nobody has taken.
    pub(crate) next: AtomicUsize,
    /// Counts finished queries, and may ask to stop.
    pub(crate) progress: &'j dyn Progress,
}

impl<'j> Job<'j> {
    /// Queries that nobody has taken.
    pub(super) fn left(&self) -> usize {
        let all = self.rows.len() / self.row_bytes.max(1);
        all.saturating_sub(self.next.load(Ordering::Relaxed))
    }

    /// Takes the next query.
    pub(super) fn take(&self) -> Option<(usize, Query<'j>)> {
        let index = self.next.fetch_add(1, Ordering::Relaxed);
        let start = index.checked_mul(self.row_bytes)?;
        let vector = self.rows.get(start..start.checked_add(self.row_bytes)?)?;
        let held_out = self.held_out.and_then(|own| own.get(index));
        let admission = match (self.admitted, held_out) {
            (Some(set), _) => Admission::within(set),
            (None, Some(own)) => Admission::all_but(own),
            (None, None) => Admission::default(),
        };
        Some((
            index,
            Query {
                vector,
                goal: self.goal,
                sizes: self.lists.sizes_of(vector),
                admission,
                lists_admitted: self.lists.admitted,
                deadline: self.deadline,
                tolerance: self.tolerance,
                rule: self.lists.rule,
                lift: self.lists.lift.map_or(0.0, |lift| lift.of(vector)),
                among: self.lists.among,
                left_out: self.lists.left_out,
                ladder: self.lists.ladder.map(|ladder| QueryLadder {
                    ladder,
                    query: index,
                }),
            },
        ))
    }
}

/// The error of a search that took longer than it may.
pub(crate) fn timed_out() -> Error {
    Error::new(
        ErrorKind::TimedOut,
        "the search took longer than it was given: give it more time, or ask for less recall",
    )
}

/// What one thread found: the results of each query it finished, in the order it finished them.
#[derive(Debug, Default)]
pub(crate) struct Outcomes {
    /// Query numbers, and how each ended.
    pub(crate) queries: Vec<(usize, Finished)>,
    /// Results, nearest first, query by query.
    pub(crate) found: Vec<Neighbor>,
    /// Nodes that queries expanded, where that is recorded.
    pub(crate) visits: Vec<NodeId>,
    /// Nodes nearest to queries by their codes, where that is noted: query by query.
    pub(crate) near: Vec<NodeId>,
    /// Vectors that were compared, where those are kept.
    pub(crate) met: Option<MetRows>,
    /// What lists would have found, where queries note that: query by query.
    pub(crate) notes: Vec<(usize, LadderNote)>,
    /// What queries did, where that is recorded.
    pub(crate) traces: Vec<ReadTrace>,
}

impl Outcomes {
    /// Ends the query of a search, and takes what it found.
    pub(super) fn end(&mut self, search: &mut Search<'_>, near: usize) -> Result<Finished> {
        let noted = self.near.len();
        self.near.extend(search.near(near));
        let finished = search.finish(&mut self.found, &mut self.visits)?;
        Ok(Finished {
            near: self.near.len() - noted,
            ..finished
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sizes(beam: usize) -> QuerySizes {
        QuerySizes {
            results: 10,
            list_size: 100,
            capacity: 100,
            list_limit: 100,
            beam,
        }
    }

    #[test]
    fn memory_goes_to_queries_first_and_then_to_buffers() {
        let bytes = |shape: &WorkerShape| (100 * shape.interleave + 10 * shape.buffers) as u64;
        let shared = |beam, most, share| {
            let shape = WorkerShape::fitting((8, sizes(beam)), (most, share), bytes);
            (shape.interleave, shape.buffers)
        };
        let counts = |beam, most| shared(beam, most, most);
        assert_eq!(counts(16, 10_000), (8, 128));
        assert_eq!(counts(4, 10_000), (8, 64));
        assert_eq!(counts(16, 1_300), (8, 50));
        assert_eq!(counts(16, 1_240), (8, 44));
        assert_eq!(counts(16, 1_239), (7, 53));
        assert_eq!(counts(2, 400), (3, 10));
        assert_eq!(counts(16, 0), (1, 16));
        assert_eq!(shared(16, 10_000, 1_300), (8, 50));
        assert_eq!(shared(16, 10_000, 0), (8, 44));
    }

    #[test]
    fn a_worker_serves_what_it_is_large_enough_for() {
        let (small, large) = (
            WorkerShape::compact(1, sizes(4)),
            WorkerShape::compact(2, sizes(4)),
        );
        assert!(large.covers(&small) && large.covers(&large) && !small.covers(&large));
        let wider = WorkerShape::roomy(8, sizes(8));
        assert!(wider.covers(&large) && !large.covers(&wider));
    }
}
