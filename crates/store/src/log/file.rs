//! A log file being written.
//!
//! It is prepared under another name and gets its own when its header and length are durable. So a
//! file of the log always has a header, and one that begins where an empty one stood replaces it.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::header::{GroupSeal, HEADER_BYTES, LogHeader};
use super::{LogPlace, Lsn};
use crate::{OpenMode, StoreError, VfsFile};

/// A file that is durable under the temporary name alone.
#[derive(Debug)]
pub(super) struct Prepared {
    header: LogHeader,
    file: Arc<dyn VfsFile>,
}

/// The file that groups are appended to.
#[derive(Debug)]
pub(super) struct LogFile {
    path: PathBuf,
    file: Arc<dyn VfsFile>,
    pub(super) header: LogHeader,
    pub(super) seal: GroupSeal,
    /// Where the next group begins.
    pub(super) end: u64,
}

/// What syncs a file.
#[derive(Debug)]
pub(super) struct FileHandle {
    path: PathBuf,
    file: Arc<dyn VfsFile>,
}

impl FileHandle {
    pub(super) fn sync(&self) -> Result<(), StoreError> {
        let synced = self.file.sync_data();
        synced.map_err(|e| StoreError::io(&self.path, "sync", e))
    }
}

impl Prepared {
    /// Sets the space of a file aside and writes its header. After an error the log is as it was.
    pub(super) fn new(place: &LogPlace, header: LogHeader) -> Result<Self, StoreError> {
        let path = place.temporary();
        remove_leftover(place, &path)?;
        let file = place.vfs.open(&path, OpenMode::CreateNew);
        let file = file.map_err(|e| StoreError::io(&path, "create", e))?;
        let written = fill(&path, file.as_ref(), &header);
        if written.is_err() {
            // What the failed attempt took goes now and not with the next one, if it can.
            let _leftover = place.vfs.remove_file(&path);
        }
        written.map(|()| Self { header, file })
    }

    /// Makes it part of the log. After an error nobody knows whether it is.
    pub(super) fn publish(self, place: &LogPlace) -> Result<LogFile, StoreError> {
        let path = place.path(self.header.first);
        place.rename(&place.temporary(), &path)?;
        place.sync_dir()?;
        Ok(LogFile {
            path,
            file: self.file,
            header: self.header,
            seal: self.header.seal(),
            end: HEADER_BYTES,
        })
    }
}

fn fill(path: &Path, file: &dyn VfsFile, header: &LogHeader) -> Result<(), StoreError> {
    let failed = |op| move |e| StoreError::io(path, op, e).needing(header.capacity);
    file.allocate(header.capacity)
        .map_err(failed("set space aside"))?;
    file.write_all_at(&header.encode(), 0)
        .map_err(failed("write"))?;
    file.sync_data().map_err(failed("sync"))
}

fn remove_leftover(place: &LogPlace, path: &Path) -> Result<(), StoreError> {
    match place.vfs.remove_file(path) {
        Err(error) if error.kind() != ErrorKind::NotFound => {
            Err(StoreError::io(path, "remove", error))
        }
        _ => Ok(()),
    }
}

impl LogFile {
    /// Whether no group was written to it.
    pub(super) fn is_empty(&self) -> bool {
        self.end == HEADER_BYTES
    }

    /// Bytes behind the last group.
    pub(super) fn room(&self) -> u64 {
        self.header.capacity.saturating_sub(self.end)
    }

    /// Writes a sealed group at the end. Durable after `sync`.
    pub(super) fn write(&mut self, group: &[u8]) -> Result<(), StoreError> {
        let written = self.file.write_all_at(group, self.end);
        written.map_err(|e| StoreError::io(&self.path, "write", e))?;
        self.end += group.len() as u64;
        Ok(())
    }

    pub(super) fn handle(&self) -> FileHandle {
        FileHandle {
            path: self.path.clone(),
            file: Arc::clone(&self.file),
        }
    }

    /// Gives back the room behind the last group, of a file that will not be written any more and
    /// that either ends with a closing group or is followed by a durable file. Nothing is lost
    /// where that fails but space.
    pub(super) fn cut(&self) {
        let _space = self.file.set_len(self.end);
    }

    /// The file, for messages.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Number of its first record.
    pub(super) fn first(&self) -> Lsn {
        self.header.first
    }
}
