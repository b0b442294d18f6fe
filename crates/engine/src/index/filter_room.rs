//! Memory of filters: what compiling them takes, the rows that match while they are searched, and
//! those of filters that were asked a while ago.
//!
//! What is kept goes, the longest unasked first, where another filter needs its memory.

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
    /// Those asked last are last.
    kept: Mutex<VecDeque<(MatchesKey, Arc<HeldMatches>)>>,
}

/// How much of it is lent.
#[derive(Default)]
struct LentBytes {
    taken: Mutex<u64>,
    freed: Condvar,
}

/// Some of it.
pub(super) struct FilterLease {
    room: Arc<LentBytes>,
    bytes: u64,
}

/// Rows that match a filter, in memory that was lent for them.
pub(super) struct HeldMatches {
    matched: Matched,
    _lease: FilterLease,
}

/// A predicate over a version: what matches is the same as long as this is.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct MatchesKey {
    digest: [u8; 32],
    /// Of the segments.
    version: u64,
    dead: u64,
    knows_fields: bool,
}

impl MatchesKey {
    /// None of a filter by a set of ids, which is memory of the caller.
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
    /// Waits for so many bytes of `given`; what is kept makes room.
    pub(super) fn take(&self, bytes: u64, given: u64) -> FilterLease {
        loop {
            let mut taken = self.bytes.lock();
            if *taken == 0 || *taken + bytes <= given {
                *taken += bytes;
                break;
            }
            drop(taken);
            if self.forget_one() {
                continue;
            }
            // Nothing is kept now; what is lent comes back.
            let taken = self.bytes.lock();
            if *taken > 0 && *taken + bytes > given {
                let wait = self.bytes.freed.wait(taken);
                drop(wait.unwrap_or_else(PoisonError::into_inner));
            }
        }
        FilterLease {
            room: Arc::clone(&self.bytes),
            bytes,
        }
    }

    /// What is kept of a filter, which was asked last from here on.
    pub(super) fn find(&self, key: &MatchesKey) -> Option<Arc<HeldMatches>> {
        let mut kept = self.kept();
        let at = kept.iter().position(|(own, _)| own == key)?;
        let found = kept.remove(at)?;
        let matches = Arc::clone(&found.1);
        kept.push_back(found);
        Some(matches)
    }

    /// Keeps what matches a filter; matches of other versions go.
    pub(super) fn put(&self, key: MatchesKey, matches: &Arc<HeldMatches>) {
        let mut kept = self.kept();
        let is_of_now = |own: &MatchesKey| own.version >= key.version && *own != key;
        kept.retain(|(own, _)| is_of_now(own));
        if kept.len() >= KEPT {
            kept.pop_front();
        }
        kept.push_back((key, Arc::clone(matches)));
    }

    fn forget_one(&self) -> bool {
        let oldest = self.kept().pop_front();
        oldest.is_some()
    }

    fn kept(&self) -> MutexGuard<'_, VecDeque<(MatchesKey, Arc<HeldMatches>)>> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl LentBytes {
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
        self.room.freed.notify_all();
    }
}

impl Drop for FilterLease {
    fn drop(&mut self) {
        self.keep(0);
    }
}
