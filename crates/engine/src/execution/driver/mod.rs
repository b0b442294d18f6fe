//! Who owns the I/O around a traversal.
//!
//! `multiplex` keeps several queries in flight on one thread over one lane of page reads; with a
//! single lane of queries it is the driver of one query with W reads in flight (io_uring or
//! threads). `blocking` reads a page at a time and needs no lane at all. All give the same answers:
//! the traversal does not care in which order pages arrive.

mod blocking;
mod gaps;
mod multiplex;
mod reads;
mod recorder;
mod turns;
mod worker;

use pageway_store::IoBackend;

pub(crate) use gaps::{SearchGaps, Watching};
pub use recorder::{ReadPlace, ReadTrace, ReadTurn};
pub(crate) use turns::Turned;
pub(crate) use worker::{
    Job, JobNotes, Outcomes, Worker, WorkerShape, WorkerSite, largest_read, timed_out,
};

use super::Segment;
use crate::error::Result;

/// Takes queries of `job` until there are none, by the driver that suits how reads are made, and
/// tells when it waits for them.
///
/// # Errors
/// The first error of a page, `Cancelled` or `TimedOut`. The worker must then be dropped: reads may
/// be in flight.
pub(crate) fn run<'t>(
    segments: &'t [Segment],
    job: &Job<'t>,
    worker: &'t mut Worker,
    gaps: &SearchGaps,
) -> Result<Outcomes> {
    match worker.io.backend() {
        IoBackend::Blocking => blocking::run(segments, job, worker, gaps),
        IoBackend::Uring | IoBackend::Threads | IoBackend::Memory => {
            multiplex::run(segments, job, worker, gaps)
        }
    }
}
