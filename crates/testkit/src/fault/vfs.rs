//! The wrapping file system.

use std::io;
use std::path::Path;
use std::sync::Arc;

use pageway_store::{LockGuard, OpenMode, Vfs, VfsFile};

use super::file::FaultFile;
use super::{Fault, FaultPlan, Operation};

/// A file system whose calls fail by plan.
#[derive(Clone, Debug)]
pub struct FaultVfs {
    inner: Arc<dyn Vfs>,
    plan: FaultPlan,
}

impl FaultVfs {
    /// Wraps `inner`.
    pub fn new(inner: Arc<dyn Vfs>, plan: FaultPlan) -> Self {
        Self { inner, plan }
    }

    /// For calls with a result: the fault's error, if it has one.
    fn check(&self, operation: Operation, path: &Path) -> io::Result<()> {
        let error = self.plan.meet(operation, path).and_then(Fault::error);
        error.map_or(Ok(()), Err)
    }

    /// For calls without a result: these can also be skipped.
    fn run(
        &self,
        operation: Operation,
        path: &Path,
        call: impl FnOnce() -> io::Result<()>,
    ) -> io::Result<()> {
        match self.plan.meet(operation, path) {
            Some(Fault::Skip) => Ok(()),
            fault => fault.and_then(Fault::error).map_or_else(call, Err),
        }
    }
}

impl Vfs for FaultVfs {
    fn open(&self, path: &Path, mode: OpenMode) -> io::Result<Arc<dyn VfsFile>> {
        let create = mode == OpenMode::CreateNew;
        self.check(
            if create {
                Operation::Create
            } else {
                Operation::Open
            },
            path,
        )?;
        let inner = self.inner.open(path, mode)?;
        Ok(Arc::new(FaultFile {
            inner,
            path: path.to_path_buf(),
            plan: self.plan.clone(),
        }))
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.run(Operation::Rename, to, || self.inner.rename(from, to))
    }

    fn hard_link(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.run(Operation::Link, to, || self.inner.hard_link(from, to))
    }

    fn remove_file(&self, path: &Path) -> io::Result<()> {
        self.run(Operation::RemoveFile, path, || self.inner.remove_file(path))
    }

    fn remove_dir(&self, path: &Path) -> io::Result<()> {
        self.run(Operation::RemoveDirectory, path, || {
            self.inner.remove_dir(path)
        })
    }

    fn create_dir_all(&self, path: &Path) -> io::Result<()> {
        self.run(Operation::CreateDirectory, path, || {
            self.inner.create_dir_all(path)
        })
    }

    fn list(&self, dir: &Path) -> io::Result<Vec<String>> {
        self.check(Operation::List, dir)?;
        self.inner.list(dir)
    }

    fn list_others(&self, dir: &Path) -> io::Result<Vec<String>> {
        self.check(Operation::List, dir)?;
        self.inner.list_others(dir)
    }

    fn exists(&self, path: &Path) -> io::Result<bool> {
        self.check(Operation::Exists, path)?;
        self.inner.exists(path)
    }

    fn sync_dir(&self, dir: &Path) -> io::Result<()> {
        self.run(Operation::SyncDirectory, dir, || self.inner.sync_dir(dir))
    }

    fn lock(&self, path: &Path) -> io::Result<Option<Box<dyn LockGuard>>> {
        self.check(Operation::Lock, path)?;
        self.inner.lock(path)
    }

    fn lock_shared(&self, path: &Path) -> io::Result<Option<Box<dyn LockGuard>>> {
        self.check(Operation::Lock, path)?;
        self.inner.lock_shared(path)
    }

    fn unique(&self) -> io::Result<[u8; 16]> {
        self.inner.unique()
    }

    fn free_bytes(&self, dir: &Path) -> io::Result<u64> {
        self.check(Operation::FreeBytes, dir)?;
        self.inner.free_bytes(dir)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::SimVfs;

    fn vfs(plan: &FaultPlan) -> FaultVfs {
        FaultVfs::new(Arc::new(SimVfs::new()), plan.clone())
    }

    #[test]
    fn the_nth_call_fails_once_or_for_ever() {
        let path = Path::new("/a");
        let once = FaultPlan::none().once(Operation::Exists, 1, Fault::Io);
        let outcome: Vec<_> = (0..4).map(|_| vfs(&once).exists(path).is_ok()).collect();
        assert_eq!(outcome, [true, false, true, true]);
        assert_eq!((once.calls(Operation::Exists), once.injected()), (4, 1));
        let always = FaultPlan::none().for_ever(Operation::Exists, 1, Fault::TooManyFiles);
        let outcome: Vec<_> = (0..4).map(|_| vfs(&always).exists(path).is_ok()).collect();
        assert_eq!(outcome, [true, false, false, false]);
    }

    #[test]
    fn short_and_interrupted_transfers_are_completed_by_the_file_trait() {
        let plan = FaultPlan::none()
            .once(Operation::Write, 0, Fault::Short)
            .once(Operation::Write, 1, Fault::Interrupted)
            .once(Operation::Read, 0, Fault::Interrupted)
            .once(Operation::Read, 1, Fault::Short);
        let file = vfs(&plan)
            .open(Path::new("/a"), OpenMode::CreateNew)
            .unwrap();
        file.write_all_at(b"0123456789", 0).unwrap();
        let mut bytes = [0; 10];
        file.read_exact_at(&mut bytes, 0).unwrap();
        assert_eq!(&bytes, b"0123456789");
        assert_eq!(plan.injected(), 4);
    }

    #[test]
    fn skipped_calls_claim_success_on_matching_paths_only() {
        let plan = FaultPlan::none().on_path(Operation::Write, ".pw", Fault::Skip);
        let vfs = vfs(&plan);
        for (name, length) in [("/a.pw", 0), ("/b", 1)] {
            let file = vfs.open(Path::new(name), OpenMode::CreateNew).unwrap();
            file.write_all_at(b"x", 0).unwrap();
            assert_eq!(file.len().unwrap(), length);
        }
    }
}
