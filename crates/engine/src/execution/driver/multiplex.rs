//! Many queries on one thread over one lane: while one waits for its pages, the others compute.
//!
//! Each lane of queries owns `beam` buffers of the page lane. A lane is pumped whenever a page of
//! it has arrived: its walk hands out the reads it wants now, and works on while they are in
//! flight; or it is finished and the next query takes its place.

use std::time::Instant;

use pageway_store::{PageDone, PageIo, PageRead, PageReader, clock};
use pageway_types::PageId;

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
    let beam = job.beam as u32;
    let Worker {
        io,
        scratches,
        staging,
        ..
    } = worker;
    let io = io.as_mut();
    let mut outcomes = Outcomes::default();
    let mut lanes: Vec<Lane<'_, C>> = (0u32..)
        .zip(scratches.iter_mut())
        .map(|(number, scratch)| Lane::new(number * beam, beam, scratch))
        .collect();
    for lane in &mut lanes {
        lane.pump(parts, job, (io, staging), &mut outcomes)?;
    }
    let mut done: Vec<PageDone> = Vec::with_capacity(lanes.len() * job.beam);
    while lanes.iter().any(Lane::busy) {
        io.wait(1, &mut done)?;
        for completion in done.drain(..) {
            completion
                .result
                .map_err(|error| read_failed(completion.unit, error))?;
            let number = (completion.buffer / beam) as usize;
            let lane = lanes.get_mut(number).ok_or_else(stray)?;
            let bytes = io.buffer(completion.buffer);
            lane.supply(parts, reader, completion.buffer, bytes)?;
            lane.pump(parts, job, (io, staging), &mut outcomes)?;
        }
    }
    Ok(outcomes)
}

fn stray() -> Error {
    Error::new(
        ErrorKind::Internal,
        "a read completed that nobody had submitted",
    )
}

/// A place for one query in flight.
struct Lane<'t, C: PageCodec> {
    active: Option<Active<'t, C>>,
    idle: Option<&'t mut Scratch>,
    /// First buffer of this lane; `requests` holds what its buffers are being read for.
    first_buffer: u32,
    requests: Vec<Option<PageRequest>>,
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
    fn new(first_buffer: u32, beam: u32, scratch: &'t mut Scratch) -> Self {
        let requests = vec![None; beam as usize];
        Self {
            active: None,
            idle: Some(scratch),
            first_buffer,
            requests,
        }
    }

    fn busy(&self) -> bool {
        self.active.is_some()
    }

    /// Hands a page to the walk it was read for.
    fn supply(
        &mut self,
        parts: &Parts<C>,
        reader: &PageReader,
        buffer: u32,
        bytes: &[u8],
    ) -> Result<()> {
        let begin = clock::now();
        let slot = (buffer - self.first_buffer) as usize;
        let request = self
            .requests
            .get_mut(slot)
            .and_then(Option::take)
            .ok_or_else(stray)?;
        let active = self.active.as_mut().ok_or_else(stray)?;
        if let Some(recorder) = &mut active.recorder {
            recorder.arrived(slot);
        }
        let payload = reader.verify_unit(request.page.0.into(), bytes)?;
        parts.cache.pages.offer(request.page, payload);
        active
            .walk
            .supply(request, payload, Origin::Disk)
            .map_err(|error| Error::from(error).within("pages"))?;
        active.compute_ns += nanoseconds_since(begin);
        Ok(())
    }

    /// Submits the reads that the query wants now, or finishes it and starts the next one.
    fn pump(
        &mut self,
        parts: &'t Parts<C>,
        job: &Job<'t>,
        (io, staging): (&mut dyn PageIo, &mut [u8]),
        outcomes: &mut Outcomes,
    ) -> Result<()> {
        loop {
            let Some(active) = &mut self.active else {
                if !self.start(parts, job)? {
                    return Ok(());
                }
                continue;
            };
            let begin = clock::now();
            while let Some(request) = active.walk.want()? {
                if parts.cache.pages.read(request.page, staging) {
                    active.walk.supply(request, staging, Origin::Cache)?;
                    continue;
                }
                let slot = self
                    .requests
                    .iter()
                    .position(Option::is_none)
                    .ok_or_else(stray)?;
                let buffer = self.first_buffer + slot as u32;
                if let Some(free) = self.requests.get_mut(slot) {
                    *free = Some(request);
                }
                if let Some(recorder) = &mut active.recorder {
                    recorder.sends(slot);
                }
                submit(io, request.page, buffer)?;
            }
            if active.walk.in_flight() > 0 {
                active.work(io)?;
                active.compute_ns += nanoseconds_since(begin);
                return Ok(());
            }
            active.compute_ns += nanoseconds_since(begin);
            self.finish(job, outcomes);
        }
    }

    fn start(&mut self, parts: &'t Parts<C>, job: &Job<'t>) -> Result<bool> {
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
            recorder: recorded.then(|| Recorder::new(index, job.beam, started)),
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

fn submit(io: &mut dyn PageIo, page: PageId, buffer: u32) -> Result<()> {
    io.submit(PageRead {
        unit: page.0.into(),
        buffer,
        tag: buffer.into(),
    })?;
    Ok(())
}

pub(super) fn nanoseconds_since(begin: Instant) -> u64 {
    (clock::now() - begin).as_nanos() as u64
}
