//! The operating system. The only file of the workspace that may use `std::fs`.
#![expect(
    clippy::disallowed_methods,
    reason = "this is the door that the lint points to"
)]

use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::Arc;

use rustix::fs::FlockOperation;

use super::{LockGuard, OpenMode, Vfs, VfsFile};

/// The operating system's files.
#[derive(Clone, Copy, Default, Debug)]
pub struct OsVfs;

impl Vfs for OsVfs {
    fn open(&self, path: &Path, mode: OpenMode) -> io::Result<Arc<dyn VfsFile>> {
        let mut options = OpenOptions::new();
        options.read(true);
        let file = match mode {
            OpenMode::Read => options.open(path)?,
            OpenMode::ReadWrite => options.write(true).open(path)?,
            OpenMode::CreateNew => options.write(true).create_new(true).open(path)?,
            OpenMode::ReadDirect | OpenMode::WriteDirect => {
                options.write(mode == OpenMode::WriteDirect);
                match direct::open(path, &options)? {
                    Some(file) => return Ok(Arc::new(OsFile { file, direct: true })),
                    None => options.open(path)?,
                }
            }
        };
        Ok(Arc::new(OsFile {
            file,
            direct: false,
        }))
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        std::fs::rename(from, to)
    }

    fn remove_file(&self, path: &Path) -> io::Result<()> {
        std::fs::remove_file(path)
    }

    fn remove_dir(&self, path: &Path) -> io::Result<()> {
        std::fs::remove_dir(path)
    }

    fn create_dir_all(&self, path: &Path) -> io::Result<()> {
        std::fs::create_dir_all(path)
    }

    fn list(&self, dir: &Path) -> io::Result<Vec<String>> {
        let mut names = Vec::new();
        for entry in std::fs::read_dir(dir)? {
            let entry = entry?;
            if entry.file_type()?.is_file()
                && let Ok(name) = entry.file_name().into_string()
            {
                names.push(name);
            }
        }
        names.sort_unstable();
        Ok(names)
    }

    fn exists(&self, path: &Path) -> io::Result<bool> {
        path.try_exists()
    }

    fn sync_dir(&self, dir: &Path) -> io::Result<()> {
        File::open(dir)?.sync_all()
    }

    fn lock(&self, path: &Path) -> io::Result<Option<Box<dyn LockGuard>>> {
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(path)?;
        match rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => Ok(Some(Box::new(OsLock { _file: file }))),
            Err(rustix::io::Errno::WOULDBLOCK) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    fn free_bytes(&self, dir: &Path) -> io::Result<u64> {
        let stat = rustix::fs::statvfs(dir)?;
        Ok(stat.f_bavail.saturating_mul(stat.f_frsize))
    }
}

/// Closing the descriptor gives the lock back, also when the process dies.
#[derive(Debug)]
struct OsLock {
    _file: File,
}

impl LockGuard for OsLock {}

#[derive(Debug)]
struct OsFile {
    file: File,
    direct: bool,
}

impl VfsFile for OsFile {
    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<usize> {
        self.file.read_at(buf, offset)
    }

    fn write_at(&self, buf: &[u8], offset: u64) -> io::Result<usize> {
        self.file.write_at(buf, offset)
    }

    fn sync_data(&self) -> io::Result<()> {
        self.file.sync_data()
    }

    fn len(&self) -> io::Result<u64> {
        Ok(self.file.metadata()?.len())
    }

    fn set_len(&self, bytes: u64) -> io::Result<()> {
        self.file.set_len(bytes)
    }

    fn allocate(&self, bytes: u64) -> io::Result<()> {
        if space::set_aside(&self.file, bytes)? || self.len()? >= bytes {
            return Ok(());
        }
        self.set_len(bytes)
    }

    fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        Some(self.file.as_fd())
    }

    fn direct(&self) -> bool {
        self.direct
    }
}

#[cfg(target_os = "linux")]
mod direct {
    //! `O_DIRECT`. Some file systems refuse it when opening, some only when reading: both are
    //! tried here, so that the first query cannot be the one to find out.

    use std::os::unix::fs::OpenOptionsExt;

    use super::{File, FileExt, OpenOptions, Path, io};
    use crate::AlignedBuffers;

    pub(super) fn open(path: &Path, options: &OpenOptions) -> io::Result<Option<File>> {
        let flags = rustix::fs::OFlags::DIRECT.bits() as i32;
        let file = match options.clone().custom_flags(flags).open(path) {
            Ok(file) => file,
            Err(error) if refused(&error) => return Ok(None),
            Err(error) => return Err(error),
        };
        let mut first_page = AlignedBuffers::new(1, 4096)?;
        match file.read_at(first_page.get_mut(0), 0) {
            Err(error) if refused(&error) => Ok(None),
            _ => Ok(Some(file)),
        }
    }

    fn refused(error: &io::Error) -> bool {
        let refusals = [rustix::io::Errno::INVAL, rustix::io::Errno::OPNOTSUPP];
        refusals
            .iter()
            .any(|errno| error.raw_os_error() == Some(errno.raw_os_error()))
    }
}

#[cfg(target_vendor = "apple")]
mod direct {
    //! `F_NOCACHE`, which every file system accepts and which asks for no alignment.

    use super::{File, OpenOptions, Path, io};

