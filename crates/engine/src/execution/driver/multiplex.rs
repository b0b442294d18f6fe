//! Many queries on one thread over one lane: while one waits for its pages, the others compute.
//!
//! All queries share the buffers of the page lane. A query is pumped whenever a page of it has
//! arrived: its walk hands out the reads it wants now, and works on while they are in flight; or it
//! is finished and the next query takes its place. One that finds no buffer free waits its turn.

use std::collections::VecDeque;
use std::time::Instant;

use pageway_store::{PageDone, PageIo, PageRead, PageReader, clock};

use super::super::{Origin, PageRequest, Parts, QueryStats, Scratch, Traversal};
use super::recorder::Recorder;
use super::{Job, Outcomes, Worker};
use crate::error::{Error, ErrorKind, Result};
use crate::layout::PageCodec;
use crate::storage::read_failed;

/// Takes queries of `job` until there are none.
///
/// # Errors
/// The first error of a page, or `Cancelled`. The worker must then be dropped: reads may be in
/// flight.
pub(crate) fn run<'t, C: PageCodec>(
    parts: &'t Parts<C>,
    reader: &PageReader,
    job: &Job<'t>,
    worker: &'t mut Worker,
) -> Result<Outcomes> {
    let Worker {
        io,
        scratches,
        staging,
        shape,
    } = worker;
    let mut means = Means {
        io: io.as_mut(),
        staging,
        reads: Reads::new(shape.buffers),
        outcomes: Outcomes::default(),
    };
    let mut lanes: Vec<Lane<'_, C>> = (0..).zip(scratches).map(Lane::new).collect();
    let mut turns: VecDeque<usize> = (0..lanes.len()).collect();
    let mut done: Vec<PageDone> = Vec::with_capacity(shape.buffers);
    take_turns(&mut lanes, &mut turns, (parts, job), &mut means)?;
    while lanes.iter().any(Lane::busy) {
        means.io.wait(1, &mut done)?;
        for completion in done.drain(..) {
            completion
                .result
                .map_err(|error| read_failed(completion.unit, error))?;
            let (number, request) = means.reads.end(completion.buffer).ok_or_else(stray)?;
            let lane = lanes.get_mut(number).ok_or_else(stray)?;
            let bytes = means.io.buffer(completion.buffer);
            lane.supply((parts, reader), (request, completion.buffer), bytes)?;
            if !turns.contains(&number) {
                turns.push_back(number);
            }
            take_turns(&mut lanes, &mut turns, (parts, job), &mut means)?;
        }
    }
    Ok(means.outcomes)
}

/// Pumps the lanes whose turn it is; those left find no buffer free.
fn take_turns<'t, C: PageCodec>(
    lanes: &mut [Lane<'t, C>],
    turns: &mut VecDeque<usize>,
    (parts, job): (&'t Parts<C>, &Job<'t>),
    means: &mut Means<'_>,
) -> Result<()> {
    while let Some(number) = turns.front() {
        let lane = lanes.get_mut(*number).ok_or_else(stray)?;
        if !lane.pump(parts, job, means)? {
            break;
        }
        turns.pop_front();
    }
    Ok(())
}

/// What all lanes share.
struct Means<'m> {
    io: &'m mut dyn PageIo,
    /// Where a page of the page cache is copied to.
    staging: &'m mut [u8],
    reads: Reads,
    outcomes: Outcomes,
}

/// The reads in flight, by buffer.
struct Reads {
    free: Vec<u32>,
    /// Lane, and what it wants.
    asked: Vec<Option<(usize, PageRequest)>>,
}

impl Reads {
    fn new(buffers: usize) -> Self {
        Self {
            free: (0..buffers as u32).rev().collect(),
            asked: vec![None; buffers],
        }
    }

    fn is_full(&self) -> bool {
        self.free.is_empty()
    }

    /// A buffer for a read of a lane.
    fn begin(&mut self, lane: usize, request: PageRequest) -> Option<u32> {
        let buffer = self.free.pop()?;
        *self.asked.get_mut(buffer as usize)? = Some((lane, request));
        Some(buffer)
    }

    /// Lane and request of a read that is over. Its buffer keeps the page until the next read.
    fn end(&mut self, buffer: u32) -> Option<(usize, PageRequest)> {
        let asked = self.asked.get_mut(buffer as usize)?.take()?;
        self.free.push(buffer);
        Some(asked)
    }
}

fn stray() -> Error {
    Error::new(
        ErrorKind::Internal,
        "a read completed that nobody had submitted",
    )
}

/// A place for one query in flight.
struct Lane<'t, C: PageCodec> {
    number: usize,
    active: Option<Active<'t, C>>,
    idle: Option<&'t mut Scratch>,
}

struct Active<'t, C: PageCodec> {
    walk: Traversal<'t, C>,
    index: usize,
    started: Instant,
    compute_ns: u64,
    /// Where somebody wants to replay the query.
    recorder: Option<Recorder>,
}

