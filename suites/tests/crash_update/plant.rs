//! Wrong protocols, planted between the index and its files: the index asks for the right things,
//! and they are done in another order, left out, or said otherwise in the manifest.

use std::io;
use std::path::Path;
use std::sync::{Arc, Mutex};

use pageway_store::{
    LockGuard, MANIFEST_FILE, MANIFEST_TMP_FILE, OpenMode, Vfs, VfsFile, commit_manifest,
    read_manifest,
};
use pageway_testkit::SimVfs;
use serde_json::{Value, json};

use crate::story::DIR;

/// What is done wrong.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Plant {
    /// The manifest is committed before the names of the files that it names are durable.
    NamesUnsynced,
    /// A commit is told before its rename is durable, and what it replaces goes.
    CommitUnsynced,
    /// The manifest is written over and not replaced.
    ManifestInPlace,
    /// Files of the log go before the manifest is committed that says that they may.
    LogGoesFirst,
    /// Files of segments go before the manifest is committed that does not name them.
    SegmentsGoFirst,
    /// The floor is one record too high.
    FloorTooHigh,
    /// The floor stays where it was: what was flushed is replayed once more.
    FloorStays,
    /// Dead sets are not named.
    DeadLost,
    /// The dead set of a merged segment is not named: a delete meanwhile is lost.
    DeadLostAtMerge,
    /// A merge commits what there was when it began: the segment of a flush meanwhile is not named.
    FlushLost,
    /// A merge commits the floor that there was when it began.
    FloorOfMerge,
    /// A journal is not synced before pages are written over.
    JournalUnsynced,
    /// Pages that were written over are not synced before the manifest says that they are in place.
    PlacesUnsynced,
    /// Ids that were given before are given again.
    IdsReused,
    /// Who opens the index removes what the manifest does not name before it is durable.
    OrphansGoFirst,
}

/// A file system under a plant.
#[derive(Debug)]
pub(crate) struct PlantVfs {
    inner: SimVfs,
    plant: Plant,
    seen: Mutex<Seen>,
}

#[derive(Default, Debug)]
struct Seen {
    /// Whether the manifest was renamed, and the directory not synced since.
    is_renamed: bool,
    /// Whether the lock was taken, and the directory not synced since.
    is_locked: bool,
    /// The last manifest that was committed.
    before: Option<Value>,
    /// Dead sets that merges wrote and that nobody names.
    lost: Vec<Value>,
    /// What the manifest before the last said of changes.
    changes: Value,
}

impl PlantVfs {
    pub(crate) fn wrap(plant: Plant) -> impl Fn(SimVfs) -> Arc<dyn Vfs> {
        move |inner| {
            Arc::new(Self {
                inner,
                plant,
                seen: Mutex::default(),
            })
        }
    }

    /// Has its way with a manifest that is about to be renamed.
    fn commit(&self, from: &Path, to: &Path) -> io::Result<()> {
        let bytes = contents(&self.inner, from)?;
        let mut manifest = parse(&bytes);
        let before = self.seen.lock().unwrap().before.replace(manifest.clone());
        let before = before.unwrap_or_default();
        self.edit(&mut manifest, &before);
        self.seen.lock().unwrap().changes = before["changes"].clone();
        match self.plant {
            Plant::LogGoesFirst => self.remove_log()?,
            Plant::SegmentsGoFirst => self.remove_unnamed(&manifest)?,
            _ => {}
        }
        let bytes = encode(&manifest);
        if self.plant == Plant::ManifestInPlace && self.inner.exists(to)? {
            overwrite(&self.inner, to, &bytes)?;
            return self.inner.remove_file(from);
        }
        if encode(&parse(&bytes)) != contents(&self.inner, from)? {
            overwrite(&self.inner, from, &bytes)?;
        }
        self.inner.rename(from, to)
    }

