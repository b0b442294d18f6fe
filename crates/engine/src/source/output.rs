//! A file that appears whole or not at all: written under another name, renamed when complete.

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use pageway_store::{OpenMode, Vfs, VfsFile};

use super::error::SourceError;
use crate::error::Error;

/// Bytes collected before they are written.
const BUFFER_BYTES: usize = 1 << 20;
/// Appended to the name of an unfinished file.
const PARTIAL_SUFFIX: &str = ".partial";

/// An output file on its way. Dropped without [`OutputFile::publish`], it leaves nothing behind.
pub(crate) struct OutputFile {
    vfs: Arc<dyn Vfs>,
    file: Arc<dyn VfsFile>,
    path: PathBuf,
    partial: PathBuf,
    buffer: Vec<u8>,
    /// Bytes in the file; the buffer follows them.
    written: u64,
}

impl OutputFile {
    /// Begins `path`, after a look whether the disk has `needed_bytes`. A file of that name stays
    /// as it is until the new one is published.
    ///
    /// # Errors
    /// `NoSpace` with both figures; `Io`.
    pub(crate) fn create(
        vfs: &Arc<dyn Vfs>,
        path: &Path,
        needed_bytes: u64,
    ) -> Result<Self, Error> {
        let name = path.display().to_string();
        let within = |e: io::Error| Error::of_writing(&name, e);
        let free_bytes = vfs.free_bytes(directory_of(path)).map_err(within)?;
        if free_bytes < needed_bytes {
            return Err(SourceError::DiskFull {
                file: name,
                needed_bytes,
                free_bytes,
            }
            .into());
        }
        let mut partial = OsString::from(path);
        partial.push(PARTIAL_SUFFIX);
        let partial = PathBuf::from(partial);
        match vfs.remove_file(&partial) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(within(error)),
            _ => {}
        }
        let file = vfs.open(&partial, OpenMode::CreateNew).map_err(within)?;
        Ok(Self {
            vfs: Arc::clone(vfs),
            file,
            path: path.to_owned(),
            partial,
            buffer: Vec::with_capacity(BUFFER_BYTES),
            written: 0,
        })
    }

    /// Adds bytes at the end.
    pub(crate) fn append(&mut self, bytes: &[u8]) -> Result<(), Error> {
        if self.buffer.len() + bytes.len() > BUFFER_BYTES {
            self.flush()?;
        }
        if bytes.len() >= BUFFER_BYTES {
            return self.write(bytes);
        }
        self.buffer.extend_from_slice(bytes);
        Ok(())
    }

    /// Replaces bytes that were appended before.
    pub(crate) fn patch(&mut self, offset: u64, bytes: &[u8]) -> Result<(), Error> {
        self.flush()?;
        self.file
            .write_all_at(bytes, offset)
            .map_err(|e| self.within(e))
    }

    /// Makes the file durable and gives it its name.
    pub(crate) fn publish(mut self) -> Result<(), Error> {
        self.flush()?;
        let done = self
            .file
            .sync_data()
            .and_then(|()| self.vfs.rename(&self.partial, &self.path))
            .and_then(|()| self.vfs.sync_dir(directory_of(&self.path)));
        done.map_err(|e| self.within(e))
    }

    fn flush(&mut self) -> Result<(), Error> {
        let buffer = std::mem::take(&mut self.buffer);
        let done = self.write(&buffer);
        self.buffer = buffer;
        self.buffer.clear();
        done
    }

    fn write(&mut self, bytes: &[u8]) -> Result<(), Error> {
        self.file
            .write_all_at(bytes, self.written)
            .map_err(|e| self.within(e))?;
        self.written += bytes.len() as u64;
        Ok(())
    }

    fn within(&self, error: io::Error) -> Error {
        Error::of_writing(self.path.display(), error)
    }
}

impl Drop for OutputFile {
    fn drop(&mut self) {
        // After a publish the name is gone already; after a failure there is nobody left to tell.
        drop(self.vfs.remove_file(&self.partial));
    }
}

fn directory_of(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    }
}