impl<C: PageCodec> Active<'_, C> {
    /// Submits the reads that the query wants now. False where there are too few buffers to know.
    fn submit(&mut self, lane: usize, parts: &Parts<C>, means: &mut Means<'_>) -> Result<bool> {
        while !means.reads.is_full() {
            let Some(request) = self.walk.want()? else {
                return Ok(true);
            };
            if parts.cache.pages.read(request.page.0, means.staging) {
                self.walk.supply(request, means.staging, Origin::Cache)?;
                continue;
            }
            let buffer = means.reads.begin(lane, request).ok_or_else(stray)?;
            if let Some(recorder) = &mut self.recorder {
                recorder.sends(buffer);
            }
            means.io.submit(PageRead {
                unit: request.page.0.into(),
                buffer,
                tag: buffer.into(),
            })?;
        }
        Ok(false)
    }

    /// Uses the time of the reads in flight, if there is something to do.
    fn work(&mut self, io: &mut dyn PageIo) -> Result<()> {
        if let Some(recorder) = &mut self.recorder {
            recorder.computed();
        }
        if !self.walk.has_work() {
            return Ok(());
        }
        io.flush()?;
        if let Some(recorder) = &mut self.recorder {
            recorder.flushed();
        }
        self.walk.work()?;
        if let Some(recorder) = &mut self.recorder {
            recorder.worked();
        }
        Ok(())
    }
}

impl<'t, C: PageCodec> Lane<'t, C> {
    fn new((number, scratch): (usize, &'t mut Scratch)) -> Self {
        Self {
            number,
            active: None,
            idle: Some(scratch),
        }
    }

    fn busy(&self) -> bool {
        self.active.is_some()
    }

    /// Hands a page to the walk it was read for.
    fn supply(
        &mut self,
        (parts, reader): (&Parts<C>, &PageReader),
        (request, buffer): (PageRequest, u32),
        bytes: &[u8],
    ) -> Result<()> {
        let begin = clock::now();
        let active = self.active.as_mut().ok_or_else(stray)?;
        if let Some(recorder) = &mut active.recorder {
            recorder.arrived(buffer);
        }
        let payload = reader.verify_unit(request.page.0.into(), bytes)?;
        parts.cache.pages.offer(request.page.0, &[payload]);
        active
            .walk
            .supply(request, payload, Origin::Disk)
            .map_err(|error| Error::from(error).within("pages"))?;
        active.compute_ns += nanoseconds_since(begin);
        if let Some(recorder) = &mut active.recorder {
            recorder.computed();
        }
        Ok(())
    }

    /// Submits the reads that the query wants now, or finishes it and starts the next one. False
    /// where it may want more than there are buffers for.
    fn pump(&mut self, parts: &'t Parts<C>, job: &Job<'t>, means: &mut Means<'_>) -> Result<bool> {
        loop {
            let Some(active) = &mut self.active else {
                if !self.start(parts, job, means.reads.asked.len())? {
                    return Ok(true);
                }
                continue;
            };
            let begin = clock::now();
            let is_served = active.submit(self.number, parts, means)?;
            if active.walk.in_flight() > 0 || !is_served {
                active.work(means.io)?;
                active.compute_ns += nanoseconds_since(begin);
                return Ok(is_served);
            }
            active.compute_ns += nanoseconds_since(begin);
            self.finish(job, &mut means.outcomes);
        }
    }

    fn start(&mut self, parts: &'t Parts<C>, job: &Job<'t>, buffers: usize) -> Result<bool> {
        let Some(scratch) = self.idle.take() else {
            return Ok(false);
        };
        job.progress.check()?;
        let Some((index, query)) = job.take() else {
            self.idle = Some(scratch);
            return Ok(false);
        };
        let started = clock::now();
        let walk = Traversal::new(parts, query, scratch);
        let compute_ns = nanoseconds_since(started);
        let recorded = index < job.recorded;
        self.active = Some(Active {
            walk,
            index,
            started,
            compute_ns,
            recorder: recorded.then(|| Recorder::new(index, buffers, started)),
        });
        Ok(true)
    }

    fn finish(&mut self, job: &Job<'t>, outcomes: &mut Outcomes) {
        let Some(active) = self.active.take() else {
            return;
        };
        if let Some(mut recorder) = active.recorder {
            recorder.computed();
            outcomes.traces.push(recorder.finish());
        }
        let latency_ns = nanoseconds_since(active.started);
        let (scratch, stats) = active.walk.finish();
        let wait_ns = latency_ns.saturating_sub(active.compute_ns);
        let stats = QueryStats {
            latency_ns,
            compute_ns: active.compute_ns,
            wait_ns,
            ..stats
        };
        outcomes.push(active.index, scratch, stats);
        self.idle = Some(scratch);
        job.progress.advance(1);
    }
}

pub(super) fn nanoseconds_since(begin: Instant) -> u64 {
    (clock::now() - begin).as_nanos() as u64
}
