//! Several servers as one: a router asks nodes, and puts their answers together.
//!
//! ```text
//! map         which collection lies in which shards, and on which nodes those are
//! pool        what is known of nodes: who answers, who is busy, who is out of rotation
//! hedge       how long to wait before another replica is asked too, and how often that may be
//! fan_out     a request to all shards of a collection: whom to ask, when again, when it is done
//! coverage    which shards have answered, and what that makes of the answer
//! merge       answers of shards as the one answer
//! content     what shards were made of, so that others do not pass for them
//! leaders     who leads each partition, and what was acknowledged of it
//! ----------- everything above does no I/O, knows no clock, and is driven by `simulation`
//! client      requests to nodes
//! watch       heartbeats, and a map that changes
//! gather      drives a fan-out
//! routed      a request to the router; read and query: what it asks and answers
//! write       a change: dealt to partitions, done by those who lead them
//! indexes     payload indexes: noted by all nodes of a collection
//! app         routes, keys, limits
//! ```
//!
//! Invariants: an answer holds what every shard found, or says which are missing; each replica of a
//! shard is asked once a round; a shard's answer counts once, whoever gives it.

mod app;
mod client;
mod content;
mod coverage;
mod fan_out;
mod gather;
mod hedge;
mod indexes;
mod leaders;
mod map;
mod merge;
mod pool;
mod query;
mod read;
mod routed;
#[cfg(test)]
mod simulation;
mod watch;
mod write;

pub use app::{RouterApp, RouterOptions};
pub use client::NodeClient;
pub use map::ClusterMap;

pub(crate) use content::{ShardContent, ShardNeed};
pub(crate) use map::is_plain;

#[cfg(test)]
pub(crate) use leaders::Leaders;

/// The header by which a router says which node it means, and what of a shard that must have:
/// [`ShardNeed`].
pub(crate) const SHARD: &str = "pageway-shard";
