//! The traits. Paths are those of the host; offsets and lengths are bytes.

use std::fmt::Debug;
use std::io;
use std::os::fd::BorrowedFd;
use std::path::Path;
use std::sync::Arc;

/// How a file is opened. Opening never waits, and gives regular files alone; what has a place in an
/// index is not looked for behind a symbolic link.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum OpenMode {
    /// Existing file, reads through the page cache. May be a symbolic link to one.
    Read,
    /// Existing file of an index, reads through the page cache.
    ReadOwn,
    /// Existing file of an index, reads that bypass the page cache where the file system can:
    /// buffers, offsets and lengths must be multiples of 4096. `VfsFile::direct` tells whether it
    /// worked.
    ReadDirect,
    /// Existing file, reads and writes. May be a symbolic link to one.
    ReadWrite,
    /// Existing file of an index, reads and writes that bypass the page cache where the file system
    /// can, with the alignment that `ReadDirect` asks for. What was written still needs
    /// `sync_data`: the device has a cache of its own, and the file system a journal.
    WriteDirect,
    /// A file that must not exist yet, reads and writes.
    CreateNew,
}

/// A file system.
pub trait Vfs: Send + Sync + Debug {
    /// Opens or creates a file. A created file's name is durable only after `sync_dir`.
    /// `InvalidInput` for a pipe, a device, a directory or another thing that is no regular file.
    fn open(&self, path: &Path, mode: OpenMode) -> io::Result<Arc<dyn VfsFile>>;

    /// Renames a file within its directory, replacing `to`. Atomic; durable after `sync_dir`.
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()>;

    /// Gives a file a second name, in a directory of the same file system. `Unsupported` where
    /// there is no such thing. Durable after `sync_dir`.
    fn hard_link(&self, from: &Path, to: &Path) -> io::Result<()> {
        let _ = (from, to);
        Err(io::ErrorKind::Unsupported.into())
    }

    /// Removes a file's name. Open files stay readable.
    fn remove_file(&self, path: &Path) -> io::Result<()>;

    /// Removes an empty directory.
    fn remove_dir(&self, path: &Path) -> io::Result<()>;

    /// Creates a directory and its missing parents; see `create_directory` for a durable one.
    fn create_dir_all(&self, path: &Path) -> io::Result<()>;

    /// Names of the regular files and symbolic links of a directory, sorted. Others, and names that
    /// are not UTF-8, are left out: the store wrote none of them.
    fn list(&self, dir: &Path) -> io::Result<Vec<String>>;

    /// Names that `list` leaves out, as far as they are UTF-8: subdirectories, pipes and the like.
    fn list_others(&self, _dir: &Path) -> io::Result<Vec<String>> {
        Ok(Vec::new())
    }

    /// Whether a file or directory of this name exists.
    fn exists(&self, path: &Path) -> io::Result<bool>;

    /// Makes the names in a directory durable.
    fn sync_dir(&self, dir: &Path) -> io::Result<()>;

    /// Takes the exclusive lock of a file, creating the file; `None` when somebody else holds it.
    fn lock(&self, path: &Path) -> io::Result<Option<Box<dyn LockGuard>>>;

    /// Takes the lock of a file together with others that share it; `None` when somebody holds it
    /// alone. Creates the file where it may; `NotFound` where there is none and it may not. A file
    /// system that knows no shared locks gives the exclusive one.
    fn lock_shared(&self, path: &Path) -> io::Result<Option<Box<dyn LockGuard>>> {
        self.lock(path)
    }

    /// Bytes that were never given before, here or elsewhere: for identities.
    fn unique(&self) -> io::Result<[u8; 16]>;

    /// Bytes an unprivileged writer may still use in the file system that holds `dir`.
    fn free_bytes(&self, dir: &Path) -> io::Result<u64>;
}

/// Holds a lock until dropped.
pub trait LockGuard: Send + Sync + Debug {}

/// An open file. All calls take positions, so threads can share it.
#[expect(
    clippy::len_without_is_empty,
    reason = "a length question to the file system, no collection"
)]
pub trait VfsFile: Send + Sync + Debug {
    /// Reads up to `buf.len()` bytes; 0 means the end of the file. May be interrupted or short.
    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<usize>;

    /// Writes up to `buf.len()` bytes. May be interrupted or short.
    fn write_at(&self, buf: &[u8], offset: u64) -> io::Result<usize>;

    /// Makes contents and length durable. An error is final for the file: what was written since
    /// the last success may be gone although a second call would succeed.
    fn sync_data(&self) -> io::Result<()>;

    /// Length in bytes.
    fn len(&self) -> io::Result<u64>;

    /// Cuts the file, or extends it with zeros that may take no space yet. Durable after
    /// `sync_data`.
    fn set_len(&self, bytes: u64) -> io::Result<()>;

    /// Makes the file at least `bytes` long and sets their space aside where the file system can,
    /// so that a full disk shows now and not at a write. New bytes are zeros. Durable after
    /// `sync_data`.
    fn allocate(&self, bytes: u64) -> io::Result<()> {
        if self.len()? < bytes {
            self.set_len(bytes)?;
        }
        Ok(())
    }

    /// The descriptor, for io_uring; `None` when reads must go through `read_at`.
    fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        None
    }

    /// True when reads and writes bypass the page cache and must be aligned.
    fn direct(&self) -> bool {
        false
    }

    /// Reads exactly `buf.len()` bytes, or fails with `UnexpectedEof`.
    fn read_exact_at(&self, mut buf: &mut [u8], mut offset: u64) -> io::Result<()> {
        while !buf.is_empty() {
            match self.read_at(buf, offset) {
                Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok(read) => {
                    buf = buf.get_mut(read..).unwrap_or_default();
                    offset += read as u64;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Writes all of `buf`, or fails; a failed write may have changed part of the range.
    fn write_all_at(&self, mut buf: &[u8], mut offset: u64) -> io::Result<()> {
        while !buf.is_empty() {
            match self.write_at(buf, offset) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(written) => {
                    buf = buf.get(written..).unwrap_or_default();
                    offset += written as u64;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}
