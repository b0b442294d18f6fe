//! Many queries on one thread over one lane: while one waits for its pages, the others compute.
//!
//! All queries share the buffers of the page lane. A query is pumped whenever pages of it have
//! arrived: its walk hands out the reads it wants now, and works on while they are in flight; or it
//! is finished and the next query takes its place. One that finds no buffer free waits its turn.
//! What they want after some pages have arrived is submitted together, some reads at a time.

use std::collections::VecDeque;
use std::time::Instant;

use pageway_store::{PageDone, PageIo, PageRead, clock};

use super::super::{Origin, PageRequest, Search, Segment};
use super::gaps::SearchGaps;
use super::reads::{Arrival, Claim, Reads};
use super::recorder::{ReadPlace, Recorder};
use super::turns::TurnQueue;
use super::{Job, Outcomes, Worker, timed_out};
use crate::error::{Error, ErrorKind, Result};
use crate::storage::read_failed;

/// Takes queries of `job` until there are none.
///
/// # Errors
/// The first error of a page, or `Cancelled`. The worker must then be dropped: reads may be in
/// flight.
pub(crate) fn run<'t>(
    segments: &'t [Segment],
    job: &Job<'t>,
    worker: &'t mut Worker,
    gaps: &SearchGaps,
) -> Result<Outcomes> {
    let Worker {
        io,
        scratches,
        staging,
        shape,
        first_files,
        turns: space,
    } = worker;
    let mut means = Equipment {
        io: io.as_mut(),
        first_files,
        staging,
        reads: Reads::new(shape.buffers),
        turns: TurnQueue::new(space),
        outcomes: Outcomes::default(),
    };
    let queries = scratches.chunks_mut(segments.len().max(1));
    let searches = queries.map(|own| Search::new(segments, own));
    let searches = (0..).zip(searches).take(job.interleave.max(1));
    let mut lanes: Vec<Lane<'_>> = searches.map(Lane::new).collect();
    let mut turns: VecDeque<usize> = (0..lanes.len()).collect();
    let mut done: Vec<PageDone> = Vec::with_capacity(shape.buffers);
    take_turns(&mut lanes, &mut turns, (segments, job), &mut means)?;
    while lanes.iter().any(Lane::busy) || !means.reads.is_idle() {
        let gap = gaps.wait();
        means.io.wait(means.reads.worth_waking_for(), &mut done)?;
        drop(gap);
        means.reads.unsent = 0;
        for completion in done.drain(..) {
            let Arrival {
                lane: number,
                request,
                is_wanted,
            } = means.reads.end(completion.buffer).ok_or_else(stray)?;
            completion
                .result
                .map_err(|error| read_failed(request.page, error))?;
            if !is_wanted {
                continue;
            }
            let lane = lanes.get_mut(number).ok_or_else(stray)?;
            let bytes = means.io.buffer_mut(completion.buffer);
            lane.supply(segments, (request, completion.buffer), bytes)?;
            if !turns.contains(&number) {
                turns.push_back(number);
            }
        }
        take_turns(&mut lanes, &mut turns, (segments, job), &mut means)?;
    }
    Ok(means.outcomes)
}

