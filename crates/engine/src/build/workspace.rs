//! The directory of a build: locked, cleaned of the files of killed builds, and unchanged unless
//! the build commits.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use pageway_store::{
    DATA_EXTENSION, DirectoryLock, LOCK_FILE, MANIFEST_FILE, MANIFEST_TMP_FILE, Vfs,
    create_directory, remove_orphans,
};

use super::scratch::{ScratchWish, TemporaryFiles};
use crate::error::{Error, ErrorKind, Result};
use crate::manifest::{Manifest, remove_log};

/// A locked index directory that a build writes into.
pub(super) struct Workspace {
    pub(super) vfs: Arc<dyn Vfs>,
    pub(super) dir: PathBuf,
    /// Number of this build in this directory.
    pub(super) generation: u64,
    /// Where temporary files go.
    pub(super) scratch: TemporaryFiles,
    /// Files of the current index, which stay until this build commits.
    current: Vec<String>,
    created: bool,
    committed: bool,
    lock: Option<DirectoryLock>,
}

impl Workspace {
    /// Creates or takes over `dir`.
    ///
    /// # Errors
    /// `Busy` when another build holds it; `InvalidInput` when it is a directory with other things
    /// in it.
    pub(super) fn open(vfs: &Arc<dyn Vfs>, dir: &Path, wish: ScratchWish<'_>) -> Result<Self> {
        let created = !vfs
            .exists(dir)
            .map_err(|error| Error::from(error).within(dir.display()))?;
        if !created {
            refuse_foreign(vfs.as_ref(), dir)?;
        }
        let mut workspace = Self {
            vfs: Arc::clone(vfs),
            dir: dir.to_path_buf(),
            generation: 1,
            scratch: TemporaryFiles::beside(vfs, dir, 1),
            current: Vec::new(),
            created,
            committed: false,
            lock: None,
        };
        make_directory(vfs.as_ref(), dir)?;
        workspace.lock = Some(DirectoryLock::acquire(vfs.as_ref(), dir)?);
        match Manifest::read(vfs.as_ref(), dir) {
            Ok(manifest) => {
                workspace.generation = manifest.generation + 1;
                workspace.current = names_of(&manifest);
            }
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(error) => {
                workspace.committed = !created;
                return Err(error.within("an index that cannot be read is in the way"));
            }
        }
        // A build may have been killed between its rename and its last sync. Older files are
        // removed only once the manifest just read is durable.
        sync_directory(vfs.as_ref(), dir)?;
        workspace.scratch = TemporaryFiles::open(vfs, dir, wish)?;
        workspace.clean()?;
        workspace.skip_taken_names()?;
        workspace.scratch.set_generation(workspace.generation);
        Ok(workspace)
    }

    /// The directory of an index whose lock a writer holds; that commits and cleans up.
    pub(super) fn of_writer(vfs: &Arc<dyn Vfs>, dir: &Path, generation: u64) -> Self {
        Self {
            vfs: Arc::clone(vfs),
            dir: dir.to_path_buf(),
            generation,
            scratch: TemporaryFiles::beside(vfs, dir, generation),
            current: Vec::new(),
            created: false,
            committed: true,
            lock: None,
        }
    }

    /// Raises the generation until no directory has one of its file names, because a directory is
    /// not ours to remove.
    fn skip_taken_names(&mut self) -> Result<()> {
        let others = self.vfs.list_others(&self.dir);
        let others = others.map_err(|error| Error::from(error).within(self.dir.display()))?;
        let has = |name: &String, generation: &str| {
            let numbers = name.split(['-', '.']);
            name.ends_with(DATA_EXTENSION) && numbers.into_iter().any(|part| part == generation)
        };
        while others
            .iter()
            .any(|name| has(name, &self.generation.to_string()))
        {
            self.generation += 1;
        }
        Ok(())
    }

    /// Refuses to start if the disk has no room for `bytes` of index and `temporary` bytes beside
    /// them.
    pub(super) fn check_space(&self, bytes: u64, temporary: u64) -> Result<()> {
        let scratch = self.scratch.dir();
        let (own, other) = (self.free(&self.dir)?, self.free(scratch)?);
        // Two file systems are told apart by what is free in them.
        if own == other {
            return refuse_above(&self.dir, own, bytes + temporary);
        }
        refuse_above(&self.dir, own, bytes)?;
        refuse_above(scratch, other, temporary)
    }

    fn free(&self, dir: &Path) -> Result<u64> {
        let free = self.vfs.free_bytes(dir);
        free.map_err(|error| Error::from(error).within(dir.display()))
    }

