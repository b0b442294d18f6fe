//! Writing and reading the manifest.

use std::io::ErrorKind;
use std::path::Path;

use super::container::{self, MANIFEST_HEADER_BYTES, MAX_MANIFEST_BYTES};
use super::{MANIFEST_FILE, MANIFEST_TMP_FILE};
use crate::{OpenMode, StoreError, Vfs, is_url};

/// Makes `payload` the current manifest of `dir`, atomically.
///
/// The caller has finished (and so synced) every file that the payload names, and holds the lock.
/// When this returns `Ok` the new manifest survives a crash. After an error it is unknown whether
/// the old or the new one is current: stop writing, and find out by reading. Costs two directory
/// syncs and a file sync.
pub fn commit_manifest(vfs: &dyn Vfs, dir: &Path, payload: &[u8]) -> Result<(), StoreError> {
    let file = container::encode(payload)?;
    let (temporary, manifest) = (dir.join(MANIFEST_TMP_FILE), dir.join(MANIFEST_FILE));
    sync_dir(vfs, dir)?;
    write_new(vfs, &temporary, &file)?;
    vfs.rename(&temporary, &manifest)
        .map_err(|e| StoreError::io(&manifest, "rename", e))?;
    sync_dir(vfs, dir)
}

/// The payload of the current manifest of `dir`.
///
/// `NotFound` when there is none, `Corrupt` when it is damaged, `Incompatible` when this build does
/// not read its version.
pub fn read_manifest(vfs: &dyn Vfs, dir: &Path) -> Result<Vec<u8>, StoreError> {
    let path = dir.join(MANIFEST_FILE);
    let file = vfs
        .open(&path, OpenMode::ReadOwn)
        .map_err(|error| absent((vfs, dir), &path, error))?;
    let length = file
        .len()
        .map_err(|e| StoreError::io(&path, "ask the length", e))?;
    let limit = (MANIFEST_HEADER_BYTES + MAX_MANIFEST_BYTES) as u64;
    if length > limit {
        return Err(StoreError::Corrupt {
            path,
            page: None,
            offset: 0,
            what: "manifest larger than any that is written",
            expected: limit,
            found: length,
        });
    }
    let mut bytes = vec![0; usize::try_from(length).unwrap_or_default()];
    file.read_exact_at(&mut bytes, 0)
        .map_err(|e| StoreError::io(&path, "read", e))?;
    container::decode(&path, bytes)
}

fn write_new(vfs: &dyn Vfs, path: &Path, bytes: &[u8]) -> Result<(), StoreError> {
    match vfs.remove_file(path) {
        Err(error) if error.kind() == ErrorKind::IsADirectory => vfs.remove_dir(path),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        removed => removed,
    }
    .map_err(|e| StoreError::io(path, "remove", e))?;
    let file = vfs
        .open(path, OpenMode::CreateNew)
        .map_err(|e| StoreError::io(path, "create", e))?;
    file.write_all_at(bytes, 0)
        .map_err(|e| StoreError::io(path, "write", e))?;
    file.sync_data()
        .map_err(|e| StoreError::io(path, "sync", e))
}

fn sync_dir(vfs: &dyn Vfs, dir: &Path) -> Result<(), StoreError> {
    vfs.sync_dir(dir)
        .map_err(|e| StoreError::io(dir, "sync directory", e))
}

fn absent((vfs, dir): (&dyn Vfs, &Path), path: &Path, error: std::io::Error) -> StoreError {
    if error.kind() == ErrorKind::NotFound {
        let absent = |what| StoreError::NotFound {
            path: dir.to_path_buf(),
            what,
        };
        if is_url(dir) {
            return absent("no index here: a URL, where a directory is needed");
        }
        match vfs.exists(dir) {
            Ok(true) => {}
            Ok(false) => return absent("no index here: there is no such directory"),
            Err(error) => return StoreError::io(dir, "look for", error),
        }
        let what =
            "no index here: there is no manifest, so no build has finished in this directory";
        return StoreError::NotFound {
            path: path.to_path_buf(),
            what,
        };
    }
    StoreError::io(path, "open", error)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::OsVfs;

    #[test]
    fn the_latest_commit_is_read_and_leftovers_do_not_disturb() {
        let root = tempfile::tempdir().unwrap();
        let dir = root.path();
        let absent = read_manifest(&OsVfs, dir).unwrap_err();
        assert!(
            absent.to_string().contains("no build has finished"),
            "{absent}"
        );
        let nowhere = read_manifest(&OsVfs, &dir.join("nowhere")).unwrap_err();
        let words = nowhere.to_string();
        assert!(
            words.contains("nowhere") && words.contains("no such directory"),
            "{words}"
        );
        commit_manifest(&OsVfs, dir, b"one").unwrap();
        let leftover = OsVfs
            .open(&dir.join(MANIFEST_TMP_FILE), OpenMode::CreateNew)
            .unwrap();
        leftover.write_all_at(&[1; 9000], 0).unwrap();
        commit_manifest(&OsVfs, dir, b"two").unwrap();
        OsVfs.create_dir_all(&dir.join(MANIFEST_TMP_FILE)).unwrap();
        commit_manifest(&OsVfs, dir, b"two").unwrap();
        assert_eq!(read_manifest(&OsVfs, dir).unwrap(), b"two");
        assert_eq!(OsVfs.list(dir).unwrap(), [MANIFEST_FILE]);
    }
}