/// Pumps the lanes whose turn it is; those left find no buffer free.
fn take_turns<'t>(
    lanes: &mut [Lane<'t>],
    turns: &mut VecDeque<usize>,
    (segments, job): (&[Segment], &Job<'t>),
    means: &mut Equipment<'_, 't>,
) -> Result<()> {
    while let Some(number) = turns.front() {
        let lane = lanes.get_mut(*number).ok_or_else(stray)?;
        if !lane.pump(segments, job, means)? {
            break;
        }
        turns.pop_front();
        if means.reads.unsent >= SENT_AT_ONCE {
            means.send()?;
        }
    }
    Ok(())
}

/// Reads that are handed to the kernel together, while other queries have their turns: the disk is
/// not left without work for the time of all of them.
const SENT_AT_ONCE: usize = 16;

/// What all lanes share.
struct Equipment<'m, 'j> {
    io: &'m mut dyn PageIo,
    /// Number of the first file of each segment.
    first_files: &'m [u32],
    /// Where a page of the page cache is copied to.
    staging: &'m mut [u8],
    reads: Reads,
    /// Where queries come from.
    turns: TurnQueue<'m, 'j>,
    outcomes: Outcomes,
}

impl Equipment<'_, '_> {
    /// Hands the reads that were asked for to the kernel.
    fn send(&mut self) -> Result<()> {
        self.io.flush()?;
        self.reads.unsent = 0;
        Ok(())
    }

    /// Asks for a page of a segment, to be read into a buffer.
    fn submit(&mut self, segment: &Segment, request: PageRequest, buffer: u32) -> Result<()> {
        let (file, unit) = segment.pages.place(request.page);
        let first = self.first_files.get(usize::from(request.segment));
        self.io.submit(PageRead {
            unit,
            file: first.ok_or_else(stray)? + file,
            buffer,
            tag: buffer.into(),
        })?;
        Ok(())
    }
}

fn stray() -> Error {
    Error::new(
        ErrorKind::Internal,
        "a read completed that nobody had submitted",
    )
}

/// The page caches and readers of the segments.
pub(super) fn segment_of(segments: &[Segment], request: PageRequest) -> Result<&Segment> {
    segments.get(usize::from(request.segment)).ok_or_else(stray)
}

/// Where a read goes, for who records it.
fn place(request: PageRequest) -> ReadPlace {
    ReadPlace {
        segment: request.segment,
        page: request.page.0,
        is_last: request.refines(),
    }
}

/// A place for one query in flight.
struct Lane<'t> {
    number: usize,
    search: Search<'t>,
    active: Option<Active>,
}

/// What is noted of the query in flight.
struct Active {
    index: usize,
    started: Instant,
    compute_ns: u64,
    /// Reads that began before they were wanted.
    early_reads: u64,
    /// Where somebody wants to replay the query.
    recorder: Option<Recorder>,
}

impl Active {
    fn record(&mut self, note: impl FnOnce(&mut Recorder)) {
        if let Some(recorder) = &mut self.recorder {
            note(recorder);
        }
    }
}

