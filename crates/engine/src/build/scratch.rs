//! Temporary files of a build, and which of them stay for a build that is resumed.
//!
//! They lie beside the index, or in a directory of their own under one that the caller names. If a
//! build can be resumed, a journal lists the files of finished stages, each with a checksum and the
//! fingerprint of its input; stages in the journal are not done again. All files are removed when
//! the index is committed; those that are not in the journal, however a build ends, or by the next
//! build.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use pageway_store::{
    DATA_EXTENSION, DirectoryLock, LOCK_FILE, OpenMode, Vfs, create_directory, remove_orphans,
};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::fingerprint::Fingerprint;
use super::spill::{BUFFER_BYTES, Spill, SpillWriter, shared_buffer_bytes};
use crate::error::{Error, ErrorKind, Result};

/// The journal of kept files.
const JOURNAL: &str = "resume.pw";
/// The same, while it is written.
const JOURNAL_TMP: &str = "resume-tmp.pw";
/// Longest journal.
const MAX_JOURNAL_BYTES: u64 = 16 << 20;
/// Prefix of directories of temporary files, before a number that stands for the index.
const PREFIX: &str = "pageway-build-";
/// Files of another version of the program are not resumed from.
const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Where temporary files go.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct ScratchWish<'s> {
    /// A directory in place of that of the index.
    pub(super) dir: Option<&'s Path>,
    /// Whether finished stages are kept, and looked for.
    pub(super) resumes: bool,
}

/// The temporary files of a build.
pub(super) struct TemporaryFiles {
    vfs: Arc<dyn Vfs>,
    dir: PathBuf,
    generation: u64,
    /// Held if the directory is not that of the index.
    lock: Option<DirectoryLock>,
    /// Kept files; `None` if none are to be kept.
    kept: Option<Mutex<Vec<Kept>>>,
    committed: bool,
}

/// The files of the stages that build a segment.
#[derive(Clone, Copy)]
pub(super) struct StageFiles<'s> {
    pub(super) scratch: &'s TemporaryFiles,
    /// Identifies the rows and their build.
    pub(super) fingerprint: Fingerprint,
    /// Number of the segment, if there are several.
    pub(super) segment: Option<u32>,
}

impl StageFiles<'_> {
    /// A new file.
    pub(super) fn writer(&self, stage: &str) -> Result<SpillWriter> {
        self.scratch.writer(&self.stem(stage))
    }

    /// The same, for one of `files` files that are written at once.
    pub(super) fn writer_beside(&self, stage: &str, files: usize) -> Result<SpillWriter> {
        let buffer_bytes = shared_buffer_bytes(files as u64);
        self.scratch.writer_of(&self.stem(stage), buffer_bytes)
    }

    /// The file of a stage that an earlier build finished, with what it noted. Costs a read of it.
    pub(super) fn find(&self, stage: &str) -> Result<Option<(Spill, Value)>> {
        self.scratch.find(&self.key(stage))
    }

    /// Keeps the file of a finished stage, where such are kept. Costs a read of it.
    pub(super) fn keep(&self, stage: &str, spill: &Spill, note: Value) -> Result<()> {
        self.scratch.keep(self.key(stage), spill, note)
    }

    /// The bytes that an earlier build kept for a stage.
    pub(super) fn find_bytes(&self, stage: &str) -> Result<Option<Vec<u8>>> {
        self.scratch.find_bytes(&self.key(stage))
    }

    /// Keeps bytes, where finished stages are kept.
    pub(super) fn keep_bytes(&self, stage: &str, bytes: &[u8]) -> Result<()> {
        self.scratch
            .keep_bytes(self.key(stage), &self.stem(stage), bytes)
    }

    /// Removes the kept files of stages whose names begin with one of these.
    pub(super) fn forget(&self, stages: &[&str]) -> Result<()> {
        let own = self.key("");
        self.scratch.drop_kept(|key| {
            let stage = key.strip_prefix(&own);
            stage.is_some_and(|stage| stages.iter().any(|start| stage.starts_with(start)))
        })
    }

    fn key(&self, stage: &str) -> String {
        format!("{}-{stage}", self.fingerprint.hex())
    }

    fn stem(&self, stage: &str) -> String {
        format!("{stage}-{}", self.segment.unwrap_or(0))
    }
}