    fn edit(&self, manifest: &mut Value, before: &Value) {
        let floor = |manifest: &Value| manifest["changes"]["floor"].as_u64().unwrap_or(0);
        let count = |manifest: &Value| manifest["segments"].as_array().map_or(0, Vec::len);
        let is_merged = count(manifest) < count(before);
        match self.plant {
            Plant::FloorTooHigh if floor(manifest) > 0 => {
                manifest["changes"]["floor"] = json!(floor(manifest) + 1);
                manifest["changes"]["floor_chain"] = Value::Null;
            }
            Plant::FloorStays if floor(manifest) > 0 => {
                manifest["changes"]["floor"] = json!(0);
                manifest["changes"]["floor_chain"] = Value::Null;
            }
            Plant::DeadLost if !is_merged => drop_dead(manifest, &|_| true),
            Plant::DeadLostAtMerge => {
                let old = before["segments"].as_array().cloned().unwrap_or_default();
                let mut seen = self.seen.lock().unwrap();
                for segment in manifest["segments"].as_array().unwrap() {
                    let (records, dead) = (&segment["files"]["records"], &segment["files"]["dead"]);
                    let is_new = !old.iter().any(|old| old["files"]["records"] == *records);
                    if is_merged && is_new && !dead.is_null() {
                        seen.lost.push(dead.clone());
                    }
                }
                drop_dead(manifest, &|segment| {
                    seen.lost.contains(&segment["files"]["dead"])
                });
            }
            Plant::FlushLost if is_merged => {
                manifest["segments"].as_array_mut().unwrap().truncate(1);
            }
            Plant::FloorOfMerge if is_merged => {
                let old = &self.seen.lock().unwrap().changes;
                for name in ["floor", "floor_chain"] {
                    manifest["changes"][name] = old[name].clone();
                }
            }
            Plant::IdsReused => manifest["changes"]["next_id"] = json!(0),
            _ => {}
        }
    }

    fn remove_log(&self) -> io::Result<()> {
        let dir = Path::new(DIR).join("log");
        let names = self.inner.list(&dir)?;
        let logs: Vec<_> = names.iter().filter(|name| name.ends_with(".pwl")).collect();
        let old = logs.len().saturating_sub(1);
        logs.iter()
            .take(old)
            .try_for_each(|name| self.inner.remove_file(&dir.join(name)))
    }

    fn remove_unnamed(&self, manifest: &Value) -> io::Result<()> {
        let (dir, words) = (Path::new(DIR), manifest.to_string());
        let names = self.inner.list(dir)?;
        let unnamed = |name: &&String| name.ends_with(".pw") && !words.contains(name.as_str());
        let mut unnamed = names.iter().filter(unnamed);
        unnamed.try_for_each(|name| self.inner.remove_file(&dir.join(name)))
    }
}

fn drop_dead(manifest: &mut Value, wanted: &dyn Fn(&Value) -> bool) {
    for segment in manifest["segments"].as_array_mut().unwrap() {
        if wanted(segment) {
            segment["files"].as_object_mut().unwrap().remove("dead");
        }
    }
}

fn contents(vfs: &dyn Vfs, path: &Path) -> io::Result<Vec<u8>> {
    let file = vfs.open(path, OpenMode::Read)?;
    let mut bytes = vec![0; file.len()? as usize];
    file.read_exact_at(&mut bytes, 0)?;
    Ok(bytes)
}

fn overwrite(vfs: &dyn Vfs, path: &Path, bytes: &[u8]) -> io::Result<()> {
    let file = vfs.open(path, OpenMode::ReadWrite)?;
    file.set_len(bytes.len() as u64)?;
    file.write_all_at(bytes, 0)?;
    file.sync_data()
}

/// The payload of a manifest file.
fn parse(bytes: &[u8]) -> Value {
    let aside = SimVfs::new();
    let path = Path::new("/").join(MANIFEST_FILE);
    let file = aside.open(&path, OpenMode::CreateNew).unwrap();
    file.write_all_at(bytes, 0).unwrap();
    serde_json::from_slice(&read_manifest(&aside, Path::new("/")).unwrap()).unwrap()
}

/// A manifest file with this payload.
fn encode(manifest: &Value) -> Vec<u8> {
    let aside = SimVfs::new();
    let payload = serde_json::to_vec(manifest).unwrap();
    commit_manifest(&aside, Path::new("/"), &payload).unwrap();
    contents(&aside, &Path::new("/").join(MANIFEST_FILE)).unwrap()
}

/// A file whose syncs are claimed and not done.
#[derive(Debug)]
struct Unsynced(Arc<dyn VfsFile>);

impl VfsFile for Unsynced {
    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<usize> {
        self.0.read_at(buf, offset)
    }

    fn write_at(&self, buf: &[u8], offset: u64) -> io::Result<usize> {
        self.0.write_at(buf, offset)
    }

    fn sync_data(&self) -> io::Result<()> {
        Ok(())
    }

    fn len(&self) -> io::Result<u64> {
        self.0.len()
    }

