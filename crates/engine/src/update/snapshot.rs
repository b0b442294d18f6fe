//! A copy of an index as it is at a moment, while changes go on.

use std::path::Path;

use pageway_store::{DirectoryLock, FileEntry, MANIFEST_FILE, create_directory};
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
        let failed = |error| Error::from(error).within(dir.display());
        if !self.vfs.exists(dir).map_err(failed)? {
            create_directory(self.vfs.as_ref(), dir)?;
        }
        let _lock = DirectoryLock::acquire(self.vfs.as_ref(), dir)?;
        let names = self.vfs.list(dir).map_err(failed)?;
        if names.iter().any(|name| name == MANIFEST_FILE) {
            let words = format!("{}: there is an index already", dir.display());
            return Err(Error::invalid(words));
        }
        let files = manifest.files();
        progress.stage("copy files", files.len() as u64);
        for file in files {
            progress.check()?;
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
        copy.commit(self.vfs.as_ref(), dir)
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
