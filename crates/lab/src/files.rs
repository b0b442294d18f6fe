//! The lab's door to the file system: small files whole, large ones by their checksum.
//!
//! What is written appears whole or not at all, synced, and its name with it.

use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use pageway::lab::{LockGuard, OpenMode, VfsFile};
use pageway::source::{OpenAs, VectorFile};
use pageway::{ElementType, Error, ErrorKind, OsVfs, Progress, Result, Vfs};
use sha2::{Digest, Sha256};

/// Bytes that are read at once.
const BLOCK_BYTES: usize = 1 << 20;
/// Units of progress of everything that is counted in bytes.
pub(crate) const PROGRESS_BYTES: u64 = 1_000_000;

/// The file system of the host.
pub(crate) fn vfs() -> Arc<dyn Vfs> {
    Arc::new(OsVfs)
}

/// An error of the file system, under the name of the file.
pub(crate) fn at(path: &Path) -> impl Fn(io::Error) -> Error + '_ {
    |error| Error::from(error).within(path.display())
}

pub(crate) fn exists(path: &Path) -> Result<bool> {
    OsVfs.exists(path).map_err(at(path))
}

pub(crate) fn open(path: &Path, mode: OpenMode) -> Result<Arc<dyn VfsFile>> {
    OsVfs.open(path, mode).map_err(at(path))
}

pub(crate) fn length(path: &Path) -> Result<u64> {
    open(path, OpenMode::Read)?.len().map_err(at(path))
}

/// Bytes of the files of a directory and of those below it; of a file that goes meanwhile none.
pub(crate) fn directory_bytes(path: &Path) -> u64 {
    let inside = |names: io::Result<Vec<String>>| {
        let names = names.unwrap_or_default();
        names.into_iter().map(|name| path.join(name))
    };
    let own: u64 = inside(OsVfs.list(path))
        .map(|file| length(&file).unwrap_or(0))
        .sum();
    own + inside(OsVfs.list_others(path))
        .map(|below| directory_bytes(&below))
        .sum::<u64>()
}

/// Bytes that are free where a directory is or will be; none where the system does not tell.
pub(crate) fn free_bytes(path: &Path) -> Option<u64> {
    let absolute = std::path::absolute(path).ok()?;
    let mut there = absolute.ancestors();
    there.find_map(|place| OsVfs.free_bytes(place).ok())
}

/// Makes a directory and its missing parents.
pub(crate) fn create_directory(path: &Path) -> Result<()> {
    OsVfs.create_dir_all(path).map_err(at(path))
}

/// Takes the lock of a file, making the file where it is missing.
///
/// # Errors
/// `Busy` when another process has it: it is doing `what`.
pub(crate) fn lock(path: &Path, what: &str) -> Result<Box<dyn LockGuard>> {
    let held = OsVfs.lock(path).map_err(at(path))?;
    held.ok_or_else(|| {
        let words = format!("{}: another process is {what}", path.display());
        Error::new(ErrorKind::Busy, words)
    })
}

/// Removes a file that may be missing.
pub(crate) fn remove(path: &Path) -> Result<()> {
    match OsVfs.remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(at(path)(error)),
        _ => Ok(()),
    }
}

/// Removes the files of a directory that has no directories.
pub(crate) fn clear_directory(path: &Path) -> Result<()> {
    let names = OsVfs.list(path).map_err(at(path))?;
    names.iter().try_for_each(|name| remove(&path.join(name)))
}

/// Removes such a directory with its files.
pub(crate) fn remove_directory(path: &Path) -> Result<()> {
    clear_directory(path)?;
    OsVfs.remove_dir(path).map_err(at(path))
}

/// The directory of a file: of a bare name, the one that the process works in.
pub(crate) fn directory_of(path: &Path) -> &Path {
    let parent = path
        .parent()
        .filter(|parent| !parent.as_os_str().is_empty());
    parent.unwrap_or(Path::new("."))
}

/// Gives a finished file its name, durably.
pub(crate) fn publish(from: &Path, to: &Path) -> Result<()> {
    let file = open(from, OpenMode::ReadWrite)?;
    file.sync_data().map_err(at(from))?;
    OsVfs.rename(from, to).map_err(at(to))?;
    let directory = directory_of(to);
    OsVfs.sync_dir(directory).map_err(at(directory))
}

/// Writes a small file, whole or not at all.
pub(crate) fn write(path: &Path, bytes: &[u8]) -> Result<()> {
    let partial = with_suffix(path, ".partial");
    remove(&partial)?;
    let file = open(&partial, OpenMode::CreateNew)?;
    file.write_all_at(bytes, 0).map_err(at(&partial))?;
    publish(&partial, path)
}

/// Writes a small text file, whole or not at all.
///
/// # Errors
/// `Io`, `NoSpace`.
pub fn write_text(path: &Path, text: &str) -> Result<()> {
    write(path, text.as_bytes())
}

/// Reads a text file of small size.
pub fn read_text(path: &Path) -> Result<String> {
    let mut bytes = Vec::new();
    let mut from = FileBytes::open(path)?;
    from.read_to_end(&mut bytes).map_err(at(path))?;
    String::from_utf8(bytes)
        .map_err(|error| Error::invalid(format!("{}: is not UTF-8: {error}", path.display())))
}

/// Opens vectors; `element` tells the type of a `.bin` file and is no more than a hint elsewhere.
pub(crate) fn open_vectors(path: &Path, element: Option<ElementType>) -> Result<VectorFile> {
    let how = OpenAs {
        element: element.filter(|_| has_extension(path, "bin")),
    };
    VectorFile::open(&vfs(), path, how)
}

