//! Lanes: many reads and writes of units in flight from one thread.
//!
//! ```text
//! PageReader --lane(buffers)--> PageIo   request(what, buffer, tag) ... wait(n) -> [tag, buffer]
//!   shared by threads            one per thread; owns its buffers (and ring, or threads);
//!                                reads one file, or several of one page size
//! ```
//!
//! Invariants: a buffer belongs to the backend from `request` until its completion is handed out;
//! every accepted request completes exactly once, in any order, with success or an error; one is
//! never waited for unless the kernel or a thread has it. Bytes that were read are as they are on
//! disk: call `verify_unit` before believing them. Bytes to be written are sealed by `seal_unit`,
//! and refused otherwise.

mod blocking;
mod files;
mod lane;
mod memory;
mod probe;
mod reader;
mod slots;
mod threads;
mod transfer;
#[cfg(target_os = "linux")]
mod uring;

pub use lane::{
    IoBackend, IoCounters, LaneRequest, MAX_LANE_BUFFERS, PageDone, PageIo, PageRead, PageWrite,
};
pub use probe::{IoProbe, probe};
pub use reader::PageReader;
pub(crate) use transfer::read_fully;
