//! The file system itself.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use pageway_store::{LockGuard, OpenMode, Vfs, VfsFile};

use super::Boundary;
use super::digest::{Digest, mix};
use super::file::SimFile;
use super::state::State;
use crate::SplitMix64;

/// A file system in memory, with an empty root directory `/` at first. Paths are absolute.
///
/// Files that are opened to be written directly are direct, all others go through the page cache.
/// Clones are handles of the same file system.
#[derive(Clone, Debug)]
pub struct SimVfs {
    shared: Arc<Shared>,
}

#[derive(Debug)]
pub(super) struct Shared {
    inner: Mutex<Inner>,
}

#[derive(Debug)]
struct Inner {
    state: State,
    operations: u64,
    boundaries: Option<Vec<Boundary>>,
    /// Syncs until one fails.
    failing_sync: Option<u64>,
    /// Identities given out.
    given: u64,
    /// Files that were opened.
    opened: BTreeSet<usize>,
    /// Who holds each lock: so many that share it, or one alone.
    locked: BTreeMap<PathBuf, u32>,
}

impl Default for SimVfs {
    fn default() -> Self {
        Self::new()
    }
}

impl SimVfs {
    /// An empty file system.
    pub fn new() -> Self {
        Self::from_state(State::empty())
    }

    /// Another file system with what this one holds now, where nothing is locked or recorded.
    #[must_use]
    pub fn fork(&self) -> Self {
        Self::from_state(self.shared.inner().state.clone())
    }

    pub(super) fn from_state(state: State) -> Self {
        let inner = Inner {
            state,
            operations: 0,
            boundaries: None,
            failing_sync: None,
            given: 0,
            opened: BTreeSet::new(),
            locked: BTreeMap::new(),
        };
        Self {
            shared: Arc::new(Shared {
                inner: Mutex::new(inner),
            }),
        }
    }

    /// From now on keeps every moment between two operations; this one is the first.
    pub fn record(&self) {
        let mut inner = self.shared.inner();
        inner.boundaries = Some(Vec::new());
        inner.remember("start of the recording");
    }

    /// The moments recorded so far; recording ends.
    pub fn take_boundaries(&self) -> Vec<Boundary> {
        self.shared.inner().boundaries.take().unwrap_or_default()
    }

    /// Changing operations done so far: the position of an acknowledgement among the boundaries.
    pub fn operations(&self) -> u64 {
        self.shared.inner().operations
    }

    /// Digests of what can be read here.
    pub(super) fn digest(&self) -> Digest {
        let inner = self.shared.inner();
        let mut digest = inner.state.digest();
        // On which the identities to come depend.
        digest.names ^= mix(inner.operations) ^ mix(mix(inner.given));
        digest
    }

    /// The numbers of the files that were opened so far.
    pub(super) fn opened(&self) -> BTreeSet<usize> {
        self.shared.inner().opened.clone()
    }

    /// The sync (of a file or directory) after `skipped` more fails and forgets what was pending;
    /// those after it succeed.
    pub fn fail_sync(&self, skipped: u64) {
        self.shared.inner().failing_sync = Some(skipped);
    }
}

impl Inner {
    fn remember(&mut self, last: &str) {
        if let Some(boundaries) = &mut self.boundaries {
            boundaries.push(Boundary {
                operations: self.operations,
                last: last.to_owned(),
                state: Arc::new(self.state.clone()),
            });
        }
    }
}

impl Shared {
    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn look<T>(&self, look: impl FnOnce(&mut State) -> io::Result<T>) -> io::Result<T> {
        look(&mut self.inner().state)
    }

    /// An operation that changes something: counted, and a boundary follows it.
    pub(super) fn change<T>(
        &self,
        what: &str,
        change: impl FnOnce(&mut State) -> io::Result<T>,
    ) -> io::Result<T> {
        let mut inner = self.inner();
        let result = change(&mut inner.state)?;
        inner.operations += 1;
        inner.remember(what);
        Ok(result)
    }

