//! Whole files, read and replaced.

use std::path::Path;

use pageway::lab::OpenMode;
use pageway::{Error, OsVfs, Result, Vfs};

/// The text of a file.
///
/// # Errors
/// Where it cannot be read, or is no text.
pub(crate) fn read(path: &Path) -> Result<String> {
    let read = || -> std::io::Result<Vec<u8>> {
        let file = OsVfs.open(path, OpenMode::Read)?;
        let mut bytes = vec![0; file.len()? as usize];
        file.read_exact_at(&mut bytes, 0)?;
        Ok(bytes)
    };
    let bytes = read().map_err(|error| Error::from(error).within(path.display()))?;
    String::from_utf8(bytes)
        .map_err(|_| Error::invalid(format!("{}: is no text of UTF-8", path.display())))
}

/// Puts a text in place of the file there is, durably, or leaves that.
///
/// # Errors
/// Where it cannot be written.
pub(crate) fn replace(path: &Path, text: &str) -> Result<()> {
    let mut temporary = path.as_os_str().to_owned();
    temporary.push(".tmp");
    let temporary = Path::new(&temporary);
    let replaced = || -> std::io::Result<()> {
        if OsVfs.exists(temporary)? {
            OsVfs.remove_file(temporary)?;
        }
        let file = OsVfs.open(temporary, OpenMode::CreateNew)?;
        file.write_all_at(text.as_bytes(), 0)?;
        file.sync_data()?;
        OsVfs.rename(temporary, path)?;
        OsVfs.sync_dir(parent(path))
    };
    replaced().map_err(|error| Error::from(error).within(path.display()))
}

/// Removes a file.
///
/// # Errors
/// Where it cannot be removed.
pub(crate) fn remove(path: &Path) -> Result<()> {
    let removed = OsVfs.remove_file(path);
    removed.map_err(|error| Error::from(error).within(path.display()))
}

/// The directory of a file.
pub(crate) fn parent(path: &Path) -> &Path {
    let parent = path
        .parent()
        .filter(|parent| !parent.as_os_str().is_empty());
    parent.unwrap_or(Path::new("."))
}
