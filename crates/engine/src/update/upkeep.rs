//! The state that flushes, merges and checkpoints share.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError, TryLockError};

use super::background::BackgroundThread;
use super::common::Common;
use super::pace::Pace;
use super::settle::FormerSegments;
use crate::index::Version;

/// The upkeep of an index that is open to be changed.
pub(super) struct UpkeepState {
    pub(super) turns: Turns,
    /// Held while a checkpoint is committed.
    maintenance: Mutex<Maintenance>,
    builds: Mutex<Builds>,
    pub(super) former: FormerSegments,
    pub(super) flusher: BackgroundThread,
    pub(super) merger: BackgroundThread,
    pub(super) pace: Pace,
}

/// One flush and one merge at a time. Who holds both takes the merge first.
#[derive(Default)]
pub(super) struct Turns {
    flush: Mutex<()>,
    merge: Mutex<()>,
}

/// The state that one checkpoint leaves for the next.
pub(super) struct Maintenance {
    /// Dead rows in the dead set file of each segment, by the name of its record file.
    pub(super) persisted: HashMap<String, u32>,
}

impl Maintenance {
    /// Rows of the segments of a version that died since dead sets were last written.
    pub(super) fn died(&self, version: &Version) -> u64 {
        let places = version.segments.iter().zip(&version.manifest.segments);
        let died = places.map(|(segment, entry)| {
            let now = segment.dead.as_ref().map_or(0, |dead| dead.len());
            let known = self.persisted.get(&entry.files.records.name).copied();
            u64::from(now.saturating_sub(known.unwrap_or(0)))
        });
        died.sum()
    }
}

/// Segments that are being made.
pub(super) struct Builds {
    /// Number of the next build in the directory, or of the next manifest.
    pub(super) next: u64,
    /// Those under way: their numbers, which are in the names of their files, and the files that
    /// they read.
    under_way: Vec<(u64, Vec<String>)>,
}

/// Keeps the files of a segment that is being made, and those it is made from, until it is
/// dropped.
pub(super) struct BuildLease<'c> {
    pub(super) common: &'c Common,
    pub(super) generation: u64,
}

impl Drop for BuildLease<'_> {
    /// Files that were committed stay.
    fn drop(&mut self) {
        let mut builds = self.common.upkeep.builds();
        builds
            .under_way
            .retain(|(generation, _)| *generation != self.generation);
        drop(builds);
        self.common.clear();
    }
}

impl Builds {
    pub(super) fn new(next: u64) -> Self {
        Self {
            next,
            under_way: Vec::new(),
        }
    }

    /// A number that no file and no manifest has.
    pub(super) fn number(&mut self) -> u64 {
        self.next += 1;
        self.next - 1
    }

    /// Begins a build that reads these files; its number.
    pub(super) fn begin(&mut self, read: Vec<String>) -> u64 {
        let generation = self.number();
        self.under_way.push((generation, read));
        generation
    }

    /// Whether a build writes or reads this file. May also be true for a name that differs from
    /// such a file in a number alone.
    pub(super) fn need(&self, name: &str) -> bool {
        let has = |generation: &u64| {
            let generation = generation.to_string();
            name.split(['-', '.']).any(|part| part == generation)
        };
        let mut under_way = self.under_way.iter();
        under_way.any(|(generation, read)| has(generation) || read.iter().any(|one| one == name))
    }
}

impl Turns {
    /// The turn of a flush.
    pub(super) fn flush(&self) -> MutexGuard<'_, ()> {
        self.flush.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The turn of a merge.
    pub(super) fn merge(&self) -> MutexGuard<'_, ()> {
        self.merge.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The same, unless a merge is under way.
    pub(super) fn try_merge(&self) -> Option<MutexGuard<'_, ()>> {
        match self.merge.try_lock() {
            Ok(guard) => Some(guard),
            Err(TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        }
    }
}

impl UpkeepState {
    /// The state of an index with these dead rows on disk; the next build or manifest gets the
    /// number `next`.
    pub(super) fn new(persisted: HashMap<String, u32>, next: u64) -> Self {
        Self {
            turns: Turns::default(),
            maintenance: Mutex::new(Maintenance { persisted }),
            builds: Mutex::new(Builds::new(next)),
            former: FormerSegments::default(),
            flusher: BackgroundThread::flusher(),
            merger: BackgroundThread::merger(),
            pace: Pace::default(),
        }
    }

    pub(super) fn maintenance(&self) -> MutexGuard<'_, Maintenance> {
        let guard = self.maintenance.lock();
        guard.unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn builds(&self) -> MutexGuard<'_, Builds> {
        self.builds.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