    pub(super) fn sync_fails(&self) -> bool {
        let left = &mut self.inner().failing_sync;
        let fails = *left == Some(0);
        *left = left.and_then(|left| left.checked_sub(1));
        fails
    }
}

impl Vfs for SimVfs {
    fn open(&self, path: &Path, mode: OpenMode) -> io::Result<Arc<dyn VfsFile>> {
        let name = path.display().to_string();
        let number = if mode == OpenMode::CreateNew {
            self.shared
                .change(&format!("create {name}"), |state| state.create(path))?
        } else {
            self.shared.look(|state| state.file_number(path))?
        };
        self.shared.inner().opened.insert(number);
        let direct = mode == OpenMode::WriteDirect;
        let writable = direct || matches!(mode, OpenMode::ReadWrite | OpenMode::CreateNew);
        Ok(Arc::new(SimFile {
            shared: Arc::clone(&self.shared),
            number,
            name,
            writable,
            direct,
        }))
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        let what = format!("rename {} to {}", from.display(), to.display());
        self.shared.change(&what, |state| state.rename(from, to))
    }

    fn hard_link(&self, from: &Path, to: &Path) -> io::Result<()> {
        let what = format!("link {} to {}", from.display(), to.display());
        self.shared.change(&what, |state| state.link(from, to))
    }

    fn remove_file(&self, path: &Path) -> io::Result<()> {
        self.shared
            .change(&format!("remove {}", path.display()), |state| {
                state.file_number(path)?;
                state.names.remove(path);
                Ok(())
            })
    }

    fn remove_dir(&self, path: &Path) -> io::Result<()> {
        let what = format!("remove directory {}", path.display());
        self.shared
            .change(&what, |state| state.remove_directory(path))
    }

    fn create_dir_all(&self, path: &Path) -> io::Result<()> {
        let what = format!("create directory {}", path.display());
        self.shared
            .change(&what, |state| state.create_directories(path))
    }

    fn list(&self, dir: &Path) -> io::Result<Vec<String>> {
        self.shared.look(|state| state.list(dir))
    }

    fn exists(&self, path: &Path) -> io::Result<bool> {
        self.shared
            .look(|state| Ok(state.names.get(path).is_some()))
    }

    fn sync_dir(&self, dir: &Path) -> io::Result<()> {
        let failing = self.shared.sync_fails();
        self.shared
            .change(&format!("sync directory {}", dir.display()), |state| {
                state.directory(dir)?;
                if failing {
                    state.names.forget_pending(dir);
                } else {
                    state.names.sync(dir);
                }
                Ok(())
            })?;
        if failing {
            Err(io::Error::other("injected sync failure"))
        } else {
            Ok(())
        }
    }

    fn lock(&self, path: &Path) -> io::Result<Option<Box<dyn LockGuard>>> {
        self.take_lock(path, ALONE)
    }

    fn lock_shared(&self, path: &Path) -> io::Result<Option<Box<dyn LockGuard>>> {
        self.take_lock(path, 1)
    }

    fn unique(&self) -> io::Result<[u8; 16]> {
        let mut inner = self.shared.inner();
        inner.given += 1;
        let place = inner.operations << 32 | inner.given;
        let mut random = SplitMix64::new(place);
        let (high, low) = (random.next_u64(), random.next_u64());
        Ok((u128::from(high) << 64 | u128::from(low)).to_le_bytes())
    }

    fn free_bytes(&self, dir: &Path) -> io::Result<u64> {
        self.shared.look(|state| state.directory(dir))?;
        Ok(1 << 40)
    }
}

/// Holders of a lock that one has alone.
const ALONE: u32 = u32::MAX;

impl SimVfs {
    fn take_lock(&self, path: &Path, holders: u32) -> io::Result<Option<Box<dyn LockGuard>>> {
        if !self.exists(path)? {
            self.open(path, OpenMode::CreateNew)?;
        }
        let path = path.to_path_buf();
        let mut inner = self.shared.inner();
        let known = inner.locked.entry(path.clone()).or_default();
        let Some(all) = known.checked_add(holders) else {
            return Ok(None);
        };
        *known = all;
        drop(inner);
        Ok(Some(Box::new(SimLock {
            shared: Arc::clone(&self.shared),
            path,
            holders,
        })))
    }
}

