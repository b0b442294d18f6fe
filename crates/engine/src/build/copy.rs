//! A file of an index in another directory too: linked, or copied where there are no links.

use std::path::Path;

use pageway_store::{OpenMode, Vfs};

use crate::error::{Error, Result};

/// Bytes that are copied at a time.
const COPY_BYTES: usize = 1 << 20;

/// Puts a file that is never written over at `to` as well. Nothing may be there.
pub(crate) fn link_or_copy(vfs: &dyn Vfs, from: &Path, to: &Path) -> Result<()> {
    if vfs.hard_link(from, to).is_ok() {
        return Ok(());
    }
    copy_file(vfs, from, to)
}

/// Copies a file to `to`, durably. Nothing may be there.
pub(crate) fn copy_file(vfs: &dyn Vfs, from: &Path, to: &Path) -> Result<()> {
    let failed = |error| Error::from(error).within(to.display());
    let source = vfs
        .open(from, OpenMode::Read)
        .map_err(|error| Error::from(error).within(from.display()))?;
    let target = vfs.open(to, OpenMode::CreateNew).map_err(failed)?;
    let mut buffer = vec![0; COPY_BYTES];
    let mut offset = 0;
    loop {
        let read = source.read_at(&mut buffer, offset).map_err(failed)?;
        let Some(bytes) = buffer.get(..read).filter(|bytes| !bytes.is_empty()) else {
            break;
        };
        target.write_all_at(bytes, offset).map_err(failed)?;
        offset += read as u64;
    }
    target.sync_data().map_err(failed)
}