/// A file of a finished stage.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Kept {
    key: String,
    file: String,
    bytes: u64,
    checksum: String,
    note: Value,
}

#[derive(Serialize, Deserialize)]
struct Journal {
    version: String,
    kept: Vec<Kept>,
}

impl TemporaryFiles {
    /// Beside the index, nothing kept.
    pub(super) fn beside(vfs: &Arc<dyn Vfs>, dir: &Path, generation: u64) -> Self {
        Self {
            vfs: Arc::clone(vfs),
            dir: dir.to_path_buf(),
            generation,
            lock: None,
            kept: None,
            committed: false,
        }
    }

    /// For a build of the index in `index`, whose lock the caller holds.
    ///
    /// # Errors
    /// `NotFound` where the directory that is wished is not there; `Busy` where another build has
    /// the same files.
    pub(super) fn open(vfs: &Arc<dyn Vfs>, index: &Path, wish: ScratchWish<'_>) -> Result<Self> {
        let mut scratch = Self::beside(vfs, index, 0);
        if let Some(parent) = wish.dir {
            scratch.dir = parent.join(own_name(index));
            scratch.lock = Some(own_directory(vfs.as_ref(), parent, &scratch.dir)?);
        }
        scratch.kept = wish.resumes.then(|| Mutex::new(scratch.read_journal()));
        if scratch.lock.is_some() {
            scratch.clean()?;
        }
        Ok(scratch)
    }

    /// Numbers the files by the build.
    pub(super) fn set_generation(&mut self, generation: u64) {
        self.generation = generation;
    }

    /// The directory.
    pub(super) fn dir(&self) -> &Path {
        &self.dir
    }

    /// Whether finished stages are kept.
    pub(super) const fn resumes(&self) -> bool {
        self.kept.is_some()
    }

    /// Whether the directory is another than that of the index.
    pub(super) const fn is_apart(&self) -> bool {
        self.lock.is_some()
    }

    /// A new temporary file. One of this name that was kept for another build goes.
    pub(super) fn writer(&self, stem: &str) -> Result<SpillWriter> {
        self.writer_of(stem, BUFFER_BYTES)
    }

    fn writer_of(&self, stem: &str, buffer_bytes: usize) -> Result<SpillWriter> {
        let name = format!("spill-{stem}-{}.pw", self.generation);
        let path = self.dir.join(&name);
        if self.keeps(&name) {
            self.forget(|kept| kept.file == name)?;
        }
        SpillWriter::create(&self.vfs, &path, buffer_bytes)
    }

    /// The stem of files that are numbered by who writes them.
    pub(super) fn stem(&self, stem: &str) -> PathBuf {
        self.dir.join(format!("spill-{stem}-{}", self.generation))
    }

    /// The file of a stage that an earlier build finished, with what it noted. Costs a read of it.
    pub(super) fn find(&self, key: &str) -> Result<Option<(Spill, Value)>> {
        let found = self.with_kept(|kept| kept.iter().find(|own| own.key == key).cloned());
        let Some(found) = found.flatten() else {
            return Ok(None);
        };
        let opened = Spill::open(&self.vfs, &self.dir.join(&found.file));
        let sound = opened
            .ok()
            .filter(|spill| checksum(spill, found.bytes).is_ok_and(|own| own == found.checksum));
        if sound.is_none() {
            self.forget(|kept| kept.key == key)?;
        }
        Ok(sound.map(|spill| (spill, found.note)))
    }

    /// Keeps the file of a finished stage, where such are kept. Costs a read of it.
    pub(super) fn keep(&self, key: String, spill: &Spill, note: Value) -> Result<()> {
        if self.kept.is_none() {
            return Ok(());
        }
        let bytes = spill.bytes()?;
        let own = Kept {
            key,
            file: spill.name(),
            bytes,
            checksum: checksum(spill, bytes)?,
            note,
        };
        spill.keep();
        self.change(|kept| {
            kept.retain(|other| other.key != own.key);
            kept.push(own);
        })
    }

