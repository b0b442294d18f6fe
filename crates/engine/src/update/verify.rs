//! `verify`: checks the files of an index one by one, then that files, log and manifest agree.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::path::Path;
use std::sync::Arc;

use pageway_store::{LogFloor, LogPlace, Lsn, OnDamage, OsVfs, Vfs, replay_log};
use pageway_types::{NoProgress, Progress};

use super::record::{LogRecord, Operation};
use crate::error::{ErrorKind, Result};
use crate::execution::DeadSet;
use crate::index::{share, verify_files};
use crate::manifest::{ChangeEntry, Manifest, log_dir};
use crate::resolve::Source;
use crate::segment::{IdCursor, IdLookup, VerifyReport, dead_set};
use crate::source::{BLOCK_BYTES, IdSlice, Inspection, VectorSlice, check_unique, inspect_rows};

/// Memory for finding equal ids of a record.
const UNIQUE_BYTES: u64 = 1 << 20;
/// How often verification starts again because a writer changed the index meanwhile.
const MAX_TURNS: u32 = 4;

/// Reads the whole index in `dir` and checks all of it, its log included.
///
/// Costs two sequential passes over the record file and one over all others; holds a few MiB, a bit
/// per row, and 24 bytes for each id in the log. Needs no lock: what a writer commits meanwhile is
/// verified in place of what it replaces. Writers are kept away only if the design overwrites
/// pages; bytes that a crash left behind the pages of such a file are not read.
///
/// # Errors
/// `NotFound`, `Corrupt` or `Incompatible` for a manifest that cannot be used; damage elsewhere is
/// in the report.
pub fn verify(dir: &Path, progress: &dyn Progress) -> Result<VerifyReport> {
    verify_on(&(Arc::new(OsVfs) as Arc<dyn Vfs>), dir, progress)
}

/// As [`verify`], on a file system of the caller's.
///
/// # Errors
/// As [`verify`].
pub fn verify_on(vfs: &Arc<dyn Vfs>, dir: &Path, progress: &dyn Progress) -> Result<VerifyReport> {
    let mut turn = 1;
    loop {
        let mut manifest = Manifest::read(vfs.as_ref(), dir)?;
        let shared = share((vfs.as_ref(), dir), &manifest)?;
        if shared.is_some() {
            manifest = Manifest::read(vfs.as_ref(), dir)?;
        }
        let report = verify_once((vfs, dir), &manifest, progress)?;
        let now = Manifest::read(vfs.as_ref(), dir)?;
        if report.is_sound() || now.generation == manifest.generation || turn == MAX_TURNS {
            return Ok(report);
        }
        turn += 1;
    }
}

fn verify_once(
    (vfs, dir): (&Arc<dyn Vfs>, &Path),
    manifest: &Manifest,
    progress: &dyn Progress,
) -> Result<VerifyReport> {
    let mut report = verify_files((vfs.as_ref(), dir), manifest, progress)?;
    let Some(changes) = manifest.changes else {
        return Ok(report);
    };
    let known = if report.is_sound() {
        let known = KnownIds::open((vfs.as_ref(), dir), manifest);
        report.take(known)?
    } else {
        None
    };
    if let Some(known) = &known {
        let told = known.check((vfs.as_ref(), dir, manifest), changes, &mut report);
        report.take(told)?;
    }
    if let Some(log) = changes.log {
        let place = LogPlace::new(Arc::clone(vfs), &log_dir(dir), log);
        let told = LogCheck::new(manifest, known.as_ref()).run(&place, &mut report);
        report.take(told)?;
    }
    Ok(report)
}

/// Ids as the files have them.
struct KnownIds {
    lookups: Vec<IdLookup>,
    dead: Vec<Option<DeadSet>>,
}

impl KnownIds {
    fn open((vfs, dir): (&dyn Vfs, &Path), manifest: &Manifest) -> Result<Self> {
        let sources = manifest.segments.iter();
        let sources = sources.map(|segment| Source { vfs, dir, segment });
        Ok(Self {
            lookups: sources.clone().map(IdLookup::open).collect::<Result<_>>()?,
            dead: sources
                .map(|source| dead_set(source, false))
                .collect::<Result<_>>()?,
        })
    }

