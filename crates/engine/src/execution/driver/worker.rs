//! What one thread needs to search: a lane of page reads and a scratch per query in flight.

use std::sync::atomic::{AtomicUsize, Ordering};

use pageway_kernels::KernelSet;
use pageway_store::{IoBackend, MAX_LANE_BUFFERS, PageGeometry, PageIo, PageReader};
use pageway_types::{NodeId, Progress};

use super::super::ranking::Neighbor;
use super::super::scratch::{Scratch, ScratchShape};
use super::super::{Goal, Parts, Query, QueryStats};
use super::ReadTrace;
use crate::error::Result;
use crate::layout::PageCodec;
use crate::memory::largest;

/// Sizes of a worker: they fix its bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct WorkerShape {
    /// Queries in flight.
    pub(crate) interleave: usize,
    /// Reads in flight, of all its queries: page buffers.
    pub(crate) buffers: usize,
    /// Of each query.
    pub(crate) scratch: ScratchShape,
}

/// Reads in flight that a last batch gains from: more than most of them are.
const LAST_BATCH: usize = 64;

/// Buffers for each query after the first without which one more in flight would gain little.
const BUFFERS_EACH: usize = 4;

impl WorkerShape {
    /// With as few buffers as so many queries in flight are worth their memory with.
    pub(crate) fn compact(interleave: usize, scratch: ScratchShape) -> Self {
        let others = interleave.saturating_sub(1) * scratch.beam.min(BUFFERS_EACH);
        Self {
            interleave,
            buffers: scratch.beam + others,
            scratch,
        }
    }

    /// With as many buffers as they can use.
    pub(crate) fn roomy(interleave: usize, scratch: ScratchShape) -> Self {
        let buffers = (interleave * scratch.beam).max(LAST_BATCH);
        Self {
            interleave,
            buffers: buffers.min(MAX_LANE_BUFFERS as usize),
            scratch,
        }
    }

    /// The best of these: with up to `interleave` queries in flight in `most` bytes, then with as
    /// many buffers as fit its `share` of them. One query in flight, should not even that fit.
    pub(crate) fn fitting(
        (interleave, scratch): (usize, ScratchShape),
        (most, share): (u64, u64),
        bytes: impl Fn(&Self) -> u64,
    ) -> Self {
        let compact = |interleave: u32| Self::compact(interleave as usize, scratch);
        let fits = |interleave| bytes(&compact(interleave)) <= most;
        let shape = compact(largest(1, interleave as u32, fits));
        let with = |buffers: u32| Self {
            buffers: buffers as usize,
            ..shape
        };
        let roomy = Self::roomy(shape.interleave, scratch).buffers;
        let fits = |buffers| bytes(&with(buffers)) <= share;
        with(largest(shape.buffers as u32, roomy as u32, fits))
    }

    /// Bytes of a worker over `reader`.
    pub(crate) fn bytes(&self, reader: &PageReader) -> u64 {
        self.bytes_by(reader.geometry(), reader.backend())
    }

    /// Bytes of a worker that reads units of `geometry` by `backend`.
    pub(crate) fn bytes_by(&self, geometry: PageGeometry, backend: IoBackend) -> u64 {
        let queries = self.interleave * (self.scratch.bytes() + LANE_BYTES);
        (queries
            + geometry.payload_bytes()
            + self.buffers * BUFFER_BYTES
            + PageReader::lane_bytes(geometry, self.buffers as u32, backend)) as u64
    }
}

/// Bookkeeping of one query in flight, rounded up.
const LANE_BYTES: usize = 1024;

/// Bookkeeping of one read in flight, rounded up.
const BUFFER_BYTES: usize = 64;

/// The means of one searching thread.
pub(crate) struct Worker {
    pub(crate) shape: WorkerShape,
    pub(super) io: Box<dyn PageIo>,
    pub(super) scratches: Vec<Scratch>,
    /// Where a page of the page cache is copied to.
    pub(super) staging: Vec<u8>,
}