    /// Keeps bytes, where finished stages are kept.
    pub(super) fn keep_bytes(&self, key: String, stem: &str, bytes: &[u8]) -> Result<()> {
        if self.kept.is_none() {
            return Ok(());
        }
        let mut out = self.writer(stem)?;
        out.write(bytes)?;
        self.keep(key, &out.finish()?, Value::Null)
    }

    /// Bytes that were kept.
    pub(super) fn find_bytes(&self, key: &str) -> Result<Option<Vec<u8>>> {
        let Some((spill, _)) = self.find(key)? else {
            return Ok(None);
        };
        let mut bytes = vec![0; spill.bytes()? as usize];
        spill.read_at(&mut bytes, 0)?;
        Ok(Some(bytes))
    }

    /// Removes kept files whose keys `is_done` names.
    pub(super) fn drop_kept(&self, is_done: impl Fn(&str) -> bool) -> Result<()> {
        if self.with_kept(|kept| kept.iter().any(|own| is_done(&own.key))) == Some(true) {
            self.forget(|own| is_done(&own.key))?;
        }
        Ok(())
    }

    /// Whether a file of this name stays when the directory is cleaned.
    pub(super) fn keeps(&self, name: &str) -> bool {
        let listed = |kept: &mut Vec<Kept>| {
            let own = kept.iter().any(|own| own.file == name);
            own || name == JOURNAL && !kept.is_empty()
        };
        self.with_kept(listed).unwrap_or(false)
    }

    /// Whether there are kept files.
    pub(super) fn has_kept(&self) -> bool {
        self.with_kept(|kept| !kept.is_empty()).unwrap_or(false)
    }

    /// Removes all files, after the index was committed.
    pub(super) fn commit(&mut self) {
        // What cannot be removed now, the next build removes.
        let _ = self.forget(|_| true);
        self.committed = true;
    }

    fn forget(&self, goes: impl Fn(&Kept) -> bool) -> Result<()> {
        let mut gone = Vec::new();
        self.change(|kept| {
            gone = kept.iter().filter(|own| goes(own)).cloned().collect();
            kept.retain(|own| !goes(own));
        })?;
        for own in gone {
            // It may have been removed before.
            let _ = self.vfs.remove_file(&self.dir.join(own.file));
        }
        Ok(())
    }

    fn with_kept<T>(&self, look: impl FnOnce(&mut Vec<Kept>) -> T) -> Option<T> {
        let kept = self.kept.as_ref()?;
        let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
        Some(look(&mut kept))
    }

    fn change(&self, change: impl FnOnce(&mut Vec<Kept>)) -> Result<()> {
        let all = self.with_kept(|kept| {
            change(kept);
            kept.clone()
        });
        all.map_or(Ok(()), |all| self.write_journal(all))
    }

    fn write_journal(&self, kept: Vec<Kept>) -> Result<()> {
        let (path, tmp) = (self.dir.join(JOURNAL), self.dir.join(JOURNAL_TMP));
        let within = |error: std::io::Error| Error::of_writing(path.display(), error);
        if kept.is_empty() {
            let _ = self.vfs.remove_file(&path);
            return Ok(());
        }
        let journal = Journal {
            version: VERSION.to_owned(),
            kept,
        };
        let json = serde_json::to_vec(&journal)
            .map_err(|error| Error::new(ErrorKind::Internal, error.to_string()))?;
        let _ = self.vfs.remove_file(&tmp);
        let file = self.vfs.open(&tmp, OpenMode::CreateNew).map_err(within)?;
        let framed = [checksum_of(&json).as_bytes(), b"\n", &json].concat();
        file.write_all_at(&framed, 0).map_err(within)?;
        file.sync_data().map_err(within)?;
        self.vfs.rename(&tmp, &path).map_err(within)?;
        self.vfs.sync_dir(&self.dir).map_err(within)
    }

