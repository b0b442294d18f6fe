//! Small files that the server is told of when it starts.

use std::path::Path;

use pageway::server::OpenMode;
use pageway::{Error, OsVfs, Result, Vfs};

/// A file as a whole, of so many bytes at most.
///
/// # Errors
/// `NotFound`, `Io`; `InvalidInput` for a longer one.
pub fn read_file(path: &Path, most: u64) -> Result<Vec<u8>> {
    let failed = |error: std::io::Error| Error::from(error).within(path.display());
    let file = OsVfs.open(path, OpenMode::Read).map_err(failed)?;
    let length = file.len().map_err(failed)?;
    if length > most {
        let words = format!("{}: more than {most} bytes", path.display());
        return Err(Error::invalid(words));
    }
    let mut bytes = vec![0; length as usize];
    file.read_exact_at(&mut bytes, 0).map_err(failed)?;
    Ok(bytes)
}
