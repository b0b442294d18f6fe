//! Who leads: one object, replaced by a conditional put.
//!
//! A lease says who should write for a while, so that writers do not drive one another away. It is
//! not what makes that safe: clocks differ, and a writer may be paused between a look at its lease
//! and a write. The fence of [`SharedLog`](crate::SharedLog) is. Every lease has an epoch, one more
//! than that before it.

use std::io;
use std::time::Duration;

use object_store::UpdateVersion;
use serde::{Deserialize, Serialize};

use crate::Objects;

/// The object.
const LEASE: &str = "LEASE";

/// What the object holds.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, Debug)]
struct LeaseEntry {
    epoch: u64,
    holder: String,
    /// Milliseconds since 1970.
    until: u64,
}

/// A lease that was taken.
#[derive(Debug)]
pub struct Lease {
    entry: LeaseEntry,
    seen: UpdateVersion,
}

impl Lease {
    /// Takes the lease for a term, where nobody has it at `now`, since 1970. None where somebody
    /// has it, or takes it at the same time. A holder that asks again takes it anew, with a new
    /// epoch.
    ///
    /// # Errors
    /// As the store is. Whether the lease was taken is not known then.
    pub fn take(
        objects: &Objects,
        holder: &str,
        (now, term): (Duration, Duration),
    ) -> io::Result<Option<Self>> {
        let found = objects.get(LEASE)?;
        let (known, seen) = match found {
            Some((bytes, seen)) => (Some(read(objects, &bytes)?), Some(seen)),
            None => (None, None),
        };
        let is_free = |entry: &LeaseEntry| entry.holder == holder || millis(now) >= entry.until;
        if !known.as_ref().is_none_or(is_free) {
            return Ok(None);
        }
        let entry = LeaseEntry {
            epoch: known.map_or(0, |entry| entry.epoch) + 1,
            holder: holder.to_owned(),
            until: millis(now + term),
        };
        Self::put(objects, entry, seen)
    }

    /// Has it for another term from `now` on; false where somebody else has taken it.
    ///
    /// # Errors
    /// As [`Self::take`].
    pub fn renew(
        &mut self,
        objects: &Objects,
        (now, term): (Duration, Duration),
    ) -> io::Result<bool> {
        let entry = LeaseEntry {
            until: millis(now + term),
            ..self.entry.clone()
        };
        let renewed = Self::put(objects, entry, Some(self.seen.clone()))?;
        let is_ours = renewed.is_some();
        if let Some(renewed) = renewed {
            *self = renewed;
        }
        Ok(is_ours)
    }

    /// Gives it up at `now`, so that nobody has to wait for its end.
    ///
    /// # Errors
    /// As [`Self::take`].
    pub fn give_up(&mut self, objects: &Objects, now: Duration) -> io::Result<()> {
        self.renew(objects, (now, Duration::ZERO)).map(|_| ())
    }

    /// Who has the lease at `now`, and its number. None where nobody has it.
    ///
    /// # Errors
    /// As the store is.
    pub fn holder(objects: &Objects, now: Duration) -> io::Result<Option<(String, u64)>> {
        let Some((bytes, _)) = objects.get(LEASE)? else {
            return Ok(None);
        };
        let entry = read(objects, &bytes)?;
        let is_held = millis(now) < entry.until;
        Ok(is_held.then_some((entry.holder, entry.epoch)))
    }

    /// Its number: a later lease has a higher one.
    pub fn epoch(&self) -> u64 {
        self.entry.epoch
    }

    /// When it ends, since 1970.
    pub fn until(&self) -> Duration {
        Duration::from_millis(self.entry.until)
    }

    fn put(
        objects: &Objects,
        entry: LeaseEntry,
        seen: Option<UpdateVersion>,
    ) -> io::Result<Option<Self>> {
        let bytes = serde_json::to_vec(&entry).map_err(io::Error::other)?;
        // A put whose acknowledgement was lost is found where it was repeated.
        objects.swap(LEASE, bytes, seen)?;
        let Some((bytes, seen)) = objects.get(LEASE)? else {
            return Ok(None);
        };
        let is_ours = read(objects, &bytes)? == entry;
        Ok(is_ours.then_some(Self { entry, seen }))
    }
}

fn read(objects: &Objects, bytes: &[u8]) -> io::Result<LeaseEntry> {
    serde_json::from_slice(bytes).map_err(|error| {
        let words = format!("{}/{LEASE}: not what pageway wrote: {error}", objects.url());
        io::Error::other(words)
    })
}

fn millis(time: Duration) -> u64 {
    time.as_millis() as u64
}
