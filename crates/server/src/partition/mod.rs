//! A part of a collection whose history lies in an object store: one node leads it, others follow.
//!
//! ```text
//! store    URL/NAME/SETTINGS   what the collection is, written once
//!          URL/NAME/LEASE      who leads
//!          URL/NAME/log/..     what points become, a record for each group of changes
//! cut      which part an id belongs to
//! replica  how much of the log this node has, and whether it may append to it
//! position how much of the log the indexes on disk have for sure
//! sign     what a node says of a replica without waiting for anything
//! keeper   a thread: reads on, renews the lease, or takes it where nobody has it
//! ```
//!
//! Invariants: a record is in the log before it is in an index, and an index has the records of the
//! log in their order, none left out; a change is acknowledged when both have it. So what a node
//! has is what the log has up to a number, whoever leads, and however often.

mod cut;
mod keeper;
mod position;
mod replica;
mod sign;
#[cfg(test)]
mod simulation;

pub(crate) use cut::part_of;
pub(crate) use keeper::{Keepers, unix_time};
pub(crate) use position::read_position;
pub(crate) use replica::Replica;
pub(crate) use sign::ReplicaSign;
