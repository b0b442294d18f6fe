//! Opening an index to be changed, and recovering what a crash left.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use pageway_store::{
    DirectoryLock, FileUuid, GroupCommit, LogPlace, LogTail, LogWriter, Lsn, OnDamage, OsVfs,
    Process, Vfs, create_directory, remove_orphans, replay_log,
};

use super::common::{Common, Counters};
use super::division::{Division, UpdateNeeds, row_form};
use super::linking::LinkTurns;
use super::options::UpdateOptions;
use super::record::LogRecord;
use super::state::{Batch, State};
use super::upkeep::UpkeepState;
use super::writer::{QUEUE_BYTES, Writer};
use crate::build::{AdditionLimits, IdFile, overwrite};
use crate::delta::Delta;
use crate::error::{Error, Result};
use crate::index::{Index, Reload};
use crate::manifest::{ChangeEntry, FileKind, Manifest, log_dir, remove_log};
use crate::options::OpenOptions;
use crate::resolve::Source;
use crate::segment::{IdLookup, ids_are_nodes};

/// An index directory that is locked, and what is known of it.
struct WriterOpening<'o> {
    vfs: &'o Arc<dyn Vfs>,
    dir: &'o Path,
    manifest: Manifest,
    options: &'o UpdateOptions,
}

impl Writer {
    /// Opens the index in `dir` to be changed: replays what its log holds beyond its files.
    ///
    /// An index that was built is prepared the first time, by a pass over its ids.
    ///
    /// # Errors
    /// `Busy` where another writer has it; `InvalidInput` for memory that is too small, with the
    /// least that works; `Corrupt` for a damaged log, which leaves the index open for searches
    /// alone; and as [`Index::open`].
    pub fn open(dir: &Path, open: &OpenOptions, options: &UpdateOptions) -> Result<Self> {
        Self::open_on(&(Arc::new(OsVfs) as Arc<dyn Vfs>), dir, open, options)
    }

    /// As [`Writer::open`], on a file system of the caller's.
    ///
    /// # Errors
    /// As [`Writer::open`].
    pub fn open_on(
        vfs: &Arc<dyn Vfs>,
        dir: &Path,
        open: &OpenOptions,
        options: &UpdateOptions,
    ) -> Result<Self> {
        // Before the lock, whose file would be left in a directory that is no index.
        Manifest::read(vfs.as_ref(), dir)?;
        if options
            .latency_target
            .is_some_and(|target| target.is_zero())
        {
            return Err(Error::invalid("a latency target is more than zero"));
        }
        let lock = DirectoryLock::acquire(vfs.as_ref(), dir)?;
        let mut opening = WriterOpening {
            vfs,
            dir,
            manifest: Manifest::read(vfs.as_ref(), dir)?,
            options,
        };
        opening.clean()?;
        opening.settle_pages()?;
        let mut limits = AdditionLimits {
            build_memory: 0,
            index_memory: opening.search_memory(open),
            threads: options.threads,
        };
        let manifest = opening.manifest.clone();
        let division = UpdateNeeds::new(&manifest, limits, options)?.divide()?;
        limits.build_memory = division.build_bytes;
        let place = (opening.vfs, opening.dir);
        let index = Index::open_to_change(place, manifest, (open, division.update_bytes))?;
        if let Some(target) = options.latency_target {
            index.aim_at(target);
        }
        let writer = opening.prepare(&index, &division)?;
        let (mut state, log, replayed) = opening.recover(&index, &division, writer)?;
        let persisted = opening.persisted()?;
        state.version = index.turn_to_deltas(state.deltas());
        let counters = Counters::default();
        counters
            .replayed
            .store(replayed, std::sync::atomic::Ordering::Relaxed);
        let common = Common {
            vfs: Arc::clone(vfs),
            dir: PathBuf::from(dir),
            index: Arc::new(index),
            commit: GroupCommit::new(state, log, QUEUE_BYTES),
            options: *options,
            limits,
            capacity: division.rows,
            upkeep: UpkeepState::new(persisted, opening.manifest.generation + 1),
            counters,
            linking: LinkTurns::new(division.links),
            owner: Process::current(),
            _lock: lock,
        };
        Ok(Self {
            common: Arc::new(common),
        })
    }
}

