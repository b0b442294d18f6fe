//! Files that no manifest names: what a killed build or a replaced index leaves behind.

use std::path::Path;

use super::MANIFEST_TMP_FILE;
use crate::{DATA_EXTENSION, StoreError, Vfs};

/// Removes data files and temporary manifests of `dir` that `keeps` does not hold of, and returns
/// their names. Only regular files and links named `*.pw` and `MANIFEST.tmp` are ours to remove (of
/// a link the link alone); anything else in the directory belongs to somebody else.
///
/// The caller holds the lock, and `keeps` knows the current manifest. Not synced: an orphan
/// that a crash brings back is removed next time.
pub fn remove_orphans(
    vfs: &dyn Vfs,
    dir: &Path,
    keeps: impl Fn(&str) -> bool,
) -> Result<Vec<String>, StoreError> {
    let names = vfs.list(dir).map_err(|e| StoreError::io(dir, "list", e))?;
    let mut removed = Vec::new();
    for name in names
        .into_iter()
        .filter(|name| is_ours(name) && !keeps(name))
    {
        let path = dir.join(&name);
        vfs.remove_file(&path)
            .map_err(|e| StoreError::io(&path, "remove", e))?;
        removed.push(name);
    }
    Ok(removed)
}

fn is_ours(name: &str) -> bool {
    name == MANIFEST_TMP_FILE || name.ends_with(DATA_EXTENSION)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{OpenMode, OsVfs};

    #[test]
    fn only_unnamed_files_of_ours_go() {
        let root = tempfile::tempdir().unwrap();
        let dir = root.path();
        for name in [
            "a.pw",
            "b.pw",
            "MANIFEST",
            "MANIFEST.tmp",
            "LOCK",
            "thesis.txt",
            "pw",
        ] {
            OsVfs.open(&dir.join(name), OpenMode::CreateNew).unwrap();
        }
        OsVfs.create_dir_all(&dir.join("photos.pw")).unwrap();
        for (name, target) in [("c.pw", "thesis.txt"), ("d.pw", "/nowhere")] {
            std::os::unix::fs::symlink(target, dir.join(name)).unwrap();
        }
        let removed = remove_orphans(&OsVfs, dir, |name| name == "a.pw").unwrap();
        assert_eq!(removed, ["MANIFEST.tmp", "b.pw", "c.pw", "d.pw"]);
        assert_eq!(
            OsVfs.list(dir).unwrap(),
            ["LOCK", "MANIFEST", "a.pw", "pw", "thesis.txt"]
        );
        assert!(OsVfs.exists(&dir.join("photos.pw")).unwrap());
    }
}
