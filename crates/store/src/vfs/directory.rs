//! Directories that survive power loss.

use std::path::{Path, PathBuf};

use super::Vfs;
use crate::StoreError;

/// Whether a place is named by a URL, and not a directory.
pub fn is_url(place: &Path) -> bool {
    place.to_str().is_some_and(|text| text.contains("://"))
}

/// Creates `dir` and its missing parents, and makes each new name durable in its parent.
///
/// Costs nothing when the directory exists, else one directory sync per created level.
pub fn create_directory(vfs: &dyn Vfs, dir: &Path) -> Result<(), StoreError> {
    let mut created = Vec::new();
    for level in dir
        .ancestors()
        .filter(|level| !level.as_os_str().is_empty())
    {
        let known = vfs
            .exists(level)
            .map_err(|e| StoreError::io(level, "look up", e))?;
        if known {
            break;
        }
        created.push(level);
    }
    if created.is_empty() {
        return Ok(());
    }
    vfs.create_dir_all(dir)
        .map_err(|e| StoreError::io(dir, "create directory", e))?;
    for level in created.into_iter().rev() {
        let parent = parent_of(level);
        vfs.sync_dir(&parent)
            .map_err(|e| StoreError::io(&parent, "sync directory", e))?;
    }
    Ok(())
}

fn parent_of(path: &Path) -> PathBuf {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent.to_path_buf(),
        _ => PathBuf::from("."),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::OsVfs;

    #[test]
    fn creates_every_level_once() {
        let root = tempfile::tempdir().unwrap();
        let deep = root.path().join("a/b/c");
        create_directory(&OsVfs, &deep).unwrap();
        create_directory(&OsVfs, &deep).unwrap();
        assert!(OsVfs.exists(&deep).unwrap());
    }

    #[test]
    fn a_bare_name_has_the_working_directory_as_parent() {
        assert_eq!(parent_of(Path::new("index")), Path::new("."));
        assert_eq!(parent_of(Path::new("/x/y")), Path::new("/x"));
    }
}
