//! One query after the other, one page at a time, no lane: the simplest driver, the reference of
//! the others, and what is left where neither io_uring nor threads are to be had.

use std::collections::VecDeque;

use pageway_store::{AlignedBuffers, PageReader, clock};

use super::super::{Origin, PageRequest, Parts, Query, QueryStats, Scratch, Traversal};
use super::multiplex::nanoseconds_since;
use super::{Job, Outcomes, Worker};
use crate::error::Result;
use crate::layout::PageCodec;

/// Takes queries of `job` until there are none.
pub(crate) fn run<'t, C: PageCodec>(
    parts: &'t Parts<C>,
    reader: &PageReader,
    job: &Job<'t>,
    worker: &mut Worker,
) -> Result<Outcomes> {
    let mut outcomes = Outcomes::default();
    let mut page = AlignedBuffers::new(1, reader.geometry().unit_bytes())?;
    let Worker {
        scratches, staging, ..
    } = worker;
    let Some(scratch) = scratches.first_mut() else {
        return Ok(outcomes);
    };
    while let Some((index, query)) = job.take() {
        job.progress.check()?;
        let stats = walk((parts, reader), query, scratch, (&mut page, staging))?;
        outcomes.push(index, scratch, stats);
        job.progress.advance(1);
    }
    Ok(outcomes)
}

fn walk<C: PageCodec>(
    (parts, reader): (&Parts<C>, &PageReader),
    query: Query<'_>,
    scratch: &mut Scratch,
    (page, staging): (&mut AlignedBuffers, &mut [u8]),
) -> Result<QueryStats> {
    let started = clock::now();
    let mut wait_ns = 0;
    let mut walk = Traversal::new(parts, query, scratch);
    let mut asked: VecDeque<PageRequest> = VecDeque::with_capacity(query.beam);
    loop {
        while let Some(request) = walk.want()? {
            if parts.cache.pages.read(request.page.0, staging) {
                walk.supply(request, staging, Origin::Cache)?;
            } else {
                asked.push_back(request);
            }
        }
        let Some(request) = asked.pop_front() else {
            break;
        };
        walk.work()?;
        let begin = clock::now();
        let payload = reader.read_unit_blocking(request.page.0.into(), page)?;
        wait_ns += nanoseconds_since(begin);
        parts.cache.pages.offer(request.page.0, &[payload]);
        walk.supply(request, payload, Origin::Disk)?;
    }
    let (_, stats) = walk.finish();
    let latency_ns = nanoseconds_since(started);
    Ok(QueryStats {
        latency_ns,
        wait_ns,
        compute_ns: latency_ns.saturating_sub(wait_ns),
        ..stats
    })
}