/// Whether a path ends with an extension, in upper or lower case.
pub(crate) fn has_extension(path: &Path, extension: &str) -> bool {
    path.extension()
        .is_some_and(|found| found.eq_ignore_ascii_case(extension))
}

/// The path with something behind its name.
pub(crate) fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    PathBuf::from(name)
}

/// The sha256 of a file, in hexadecimal digits. Reads it once.
pub(crate) fn checksum(path: &Path, progress: &dyn Progress) -> Result<String> {
    let mut from = FileBytes::open(path)?;
    let total = length(path)?;
    progress.stage("check sha256 (MB)", total.div_ceil(PROGRESS_BYTES));
    let mut counted = Counted::new(progress);
    let mut hasher = Sha256::new();
    let mut block = vec![0; BLOCK_BYTES];
    loop {
        progress.check()?;
        let read = from.read(&mut block).map_err(at(path))?;
        if read == 0 {
            return Ok(hexadecimal(&hasher.finalize()));
        }
        hasher.update(block.get(..read).unwrap_or_default());
        counted.add(read as u64);
    }
}

/// A short name of what is in a file: its length, its first and its last bytes. Two small reads.
pub(crate) fn fingerprint(path: &Path) -> Result<String> {
    let file = open(path, OpenMode::Read)?;
    let length = file.len().map_err(at(path))?;
    let mut hasher = Sha256::new();
    hasher.update(length.to_le_bytes());
    let block = (BLOCK_BYTES as u64).min(length);
    let mut bytes = vec![0; block as usize];
    for offset in [0, length - block] {
        file.read_exact_at(&mut bytes, offset).map_err(at(path))?;
        hasher.update(&bytes);
    }
    Ok(hexadecimal(&hasher.finalize()))
}

/// The sha256 of a text.
pub(crate) fn text_checksum(text: &str) -> String {
    hexadecimal(&Sha256::digest(text.as_bytes()))
}

fn hexadecimal(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    bytes.iter().fold(String::new(), |mut text, byte| {
        // Writing to a text cannot fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// The bytes of a file one after the other.
pub(crate) struct FileBytes {
    file: Arc<dyn VfsFile>,
    offset: u64,
}

impl FileBytes {
    pub(crate) fn open(path: &Path) -> Result<Self> {
        let file = open(path, OpenMode::Read)?;
        Ok(Self { file, offset: 0 })
    }
}

impl Read for FileBytes {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.file.read_at(buffer, self.offset)?;
        self.offset += read as u64;
        Ok(read)
    }
}

/// Bytes that went by, told to a progress in its units.
pub(crate) struct Counted<'p> {
    progress: &'p dyn Progress,
    bytes: u64,
}

impl<'p> Counted<'p> {
    pub(crate) fn new(progress: &'p dyn Progress) -> Self {
        Self { progress, bytes: 0 }
    }

    pub(crate) fn add(&mut self, bytes: u64) {
        let before = self.bytes / PROGRESS_BYTES;
        self.bytes += bytes;
        self.progress.advance(self.bytes / PROGRESS_BYTES - before);
    }
}

#[cfg(test)]
mod tests {
    use pageway::NoProgress;

    use super::*;

    #[test]
    fn a_bare_name_lies_in_the_directory_of_the_process() {
        assert_eq!(directory_of(Path::new("a.html")), Path::new("."));
        assert_eq!(directory_of(Path::new("b/a.html")), Path::new("b"));
        assert_eq!(directory_of(Path::new("/a.html")), Path::new("/"));
    }

    #[test]
    fn a_checksum_is_sha256() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.txt");
        write(&path, b"abc").unwrap();
        let expected = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(checksum(&path, &NoProgress).unwrap(), expected);
        assert_eq!(text_checksum("abc"), expected);
        assert_eq!(read_text(&path).unwrap(), "abc");
        assert_eq!(length(&path).unwrap(), 3);
        assert!(!exists(&with_suffix(&path, ".partial")).unwrap());
    }

    #[test]
    fn a_directory_has_the_bytes_of_those_below_it() {
        let folder = tempfile::tempdir().unwrap();
        let below = folder.path().join("log").join("old");
        create_directory(&below).unwrap();
        for (directory, bytes) in [(folder.path(), 3), (below.as_path(), 5)] {
            write(&directory.join("a"), &vec![0; bytes]).unwrap();
        }
        assert_eq!(directory_bytes(folder.path()), 8);
        assert_eq!(directory_bytes(&folder.path().join("none")), 0);
    }

    #[test]
    fn a_directory_that_is_not_there_yet_has_the_room_of_its_parent() {
        let folder = tempfile::tempdir().unwrap();
        let below = folder.path().join("a").join("b");
        let free = free_bytes(&below).unwrap();
        // Others write to the same disk.
        assert!(free.abs_diff(free_bytes(folder.path()).unwrap()) < 10 << 30);
        assert!(free > 0 && !exists(&below).unwrap());
    }

    #[test]
    fn a_fingerprint_tells_files_apart() {
        let folder = tempfile::tempdir().unwrap();
        let write_at = |name: &str, bytes: &[u8]| {
            let path = folder.path().join(name);
            write(&path, bytes).unwrap();
            fingerprint(&path).unwrap()
        };
        let first = write_at("a", b"same");
        assert_eq!(first, write_at("b", b"same"));
        assert_ne!(first, write_at("c", b"sane"));
        assert_ne!(write_at("d", b""), first);
        write(&folder.path().join("a"), b"other").unwrap();
        assert_ne!(fingerprint(&folder.path().join("a")).unwrap(), first);
    }
}
