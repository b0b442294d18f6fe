//! Memory of filters: for compiling them, for the matching rows of running searches, and for
//! matches of earlier filters.
//!
//! Matches of earlier filters are dropped, least recently used first, if a filter needs the memory.

use std::collections::VecDeque;
use std::ops::Deref;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use super::Version;
use super::filter::Matched;
use crate::filter::Filter;

/// Filters whose matches are kept at most.
const KEPT: usize = 64;

/// Memory of filters of a process.
#[derive(Default)]
pub(super) struct FilterRoom {
    bytes: Arc<LentBytes>,
    /// The most recently used is last.
    kept: Mutex<VecDeque<(MatchesKey, Arc<HeldMatches>)>>,
}

/// How much of the memory is lent.
#[derive(Default)]
struct LentBytes {
    taken: Mutex<u64>,
    freed: Condvar,
}

/// Memory that is lent.
pub(super) struct FilterLease {
    room: Arc<LentBytes>,
    bytes: u64,
}

/// Rows that match a filter, in memory that was lent for them.
pub(super) struct HeldMatches {
    matched: Matched,
    _lease: FilterLease,
}

/// A predicate over a version: equal keys have equal matches.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct MatchesKey {
    digest: [u8; 32],
    /// The version of the segments.
    version: u64,
    dead: u64,
    knows_fields: bool,
}

impl MatchesKey {
    /// `None` for a filter by a set of ids, whose memory is the caller's.
    pub(super) fn of(version: &Version, filter: &Filter) -> Option<Self> {
        filter.id_set().is_none().then(|| Self {
            digest: filter.predicate().digest(),
            version: version.number,
            dead: version.dead_count(),
            knows_fields: filter.knows_fields(),
        })
    }
}

impl HeldMatches {
    pub(super) fn new(matched: Matched, lease: FilterLease) -> Self {
        Self {
            matched,
            _lease: lease,
        }
    }
}

impl Deref for HeldMatches {
    type Target = Matched;

    fn deref(&self) -> &Matched {
        &self.matched
    }
}

impl FilterRoom {
    /// Waits for `bytes` of `given` bytes; kept matches make room.
    pub(super) fn take(&self, bytes: u64, given: u64) -> FilterLease {
        let mut taken = self.bytes.lock();
        while *taken > 0 && *taken + bytes > given {
            let oldest = self.kept().pop_front();
            taken = if let Some(oldest) = oldest {
                // Dropping it needs the lock.
                drop(taken);
                drop(oldest);
                self.bytes.lock()
            } else {
                let wait = self.bytes.freed.wait(taken);
                wait.unwrap_or_else(PoisonError::into_inner)
            };
        }
        *taken += bytes;
        drop(taken);
        FilterLease {
            room: Arc::clone(&self.bytes),
            bytes,
        }
    }

    /// The kept matches of a filter, which becomes the most recently used.
    pub(super) fn find(&self, key: &MatchesKey) -> Option<Arc<HeldMatches>> {
        let mut kept = self.kept();
        let at = kept.iter().position(|(own, _)| own == key)?;
        let found = kept.remove(at)?;
        let matches = Arc::clone(&found.1);
        kept.push_back(found);
        Some(matches)
    }

    /// Keeps the matches of a filter; drops those of other versions.
    pub(super) fn put(&self, key: MatchesKey, matches: &Arc<HeldMatches>) {
        let is_of_now = |own: &MatchesKey| own.version >= key.version && *own != key;
        let mut kept = self.kept();
        let (mut stays, goes): (VecDeque<_>, VecDeque<_>) = std::mem::take(&mut *kept)
            .into_iter()
            .partition(|(own, _)| is_of_now(own));
        let oldest = (stays.len() >= KEPT).then(|| stays.pop_front());
        stays.push_back((key, Arc::clone(matches)));
        *kept = stays;
        drop(kept);
        // Dropped only now: giving memory back takes the lock of the lent memory, whose holder may
        // wait for the lock of kept matches.
        drop((goes, oldest));
        self.bytes.tell();
    }

    fn kept(&self) -> MutexGuard<'_, VecDeque<(MatchesKey, Arc<HeldMatches>)>> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl LentBytes {
    /// Wakes those who wait for memory.
    fn tell(&self) {
        drop(self.lock());
        self.freed.notify_all();
    }

    fn lock(&self) -> MutexGuard<'_, u64> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl FilterLease {
    /// Gives back all but so many bytes.
    pub(super) fn keep(&mut self, bytes: u64) {
        let more = self.bytes.saturating_sub(bytes);
        *self.room.lock() -= more;
        self.bytes -= more;
        self.room.tell();
    }
}

impl Drop for FilterLease {
    fn drop(&mut self) {
        self.keep(0);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;
    use std::thread;
    use std::time::Duration;

    use super::*;
    use crate::execution::NodeSet;

    const GIVEN: u64 = 100;
    const LONG: Duration = Duration::from_secs(20);
    const SHORT: Duration = Duration::from_millis(100);

    fn key(number: u8) -> MatchesKey {
        MatchesKey {
            digest: [number; 32],
            version: 1,
            dead: 0,
            knows_fields: true,
        }
    }

    fn held(lease: FilterLease) -> Arc<HeldMatches> {
        let matched = Matched {
            set: NodeSet::new([]),
            living: 0,
            documents: 0,
        };
        Arc::new(HeldMatches::new(matched, lease))
    }

    #[test]
    fn who_waits_gets_what_is_kept_meanwhile() {
        let room = Arc::new(FilterRoom::default());
        let lease = room.take(60, GIVEN);
        let (tell, told) = mpsc::channel();
        let other = Arc::clone(&room);
        let waiting = thread::spawn(move || {
            let lease = other.take(60, GIVEN);
            tell.send(()).unwrap();
            lease
        });
        assert!(told.recv_timeout(SHORT).is_err(), "there is no room yet");
        let matches = held(lease);
        room.put(key(1), &matches);
        // Who asked is done; nothing else is ever asked for.
        drop(matches);
        told.recv_timeout(LONG).unwrap();
        assert!(room.find(&key(1)).is_none());
        drop(waiting.join().unwrap());
        assert_eq!(*room.bytes.lock(), 0);
    }

    #[test]
    fn what_was_asked_last_stays_and_what_is_of_another_version_goes() {
        let room = FilterRoom::default();
        for number in 0..=KEPT as u8 {
            room.put(key(number), &held(room.take(1, GIVEN)));
        }
        assert!(room.find(&key(0)).is_none() && room.find(&key(1)).is_some());
        assert_eq!(*room.bytes.lock(), KEPT as u64);
        let newer = MatchesKey {
            version: 2,
            ..key(7)
        };
        room.put(newer.clone(), &held(room.take(1, GIVEN)));
        assert!(room.find(&key(1)).is_none() && room.find(&newer).is_some());
        assert_eq!(*room.bytes.lock(), 1);
    }
}
