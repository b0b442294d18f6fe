//! A server that clients of Qdrant use unchanged: collections of points over HTTP, from disk,
//! within one budget of memory.
//!
//! ```text
//! http        requests and answers: routes, keys, limits, connections
//! operation   the table of operations, and what each does
//! wire        what clients send, as types
//! service     collections by their names: registry, shelf
//! division    memory of the indexes of a collection
//! remote      collections that are indexes in object storage
//! snapshot    collections as archives, and back
//! collection  an index for each dense vector, changed together
//! room        memory of bodies and answers
//! upkeep      what is done for collections as time passes
//! workers     threads of searches and changes, with bounded queues
//! partition   collections whose history lies in an object store: who leads, and who follows
//! cluster     several servers as one: nodes, and the router that asks them
//! metrics     counters; sampling: recall as it is; slow: the last queries that took long
//! ```
//!
//! What is acknowledged survives a kill. `docs/server.md` says what is there.

#[cfg(test)]
#[global_allocator]
static HEAP: peak_alloc::PeakAlloc = peak_alloc::PeakAlloc;

mod cluster;
mod collection;
mod division;
mod failure;
mod http;
mod input;
mod log;
mod metrics;
mod operation;
mod partition;
mod registry;
mod remote;
mod restore;
mod room;
mod sampling;
mod service;
mod shelf;
mod slow;
mod snapshot;
mod upkeep;
mod wire;
mod workers;

pub use cluster::{ClusterMap, NodeClient, RouterApp, RouterOptions};
pub use failure::{Failure, Outcome};
pub use http::{App, Keys, Listening, Tls, listen, with_origins};
pub use input::read_file;
pub use log::{Level, Log};
pub use partition::ReplicaOptions;
pub use remote::RemoteShard;
pub use service::{Service, ServiceOptions};