    pub(super) fn open(path: &Path, options: &OpenOptions) -> io::Result<Option<File>> {
        let file = options.open(path)?;
        match rustix::fs::fcntl_nocache(&file, true) {
            Ok(()) => Ok(Some(file)),
            Err(_) => Ok(None),
        }
    }
}

#[cfg(not(any(target_os = "linux", target_vendor = "apple")))]
mod direct {
    use super::{File, OpenOptions, Path, io};

    pub(super) fn open(_path: &Path, _options: &OpenOptions) -> io::Result<Option<File>> {
        Ok(None)
    }
}

#[cfg(target_os = "linux")]
mod space {
    //! `fallocate`, which some file systems do not have.

    use rustix::fs::FallocateFlags;
    use rustix::io::Errno;

    use super::{File, io};

    /// False where the file system cannot set space aside; nothing has changed then.
    pub(super) fn set_aside(file: &File, bytes: u64) -> io::Result<bool> {
        if bytes == 0 {
            return Ok(true);
        }
        let ask = || rustix::fs::fallocate(file, FallocateFlags::empty(), 0, bytes);
        match rustix::io::retry_on_intr(ask) {
            Ok(()) => Ok(true),
            Err(Errno::OPNOTSUPP | Errno::NOSYS) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }
}

#[cfg(not(target_os = "linux"))]
mod space {
    use super::{File, io};

    pub(super) fn set_aside(_file: &File, _bytes: u64) -> io::Result<bool> {
        Ok(false)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_written_read_listed_renamed_and_removed() {
        let root = tempfile::tempdir().unwrap();
        let (a, b) = (root.path().join("a"), root.path().join("b"));
        let file = OsVfs.open(&a, OpenMode::CreateNew).unwrap();
        file.write_all_at(b"hello", 3).unwrap();
        file.sync_data().unwrap();
        assert_eq!(file.len().unwrap(), 8);
        let mut bytes = [9u8; 8];
        file.read_exact_at(&mut bytes, 0).unwrap();
        assert_eq!(&bytes, b"\0\0\0hello");
        let late = file.read_exact_at(&mut bytes, 1).unwrap_err();
        assert_eq!(late.kind(), io::ErrorKind::UnexpectedEof);
        let taken = OsVfs.open(&a, OpenMode::CreateNew).unwrap_err();
        assert_eq!(taken.kind(), io::ErrorKind::AlreadyExists);
        OsVfs
            .create_dir_all(&root.path().join("subdirectory"))
            .unwrap();
        OsVfs.rename(&a, &b).unwrap();
        OsVfs.sync_dir(root.path()).unwrap();
        assert_eq!(OsVfs.list(root.path()).unwrap(), ["b"]);
        OsVfs.remove_file(&b).unwrap();
        assert!(!OsVfs.exists(&b).unwrap());
        assert!(OsVfs.free_bytes(root.path()).unwrap() > 0);
    }

    #[test]
    fn a_lock_is_exclusive_until_dropped() {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().join("LOCK");
        let first = OsVfs.lock(&path).unwrap();
        assert!(first.is_some());
        assert!(OsVfs.lock(&path).unwrap().is_none());
        drop(first);
        assert!(OsVfs.lock(&path).unwrap().is_some());
    }

    #[test]
    fn direct_reads_return_the_same_bytes() {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().join("x");
        let bytes: Vec<u8> = (0..8192u32).map(|i| (i % 251) as u8).collect();
        let file = OsVfs.open(&path, OpenMode::CreateNew).unwrap();
        file.write_all_at(&bytes, 0).unwrap();
        let direct = OsVfs.open(&path, OpenMode::ReadDirect).unwrap();
        let mut buffers = crate::AlignedBuffers::new(1, 4096).unwrap();
        direct.read_exact_at(buffers.get_mut(0), 4096).unwrap();
        assert_eq!(buffers.get(0), &bytes[4096..]);
    }

    #[test]
    fn direct_writes_land_where_they_should() {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().join("x");
        let created = OsVfs.open(&path, OpenMode::CreateNew).unwrap();
        created.write_all_at(&[1; 3 * 4096], 0).unwrap();
        let direct = OsVfs.open(&path, OpenMode::WriteDirect).unwrap();
        let mut buffers = crate::AlignedBuffers::new(1, 4096).unwrap();
        buffers.get_mut(0).fill(2);
        direct.write_all_at(buffers.get(0), 4096).unwrap();
        direct.sync_data().unwrap();
        let mut bytes = vec![0; 3 * 4096];
        created.read_exact_at(&mut bytes, 0).unwrap();
        for (at, expected) in [(0, 1), (4096, 2), (8192, 1)] {
            assert!(bytes[at..at + 4096].iter().all(|&byte| byte == expected));
        }
    }

    #[test]
    fn space_set_aside_is_zeros_and_never_cuts() {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().join("x");
        let file = OsVfs.open(&path, OpenMode::CreateNew).unwrap();
        file.write_all_at(&[1; 5000], 0).unwrap();
        for (bytes, length) in [(0, 5000), (4096, 5000), (1 << 20, 1 << 20)] {
            file.allocate(bytes).unwrap();
            assert_eq!(file.len().unwrap(), length);
        }
        let mut bytes = vec![9; 1 << 20];
        file.read_exact_at(&mut bytes, 0).unwrap();
        assert!(bytes[..5000].iter().all(|&byte| byte == 1));
        assert!(bytes[5000..].iter().all(|&byte| byte == 0));
    }
}
