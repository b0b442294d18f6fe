//! Committing: segments that come and go, dead sets, and the floor of the log, in one manifest.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use pageway_store::machine::return_freed_memory;
use pageway_store::{LogFloor, LogWriter, Lsn, remove_orphans};

use super::common::{Common, Counters};
use super::redesign::Redesign;
use super::state::State;
use super::taken::Taken;
use super::upkeep::{BuildLease, Maintenance};
use crate::build::Added;
use crate::error::{Error, ErrorKind, Result};
use crate::execution::{DeadSet, Segment};
use crate::index::{Reload, Version};
use crate::manifest::{DesignWish, Manifest, SegmentEntry};
use crate::resolve::Source;
use crate::segment::{IdLookup, write_dead_set};

/// Memory of searches that follows the number of rows grows by steps of one in so many parts.
const MEMORY_GROWTH: u64 = 8;
/// What it is more than the vectors at most.
const MEMORY_BYTES_MAX: u64 = 1 << 30;

/// So few late deaths may be left to note while changes wait; until then they are noted beside
/// changes, in so many rounds at most.
const LATE_ROWS: u64 = 32;
const LATE_ROUNDS: usize = 4;

/// What a commit changes: segments that go and come.
pub(super) struct Checkpoint<'c> {
    /// Segments that go, by their numbers.
    pub(super) gone: &'c [usize],
    /// The segment that comes: in place of the first that goes, or behind all others.
    pub(super) added: Option<Added>,
    /// The last record of the frozen delta, if its rows are in the new segment.
    pub(super) flushed: Option<LogFloor>,
    /// The new design of the index, if it changes.
    pub(super) redesign: Option<Redesign>,
    /// Where the rows of the new segment were taken from.
    pub(super) taken: &'c mut dyn Taken,
}

impl Common {
    /// Commits a checkpoint and turns searches and changes to it.
    ///
    /// # Errors
    /// Those of loading the segment, before anything is committed. Where the commit itself fails
    /// nothing changes any more: only the next open can tell what is committed.
    pub(super) fn checkpoint(
        &self,
        mut checkpoint: Checkpoint<'_>,
        lease: BuildLease<'_>,
    ) -> Result<()> {
        let mut maintenance = self.upkeep.maintenance();
        let outcome = self.try_checkpoint(&mut checkpoint, &mut maintenance);
        drop(maintenance);
        drop(lease);
        return_freed_memory();
        outcome
    }

    /// Removes files that neither the manifest names nor a build needs. What cannot be removed now
    /// is an orphan that the next writer removes.
    pub(super) fn clear(&self) {
        let _maintenance = self.upkeep.maintenance();
        // After a failed commit only the next open knows which files are committed.
        let is_known = self.commit.exclusive(|state, _| state.failed.is_none());
        if !is_known.unwrap_or(false) {
            return;
        }
        let manifest = &self.index.version().manifest;
        let files = manifest.files();
        let builds = self.upkeep.builds();
        let is_needed =
            |name: &str| files.iter().any(|file| file.name == name) || builds.need(name);
        let _ = remove_orphans(self.vfs.as_ref(), &self.dir, is_needed);
    }

