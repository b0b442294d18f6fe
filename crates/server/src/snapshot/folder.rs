//! The folder of archives.

use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use jiff::Timestamp;
use pageway::Vfs;
use pageway::server::{OpenMode, VfsFile, clock, create_directory};
use serde::{Deserialize, Serialize};

use super::archive::{SnapshotHead, pack};
use super::file::{FileSink, hexadecimal};
use crate::failure::{Failure, Outcome};
use crate::registry::remove_tree;

/// The folder in the directory of data.
const FOLDER: &str = "snapshots";
/// What the name of an archive ends with.
const ENDING: &str = ".snapshot";
/// What the names of unfinished files begin with.
const UNFINISHED: &str = ".making-";

/// An archive, as it is told of.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub(crate) struct SnapshotEntry {
    pub(crate) name: String,
    pub(crate) creation_time: Option<String>,
    pub(crate) size: u64,
    pub(crate) checksum: Option<String>,
}

/// Archives by the names of their collections.
pub(crate) struct SnapshotFolder {
    vfs: Arc<dyn Vfs>,
    root: PathBuf,
}

impl SnapshotFolder {
    /// Opens the folder, and removes what was unfinished when the last server stopped.
    pub(crate) fn open(vfs: &Arc<dyn Vfs>, data_dir: &Path) -> Outcome<Self> {
        let root = std::path::absolute(data_dir.join(FOLDER)).map_err(Failure::internal)?;
        let folder = Self {
            vfs: Arc::clone(vfs),
            root,
        };
        if vfs.exists(&folder.root).map_err(failed)? {
            folder.tidy(&folder.root)?;
            for collection in vfs.list_others(&folder.root).map_err(failed)? {
                folder.tidy(&folder.root.join(collection))?;
            }
        }
        Ok(folder)
    }

    fn tidy(&self, dir: &Path) -> Outcome<()> {
        let vfs = self.vfs.as_ref();
        let is_unfinished = |name: &String| name.starts_with(UNFINISHED);
        for name in vfs.list(dir).map_err(failed)? {
            if is_unfinished(&name) {
                vfs.remove_file(&dir.join(name)).map_err(failed)?;
            }
        }
        let others = vfs.list_others(dir).map_err(failed)?;
        others
            .iter()
            .filter(|name| is_unfinished(name))
            .try_for_each(|name| remove_tree(vfs, &dir.join(name)))
    }

    /// A path for a file that is not finished, in a directory that is there.
    fn unfinished(&self, dir: &Path) -> Outcome<PathBuf> {
        if !self.vfs.exists(dir).map_err(failed)? {
            create_directory(self.vfs.as_ref(), dir)?;
        }
        Ok(dir.join(format!("{UNFINISHED}{}", self.unique()?)))
    }

    fn unique(&self) -> Outcome<String> {
        let bytes = self.vfs.unique().map_err(failed)?;
        Ok(hexadecimal(bytes.get(..8).unwrap_or_default()))
    }

    /// A new file that an archive is received in.
    pub(crate) fn receive(&self) -> Outcome<(PathBuf, FileSink)> {
        let path = self.unfinished(&self.root)?;
        let file = self.vfs.open(&path, OpenMode::CreateNew);
        Ok((path, FileSink::new(file.map_err(failed)?)))
    }

    /// Removes a file that was received.
    pub(crate) fn forget(&self, path: &Path) {
        // What stays is removed when a server starts.
        let _ = self.vfs.remove_file(path);
    }

    /// Makes an archive of a collection, whose indexes `copy` puts into a directory.
    pub(crate) fn create(
        &self,
        (collection, head): (&str, &SnapshotHead),
        copy: impl FnOnce(&Path) -> Outcome<()>,
    ) -> Outcome<SnapshotEntry> {
        let dir = self.root.join(collection);
        let (copies, archive) = (self.unfinished(&dir)?, self.unfinished(&dir)?);
        create_directory(self.vfs.as_ref(), &copies)?;
        let made = copy(&copies).and_then(|()| self.finish(&dir, (&copies, head), &archive));
        let removed = remove_tree(self.vfs.as_ref(), &copies);
        if made.is_err() {
            self.forget(&archive);
        }
        let made = made?;
        removed?;
        Ok(made)
    }

    fn finish(
        &self,
        dir: &Path,
        (copies, head): (&Path, &SnapshotHead),
        archive: &Path,
    ) -> Outcome<SnapshotEntry> {
        let vfs = self.vfs.as_ref();
        let file = vfs.open(archive, OpenMode::CreateNew).map_err(failed)?;
        let sink = pack(vfs, (copies, head), FileSink::new(file))?;
        let (size, checksum) = sink.finish().map_err(failed)?;
        let now = Timestamp::from_second(clock::unix_seconds().unwrap_or(0) as i64);
        let now = now.map_err(Failure::internal)?;
        let name = format!(
            "{}-{}{ENDING}",
            now.strftime("%Y-%m-%d-%H-%M-%S"),
            self.unique()?
        );
        let entry = SnapshotEntry {
            name: name.clone(),
            creation_time: Some(now.strftime("%Y-%m-%dT%H:%M:%S").to_string()),
            size,
            checksum: Some(checksum),
        };
        let json = serde_json::to_vec(&entry).map_err(Failure::internal)?;
        let side = vfs.open(&side_of(dir, &name), OpenMode::CreateNew);
        let side = side.map_err(failed)?;
        side.write_all_at(&json, 0).map_err(failed)?;
        side.sync_data().map_err(failed)?;
        vfs.rename(archive, &dir.join(&name)).map_err(failed)?;
        vfs.sync_dir(dir).map_err(failed)?;
        Ok(entry)
    }

