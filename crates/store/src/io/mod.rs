//! Lanes: many unit reads in flight from one thread.
//!
//! ```text
//! PageReader --lane(buffers)--> PageIo   submit(unit, buffer, tag) ... wait(n) -> [tag, buffer]
//!   shared by threads            one per thread; owns its buffers (and ring, or reading threads)
//! ```
//!
//! Invariants: a buffer belongs to the backend from `submit` until its completion is handed out;
//! every accepted read completes exactly once, in any order, with success or an error; a read is
//! never waited for unless the kernel or a reading thread has it. Completed bytes are as read:
//! call `verify_unit` before believing them.

mod blocking;
mod lane;
mod memory;
mod probe;
mod read;
mod reader;
mod slots;
mod threads;
#[cfg(target_os = "linux")]
mod uring;

pub use lane::{IoBackend, IoCounters, MAX_LANE_BUFFERS, PageDone, PageIo, PageRead};
pub use probe::{IoProbe, probe};
pub(crate) use read::read_fully;
pub use reader::PageReader;
