//! A part of a collection whose history lies in an object store: one node leads it, others follow.
//!
//! ```text
//! store    URL/NAME/SETTINGS   what the collection is, written once
//!          URL/NAME/LEASE      who leads
//!          URL/NAME/log/..     what points become, a record for each group of changes
//!          URL/NAME/SNAPSHOT   what the first records have come to; they are removed then
//! cut      which part an id belongs to
//! replica  how much of the log this node has, and whether it may append to it
//! position how much of the log the indexes on disk have for sure
//! sign     what a node says of a replica without waiting for anything
//! archive  a snapshot: made by who leads, taken by who has less than the log begins with
//! keeper   a thread: reads on, renews the lease, or takes it where nobody has it
//! ```
//!
//! Invariants: a record is in the log before it is in an index, and an index has the records of the
//! log in their order, none left out; a change is acknowledged when both have it. So what a node
//! has is what the log has up to a number, whoever leads, and however often. A snapshot has at
//! least what the log says up to its number, and who takes one answers when it has read to the end.

mod archive;
mod cut;
mod keeper;
mod position;
mod replica;
mod sign;
#[cfg(test)]
mod simulation;

pub(crate) use cut::part_of;
pub(crate) use keeper::{Keepers, unix_time};
pub(crate) use position::{read_position, write_position};
pub(crate) use replica::Replica;
pub use replica::ReplicaOptions;
pub(crate) use sign::ReplicaSign;