    fn try_checkpoint(
        &self,
        checkpoint: &mut Checkpoint<'_>,
        maintenance: &mut Maintenance,
    ) -> Result<()> {
        let before = self.index.version();
        let mut manifest = before.manifest.clone();
        let at = put(&mut manifest, checkpoint)?;
        manifest.memory_bytes = self.search_memory(&manifest, manifest.node_count().into());
        manifest.generation = self.upkeep.builds().number();
        let mut version = self.load(manifest)?;
        let lookups = self.lookups(&before, &version)?;
        let flushed = checkpoint.flushed;
        let added = checkpoint.added.as_ref().filter(|_| flushed.is_some());
        let came = added.map_or(0, |added| u64::from(added.came));
        let born = at.and_then(|at| version.segments.get(at).zip(lookups.get(at)));
        let born = born.map(|(segment, lookup)| (segment.dead.clone(), Arc::clone(lookup)));
        for _ in 0..LATE_ROUNDS {
            if kill_late(checkpoint.taken, born.as_ref())? <= LATE_ROWS {
                break;
            }
        }
        let commit = |state: &mut State, log: &mut LogWriter| -> Result<()> {
            if let Some(why) = &state.failed {
                return Err(Error::new(ErrorKind::ReadOnly, why.clone()));
            }
            // The log is durable before dead sets that follow from it, so a crash leaves a prefix
            // of the changes.
            log.sync()?;
            kill_late(checkpoint.taken, born.as_ref())?;
            let died = maintenance.died(&before);
            let persisted = self.write_dead_sets(&mut version, maintenance)?;
            version.manifest.take_changes(state, flushed, came + died);
            if let Err(error) = version.manifest.commit(self.vfs.as_ref(), &self.dir) {
                let there = Manifest::read(self.vfs.as_ref(), &self.dir);
                if !there.is_ok_and(|there| there.generation == before.manifest.generation) {
                    let why = format!("a commit failed, so nothing changes any more: {error}");
                    state.failed = Some(why);
                }
                return Err(error);
            }
            maintenance.persisted.extend(persisted);
            let floor = version.manifest.changes.map_or(0, |changes| changes.floor);
            version.deltas = vec![Arc::clone(&state.active)];
            if flushed.is_none() {
                let frozen = state.frozen.as_ref().map(|(delta, _)| Arc::clone(delta));
                version.deltas.splice(0..0, frozen);
            }
            let version = self.index.swap(version);
            state.turn_to((version, lookups), flushed.is_some());
            if flushed.is_some() {
                self.upkeep.pace.end(true);
            }
            // The directory is synced, so nothing reads records below the floor.
            let _ = log.remove_below(Lsn(floor));
            Ok(())
        };
        self.commit.exclusive(commit)??;
        if let Some(added) = &checkpoint.added {
            let bytes = added.written_bytes;
            let Counters {
                segment_bytes,
                temporary_bytes,
                ..
            } = &self.counters;
            segment_bytes.fetch_add(bytes, Ordering::Relaxed);
            temporary_bytes.fetch_add(added.temporary_bytes, Ordering::Relaxed);
        }
        Ok(())
    }

    /// Loads the version of a manifest before it is committed, so that only what can be read is.
    ///
    /// The memory of searches grows until it holds the codes, unless the caller gave it in bytes.
    fn load(&self, mut manifest: Manifest) -> Result<Version> {
        loop {
            manifest.check()?;
            let reload = Reload {
                manifest: manifest.clone(),
                deltas: Vec::new(),
            };
            let loaded = self.index.reload(reload);
            let most = manifest.raw_bytes().saturating_add(MEMORY_BYTES_MAX);
            let is_given = manifest
                .wish
                .as_ref()
                .is_some_and(DesignWish::bounds_memory);
            let is_free = self.index.has_memory_of_its_own() && !is_given;
            let grows = is_free && manifest.memory_bytes < most;
            match loaded {
                Err(error) if error.kind() == ErrorKind::InvalidInput && grows => {
                    manifest.memory_bytes += manifest.memory_bytes / MEMORY_GROWTH + 1;
                }
                loaded => return loaded,
            }
        }
    }

    /// The tables of ids of the segments of a version; those of `before` are open already.
    fn lookups(&self, before: &Version, version: &Version) -> Result<Vec<Arc<IdLookup>>> {
        let known = self.commit.exclusive(|state, _| state.lookups.clone())?;
        let places = version.segments.iter().zip(&version.manifest.segments);
        let lookup = |(segment, entry): (&Segment, &SegmentEntry)| {
            let same = |other: &Segment| other.records == segment.records;
            let number = before.segments.iter().position(same);
            if let Some(known) = number.and_then(|number| known.get(number)) {
                return Ok(Arc::clone(known));
            }
            let source = Source {
                vfs: self.vfs.as_ref(),
                dir: &self.dir,
                segment: entry,
            };
            IdLookup::open(source).map(Arc::new)
        };
        places.map(lookup).collect()
    }