    fn set_len(&self, bytes: u64) -> io::Result<()> {
        self.0.set_len(bytes)
    }
}

impl Vfs for PlantVfs {
    fn open(&self, path: &Path, mode: OpenMode) -> io::Result<Arc<dyn VfsFile>> {
        let file = self.inner.open(path, mode)?;
        let is_journal = path.to_string_lossy().contains("/patch-");
        let is_skipped = match self.plant {
            Plant::JournalUnsynced => is_journal && mode == OpenMode::CreateNew,
            Plant::PlacesUnsynced => mode == OpenMode::WriteDirect,
            _ => false,
        };
        Ok(if is_skipped {
            Arc::new(Unsynced(file))
        } else {
            file
        })
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        if from == Path::new(DIR).join(MANIFEST_TMP_FILE) {
            self.seen.lock().unwrap().is_renamed = true;
            return self.commit(from, to);
        }
        self.inner.rename(from, to)
    }

    fn hard_link(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.inner.hard_link(from, to)
    }

    fn remove_file(&self, path: &Path) -> io::Result<()> {
        let is_log = path.extension().is_some_and(|extension| extension == "pwl");
        if is_log && self.plant == Plant::FloorStays {
            return Ok(());
        }
        self.inner.remove_file(path)
    }

    fn remove_dir(&self, path: &Path) -> io::Result<()> {
        self.inner.remove_dir(path)
    }

    fn create_dir_all(&self, path: &Path) -> io::Result<()> {
        self.inner.create_dir_all(path)
    }

    fn list(&self, dir: &Path) -> io::Result<Vec<String>> {
        self.inner.list(dir)
    }

    fn exists(&self, path: &Path) -> io::Result<bool> {
        self.inner.exists(path)
    }

    fn sync_dir(&self, dir: &Path) -> io::Result<()> {
        if dir == Path::new(DIR) {
            let mut seen = self.seen.lock().unwrap();
            let is_renamed = std::mem::take(&mut seen.is_renamed);
            let is_locked = std::mem::take(&mut seen.is_locked);
            let is_skipped = match self.plant {
                Plant::NamesUnsynced => !is_renamed,
                Plant::CommitUnsynced => is_renamed,
                Plant::OrphansGoFirst => is_locked,
                _ => false,
            };
            if is_skipped {
                return Ok(());
            }
        }
        self.inner.sync_dir(dir)
    }

    fn lock(&self, path: &Path) -> io::Result<Option<Box<dyn LockGuard>>> {
        self.seen.lock().unwrap().is_locked = true;
        self.inner.lock(path)
    }

    fn lock_shared(&self, path: &Path) -> io::Result<Option<Box<dyn LockGuard>>> {
        self.inner.lock_shared(path)
    }

    fn unique(&self) -> io::Result<[u8; 16]> {
        self.inner.unique()
    }

    fn free_bytes(&self, dir: &Path) -> io::Result<u64> {
        self.inner.free_bytes(dir)
    }
}

/// What a reader does that takes a torn tail of the log for whole: the checksum of the first bad
/// group becomes right. Format: `docs/format/log.md`.
pub(crate) fn accept_tail(image: &SimVfs) {
    let dir = Path::new(DIR).join("log");
    let names = image.list(&dir).unwrap_or_default();
    let Some(last) = names.iter().rfind(|name| name.ends_with(".pwl")) else {
        return;
    };
    let path = dir.join(last);
    let mut bytes = contents(image, &path).unwrap();
    if bytes.len() < 4096 {
        return;
    }
    let seal = crc32c::crc32c(&bytes[16..32]);
    let seal = crc32c::crc32c_append(seal, &bytes[12..16]);
    let seal = crc32c::crc32c_append(seal, &bytes[32..40]);
    let mut at = 4096;
    while at + 40 <= bytes.len() {
        let payload = u32::from_le_bytes(bytes[at + 4..at + 8].try_into().unwrap());
        let end = at + (40 + payload as usize).next_multiple_of(512);
        if payload == 0 || end > bytes.len() {
            return;
        }
        let crc = crc32c::crc32c_append(seal, &(at as u64).to_le_bytes());
        let crc = crc32c::crc32c_append(crc, &bytes[at + 4..end]).to_le_bytes();
        if bytes[at..at + 4] != crc {
            bytes[at..at + 4].copy_from_slice(&crc);
            return overwrite(image, &path, &bytes).unwrap();
        }
        at = end;
    }
}
