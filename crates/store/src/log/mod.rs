//! The write-ahead log: records that survive before the files that will hold them are written.
//!
//! ```text
//! log-<first LSN>.pwl    header page | group | group | .. | room that was set aside
//! group                  checksum, first LSN, checksum before, durable LSN | records | padding
//!
//! callers -> GroupCommit: one of them leads a turn -> LogWriter: group written -> synced
//!                         Sequence resolves .. publishes, in the order of the log
//! open    -> replay_log: every record above the floor -> LogTail -> LogWriter::continue_after
//! ```
//!
//! A record is bytes to the store; what they mean is the caller's. Its number, the LSN, counts from
//! 1 over the whole life of an index. The floor is the LSN up to which other files, which the
//! manifest names, hold what the records say: whoever writes the manifest computes it.
//!
//! Invariants: records are numbered without a gap and recovered as a prefix; nothing is appended
//! behind a tear, to a file that an earlier process wrote, or after a write or sync that failed; a
//! file has its final name only when its header is durable; what was said to be durable and cannot
//! be read is damage, never a shorter log. Format: `docs/format/log.md`.

mod commit;
mod durability;
mod file;
mod file_end;
#[cfg(test)]
mod fixture;
mod floor;
mod group;
mod header;
mod lsn;
mod place;
mod replay;
mod report;
mod scan;
mod sequence;
mod tail;
mod turn;
mod writer;

pub use commit::GroupCommit;
pub use durability::{Acknowledgement, Durability};
pub use floor::LogFloor;
pub use lsn::Lsn;
pub use place::{LOG_EXTENSION, LogPlace};
pub use replay::{OnDamage, Replayed, replay_log};
pub use report::{LogFileReport, LogReport, inspect_log};
pub use sequence::{Records, Sequence};
pub use tail::{LogDamage, LogTail};
pub use writer::{LogWriter, Room};

/// Longest record.
pub const MAX_RECORD_BYTES: usize = 1 << 20;