impl<'t> Lane<'t> {
    fn new((number, search): (usize, Search<'t>)) -> Self {
        Self {
            number,
            search,
            active: None,
        }
    }

    fn busy(&self) -> bool {
        self.active.is_some()
    }

    /// Submits the reads that the query wants now. False where there are too few buffers to know.
    fn submit(
        &mut self,
        segments: &[Segment],
        active: &mut Active,
        means: &mut Equipment<'_, '_>,
    ) -> Result<bool> {
        while !means.reads.is_full() {
            let Some(request) = self.search.want()? else {
                if self.read_early(segments, active, means)? {
                    continue;
                }
                return Ok(true);
            };
            let segment = segment_of(segments, request)?;
            match means.reads.claim(self.number, request) {
                None => {}
                Some(Claim::InFlight) => continue,
                Some(Claim::Here(buffer)) => {
                    let bytes = means.io.buffer_mut(buffer);
                    self.hand_over(segment, request, bytes)?;
                    means.reads.release(buffer);
                    continue;
                }
            }
            let pages = &segment.parts.cache().pages;
            let staging = segment.pages.part_of(means.staging);
            if pages.read(request.page.0, staging) {
                self.search.supply(request, staging, Origin::Cache)?;
                continue;
            }
            let buffer = means.reads.begin(self.number, request).ok_or_else(stray)?;
            active.record(|recorder| recorder.sends(buffer, place(request)));
            means.submit(segment, request, buffer)?;
        }
        Ok(false)
    }

    /// Submits the reads that the query begins early, and hands them to the kernel; false where
    /// there are none.
    fn read_early(
        &mut self,
        segments: &[Segment],
        active: &mut Active,
        means: &mut Equipment<'_, '_>,
    ) -> Result<bool> {
        let mut begins = false;
        while let Some(request) = self.search.next_early() {
            begins = true;
            let segment = segment_of(segments, request)?;
            if segment.parts.cache().pages.contains(request.page.0) {
                continue;
            }
            if let Some(buffer) = means.reads.begin_early(self.number, request) {
                active.early_reads += 1;
                means.submit(segment, request, buffer)?;
            }
        }
        if begins {
            means.send()?;
        }
        Ok(begins)
    }

    /// Uses the time of the reads in flight, if there is something to do.
    fn work(&mut self, active: &mut Active, io: &mut dyn PageIo) -> Result<()> {
        active.record(Recorder::computed);
        if !self.search.has_work() {
            return Ok(());
        }
        io.flush()?;
        active.record(Recorder::flushed);
        self.search.work()?;
        active.record(Recorder::worked);
        Ok(())
    }

    /// Hands a page to the query it was read for.
    fn supply(
        &mut self,
        segments: &[Segment],
        (request, buffer): (PageRequest, u32),
        bytes: &mut [u8],
    ) -> Result<()> {
        let begin = clock::now();
        let active = self.active.as_mut().ok_or_else(stray)?;
        active.record(|recorder| recorder.arrived(buffer));
        self.hand_over(segment_of(segments, request)?, request, bytes)?;
        if let Some(active) = &mut self.active {
            active.compute_ns += nanoseconds_since(begin);
            active.record(Recorder::computed);
        }
        Ok(())
    }

    /// Hands a page that was read to the query.
    fn hand_over(
        &mut self,
        segment: &Segment,
        request: PageRequest,
        bytes: &mut [u8],
    ) -> Result<()> {
        let payload = segment.pages.verify(request.page, bytes)?;
        segment
            .parts
            .cache()
            .pages
            .offer(request.page.0, &[payload]);
        self.search
            .supply(request, payload, Origin::Disk)
            .map_err(|error| Error::from(error).within("pages"))
    }

    /// Submits the reads that the query wants now, or finishes it and starts the next one. False
    /// where it may want more than there are buffers for.
    fn pump(
        &mut self,
        segments: &[Segment],
        job: &Job<'t>,
        means: &mut Equipment<'_, 't>,
    ) -> Result<bool> {
        loop {
            let Some(mut active) = self.active.take() else {
                if !self.start(segments, job, means)? {
                    return Ok(true);
                }
                continue;
            };
            let begin = clock::now();
            if self.search.is_late(begin) {
                return Err(timed_out());
            }
            let is_served = self.submit(segments, &mut active, means)?;
            let goes_on = self.search.in_flight() > 0 || !is_served;
            if goes_on {
                self.work(&mut active, means.io)?;
            }
            active.compute_ns += nanoseconds_since(begin);
            if goes_on {
                self.active = Some(active);
                return Ok(is_served);
            }
            self.finish(active, (segments, job), means)?;
        }
    }

    fn start(
        &mut self,
        segments: &[Segment],
        job: &Job<'t>,
        means: &mut Equipment<'_, 't>,
    ) -> Result<bool> {
        job.progress.check()?;
        let started = clock::now();
        let Some((index, query, turned)) = means.turns.next(job, segments) else {
            return Ok(false);
        };
        let recorded = index < job.notes.recorded;
        // What is recorded begins its reads as it is replayed.
        self.search.read_early(job.interleave == 1 && !recorded);
        self.search.begin(query, turned);
        let compute_ns = nanoseconds_since(started);
        self.active = Some(Active {
            index,
            started,
            compute_ns,
            early_reads: 0,
            recorder: recorded.then(|| Recorder::new(index, means.reads.buffers(), started)),
        });
        Ok(true)
    }

    fn finish(
        &mut self,
        active: Active,
        (segments, job): (&[Segment], &Job<'t>),
        means: &mut Equipment<'_, '_>,
    ) -> Result<()> {
        let outcomes = &mut means.outcomes;
        if let Some(mut recorder) = active.recorder {
            recorder.computed();
            outcomes.traces.push(recorder.finish(self.search.asked()));
        }
        let latency_ns = nanoseconds_since(active.started);
        let mut finished = outcomes.end(&mut self.search, job.notes.near)?;
        let stats = &mut finished.stats;
        stats.latency_ns = latency_ns;
        stats.compute_ns = active.compute_ns;
        stats.early_reads = active.early_reads;
        stats.wait_ns = latency_ns.saturating_sub(active.compute_ns);
        means.reads.drop_early(self.number, |unused| {
            if let Ok(segment) = segment_of(segments, unused) {
                stats.count_read(segment.pages.geometry());
                stats.refine_reads += 1;
                stats.unused_reads += 1;
            }
        });
        let notes = self.search.notes();
        outcomes
            .notes
            .extend(notes.map(|note| (active.index, *note)));
        outcomes.queries.push((active.index, finished));
        job.progress.advance(1);
        Ok(())
    }
}

pub(super) fn nanoseconds_since(begin: Instant) -> u64 {
    (clock::now() - begin).as_nanos() as u64
}