#[derive(Debug)]
struct SimLock {
    shared: Arc<Shared>,
    path: PathBuf,
    holders: u32,
}

impl LockGuard for SimLock {}

impl Drop for SimLock {
    fn drop(&mut self) {
        let mut inner = self.shared.inner();
        if let Some(holders) = inner.locked.get_mut(&self.path) {
            *holders -= self.holders;
        }
    }
}

#[cfg(test)]
mod tests {
    use pageway_store::AlignedBuffers;

    use super::*;

    fn write(vfs: &SimVfs, name: &str, bytes: &[u8]) -> Arc<dyn VfsFile> {
        let file = vfs.open(Path::new(name), OpenMode::CreateNew).unwrap();
        file.write_all_at(bytes, 0).unwrap();
        file
    }

    fn read(vfs: &SimVfs, name: &str) -> Option<Vec<u8>> {
        let file = vfs.open(Path::new(name), OpenMode::Read).ok()?;
        let mut bytes = vec![0; usize::try_from(file.len().unwrap()).unwrap()];
        file.read_exact_at(&mut bytes, 0).unwrap();
        Some(bytes)
    }

    /// Distinct fates of a file over many images of the last moment.
    fn fates(vfs: &SimVfs, name: &str) -> BTreeSet<Option<Vec<u8>>> {
        let boundaries = vfs.take_boundaries();
        let last = boundaries.last().unwrap();
        last.images(64, 1).map(|image| read(&image, name)).collect()
    }

    #[test]
    fn a_fork_holds_the_same_and_goes_its_own_way() {
        let vfs = SimVfs::new();
        let file = write(&vfs, "/a", b"x");
        let fork = vfs.fork();
        file.write_all_at(b"y", 0).unwrap();
        write(&fork, "/b", b"z");
        assert_eq!(read(&fork, "/a"), Some(b"x".to_vec()));
        assert_eq!(read(&vfs, "/a"), Some(b"y".to_vec()));
        assert_eq!(read(&vfs, "/b"), None);
    }

    #[test]
    fn bytes_and_names_need_their_own_sync() {
        let cases = [
            (false, false, 3),
            (true, false, 2),
            (false, true, 2),
            (true, true, 1),
        ];
        for (file_synced, directory_synced, expected) in cases {
            let vfs = SimVfs::new();
            vfs.record();
            let file = write(&vfs, "/a", b"x");
            if file_synced {
                file.sync_data().unwrap();
            }
            if directory_synced {
                vfs.sync_dir(Path::new("/")).unwrap();
            }
            let mut fates = fates(&vfs, "/a");
            fates.remove(&Some(b"\0".to_vec()));
            assert_eq!(
                fates.len(),
                expected,
                "{file_synced} {directory_synced}: {fates:?}"
            );
        }
    }

    #[test]
    fn a_rename_is_atomic_and_pending_until_the_directory_is_synced() {
        let vfs = SimVfs::new();
        write(&vfs, "/a", b"old").sync_data().unwrap();
        write(&vfs, "/b", b"new").sync_data().unwrap();
        vfs.sync_dir(Path::new("/")).unwrap();
        vfs.record();
        vfs.rename(Path::new("/b"), Path::new("/a")).unwrap();
        let both = BTreeSet::from([Some(b"old".to_vec()), Some(b"new".to_vec())]);
        assert_eq!(fates(&vfs, "/a"), both);
        vfs.sync_dir(Path::new("/")).unwrap();
        vfs.record();
        assert_eq!(fates(&vfs, "/a"), BTreeSet::from([Some(b"new".to_vec())]));
    }

