//! The operating system. The only file of the workspace that may use `std::fs`.
#![expect(
    clippy::disallowed_methods,
    reason = "this is the door that the lint points to"
)]

use std::fs::{File, FileType, OpenOptions};
use std::io::{self, Read};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::{FileExt, FileTypeExt, OpenOptionsExt};
use std::path::Path;
use std::sync::Arc;

use rustix::fs::{FlockOperation, OFlags};
use rustix::io::Errno;

use super::{LockGuard, OpenMode, Vfs, VfsFile, is_url};

/// The operating system's files.
#[derive(Clone, Copy, Default, Debug)]
pub struct OsVfs;

impl Vfs for OsVfs {
    fn open(&self, path: &Path, mode: OpenMode) -> io::Result<Arc<dyn VfsFile>> {
        let mut options = OpenOptions::new();
        options.read(true);
        let direct = match mode {
            OpenMode::Read | OpenMode::ReadOwn | OpenMode::CreateNew | OpenMode::ReadWrite => false,
            OpenMode::ReadDirect | OpenMode::WriteDirect => true,
        };
        match mode {
            OpenMode::Read | OpenMode::ReadOwn | OpenMode::ReadDirect => {}
            OpenMode::ReadWrite | OpenMode::WriteDirect => {
                options.write(true);
            }
            OpenMode::CreateNew => {
                options.write(true).create_new(true);
            }
        }
        let follows = matches!(mode, OpenMode::Read | OpenMode::ReadWrite);
        let regular = Regular { options, follows };
        let bypassing = if direct {
            direct::open(path, &regular)?
        } else {
            None
        };
        let direct = bypassing.is_some();
        let file = bypassing.map_or_else(|| regular.open(path, OFlags::empty()), Ok)?;
        Ok(Arc::new(OsFile { file, direct }))
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        std::fs::rename(from, to)
    }

    fn hard_link(&self, from: &Path, to: &Path) -> io::Result<()> {
        std::fs::hard_link(from, to)
    }

    fn remove_file(&self, path: &Path) -> io::Result<()> {
        std::fs::remove_file(path)
    }

    fn remove_dir(&self, path: &Path) -> io::Result<()> {
        std::fs::remove_dir(path)
    }

    fn create_dir_all(&self, path: &Path) -> io::Result<()> {
        local(path).and_then(std::fs::create_dir_all)
    }

    fn list(&self, dir: &Path) -> io::Result<Vec<String>> {
        names_of(dir, |kind| kind.is_file() || kind.is_symlink())
    }

    fn list_others(&self, dir: &Path) -> io::Result<Vec<String>> {
        names_of(dir, |kind| !kind.is_file() && !kind.is_symlink())
    }

    fn exists(&self, path: &Path) -> io::Result<bool> {
        local(path)?.try_exists()
    }

    fn sync_dir(&self, dir: &Path) -> io::Result<()> {
        File::open(dir)?.sync_all()
    }

    fn lock(&self, path: &Path) -> io::Result<Option<Box<dyn LockGuard>>> {
        flock(
            lock_file(path, true)?,
            FlockOperation::NonBlockingLockExclusive,
        )
    }

    fn lock_shared(&self, path: &Path) -> io::Result<Option<Box<dyn LockGuard>>> {
        let file = match lock_file(path, true) {
            Err(error)
                if matches!(
                    error.kind(),
                    io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem
                ) =>
            {
                lock_file(path, false)?
            }
            opened => opened?,
        };
        flock(file, FlockOperation::NonBlockingLockShared)
    }

    fn unique(&self) -> io::Result<[u8; 16]> {
        let mut bytes = [0; 16];
        File::open("/dev/urandom")?.read_exact(&mut bytes)?;
        Ok(bytes)
    }

    fn free_bytes(&self, dir: &Path) -> io::Result<u64> {
        let stat = rustix::fs::statvfs(dir)?;
        Ok(stat.f_bavail.saturating_mul(stat.f_frsize))
    }
}

/// The file of a lock, created where it is to be written.
fn lock_file(path: &Path, writes: bool) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(writes).create(writes);
    let follows = false;
    Regular { options, follows }.open(path, OFlags::empty())
}

