//! One query after the other, one page at a time, no lane: the simplest driver, the reference of
//! the others, and what is left where neither io_uring nor threads are to be had.

use std::collections::VecDeque;

use pageway_store::{AlignedBuffers, PageGeometry, clock};

use super::super::{Origin, PageRequest, Search, Segment};
use super::gaps::SearchGaps;
use super::multiplex::{nanoseconds_since, segment_of};
use super::{Job, Outcomes, Worker, largest_read, timed_out};
use crate::error::Result;

/// Takes queries of `job` until there are none.
///
/// # Errors
/// The first error of a page, `Cancelled` or `TimedOut`.
pub(crate) fn run<'t>(
    segments: &'t [Segment],
    job: &Job<'t>,
    worker: &'t mut Worker,
    gaps: &SearchGaps,
) -> Result<Outcomes> {
    let mut outcomes = Outcomes::default();
    let Worker {
        scratches, staging, ..
    } = worker;
    let own = scratches.iter_mut().take(segments.len());
    let mut search = Search::new(segments, own);
    let geometries = segments.iter().map(|segment| segment.pages.geometry());
    let largest = largest_read(geometries).map_or(0, PageGeometry::unit_bytes);
    let mut page = AlignedBuffers::new(1, largest)?;
    loop {
        job.progress.check()?;
        let Some((index, query)) = job.take() else {
            return Ok(outcomes);
        };
        let started = clock::now();
        search.begin(query, None);
        let wait_ns = walk(
            (segments, job.lists.sizes.beam),
            &mut search,
            (&mut page, staging),
            gaps,
        )?;
        let mut finished = outcomes.end(&mut search, job.notes.near)?;
        let stats = &mut finished.stats;
        stats.latency_ns = nanoseconds_since(started);
        stats.wait_ns = wait_ns;
        stats.compute_ns = stats.latency_ns.saturating_sub(wait_ns);
        outcomes
            .notes
            .extend(search.notes().map(|note| (index, *note)));
        outcomes.queries.push((index, finished));
        job.progress.advance(1);
    }
}

/// Runs a query that was begun to its end; returns the nanoseconds it waited for reads.
fn walk(
    (segments, beam): (&[Segment], usize),
    search: &mut Search<'_>,
    (page, staging): (&mut AlignedBuffers, &mut [u8]),
    gaps: &SearchGaps,
) -> Result<u64> {
    let mut wait_ns = 0;
    let mut asked: VecDeque<PageRequest> = VecDeque::with_capacity(beam);
    loop {
        while let Some(request) = search.want()? {
            let segment = segment_of(segments, request)?;
            let staging = segment.pages.part_of(staging);
            let pages = &segment.parts.cache().pages;
            if pages.read(request.page.0, staging) {
                search.supply(request, staging, Origin::Cache)?;
            } else {
                asked.push_back(request);
            }
        }
        let Some(request) = asked.pop_front() else {
            return Ok(wait_ns);
        };
        search.work()?;
        let begin = clock::now();
        if search.is_late(begin) {
            return Err(timed_out());
        }
        let segment = segment_of(segments, request)?;
        let gap = gaps.wait();
        let payload = segment.pages.read(request.page, page)?;
        drop(gap);
        wait_ns += nanoseconds_since(begin);
        segment
            .parts
            .cache()
            .pages
            .offer(request.page.0, &[payload]);
        search.supply(request, payload, Origin::Disk)?;
    }
}