    #[test]
    fn a_failed_sync_loses_what_was_pending_for_good() {
        let vfs = SimVfs::new();
        vfs.record();
        let file = write(&vfs, "/a", b"x");
        vfs.sync_dir(Path::new("/")).unwrap();
        vfs.fail_sync(0);
        assert!(file.sync_data().is_err());
        file.sync_data().unwrap();
        assert_eq!(read(&vfs, "/a").unwrap(), b"x");
        assert_eq!(fates(&vfs, "/a"), BTreeSet::from([Some(Vec::new())]));
    }

    #[test]
    fn names_vanish_with_an_unsynced_directory() {
        let vfs = SimVfs::new();
        vfs.create_dir_all(Path::new("/d/e")).unwrap();
        write(&vfs, "/d/e/a", b"x").sync_data().unwrap();
        vfs.sync_dir(Path::new("/d/e")).unwrap();
        vfs.record();
        assert!(fates(&vfs, "/d/e/a").contains(&None));
        for dir in ["/d", "/"] {
            vfs.sync_dir(Path::new(dir)).unwrap();
        }
        vfs.record();
        assert_eq!(fates(&vfs, "/d/e/a").len(), 1);
    }

    #[test]
    fn it_behaves_as_a_file_system() {
        let vfs = SimVfs::new();
        let kind = |result: io::Result<Arc<dyn VfsFile>>| result.unwrap_err().kind();
        vfs.create_dir_all(Path::new("/d")).unwrap();
        write(&vfs, "/d/a", b"x");
        let path = Path::new("/d/a");
        assert_eq!(
            kind(vfs.open(path, OpenMode::CreateNew)),
            io::ErrorKind::AlreadyExists
        );
        let reader = vfs.open(path, OpenMode::Read).unwrap();
        assert!(reader.write_at(b"y", 0).is_err());
        assert!(vfs.remove_dir(Path::new("/d")).is_err());
        vfs.remove_file(path).unwrap();
        assert_eq!(
            kind(vfs.open(path, OpenMode::Read)),
            io::ErrorKind::NotFound
        );
        assert_eq!(reader.len().unwrap(), 1);
        let lock = vfs.lock(path).unwrap();
        assert!(lock.is_some() && vfs.lock(path).unwrap().is_none());
        drop(lock);
        assert!(vfs.lock(path).unwrap().is_some());
    }

    #[test]
    fn direct_writes_keep_to_device_sectors_and_need_a_sync() {
        let vfs = SimVfs::new();
        write(&vfs, "/a", &[1; 1024]).sync_data().unwrap();
        vfs.sync_dir(Path::new("/")).unwrap();
        let file = vfs.open(Path::new("/a"), OpenMode::WriteDirect).unwrap();
        let mut memory = AlignedBuffers::new(1, 1024).unwrap();
        memory.get_mut(0).fill(2);
        let bytes = memory.get(0);
        assert!(file.direct());
        for (from, to, offset) in [(1, 513, 0), (0, 511, 0), (0, 512, 1)] {
            let error = file.write_at(&bytes[from..to], offset).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::InvalidInput);
        }
        vfs.record();
        file.write_all_at(bytes, 0).unwrap();
        assert_eq!(fates(&vfs, "/a").len(), 4);
        file.sync_data().unwrap();
        vfs.record();
        assert_eq!(fates(&vfs, "/a"), BTreeSet::from([Some(vec![2; 1024])]));
    }

    #[test]
    fn a_file_that_grew_may_be_short_again_until_it_is_synced() {
        let vfs = SimVfs::new();
        let file = write(&vfs, "/a", b"x");
        file.sync_data().unwrap();
        vfs.sync_dir(Path::new("/")).unwrap();
        vfs.record();
        file.allocate(3).unwrap();
        let both = BTreeSet::from([Some(b"x".to_vec()), Some(b"x\0\0".to_vec())]);
        assert_eq!(fates(&vfs, "/a"), both);
        file.allocate(2).unwrap();
        file.sync_data().unwrap();
        vfs.record();
        assert_eq!(fates(&vfs, "/a"), BTreeSet::from([Some(b"x\0\0".to_vec())]));
        file.set_len(1).unwrap();
        vfs.record();
        assert_eq!(fates(&vfs, "/a"), both);
    }
}
