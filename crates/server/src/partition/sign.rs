//! What a node says of a replica, and what a router hears: without waiting for anything.

use std::sync::{Mutex, MutexGuard, PoisonError};

use serde::{Deserialize, Serialize};

/// How a replica is.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub(crate) struct ReplicaSign {
    /// The name of the partition, which is that of the collection on its nodes.
    pub(crate) name: String,
    /// The record of the log that it has, with all before.
    pub(crate) sequence: u64,
    /// Whether it takes changes.
    pub(crate) leads: bool,
    /// The epoch of the last lease that it knows of; that of its own where it leads.
    pub(crate) epoch: u64,
    /// The node that has that lease.
    pub(crate) leader: Option<String>,
    /// Whether it has read to the end of the log since it began.
    pub(crate) is_ready: bool,
    /// What went wrong the last time that something did.
    pub(crate) trouble: Option<String>,
}

/// The sign of a replica, for who shows it.
#[derive(Default)]
pub(super) struct SharedSign(Mutex<ReplicaSign>);

impl SharedSign {
    pub(super) fn new(name: &str) -> Self {
        Self(Mutex::new(ReplicaSign {
            name: name.to_owned(),
            ..ReplicaSign::default()
        }))
    }

    /// Held for as long as it takes to look or to write.
    pub(super) fn lock(&self) -> MutexGuard<'_, ReplicaSign> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
