//! A copy of an index as it is at a moment, while changes go on.

use std::path::Path;

use pageway_store::{
    DirectoryLock, FileEntry, LOCK_FILE, MANIFEST_FILE, MANIFEST_TMP_FILE, Vfs, create_directory,
};
use pageway_types::Progress;

use super::common::Common;
use crate::build::{copy_file, link_or_copy};
use crate::error::{Error, Result};
use crate::manifest::{ChangeEntry, Manifest};

impl Common {
    /// Makes a copy of the index in the directory `dir`.
    pub(super) fn snapshot(&self, dir: &Path, progress: &dyn Progress) -> Result<()> {
        self.flush_all(progress)?;
        // No commit removes a file while it is copied, and no page is overwritten.
        let _turn = self.upkeep.turns.flush();
        let _maintenance = self.upkeep.maintenance();
        let manifest = Manifest::read(self.vfs.as_ref(), &self.dir)?;
        let mut place = SnapshotPlace::take(self.vfs.as_ref(), dir)?;
        let files = manifest.files();
        progress.stage("copy files", files.len() as u64);
        for file in files {
            progress.check()?;
            place.files.push(file.name.clone());
            self.take_over(dir, file)?;
            progress.advance(1);
        }
        let copy = Manifest {
            changes: manifest.changes.map(|changes| ChangeEntry {
                log: None,
                floor_chain: None,
                ..changes
            }),
            ..manifest.clone()
        };
        copy.commit(self.vfs.as_ref(), dir)?;
        place.complete = true;
        Ok(())
    }

    /// Links a file; copies it if it may be overwritten, or the file system has no links.
    fn take_over(&self, dir: &Path, file: &FileEntry) -> Result<()> {
        let (from, to) = (self.dir.join(&file.name), dir.join(&file.name));
        let failed = |error| Error::from(error).within(to.display());
        if self.vfs.exists(&to).map_err(failed)? {
            self.vfs.remove_file(&to).map_err(failed)?;
        }
        if file.growable {
            return copy_file(self.vfs.as_ref(), &from, &to);
        }
        link_or_copy(self.vfs.as_ref(), &from, &to)
    }
}

/// The directory that a copy is made in. Where the copy fails no part of it stays, nor the
/// directory if it was made. Files of the names of the copy are what an earlier attempt left.
struct SnapshotPlace<'d> {
    vfs: &'d dyn Vfs,
    dir: &'d Path,
    lock: Option<DirectoryLock>,
    made: bool,
    /// Names of what is put there.
    files: Vec<String>,
    complete: bool,
}

impl<'d> SnapshotPlace<'d> {
    /// Makes a directory that is not there, and locks it.
    fn take(vfs: &'d dyn Vfs, dir: &'d Path) -> Result<Self> {
        let failed = |error| Error::from(error).within(dir.display());
        let made = !vfs.exists(dir).map_err(failed)?;
        if made {
            create_directory(vfs, dir)?;
        }
        let lock = DirectoryLock::acquire(vfs, dir)?;
        let names = vfs.list(dir).map_err(failed)?;
        if names.iter().any(|name| name == MANIFEST_FILE) {
            let words = format!("{}: there is an index already", dir.display());
            return Err(Error::invalid(words));
        }
        Ok(Self {
            vfs,
            dir,
            lock: Some(lock),
            made,
            files: vec![MANIFEST_FILE.to_owned(), MANIFEST_TMP_FILE.to_owned()],
            complete: false,
        })
    }
}

impl Drop for SnapshotPlace<'_> {
    fn drop(&mut self) {
        if self.complete {
            return;
        }
        // What leads to the files goes before they do.
        for name in &self.files {
            let _ = self.vfs.remove_file(&self.dir.join(name));
        }
        if self.made {
            let _ = self.vfs.remove_file(&self.dir.join(LOCK_FILE));
            drop(self.lock.take());
            let _ = self.vfs.remove_dir(self.dir);
        }
    }
}
