//! A file system whose reads of index files arrive in another order each time: each waits for a
//! while that looks random. It has no descriptors, so they are made by threads.

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use pageway::lab::{OpenMode, VfsFile};
use pageway::{OsVfs, Vfs};
use pageway_store::LockGuard;

/// Longest wait of a read.
const MAX_WAIT_MICROSECONDS: u64 = 120;

#[derive(Debug, Default)]
pub struct LateVfs;

#[derive(Debug)]
struct LateFile {
    file: Arc<dyn VfsFile>,
    reads: AtomicU64,
}

impl Vfs for LateVfs {
    fn open(&self, path: &Path, mode: OpenMode) -> io::Result<Arc<dyn VfsFile>> {
        let file = OsVfs.open(path, mode)?;
        let reads = AtomicU64::new(0);
        Ok(Arc::new(LateFile { file, reads }))
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        OsVfs.rename(from, to)
    }

    fn remove_file(&self, path: &Path) -> io::Result<()> {
        OsVfs.remove_file(path)
    }

    fn remove_dir(&self, path: &Path) -> io::Result<()> {
        OsVfs.remove_dir(path)
    }

    fn create_dir_all(&self, path: &Path) -> io::Result<()> {
        OsVfs.create_dir_all(path)
    }

    fn list(&self, dir: &Path) -> io::Result<Vec<String>> {
        OsVfs.list(dir)
    }

    fn exists(&self, path: &Path) -> io::Result<bool> {
        OsVfs.exists(path)
    }

    fn sync_dir(&self, dir: &Path) -> io::Result<()> {
        OsVfs.sync_dir(dir)
    }

    fn lock(&self, path: &Path) -> io::Result<Option<Box<dyn LockGuard>>> {
        OsVfs.lock(path)
    }

    fn lock_shared(&self, path: &Path) -> io::Result<Option<Box<dyn LockGuard>>> {
        OsVfs.lock_shared(path)
    }

    fn unique(&self) -> io::Result<[u8; 16]> {
        OsVfs.unique()
    }

    fn free_bytes(&self, dir: &Path) -> io::Result<u64> {
        OsVfs.free_bytes(dir)
    }
}

impl VfsFile for LateFile {
    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<usize> {
        let turn = self.reads.fetch_add(1, Ordering::Relaxed);
        let mixed = (turn ^ offset).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 40;
        std::thread::sleep(Duration::from_micros(mixed % MAX_WAIT_MICROSECONDS));
        self.file.read_at(buf, offset)
    }

    fn write_at(&self, buf: &[u8], offset: u64) -> io::Result<usize> {
        self.file.write_at(buf, offset)
    }

    fn sync_data(&self) -> io::Result<()> {
        self.file.sync_data()
    }

    fn len(&self) -> io::Result<u64> {
        self.file.len()
    }

    fn set_len(&self, bytes: u64) -> io::Result<()> {
        self.file.set_len(bytes)
    }

    fn direct(&self) -> bool {
        self.file.direct()
    }
}