impl WriterOpening<'_> {
    /// Makes the last commit durable before the files it replaced are removed: a writer may have
    /// been killed in between.
    fn clean(&self) -> Result<()> {
        let synced = self.vfs.sync_dir(self.dir);
        synced.map_err(|error| Error::from(error).within(self.dir.display()))?;
        let files = self.manifest.files();
        let names: Vec<&str> = files.iter().map(|file| file.name.as_str()).collect();
        remove_orphans(self.vfs.as_ref(), self.dir, |name| names.contains(&name))?;
        Ok(())
    }

    /// Puts the pages of a journal in place that a killed writer left.
    fn settle_pages(&mut self) -> Result<()> {
        let generation = self.manifest.generation + 1;
        let (vfs, dir) = (self.vfs.as_ref(), self.dir);
        let mut is_settled = true;
        for segment in &mut self.manifest.segments {
            if let Some((entry, _)) = overwrite(Source { vfs, dir, segment }, generation)? {
                (*segment, is_settled) = (entry, false);
            }
        }
        if is_settled {
            return Ok(());
        }
        self.manifest.generation = generation;
        self.manifest.commit(vfs, dir)?;
        self.clean()
    }

    fn search_memory(&self, open: &OpenOptions) -> u64 {
        let raw = self.manifest.raw_bytes();
        let wish = open.memory.map(|wish| wish.resolve(raw));
        wish.unwrap_or(self.manifest.memory_bytes)
    }

    /// Before the first change: makes the tables of ids, begins a log, and commits both. `None` if
    /// that was done.
    fn prepare(&mut self, index: &Index, division: &Division) -> Result<Option<LogWriter>> {
        if self
            .manifest
            .changes
            .is_some_and(|changes| changes.log.is_some())
        {
            return Ok(None);
        }
        let generation = self.manifest.generation + 1;
        let mut manifest = self.manifest.clone();
        manifest.generation = generation;
        let version = index.version();
        let places = version.segments.iter().zip(&mut manifest.segments);
        for (number, (segment, entry)) in (0..).zip(places) {
            if ids_are_nodes(&entry.spec) || entry.files.ids.is_some() {
                continue;
            }
            let file = IdFile {
                vfs: self.vfs,
                dir: self.dir,
                name: (generation, Some(number)),
                page_bytes: entry.spec.layout.page_bytes,
                uuid: FileKind::Ids.uuid_beside(entry.files.records.uuid, generation),
                memory_bytes: division.build_bytes / 2,
            };
            let mut read = |first, out: &mut [u64]| segment.read_ids(first, out);
            entry.files.ids = Some(file.write(entry.node_count, &mut read, &|node| node)?);
        }
        let mut next_id = manifest.changes.map_or(0, |changes| changes.next_id);
        for segment in &manifest.segments {
            let (vfs, dir) = (self.vfs.as_ref(), self.dir);
            let last = IdLookup::open(Source { vfs, dir, segment })?.last_number();
            next_id = next_id.max(last.map_or(0, |last| last.saturating_add(1)));
        }
        let unique = self.vfs.unique();
        let log = unique.map_err(|error| Error::from(error).within("identity of the log"))?;
        let log = FileUuid(log);
        let changes = manifest.changes.get_or_insert(ChangeEntry {
            log: None,
            floor: 0,
            floor_chain: None,
            next_id,
            calibrated_rows: version.node_count().into(),
            changed_rows: 0,
        });
        (changes.log, changes.next_id) = (Some(log), next_id);
        let floor = Lsn(changes.floor);
        remove_log(self.vfs.as_ref(), self.dir)?;
        create_directory(self.vfs.as_ref(), &log_dir(self.dir))?;
        let writer = LogWriter::create(&self.place(log), floor)?;
        manifest.commit(self.vfs.as_ref(), self.dir)?;
        let reload = Reload {
            manifest: manifest.clone(),
            deltas: Vec::new(),
        };
        index.swap(index.reload(reload)?);
        self.manifest = manifest;
        Ok(Some(writer))
    }

    fn place(&self, log: FileUuid) -> LogPlace {
        LogPlace::new(Arc::clone(self.vfs), &log_dir(self.dir), log)
    }

    /// The state that the log leads to, and its writer: a new one, or one behind what was replayed.
    fn recover(
        &self,
        index: &Index,
        division: &Division,
        new: Option<LogWriter>,
    ) -> Result<(State, LogWriter, u64)> {
        let none = || Error::invalid("an index without a log");
        let changes = self.manifest.changes.ok_or_else(none)?;
        let place = self.place(changes.log.ok_or_else(none)?);
        let version = index.version();
        let lookup = |segment| {
            let (vfs, dir) = (self.vfs.as_ref(), self.dir);
            IdLookup::open(Source { vfs, dir, segment }).map(Arc::new)
        };
        let lookups = self.manifest.segments.iter().map(lookup);
        let row_bytes = self.manifest.spec.shape.vectors().row_bytes();
        let delta = (
            Arc::new(Delta::new(row_form(&self.manifest.spec, division.rows)?)),
            division.rows,
            changes.next_id,
        );
        let mut state = State::new(version, lookups.collect::<Result<_>>()?, delta);
        if let Some(log) = new {
            return Ok((state, log, 0));
        }
        let on_damage = if self.options.salvage {
            OnDamage::Salvage
        } else {
            OnDamage::Refuse
        };
        let replayed = replay_log(&place, changes.log_floor(), on_damage, |own, record| {
            let record = LogRecord::read(record, row_bytes)?;
            let count = record.ids.len() as u32;
            let rows = record.rows.to_vec();
            let batch = Batch::new(record.operation, (record.ids, count), rows);
            let mut batch = batch.with_documents(record.documents);
            state.replay(&mut batch, own.before())
        })?;
        let tail: &LogTail = &replayed.tail;
        let log = LogWriter::continue_after(&place, tail)?;
        Ok((state, log, replayed.records))
    }

    /// Dead rows that files know, by the names of records.
    fn persisted(&self) -> Result<HashMap<String, u32>> {
        let mut known = HashMap::new();
        for segment in &self.manifest.segments {
            let (vfs, dir) = (self.vfs.as_ref(), self.dir);
            if let Some(dead) = crate::segment::dead_set(Source { vfs, dir, segment }, false)? {
                known.insert(segment.files.records.name.clone(), dead.len());
            }
        }
        Ok(known)
    }
}
