//! What can go wrong below the engine, by what the caller can do about it.

use std::io;
use std::path::{Path, PathBuf};

use crate::page::LOST_WRITE;

/// An error of the store. Carries the file, and the page and offset where they are known.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The operating system refused an operation.
    #[error("{}: {op} failed: {source}", path.display())]
    Io {
        /// File or directory.
        path: PathBuf,
        /// What was being done, as a verb.
        op: &'static str,
        /// The system's reason.
        source: io::Error,
    },
    /// Bytes on disk are not those that were written.
    #[error(
        "{}: damaged at byte {offset}{}: {what}: expected {expected:#x}, found {found:#x}",
        path.display(), Page(*page)
    )]
    Corrupt {
        /// The damaged file.
        path: PathBuf,
        /// The damaged unit, counted behind the header page; `None` for headers and the manifest.
        page: Option<u64>,
        /// Byte offset in the file where the damaged structure begins.
        offset: u64,
        /// Which rule is broken.
        what: &'static str,
        /// The value that would have been right.
        expected: u64,
        /// The value that is there.
        found: u64,
    },
    /// An intact file of a format version that this build does not know, or knows no more.
    #[error(
        "{}: format version {found}, but this build reads {}; {}",
        path.display(), Versions(*oldest, *newest),
        if found > newest { "update pageway" } else { "build the index again" }
    )]
    Incompatible {
        /// The file.
        path: PathBuf,
        /// Version in the file.
        found: u32,
        /// Oldest version this build reads.
        oldest: u32,
        /// Newest version this build reads.
        newest: u32,
    },
    /// The file system or the quota is full, or a file as large as this process may make one.
    #[error(
        "{}: no space left on the device, or the quota or the limit of file sizes (ulimit -f) is \
         used up{}", path.display(), needing(*needed)
    )]
    NoSpace {
        /// File or directory that could not grow.
        path: PathBuf,
        /// Bytes that it was to have, where that is known.
        needed: Option<u64>,
    },
    /// The system lets nobody write here, or not this user.
    #[error(
        "{}: {op} was refused: {source}: make it writable, or name another place",
        path.display()
    )]
    ReadOnly {
        /// File or directory.
        path: PathBuf,
        /// What was being done, as a verb.
        op: &'static str,
        /// The system's reason.
        source: io::Error,
    },
    /// Somebody else writes this index.
    #[error("{}: in use by another writer", path.display())]
    Busy {
        /// The lock file.
        path: PathBuf,
    },
    /// An earlier write or sync failed, so nobody knows what the file holds: nothing is written
    /// until it is opened again.
    #[error(
        "{}: nothing more is written since an earlier write failed ({why}); open the index again \
         to go on", path.display()
    )]
    Poisoned {
        /// The file.
        path: PathBuf,
        /// The failure, in words.
        why: String,
    },
    /// The file or directory does not exist.
    #[error("{}: {what}", path.display())]
    NotFound {
        /// What was looked for.
        path: PathBuf,
        /// A sentence that says what its absence means.
        what: &'static str,
    },
    /// The caller asked for something impossible.
    #[error("invalid request: {what}")]
    Invalid {
        /// A sentence with the limit that was broken.
        what: String,
    },
}

impl StoreError {
    /// Wraps an error of the system; a full disk or quota becomes `NoSpace`, absence `NotFound`,
    /// and what may not be written `ReadOnly`.
    pub fn io(path: &Path, op: &'static str, source: io::Error) -> Self {
        let path = path.to_path_buf();
        if is_full(&source) {
            return Self::NoSpace { path, needed: None };
        }
        if source.kind() == io::ErrorKind::NotFound {
            return Self::NotFound {
                path,
                what: "no such file or directory",
            };
        }
        if is_refused(op, &source) {
            return Self::ReadOnly { path, op, source };
        }
        Self::Io { path, op, source }
    }

    /// The same of a file that was to have so many bytes, where it is a lack of space.
    #[must_use]
    pub(crate) fn needing(mut self, bytes: u64) -> Self {
        if let Self::NoSpace { needed, .. } = &mut self {
            *needed = Some(bytes);
        }
        self
    }

    /// True of a unit that is intact but older than it should be: what was written over it never
    /// reached the device. Any other damage of a unit, a torn write above all, breaks its checksum.
    pub fn is_lost_write(&self) -> bool {
        matches!(self, Self::Corrupt { what, .. } if *what == LOST_WRITE)
    }