    /// Publishes the index. Removes the files of the previous one; readers that have them open keep
    /// them.
    pub(super) fn commit(mut self, manifest: &Manifest) -> Result<()> {
        let outcome = manifest.commit(self.vfs.as_ref(), &self.dir);
        self.committed = outcome.is_ok() || self.renamed();
        outcome?;
        self.current = names_of(manifest);
        // The new manifest does not name the log of the previous index.
        let _ = remove_log(self.vfs.as_ref(), &self.dir);
        self.scratch.commit();
        // The index is published whatever happens to the old files; the next build tries again.
        let _ = self.clean();
        Ok(())
    }

    /// Whether a failed commit may have renamed the manifest. Then either index may be the current
    /// one after a crash, and the files of both stay for the next build.
    fn renamed(&self) -> bool {
        match Manifest::read(self.vfs.as_ref(), &self.dir) {
            Ok(manifest) => manifest.generation == self.generation,
            Err(error) => error.kind() != ErrorKind::NotFound,
        }
    }

    /// Removes files of ours that belong to no committed index.
    fn clean(&self) -> Result<()> {
        let own_kept = |name: &str| !self.scratch.is_apart() && self.scratch.keeps(name);
        let is_current = |name: &str| self.current.iter().any(|own| own == name) || own_kept(name);
        remove_orphans(self.vfs.as_ref(), &self.dir, is_current)?;
        Ok(())
    }
}

impl Drop for Workspace {
    /// A build that did not commit leaves nothing behind.
    fn drop(&mut self) {
        if self.committed {
            return;
        }
        // Without the lock the files may belong to another process.
        if self.lock.is_some() {
            let _ = self.clean();
        }
        let leaves = !self.scratch.is_apart() && self.scratch.has_kept();
        if self.created && !leaves {
            if self.lock.is_some() {
                let _ = self.vfs.remove_file(&self.dir.join(LOCK_FILE));
            }
            drop(self.lock.take());
            let _ = self.vfs.remove_dir(&self.dir);
        }
    }
}

fn refuse_above(dir: &Path, free: u64, bytes: u64) -> Result<()> {
    if free >= bytes {
        return Ok(());
    }
    Err(Error::new(
        ErrorKind::NoSpace,
        format!(
            "{}: this build needs {bytes} B of disk, {free} B are free",
            dir.display()
        ),
    ))
}

fn names_of(manifest: &Manifest) -> Vec<String> {
    let files = manifest.files().into_iter();
    files.map(|file| file.name.clone()).collect()
}

/// Creates `dir` and its missing parents, level by level, each durable before the next. The deepest
/// that exists is made durable again: a build that made it may have been killed before its sync.
fn make_directory(vfs: &dyn Vfs, dir: &Path) -> Result<()> {
    let mut levels = Vec::new();
    for level in dir
        .ancestors()
        .filter(|level| !level.as_os_str().is_empty())
    {
        levels.push(level);
        if vfs
            .exists(level)
            .map_err(|error| Error::from(error).within(level.display()))?
        {
            break;
        }
    }
    if let Some(parent) = levels.last().and_then(|deepest| deepest.parent()) {
        let parent = if parent.as_os_str().is_empty() {
            Path::new(".")
        } else {
            parent
        };
        match vfs.sync_dir(parent) {
            // Nothing was made in a directory that cannot be opened.
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {}
            synced => synced.map_err(|error| Error::from(error).within(parent.display()))?,
        }
    }
    for level in levels.into_iter().rev() {
        create_directory(vfs, level)?;
    }
    Ok(())
}

fn sync_directory(vfs: &dyn Vfs, dir: &Path) -> Result<()> {
    vfs.sync_dir(dir)
        .map_err(|error| Error::from(error).within(dir.display()))
}

fn refuse_foreign(vfs: &dyn Vfs, dir: &Path) -> Result<()> {
    let names = vfs
        .list(dir)
        .map_err(|error| Error::from(error).within(dir.display()))?;
    if names.iter().any(|name| name == MANIFEST_FILE) {
        return Ok(());
    }
    let ours = |name: &String| {
        name.ends_with(DATA_EXTENSION) || name == LOCK_FILE || name == MANIFEST_TMP_FILE
    };
    match names.into_iter().find(|name| !ours(name)) {
        None => Ok(()),
        Some(foreign) => Err(Error::invalid(format!(
            "{} is not an index and not empty (it holds {foreign}): choose another directory",
            dir.display()
        ))),
    }
}
