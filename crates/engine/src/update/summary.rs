//! A summary of the changes of an index, read from its manifest, dead sets and log without opening
//! it.

use std::path::Path;
use std::sync::Arc;

use pageway_store::{
    DATA_EXTENSION, FileUuid, LogDamage, LogFileReport, LogFloor, LogPlace, OpenMode, OsVfs, Vfs,
    inspect_log,
};
use serde::Serialize;

use crate::error::{Error, Result};
use crate::manifest::{Manifest, log_dir};
use crate::resolve::Source;
use crate::segment::dead_set;

/// A file of the log.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
#[non_exhaustive]
pub struct LogFileSummary {
    /// Name inside the folder of the log.
    pub name: String,
    /// Number of its first record, or of the next one to come.
    pub first: u64,
    /// Records that can be read.
    pub records: u64,
    /// Groups that hold them.
    pub groups: u64,
    /// Bytes up to the last group.
    pub used_bytes: u64,
    /// Bytes on disk.
    pub file_bytes: u64,
}

/// Records that damage takes.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
#[non_exhaustive]
pub struct LostRecords {
    /// The damaged file, or the first one behind what is missing: its name in the folder of the
    /// log.
    pub file: String,
    /// Where in it.
    pub offset: u64,
    /// The first record that is lost.
    pub first: u64,
    /// The last that is known to be lost; there may have been more.
    pub last: u64,
}

/// The log of an index.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
#[non_exhaustive]
pub struct LogSummary {
    /// Its files, oldest first.
    pub files: Vec<LogFileSummary>,
    /// The last record that is recovered, or the floor where that is later.
    pub last: u64,
    /// Records that are replayed when the index is next opened to be changed.
    pub records: u64,
    /// Their bytes.
    pub record_bytes: u64,
    /// Whether its writer closed it; otherwise the writer runs, or crashed.
    pub closed: bool,
    /// Damage that keeps the index from being changed, in words.
    pub damage: Option<String>,
    /// What is lost by it.
    pub lost: Option<LostRecords>,
}

/// What has changed since an index was built.
#[derive(Clone, PartialEq, Debug, Serialize)]
#[non_exhaustive]
pub struct ChangeSummary {
    /// The last record of the log whose change is in files.
    pub floor: u64,
    /// Dead rows of each segment, by its dead set on disk.
    pub dead: Vec<u32>,
    /// Their share of all rows of segments.
    pub dead_share: f64,
    /// Rows that the calibration was measured among.
    pub calibrated_rows: u64,
    /// Rows that came to segments and rows of segments that went since.
    pub changed_rows: u64,
    /// Mean code error of rows that quantizers were not trained on, as a multiple of that of
    /// training; 1 if there are no such rows.
    pub code_drift: f64,
    /// Bytes of files that no manifest names: of a flush or merge that is under way, or was killed.
    pub unfinished_bytes: u64,
    /// The log; a copy has none before it is changed itself.
    pub log: Option<LogSummary>,
}

/// What has changed in the index in `dir`; nothing where it was never opened to be changed.
///
/// Reads the manifest, dead sets and the whole log, and writes nothing. Needs no lock: a writer may
/// be at work, and what it does meanwhile is seen in part.
///
/// # Errors
/// `NotFound`, `Corrupt` or `Incompatible`, as manifest and dead sets are; a damaged log is a
/// result.
pub fn describe_changes(dir: &Path) -> Result<Option<ChangeSummary>> {
    describe_changes_on(&(Arc::new(OsVfs) as Arc<dyn Vfs>), dir)
}

/// As [`describe_changes`], on a file system of the caller's.
///
/// # Errors
/// As [`describe_changes`].
pub fn describe_changes_on(vfs: &Arc<dyn Vfs>, dir: &Path) -> Result<Option<ChangeSummary>> {
    let manifest = Manifest::read(vfs.as_ref(), dir)?;
    let Some(changes) = manifest.changes else {
        return Ok(None);
    };
    let dead = dead_counts(vfs.as_ref(), dir, &manifest)?;
    let all: u64 = dead.iter().map(|count| u64::from(*count)).sum();
    let floor = changes.log_floor();
    let log = changes.log.map(|log| describe_log(vfs, dir, (log, floor)));
    Ok(Some(ChangeSummary {
        floor: changes.floor,
        dead,
        dead_share: all as f64 / f64::from(manifest.node_count()).max(1.0),
        calibrated_rows: changes.calibrated_rows,
        changed_rows: changes.changed_rows,
        code_drift: manifest.code_drift(),
        unfinished_bytes: unfinished_bytes(vfs.as_ref(), dir, &manifest)?,
        log: log.transpose()?,
    }))
}

fn dead_counts(vfs: &dyn Vfs, dir: &Path, manifest: &Manifest) -> Result<Vec<u32>> {
    let count = |segment| {
        let dead = dead_set(Source { vfs, dir, segment }, false)?;
        Ok(dead.map_or(0, |dead| dead.len()))
    };
    manifest.segments.iter().map(count).collect()
}

/// Bytes of the index files in `dir` that this manifest does not name. Files that vanish meanwhile
/// do not count.
fn unfinished_bytes(vfs: &dyn Vfs, dir: &Path, manifest: &Manifest) -> Result<u64> {
    let known = manifest.files();
    let names = vfs.list(dir);
    let names = names.map_err(|error| Error::from(error).within(dir.display()))?;
    let is_unknown = |name: &&String| {
        name.ends_with(DATA_EXTENSION) && known.iter().all(|file| file.name != **name)
    };
    let bytes = |name: &String| {
        let file = vfs.open(&dir.join(name), OpenMode::ReadOwn).ok()?;
        file.len().ok()
    };
    Ok(names.iter().filter(is_unknown).filter_map(bytes).sum())
}

fn describe_log(vfs: &Arc<dyn Vfs>, dir: &Path, log: (FileUuid, LogFloor)) -> Result<LogSummary> {
    let (log, floor) = log;
    let place = LogPlace::new(Arc::clone(vfs), &log_dir(dir), log);
    let report = inspect_log(&place, floor)?;
    Ok(LogSummary {
        files: report.files.into_iter().map(describe_file).collect(),
        last: report.last.0,
        records: report.records,
        record_bytes: report.record_bytes,
        closed: report.closed,
        lost: report.damage.as_ref().map(describe_loss),
        damage: report.damage.map(|damage| damage.error().to_string()),
    })
}

fn describe_loss(damage: &LogDamage) -> LostRecords {
    let name = damage.path.file_name().unwrap_or_default();
    LostRecords {
        file: name.to_string_lossy().into_owned(),
        offset: damage.offset,
        first: damage.first_lost.0,
        last: damage.last_lost.0,
    }
}

fn describe_file(file: LogFileReport) -> LogFileSummary {
    let LogFileReport {
        name,
        first,
        records,
        groups,
        used_bytes,
        file_bytes,
        ..
    } = file;
    LogFileSummary {
        name,
        first: first.0,
        records,
        groups,
        used_bytes,
        file_bytes,
    }
}