    /// Writes the dead sets that changed since they were last written, and says how many died in
    /// each.
    fn write_dead_sets(
        &self,
        version: &mut Version,
        maintenance: &Maintenance,
    ) -> Result<Vec<(String, u32)>> {
        let mut written = Vec::new();
        let places = version.segments.iter().zip(&mut version.manifest.segments);
        for (number, (segment, entry)) in places.enumerate() {
            let Some(dead) = segment.dead.as_deref() else {
                continue;
            };
            let (name, count) = (entry.files.records.name.clone(), dead.len());
            if maintenance.persisted.get(&name).copied().unwrap_or(0) != count {
                let place = (version.manifest.generation, Some(number as u32));
                let files = (self.vfs.as_ref(), self.dir.as_path());
                entry.files.dead = Some(write_dead_set(files, entry, dead, place)?);
                written.push((name, count));
            }
        }
        Ok(written)
    }
}

impl Manifest {
    /// Puts the state of changes into the manifest: the one place where the floor of the log rises.
    fn take_changes(&mut self, state: &State, flushed: Option<LogFloor>, changed: u64) {
        if let Some(changes) = &mut self.changes {
            changes.changed_rows += changed;
            changes.next_id = state.next_id;
            if let Some(floor) = flushed {
                (changes.floor, changes.floor_chain) = (floor.lsn.0, floor.chain);
            }
        }
    }
}

/// Kills the rows of a new segment that died in its sources meanwhile; returns how many.
fn kill_late(
    taken: &mut dyn Taken,
    born: Option<&(Option<Arc<DeadSet>>, Arc<IdLookup>)>,
) -> Result<u64> {
    let Some((Some(dead), lookup)) = born else {
        return Ok(0);
    };
    let mut count = 0;
    taken.each_death(&mut |id| {
        count += 1;
        if let Some(node) = lookup.find(id)? {
            dead.insert(node);
        }
        Ok(())
    })?;
    Ok(count)
}

/// Replaces segments of a manifest by that of a checkpoint; returns the place of the new one.
fn put(manifest: &mut Manifest, checkpoint: &Checkpoint<'_>) -> Result<Option<usize>> {
    let first = checkpoint.gone.iter().min().copied();
    let mut at = first.unwrap_or(manifest.segments.len());
    let mut number = 0;
    manifest.segments.retain(|_| {
        number += 1;
        !checkpoint.gone.contains(&(number - 1))
    });
    for segment in &mut manifest.segments {
        segment.own_first_id = Some(segment.first_id());
    }
    at = at.min(manifest.segments.len());
    if let Some(Added {
        entry, calibration, ..
    }) = &checkpoint.added
    {
        if let Some(Redesign { spec, memory_bytes }) = &checkpoint.redesign {
            manifest.spec = spec.clone();
            manifest.memory_bytes = *memory_bytes;
        } else if manifest.segments.is_empty() {
            let (shape, placement) = (manifest.spec.shape, manifest.spec.layout.placement);
            manifest.spec = entry.spec.clone();
            (manifest.spec.shape, manifest.spec.layout.placement) = (shape, placement);
            manifest.spec.layout.folded = None;
        }
        let mut entry = entry.clone();
        // No reader has opened the new file yet.
        entry.files.records.growable = entry.spec.overwrites_pages();
        if let (Some(calibration), Some(changes)) = (calibration, &mut manifest.changes) {
            manifest.calibration = calibration.clone();
            changes.calibrated_rows = entry.node_count.into();
            changes.changed_rows = 0;
        }
        manifest.segments.insert(at, entry);
    }
    let mut rows = 0u32;
    for segment in &mut manifest.segments {
        segment.first_row = rows;
        if segment.own_first_id == Some(rows.into()) {
            segment.own_first_id = None;
        }
        rows = rows
            .checked_add(segment.node_count)
            .ok_or_else(|| Error::invalid("more rows than an index can have"))?;
    }
    if manifest.segments.len() > crate::manifest::MAX_SEGMENTS as usize {
        return Err(Error::invalid(format!(
            "an index has at most {} segments: merge them, with more memory for updates",
            crate::manifest::MAX_SEGMENTS
        )));
    }
    Ok(checkpoint.added.is_some().then_some(at))
}
