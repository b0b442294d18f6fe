//! Small texts: of the system, and of a run.

use std::path::Path;
use std::sync::Arc;

use pageway::{Error, OpenMode, OsVfs, Result, Vfs};

/// Most bytes read of a file of `/proc`, which does not tell its length.
const SYSTEM_BYTES: usize = 64 << 10;

/// The file system of the host.
pub(crate) fn vfs() -> Arc<dyn Vfs> {
    Arc::new(OsVfs)
}

/// A small file of the system; none where there is none.
pub(crate) fn read_system(path: &Path) -> Option<String> {
    let file = OsVfs.open(path, OpenMode::Read).ok()?;
    let mut bytes = vec![0; SYSTEM_BYTES];
    let mut length = 0;
    while let Some(rest) = bytes.get_mut(length..).filter(|rest| !rest.is_empty()) {
        match file.read_at(rest, length as u64) {
            Ok(0) => break,
            Ok(read) => length += read,
            Err(_) => return None,
        }
    }
    bytes.truncate(length);
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

/// A text file whole.
pub(crate) fn read(path: &Path) -> Result<String> {
    let place = |error: std::io::Error| Error::from(error).within(path.display());
    let file = OsVfs.open(path, OpenMode::Read).map_err(place)?;
    let mut bytes = vec![0; file.len().map_err(place)? as usize];
    file.read_exact_at(&mut bytes, 0).map_err(place)?;
    String::from_utf8(bytes)
        .map_err(|error| Error::invalid(format!("{}: is not UTF-8: {error}", path.display())))
}

/// Writes a text file whole; one of that name is replaced in one step.
pub(crate) fn write(path: &Path, text: &str) -> Result<()> {
    write_bytes(path, text.as_bytes())
}

/// Writes a file whole; one of that name is replaced in one step.
pub(crate) fn write_bytes(path: &Path, bytes: &[u8]) -> Result<()> {
    let place = |error: std::io::Error| Error::from(error).within(path.display());
    let temporary = path.with_extension("new");
    if OsVfs.exists(&temporary).map_err(place)? {
        OsVfs.remove_file(&temporary).map_err(place)?;
    }
    let file = OsVfs.open(&temporary, OpenMode::CreateNew).map_err(place)?;
    file.write_all_at(bytes, 0).map_err(place)?;
    file.sync_data().map_err(place)?;
    OsVfs.rename(&temporary, path).map_err(place)
}

/// Renames a file; one of the new name is replaced.
pub(crate) fn rename(from: &Path, to: &Path) -> Result<()> {
    let renamed = OsVfs.rename(from, to);
    renamed.map_err(|error| Error::from(error).within(to.display()))
}

/// Whether there is such a file or directory.
pub(crate) fn exists(path: &Path) -> Result<bool> {
    let found = OsVfs.exists(path);
    found.map_err(|error| Error::from(error).within(path.display()))
}

/// Makes a directory and its missing parents.
pub(crate) fn create_directory(path: &Path) -> Result<()> {
    let made = OsVfs.create_dir_all(path);
    made.map_err(|error| Error::from(error).within(path.display()))
}

/// The last `bytes` of a text, or a few less.
pub(crate) fn tail(text: &str, bytes: usize) -> &str {
    let mut from = text.len().saturating_sub(bytes);
    while !text.is_char_boundary(from) {
        from += 1;
    }
    text.get(from..).unwrap_or_default()
}
