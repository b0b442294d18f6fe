//! Where the log of an index lies.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use pageway_store::{LOG_EXTENSION, Vfs};

use crate::error::{Error, Result};

/// The folder of the log, in the directory of the index.
const LOG_FOLDER: &str = "log";

/// Where the log of the index in `dir` lies.
pub(crate) fn log_dir(dir: &Path) -> PathBuf {
    dir.join(LOG_FOLDER)
}

/// Removes a log that no manifest names. The caller holds the lock.
pub(crate) fn remove_log(vfs: &dyn Vfs, dir: &Path) -> Result<()> {
    let dir = log_dir(dir);
    let failed = |error| Error::from(error).within(dir.display());
    let names = match vfs.list(&dir) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        listed => listed.map_err(failed)?,
    };
    for name in names {
        if name.ends_with(LOG_EXTENSION) {
            vfs.remove_file(&dir.join(name)).map_err(failed)?;
        }
    }
    Ok(())
}
