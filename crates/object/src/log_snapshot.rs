//! What a log has come to, so that its first records can go.
//!
//! ```text
//! SNAPSHOT                   the pointer: up to which record, in which object, and what is cut
//! snapshots/NUMBER-UNIQUE    the bytes, whatever the writer of the log makes of it
//! ```
//!
//! A writer puts what the log says up to a record into an object, and replaces the pointer by a
//! conditional put: by a later record only, and never by a writer of an earlier lease. After a
//! grace, in which readers go on from where they are, the pointer says that records are cut, and
//! only then are they removed.
//!
//! Where a record was removed, a writer of long ago may create another at its number. So nothing at
//! or before the cut counts: who reads a record looks at the pointer after that, and so does who
//! has put one ([`SharedLog`](crate::SharedLog)).

use std::io;
use std::time::Duration;

use object_store::UpdateVersion;
use pageway_store::{OsVfs, Vfs};
use serde::{Deserialize, Serialize};

use crate::Objects;
use crate::shared_log::{LOG, number_of};
use crate::version::digits;

/// The pointer.
const POINTER: &str = "SNAPSHOT";
const FOLDER: &str = "snapshots";
/// Bytes of a request.
const PART_BYTES: u64 = 8 << 20;

/// The snapshot of a log.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, Debug)]
pub struct LogSnapshot {
    /// The last record that it holds, and its epoch.
    place: (u64, u64),
    /// The last record that is cut, and its epoch; zeros where none is.
    cut: (u64, u64),
    /// The epoch of who made it.
    leader: u64,
    object: String,
    bytes: u64,
    sha256: String,
    /// Milliseconds since 1970, by the clock of who made it.
    since: u64,
}

/// What is to become the snapshot of a log.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NewSnapshot {
    /// The last record that it holds, and its epoch. It may hold more.
    pub place: (u64, u64),
    /// The epoch of the writer.
    pub leader: u64,
    /// Its length,
    pub bytes: u64,
    /// and its SHA-256 in hexadecimal digits.
    pub sha256: String,
}

impl LogSnapshot {
    /// The snapshot of now; none where there is none.
    ///
    /// # Errors
    /// As the store is.
    pub fn current(objects: &Objects) -> io::Result<Option<Self>> {
        Ok(Self::seen(objects)?.map(|(own, _)| own))
    }

    fn seen(objects: &Objects) -> io::Result<Option<(Self, UpdateVersion)>> {
        let Some((bytes, seen)) = objects.get(POINTER)? else {
            return Ok(None);
        };
        let own = serde_json::from_slice(&bytes).map_err(|error| {
            let url = objects.url();
            io::Error::other(format!("{url}/{POINTER}: not what pageway wrote: {error}"))
        })?;
        Ok(Some((own, seen)))
    }

    /// Makes what `read` gives, from an offset so many bytes, the snapshot at `now`, since 1970;
    /// whether it is: not where there is a later one, or a later lease has made one.
    ///
    /// # Errors
    /// As the store is, and `read`. Whether it is the snapshot is not known then; trying again is
    /// harmless.
    pub fn publish(
        objects: &Objects,
        new: &NewSnapshot,
        now: Duration,
        read: &mut dyn FnMut(u64, u64) -> io::Result<Vec<u8>>,
    ) -> io::Result<bool> {
        if !new.follows(Self::current(objects)?.as_ref()) {
            return Ok(false);
        }
        let unique = digits(&OsVfs.unique()?);
        let object = format!("{FOLDER}/{:020}-{unique}", new.place.0);
        objects.upload(&object, new.bytes, read)?;
        let before = Self::seen(objects)?;
        let (before, seen) = before.unzip();
        if !new.follows(before.as_ref()) {
            objects.remove(&object)?;
            return Ok(false);
        }
        let own = Self {
            place: new.place,
            cut: before.map_or((0, 0), |before| before.cut),
            leader: new.leader,
            object,
            bytes: new.bytes,
            sha256: new.sha256.clone(),
            since: now.as_millis() as u64,
        };
        own.put(objects, seen)
    }

    /// Replaces the pointer that was seen; whether it did. An acknowledgement may be lost.
    fn put(&self, objects: &Objects, seen: Option<UpdateVersion>) -> io::Result<bool> {
        let bytes = serde_json::to_vec(self).map_err(io::Error::other)?;
        Ok(objects.swap(POINTER, bytes, seen)? || Self::current(objects)?.as_ref() == Some(self))
    }

    /// Shows its bytes, in their order and part by part.
    ///
    /// # Errors
    /// As the store is, and `write`; where it was removed since, as a later one is there.
    pub fn fetch(
        &self,
        objects: &Objects,
        write: &mut dyn FnMut(&[u8]) -> io::Result<()>,
    ) -> io::Result<()> {
        let mut at = 0;
        while at < self.bytes {
            let end = self.bytes.min(at + PART_BYTES);
            write(&objects.get_range(&self.object, at..end)?)?;
            at = end;
        }
        Ok(())
    }

    /// Removes the records that a snapshot of at least the age `grace` holds, and snapshots of
    /// before; for the writer with the epoch `leader`, at `now`, since 1970. Gives how many records
    /// went.
    ///
    /// # Errors
    /// As the store is. What is left is removed the next time.
    pub fn cut(
        objects: &Objects,
        leader: u64,
        (now, grace): (Duration, Duration),
    ) -> io::Result<usize> {
        let Some((mut own, seen)) = Self::seen(objects)? else {
            return Ok(0);
        };
        let is_old = now >= Duration::from_millis(own.since) + grace;
        if is_old && leader >= own.leader && own.cut != own.place {
            own.cut = own.place;
            if !own.put(objects, Some(seen))? {
                return Ok(0);
            }
        }
        own.remove_cut(objects)
    }

    fn remove_cut(&self, objects: &Objects) -> io::Result<usize> {
        let mut removed = 0;
        if self.cut.0 == 0 {
            return Ok(0);
        }
        for meta in objects.list(LOG)? {
            let Some(name) = meta.location.filename() else {
                continue;
            };
            if number_of(name).is_some_and(|number| number <= self.cut.0) {
                objects.remove(&format!("{LOG}/{name}"))?;
                removed += 1;
            }
        }
        // One that is being sent holds more than the current one.
        for meta in objects.list(FOLDER)? {
            let name = meta.location.filename().unwrap_or_default();
            let number = name.split('-').next().and_then(number_of);
            if number.is_some_and(|number| number < self.cut.0) {
                objects.remove(&format!("{FOLDER}/{name}"))?;
            }
        }
        Ok(removed)
    }

    /// The last record that it holds, and its epoch.
    pub fn place(&self) -> (u64, u64) {
        self.place
    }

    /// The last record that is cut, and its epoch; zeros where none is.
    pub fn cut_place(&self) -> (u64, u64) {
        self.cut
    }

    /// The epoch of who made it.
    pub(crate) fn leader(&self) -> u64 {
        self.leader
    }

    /// The SHA-256 of its bytes, in hexadecimal digits.
    pub fn sha256(&self) -> &str {
        &self.sha256
    }
}

impl NewSnapshot {
    /// Whether it may take the place of another.
    fn follows(&self, before: Option<&LogSnapshot>) -> bool {
        before.is_none_or(|before| self.place.0 > before.place.0 && self.leader >= before.leader())
    }
}