fn flock(file: File, how: FlockOperation) -> io::Result<Option<Box<dyn LockGuard>>> {
    match rustix::fs::flock(&file, how) {
        Ok(()) => Ok(Some(Box::new(OsLock { _file: file }))),
        Err(Errno::WOULDBLOCK) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// A path that no URL stands in the place of.
fn local(path: &Path) -> io::Result<&Path> {
    if is_url(path) {
        let words = "a URL, where a directory is needed: publish to object storage from one";
        return Err(io::Error::new(io::ErrorKind::InvalidInput, words));
    }
    Ok(path)
}

/// Names in a directory of what is of a `wanted` type, sorted.
fn names_of(dir: &Path, wanted: impl Fn(FileType) -> bool) -> io::Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in std::fs::read_dir(dir)? {
        let entry = entry?;
        if wanted(entry.file_type()?)
            && let Ok(name) = entry.file_name().into_string()
        {
            names.push(name);
        }
    }
    names.sort_unstable();
    Ok(names)
}

/// How a regular file is opened, and nothing else.
struct Regular {
    options: OpenOptions,
    /// Whether the last part of the path may be a symbolic link.
    follows: bool,
}

impl Regular {
    /// Opens without waiting for whoever is at the other end of a pipe, then looks what it is.
    fn open(&self, path: &Path, more: OFlags) -> io::Result<File> {
        let mut flags = more | OFlags::NONBLOCK | OFlags::NOCTTY;
        if !self.follows {
            flags |= OFlags::NOFOLLOW;
        }
        let opened = self
            .options
            .clone()
            .custom_flags(flags.bits() as i32)
            .open(path);
        let file = match opened {
            Err(error) if is(&error, Errno::LOOP) && !self.follows => {
                return Err(other_than_regular("a symbolic link"));
            }
            // A pipe that nobody reads, a socket, or a device without a driver.
            Err(error) if is(&error, Errno::NXIO) => {
                return Err(other_than_regular("a pipe, a socket or a device"));
            }
            Err(error) if is(&error, Errno::ISDIR) => {
                return Err(other_than_regular("a directory"));
            }
            opened => opened?,
        };
        let kind = file.metadata()?.file_type();
        if !kind.is_file() {
            return Err(other_than_regular(words_of(kind)));
        }
        // Regular files never wait like pipes, but rings give up on those that may not wait.
        let flags = rustix::fs::fcntl_getfl(&file)?;
        rustix::fs::fcntl_setfl(&file, flags - OFlags::NONBLOCK)?;
        Ok(file)
    }
}

fn words_of(kind: FileType) -> &'static str {
    if kind.is_dir() {
        "a directory"
    } else if kind.is_fifo() {
        "a pipe (FIFO)"
    } else if kind.is_socket() {
        "a socket"
    } else {
        "a device"
    }
}

fn other_than_regular(what: &str) -> io::Error {
    let words = format!("it is {what}, and a regular file is needed");
    io::Error::new(io::ErrorKind::InvalidInput, words)
}