    fn is_dead(&self, segment: usize, node: pageway_types::NodeId) -> bool {
        let dead = self.dead.get(segment).and_then(Option::as_ref);
        dead.is_some_and(|dead| dead.contains(node))
    }

    fn is_living(&self, id: u64) -> Result<bool> {
        for (segment, lookup) in self.lookups.iter().enumerate() {
            if lookup
                .find(id)?
                .is_some_and(|node| !self.is_dead(segment, node))
            {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Checks that each living id has one row and is below the next id to be given.
    fn check(
        &self,
        (vfs, dir, manifest): (&dyn Vfs, &Path, &Manifest),
        changes: ChangeEntry,
        report: &mut VerifyReport,
    ) -> Result<()> {
        let last = self.lookups.iter().filter_map(IdLookup::last_number).max();
        if let Some(last) = last.filter(|last| *last >= changes.next_id) {
            report.note(format!(
                "manifest: the next id is {}, and a row has id {last}",
                changes.next_id
            ));
        }
        let sources: Vec<Source<'_>> = manifest
            .segments
            .iter()
            .map(|segment| Source { vfs, dir, segment })
            .collect();
        let cursors = sources.iter().map(|source| IdCursor::open(*source));
        let mut cursors: Vec<IdCursor> = cursors.collect::<Result<_>>()?;
        let mut heads = BinaryHeap::new();
        for (number, (cursor, source)) in cursors.iter_mut().zip(&sources).enumerate() {
            heads.extend(cursor.next(*source)?.map(|head| Reverse((head, number))));
        }
        let mut before = None;
        while let Some(Reverse(((id, node), number))) = heads.pop() {
            if !self.is_dead(number, node) {
                if before == Some(id) {
                    report.note(format!("id {id}: rows of two segments live"));
                }
                before = Some(id);
            }
            if let (Some(cursor), Some(source)) = (cursors.get_mut(number), sources.get(number)) {
                heads.extend(cursor.next(*source)?.map(|head| Reverse((head, number))));
            }
        }
        Ok(())
    }
}

/// The check of a log against the ids in files.
struct LogCheck<'k> {
    manifest: &'k Manifest,
    /// None where the files are damaged.
    known: Option<&'k KnownIds>,
    /// Ids that records name, and whether a row has them after those records.
    after: HashMap<u64, bool>,
}

impl<'k> LogCheck<'k> {
    fn new(manifest: &'k Manifest, known: Option<&'k KnownIds>) -> Self {
        Self {
            manifest,
            known,
            after: HashMap::new(),
        }
    }

    /// Reads the log from its floor to its end, and checks each record.
    fn run(&mut self, place: &LogPlace, report: &mut VerifyReport) -> Result<()> {
        let floor = self.manifest.changes.map(|changes| changes.log_floor());
        let floor = floor.unwrap_or(LogFloor::from(Lsn::NONE));
        let replayed = replay_log(place, floor, OnDamage::Refuse, |lsn, bytes| {
            match self.check(bytes) {
                Err(error) if error.kind() == ErrorKind::Io => return Err(error),
                Err(error) => report.note(format!("record {lsn} of the log: {error}")),
                Ok(()) => {}
            }
            Ok(())
        })?;
        report.log_records = replayed.records;
        Ok(())
    }

    /// Checks that a record can be replayed.
    fn check(&mut self, bytes: &[u8]) -> Result<()> {
        let shape = self.manifest.spec.shape;
        let record = LogRecord::read(bytes, shape.vectors().row_bytes())?;
        check_unique(&IdSlice(&record.ids), UNIQUE_BYTES)?;
        if record.operation.puts() && !record.ids.is_empty() {
            let inspection = Inspection {
                vectors: &VectorSlice::new(record.rows, shape.vectors())?,
                name: "rows",
                metric: shape.metric,
            };
            inspect_rows(inspection, BLOCK_BYTES, &NoProgress)?;
        }
        for id in &record.ids {
            if record.operation == Operation::Insert && self.is_living(*id)? {
                return Err(super::state::exists(*id));
            }
            self.after.insert(*id, record.operation.puts());
        }
        Ok(())
    }

    fn is_living(&self, id: u64) -> Result<bool> {
        match (self.after.get(&id), self.known) {
            (Some(is_living), _) => Ok(*is_living),
            (None, Some(known)) => known.is_living(id),
            (None, None) => Ok(false),
        }
    }
}