impl Worker {
    /// A worker with its lane open.
    pub(crate) fn new<C: PageCodec>(
        parts: &Parts<C>,
        reader: &PageReader,
        kernels: &'static KernelSet,
        shape: WorkerShape,
    ) -> Result<Self> {
        let scratch = || {
            let scorer = parts.codes.quantizer.scorer(kernels);
            let second = parts.second.as_ref();
            let second = second.map(|part| part.quantizer.scorer(kernels));
            Scratch::new(shape.scratch, (scorer, second), &parts.entry)
        };
        Ok(Self {
            shape,
            io: reader.lane(shape.buffers as u32)?,
            scratches: std::iter::repeat_with(scratch)
                .take(shape.interleave)
                .collect::<Result<_>>()?,
            staging: vec![0; reader.geometry().payload_bytes()],
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
}

/// Queries of one search call, shared by its threads.
pub(crate) struct Job<'j> {
    /// Raw rows.
    pub(crate) rows: &'j [u8],
    /// Bytes of a row.
    pub(crate) row_bytes: usize,
    /// Per query the row that must not be found.
    pub(crate) held_out: Option<&'j [NodeId]>,
    /// Reads in flight at most (W).
    pub(crate) beam: usize,
    /// What they are for.
    pub(crate) goal: Goal,
    /// Whether every answer needs its exact distance.
    pub(crate) exact: bool,
    /// First queries that are recorded.
    pub(crate) recorded: usize,
    /// The next query nobody has taken.
    pub(crate) next: AtomicUsize,
    /// Counts finished queries, and may ask to stop.
    pub(crate) progress: &'j dyn Progress,
}

impl<'j> Job<'j> {
    /// Takes the next query.
    pub(super) fn take(&self) -> Option<(usize, Query<'j>)> {
        let index = self.next.fetch_add(1, Ordering::Relaxed);
        let start = index.checked_mul(self.row_bytes)?;
        let vector = self.rows.get(start..start.checked_add(self.row_bytes)?)?;
        let held_out = self.held_out.and_then(|nodes| nodes.get(index).copied());
        Some((
            index,
            Query {
                vector,
                held_out,
                beam: self.beam,
                goal: self.goal,
                exact: self.exact,
            },
        ))
    }
}

/// What one thread found: the results of each query it finished, in the order it finished them.
#[derive(Debug, Default)]
pub(crate) struct Outcomes {
    /// Query numbers, how many results each has, and their costs.
    pub(crate) queries: Vec<(usize, usize, QueryStats)>,
    /// Results, nearest first, query by query.
    pub(crate) found: Vec<Neighbor>,
    /// Nodes that queries expanded, where that is recorded.
    pub(crate) visits: Vec<NodeId>,
    /// What queries did, where that is recorded.
    pub(crate) traces: Vec<ReadTrace>,
}

impl Outcomes {
    pub(super) fn push(&mut self, index: usize, scratch: &Scratch, stats: QueryStats) {
        let results = scratch.ranking().len();
        self.queries.push((index, results, stats));
        self.found.extend(scratch.ranking().iter());
        self.visits.extend_from_slice(scratch.trace());
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::scratch::{EntryShape, HarvestShape, Hold, IndexShape};
    use super::*;

    fn scratch(beam: usize) -> ScratchShape {
        ScratchShape {
            results: 10,
            list_size: 100,
            list_limit: 100,
            beam,
            index: IndexShape {
                max_neighbors: 32,
                seeds: 1,
                lists_per_candidate: 1,
                harvested: HarvestShape::default(),
                dimension: 128,
                scorer_bytes: 1000,
                payload_bytes: 4084,
                record_bytes: 0,
                entry: EntryShape::default(),
                hold: Hold::Nothing,
                bounded: false,
                coded: false,
            },
        }
    }

    #[test]
    fn memory_goes_to_queries_first_and_then_to_buffers() {
        let bytes = |shape: &WorkerShape| (100 * shape.interleave + 10 * shape.buffers) as u64;
        let shared = |beam, most, share| {
            let shape = WorkerShape::fitting((8, scratch(beam)), (most, share), bytes);
            (shape.interleave, shape.buffers)
        };
        let sizes = |beam, most| shared(beam, most, most);
        assert_eq!(sizes(16, 10_000), (8, 128));
        assert_eq!(sizes(4, 10_000), (8, 64));
        assert_eq!(sizes(16, 1_300), (8, 50));
        assert_eq!(sizes(16, 1_240), (8, 44));
        assert_eq!(sizes(16, 1_239), (7, 53));
        assert_eq!(sizes(2, 400), (3, 10));
        assert_eq!(sizes(16, 0), (1, 16));
        assert_eq!(shared(16, 10_000, 1_300), (8, 50));
        assert_eq!(shared(16, 10_000, 0), (8, 44));
    }
}