    /// An `Invalid` with the given sentence.
    pub fn invalid(what: impl Into<String>) -> Self {
        Self::Invalid { what: what.into() }
    }
}

fn needing(bytes: Option<u64>) -> String {
    bytes.map_or_else(String::new, |bytes| format!(": it needs {bytes} B"))
}

fn is_full(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded | io::ErrorKind::FileTooLarge
    )
}

/// What is done to look, and changes nothing.
const LOOKS: [&str; 6] = [
    "ask the length",
    "list",
    "look up",
    "open",
    "read",
    "sync directory",
];

fn is_refused(op: &str, error: &io::Error) -> bool {
    let is_denied = error.kind() == io::ErrorKind::PermissionDenied && !LOOKS.contains(&op);
    is_denied || error.kind() == io::ErrorKind::ReadOnlyFilesystem
}

/// The versions from the first to the second.
struct Versions(u32, u32);

impl std::fmt::Display for Versions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match (self.0, self.1) {
            (oldest, newest) if oldest == newest => write!(f, "version {newest} alone"),
            (oldest, newest) => write!(f, "versions {oldest} to {newest}"),
        }
    }
}

struct Page(Option<u64>);

impl std::fmt::Display for Page {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.map_or(Ok(()), |page| write!(f, " (page {page})"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn os(code: rustix::io::Errno) -> StoreError {
        let source = io::Error::from_raw_os_error(code.raw_os_error());
        StoreError::io(Path::new("x.pw"), "write", source)
    }

    #[test]
    fn a_full_disk_and_a_used_up_quota_are_no_space() {
        assert!(matches!(
            os(rustix::io::Errno::NOSPC),
            StoreError::NoSpace { .. }
        ));
        assert!(matches!(
            os(rustix::io::Errno::DQUOT),
            StoreError::NoSpace { .. }
        ));
        assert!(matches!(
            os(rustix::io::Errno::NOENT),
            StoreError::NotFound { .. }
        ));
        assert!(matches!(
            os(rustix::io::Errno::IO),
            StoreError::Io { op: "write", .. }
        ));
    }

    #[test]
    fn a_lack_of_space_says_how_much_is_needed_where_that_is_known() {
        let full = os(rustix::io::Errno::NOSPC);
        assert!(full.to_string().ends_with("used up"), "{full}");
        let words = full.needing(123).to_string();
        assert!(words.ends_with("used up: it needs 123 B"), "{words}");
        let other = os(rustix::io::Errno::IO);
        let words = other.to_string();
        assert_eq!(other.needing(123).to_string(), words);
    }

    #[test]
    fn what_may_not_be_written_is_read_only_and_what_may_not_be_read_is_not() {
        use rustix::io::Errno;
        let kind = |op, code: Errno| {
            let source = io::Error::from_raw_os_error(code.raw_os_error());
            matches!(
                StoreError::io(Path::new("x"), op, source),
                StoreError::ReadOnly { .. }
            )
        };
        for op in [
            "create",
            "lock",
            "write",
            "remove",
            "rename",
            "create directory",
        ] {
            assert!(kind(op, Errno::ACCESS) && kind(op, Errno::PERM) && kind(op, Errno::ROFS));
        }
        for op in LOOKS {
            assert!(!kind(op, Errno::ACCESS) && kind(op, Errno::ROFS), "{op}");
        }
        assert!(matches!(os(Errno::FBIG), StoreError::NoSpace { .. }));
    }

    #[test]
    fn messages_name_file_page_and_offset() {
        let error = StoreError::Corrupt {
            path: "a.pw".into(),
            page: Some(7),
            offset: 32768,
            what: "checksum",
            expected: 1,
            found: 2,
        };
        let text = error.to_string();
        assert_eq!(
            text,
            "a.pw: damaged at byte 32768 (page 7): checksum: expected 0x1, found 0x2"
        );
    }

    #[test]
    fn a_refused_version_says_what_to_do() {
        let refused = |found, oldest| {
            let path = PathBuf::from("MANIFEST");
            let newest = 2;
            StoreError::Incompatible {
                path,
                found,
                oldest,
                newest,
            }
            .to_string()
        };
        assert_eq!(
            refused(1, 2),
            "MANIFEST: format version 1, but this build reads version 2 alone; build the index \
             again"
        );
        assert_eq!(
            refused(3, 1),
            "MANIFEST: format version 3, but this build reads versions 1 to 2; update pageway"
        );
    }
}
