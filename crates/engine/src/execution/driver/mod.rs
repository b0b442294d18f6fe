//! Who owns the I/O around a traversal.
//!
//! `multiplex` keeps several queries in flight on one thread over one lane of page reads; with a
//! single lane of queries it is the driver of one query with W reads in flight (io_uring or
//! threads). `blocking` reads a page at a time and needs no lane at all. All give the same answers:
//! the traversal does not care in which order pages arrive.

mod blocking;
mod multiplex;
mod recorder;
mod worker;

pub(crate) use blocking::run as run_blocking;
pub(crate) use multiplex::run as run_multiplexed;
pub use recorder::{ReadTrace, ReadTurn};
pub(crate) use worker::{Job, Outcomes, Worker, WorkerShape};