    /// The archives of a collection, in the order of their names.
    pub(crate) fn list(&self, collection: &str) -> Outcome<Vec<SnapshotEntry>> {
        let dir = self.root.join(collection);
        if !self.vfs.exists(&dir).map_err(failed)? {
            return Ok(Vec::new());
        }
        let names = self.vfs.list(&dir).map_err(failed)?;
        let own = names.into_iter().filter(|name| is_name(name));
        own.map(|name| self.entry(&dir, name)).collect()
    }

    fn entry(&self, dir: &Path, name: String) -> Outcome<SnapshotEntry> {
        let file = self.vfs.open(&dir.join(&name), OpenMode::ReadOwn);
        let size = file.and_then(|file| file.len()).map_err(failed)?;
        // An archive that was put here by hand has nothing beside it.
        let known = self.side(dir, &name).filter(|own| own.size == size);
        Ok(known.unwrap_or(SnapshotEntry {
            name,
            creation_time: None,
            size,
            checksum: None,
        }))
    }

    fn side(&self, dir: &Path, name: &str) -> Option<SnapshotEntry> {
        let file = self.vfs.open(&side_of(dir, name), OpenMode::ReadOwn).ok()?;
        let mut bytes = vec![0; file.len().ok()?.min(4096) as usize];
        file.read_exact_at(&mut bytes, 0).ok()?;
        serde_json::from_slice(&bytes).ok()
    }

    /// An archive, opened, and its length.
    ///
    /// # Errors
    /// 404 where there is none.
    pub(crate) fn open_archive(
        &self,
        collection: &str,
        name: &str,
    ) -> Outcome<(Arc<dyn VfsFile>, u64)> {
        let path = self.path_of(collection, name)?;
        let file = self.vfs.open(&path, OpenMode::ReadOwn).map_err(failed)?;
        let length = file.len().map_err(failed)?;
        Ok((file, length))
    }

    /// Removes an archive.
    ///
    /// # Errors
    /// 404 where there is none.
    pub(crate) fn delete(&self, collection: &str, name: &str) -> Outcome<()> {
        let path = self.path_of(collection, name)?;
        self.vfs.remove_file(&path).map_err(failed)?;
        self.forget(&side_of(&self.root.join(collection), name));
        self.vfs
            .sync_dir(&self.root.join(collection))
            .map_err(failed)
    }

    fn path_of(&self, collection: &str, name: &str) -> Outcome<PathBuf> {
        let path = self.root.join(collection).join(name);
        if is_name(name) && self.vfs.exists(&path).map_err(failed)? {
            return Ok(path);
        }
        let words = format!("Snapshot {name} of collection {collection} not found");
        Err(Failure::not_found(words))
    }

    /// The path that an address means: `file:///..` of an archive of this folder.
    ///
    /// # Errors
    /// 400 for everything else.
    pub(crate) fn located(&self, location: &str) -> Outcome<PathBuf> {
        let Some(rest) = location.strip_prefix("file://") else {
            let words = "Invalid snapshot URI: only file:// of the snapshot folder can be \
                         recovered; send other archives to snapshots/upload";
            return Err(Failure::bad_request(words));
        };
        let path = rest.strip_prefix("localhost").unwrap_or(rest);
        let path = PathBuf::from(path);
        if !path.is_absolute() {
            let words = "Invalid snapshot URI, file path must be absolute or on localhost";
            return Err(Failure::bad_request(words));
        }
        // What lies elsewhere is as if it were not there.
        let absent = || {
            let shown = path.display().to_string();
            let words = format!("Snapshot file {shown:?} does not exist");
            Failure::bad_request(words)
        };
        let inside = path.strip_prefix(&self.root).map_err(|_| absent())?;
        let parts: Vec<Component<'_>> = inside.components().collect();
        let is_plain = |part: &Component<'_>| matches!(part, Component::Normal(_));
        let name = inside.file_name().and_then(std::ffi::OsStr::to_str);
        if parts.len() == 2
            && parts.iter().all(is_plain)
            && name.is_some_and(is_name)
            && self.vfs.exists(&path).map_err(failed)?
        {
            return Ok(path);
        }
        Err(absent())
    }
}

fn failed(error: std::io::Error) -> Failure {
    pageway::Error::from(error).into()
}

fn side_of(dir: &Path, name: &str) -> PathBuf {
    dir.join(format!("{name}.json"))
}

/// Whether an archive may have this name.
fn is_name(name: &str) -> bool {
    let is_plain = |one: char| !one.is_control() && !matches!(one, '/' | '\\');
    name.ends_with(ENDING) && !name.starts_with('.') && name.chars().all(is_plain)
}