    /// The files that an earlier build kept; none if its journal is damaged or of another version.
    fn read_journal(&self) -> Vec<Kept> {
        let read = || -> Option<Vec<Kept>> {
            let path = self.dir.join(JOURNAL);
            let file = self.vfs.open(&path, OpenMode::ReadOwn).ok()?;
            let bytes = file
                .len()
                .ok()
                .filter(|bytes| *bytes <= MAX_JOURNAL_BYTES)?;
            let mut framed = vec![0; bytes as usize];
            file.read_exact_at(&mut framed, 0).ok()?;
            let end = framed.iter().position(|byte| *byte == b'\n')?;
            let (sum, json) = (framed.get(..end)?, framed.get(end + 1..)?);
            (checksum_of(json).as_bytes() == sum).then_some(())?;
            let journal: Journal = serde_json::from_slice(json).ok()?;
            let is_plain = |kept: &Kept| is_spill(&kept.file);
            let ours = journal.version == VERSION && journal.kept.iter().all(is_plain);
            ours.then_some(journal.kept)
        };
        read().unwrap_or_default()
    }

    /// Removes what is not kept from a directory of our own.
    pub(super) fn clean(&self) -> Result<()> {
        remove_orphans(self.vfs.as_ref(), &self.dir, |name| self.keeps(name))?;
        Ok(())
    }
}

impl Drop for TemporaryFiles {
    /// What is kept stays, with the directory that it lies in.
    fn drop(&mut self) {
        if self.lock.is_none() {
            return;
        }
        let _ = self.clean();
        if self.committed || !self.has_kept() {
            remove_own(self.vfs.as_ref(), &self.dir, self.lock.take());
        }
    }
}

fn is_spill(name: &str) -> bool {
    name.starts_with("spill-") && name.ends_with(DATA_EXTENSION) && !name.contains(['/', '\\'])
}

/// The name of the directory for temporary files of an index. It is always the same, so that the
/// files of a killed build are found.
fn own_name(index: &Path) -> String {
    let whole = std::path::absolute(index).unwrap_or_else(|_| index.to_path_buf());
    let mut print = Fingerprint::new();
    print.add(whole.as_os_str().as_encoded_bytes());
    format!("{PREFIX}{}", print.hex())
}

fn own_directory(vfs: &dyn Vfs, parent: &Path, dir: &Path) -> Result<DirectoryLock> {
    let within = |error: std::io::Error| Error::from(error).within(parent.display());
    if !vfs.exists(parent).map_err(within)? {
        return Err(Error::new(
            ErrorKind::NotFound,
            format!(
                "{}: no such directory for temporary files",
                parent.display()
            ),
        ));
    }
    remove_left(vfs, parent, dir);
    create_directory(vfs, dir)?;
    Ok(DirectoryLock::acquire(vfs, dir)?)
}

/// Removes the files of builds of other indexes that were killed and cannot go on.
fn remove_left(vfs: &dyn Vfs, parent: &Path, own: &Path) {
    let others = vfs.list_others(parent).unwrap_or_default();
    let others = others.iter().filter(|name| name.starts_with(PREFIX));
    for dir in others
        .map(|name| parent.join(name))
        .filter(|dir| dir != own)
    {
        if vfs.exists(&dir.join(JOURNAL)).unwrap_or(true) {
            continue;
        }
        // A build that works there holds the lock.
        if let Ok(lock) = DirectoryLock::acquire(vfs, &dir) {
            let _ = remove_orphans(vfs, &dir, |_| false);
            remove_own(vfs, &dir, Some(lock));
        }
    }
}

fn remove_own(vfs: &dyn Vfs, dir: &Path, lock: Option<DirectoryLock>) {
    let _ = vfs.remove_file(&dir.join(LOCK_FILE));
    drop(lock);
    let _ = vfs.remove_dir(dir);
}

fn checksum_of(bytes: &[u8]) -> String {
    let mut print = Fingerprint::new();
    print.add(bytes);
    print.hex()
}

fn checksum(spill: &Spill, bytes: u64) -> Result<String> {
    if spill.bytes()? != bytes {
        return Err(Error::new(ErrorKind::Corrupt, "a file of another length"));
    }
    let mut print = Fingerprint::new();
    let mut block = vec![0; 1 << 20];
    let mut offset = 0;
    while offset < bytes {
        let length = (bytes - offset).min(block.len() as u64);
        let own = block.get_mut(..length as usize).unwrap_or_default();
        spill.read_at(own, offset)?;
        print.add(own);
        offset += length;
    }
    Ok(print.hex())
}