fn is(error: &io::Error, errno: Errno) -> bool {
    error.raw_os_error() == Some(errno.raw_os_error())
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

    use super::{Errno, File, FileExt, OFlags, Path, Regular, io, is};
    use crate::AlignedBuffers;

    pub(super) fn open(path: &Path, regular: &Regular) -> io::Result<Option<File>> {
        let file = match regular.open(path, OFlags::DIRECT) {
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
        is(error, Errno::INVAL) || is(error, Errno::OPNOTSUPP)
    }
}

#[cfg(target_vendor = "apple")]
mod direct {
    //! `F_NOCACHE`, which every file system accepts and which asks for no alignment.

    use super::{File, OFlags, Path, Regular, io};

    pub(super) fn open(path: &Path, regular: &Regular) -> io::Result<Option<File>> {
        let file = regular.open(path, OFlags::empty())?;
        match rustix::fs::fcntl_nocache(&file, true) {
            Ok(()) => Ok(Some(file)),
            Err(_) => Ok(None),
        }
    }
}

#[cfg(not(any(target_os = "linux", target_vendor = "apple")))]
mod direct {
    use super::{File, Path, Regular, io};

    pub(super) fn open(_path: &Path, _regular: &Regular) -> io::Result<Option<File>> {
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
        let url = OsVfs.create_dir_all(&root.path().join("s3://bucket/a"));
        assert_eq!(url.unwrap_err().kind(), io::ErrorKind::InvalidInput);
        OsVfs.rename(&a, &b).unwrap();
        OsVfs.sync_dir(root.path()).unwrap();
        assert_eq!(OsVfs.list(root.path()).unwrap(), ["b"]);
        OsVfs.remove_file(&b).unwrap();
        assert!(!OsVfs.exists(&b).unwrap());
        assert!(OsVfs.free_bytes(root.path()).unwrap() > 0);
        assert_ne!(OsVfs.unique().unwrap(), OsVfs.unique().unwrap());
    }

    /// Nothing is at the other end of any of these, and none is waited for.
    #[test]
    fn only_regular_files_are_opened_and_nothing_is_waited_for() {
        let root = tempfile::tempdir().unwrap();
        let at = |name| root.path().join(name);
        let pipe = rustix::fs::FileType::Fifo;
        let mode = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
        rustix::fs::mknodat(rustix::fs::CWD, at("pipe"), pipe, mode, 0).unwrap();
        OsVfs.create_dir_all(&at("directory")).unwrap();
        let _socket = std::os::unix::net::UnixListener::bind(at("socket")).unwrap();
        let null = std::path::PathBuf::from("/dev/null");
        let others = [at("pipe"), at("directory"), at("socket"), null];
        let modes = [
            OpenMode::Read,
            OpenMode::ReadOwn,
            OpenMode::ReadDirect,
            OpenMode::ReadWrite,
            OpenMode::WriteDirect,
        ];
        for path in others {
            for mode in modes {
                let refused = OsVfs.open(&path, mode).unwrap_err();
                let name = path.display();
                assert_eq!(
                    refused.kind(),
                    io::ErrorKind::InvalidInput,
                    "{name} {mode:?}"
                );
                assert!(refused.to_string().contains("regular file"), "{refused}");
            }
            assert!(OsVfs.lock(&path).is_err());
        }
    }

    #[test]
    fn no_file_of_an_index_is_behind_a_link_and_inputs_may_be() {
        let root = tempfile::tempdir().unwrap();
        let at = |name| root.path().join(name);
        let file = OsVfs.open(&at("x"), OpenMode::CreateNew).unwrap();
        file.write_all_at(&[1; 8192], 0).unwrap();
        std::os::unix::fs::symlink(at("x"), at("link")).unwrap();
        for mode in [OpenMode::Read, OpenMode::ReadWrite] {
            assert_eq!(OsVfs.open(&at("link"), mode).unwrap().len().unwrap(), 8192);
        }
        for mode in [
            OpenMode::ReadOwn,
            OpenMode::ReadDirect,
            OpenMode::WriteDirect,
        ] {
            let refused = OsVfs.open(&at("link"), mode).unwrap_err();
            assert!(refused.to_string().contains("symbolic link"), "{refused}");
            assert_eq!(OsVfs.open(&at("x"), mode).unwrap().len().unwrap(), 8192);
        }
        std::os::unix::fs::symlink(at("outside"), at("LOCK")).unwrap();
        assert!(OsVfs.lock(&at("LOCK")).is_err());
        assert!(!OsVfs.exists(&at("outside")).unwrap());
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn files_are_open_for_calls_that_may_wait() {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().join("x");
        OsVfs.open(&path, OpenMode::CreateNew).unwrap();
        for mode in [OpenMode::Read, OpenMode::ReadDirect] {
            let file = OsVfs.open(&path, mode).unwrap();
            let flags = rustix::fs::fcntl_getfl(file.descriptor().unwrap()).unwrap();
            assert!(!flags.contains(OFlags::NONBLOCK), "{mode:?}");
        }
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
