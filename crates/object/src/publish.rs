//! An index directory into object storage: objects, a version, and last the pointer, by a
//! conditional put. Until that readers see what they saw before.

use std::collections::{BTreeMap, HashSet};
use std::io;
use std::path::Path;
use std::sync::Arc;

use object_store::UpdateVersion;
use pageway_store::{DirectoryLock, MANIFEST_FILE, OpenMode, OsVfs, Vfs, VfsFile};
use serde::Serialize;
use sha2::{Digest, Sha256};

use crate::version::{
    CURRENT, Pointer, RemoteFile, Version, digits, hash_of, object_name, version_name,
};
use crate::{BLOCK_BYTES, Objects};

/// What publishing did. The names of its fields are keys of `--json`.
#[derive(Clone, PartialEq, Eq, Serialize, Debug)]
pub struct Published {
    /// Number of the version that is current now.
    pub version: u64,
    /// Files it names.
    pub files: usize,
    /// Bytes of those.
    pub bytes: u64,
    /// Files that the version before had not.
    pub uploaded_files: usize,
    /// Bytes of those.
    pub uploaded_bytes: u64,
}

/// Publishes the index in `dir` as it was last committed.
///
/// What the current version names already is not sent again. Holds 8 MiB of a file at a time.
///
/// # Errors
/// `Busy` while the index is changed; where the store knows no conditional put; where somebody else
/// published meanwhile: readers then see their version.
pub fn publish(
    objects: &Objects,
    dir: &Path,
    progress: &dyn pageway::Progress,
) -> pageway::Result<Published> {
    let _shared = DirectoryLock::share(&OsVfs, dir)?;
    let description = pageway::describe(dir)?;
    if let Some(name) = description.missing.first() {
        let words = format!("{}: {name} is missing or cut short", dir.display());
        return Err(pageway::Error::new(pageway::ErrorKind::Corrupt, words));
    }
    let mut names: Vec<String> = description.files.into_iter().map(|one| one.name).collect();
    names.push(MANIFEST_FILE.to_owned());
    names.extend(log_names(dir)?);
    progress.stage("publish", names.len() as u64);
    probe(objects)?;
    let before = Pointer::read(objects)?;
    let (pointer, seen) = before.unzip();
    let last = match &pointer {
        Some(pointer) => Some(Version::read(objects, pointer)?),
        None => None,
    };
    let mut sending = Sending {
        objects,
        known: last.iter().flat_map(Version::names).collect(),
        published: Published {
            version: pointer.map_or(0, |pointer| pointer.number) + 1,
            files: names.len(),
            bytes: 0,
            uploaded_files: 0,
            uploaded_bytes: 0,
        },
    };
    let mut files = BTreeMap::new();
    for name in names {
        progress.check()?;
        let file = sending.send(&dir.join(&name))?;
        files.insert(name, file);
        progress.advance(1);
    }
    let version = Version::new(sending.published.version, files);
    commit(objects, &version, seen)?;
    Ok(sending.published)
}

/// Files of the log, of an index that was opened to be changed.
fn log_names(dir: &Path) -> io::Result<Vec<String>> {
    let folder = dir.join("log");
    if !OsVfs.exists(&folder)? {
        return Ok(Vec::new());
    }
    let names = OsVfs.list(&folder)?.into_iter();
    Ok(names.map(|name| format!("log/{name}")).collect())
}

/// Makes a version current.
fn commit(objects: &Objects, version: &Version, seen: Option<UpdateVersion>) -> io::Result<()> {
    let bytes = serde_json::to_vec(version).map_err(io::Error::other)?;
    let pointer = version.pointer(&bytes);
    objects.create(&version_name(&pointer), bytes)?;
    let bytes = serde_json::to_vec(&pointer).map_err(io::Error::other)?;
    // The acknowledgement may have been lost, and the put repeated.
    if objects.swap(CURRENT, bytes, seen)?
        || Pointer::read(objects)?.is_some_and(|(now, _)| now == pointer)
    {
        return Ok(());
    }
    let url = objects.url();
    Err(io::Error::other(format!(
        "{url}: another process published meanwhile; its version is current: publish again"
    )))
}

/// Asks the store for what a commit relies on.
fn probe(objects: &Objects) -> io::Result<()> {
    let name = format!("probes/{}", digits(&OsVfs.unique()?));
    let refuses = probe_at(objects, &name);
    objects.remove(&name)?;
    if refuses? {
        return Ok(());
    }
    let words = format!(
        "{}: this store does not refuse to create an object twice, or to replace one that has \
         changed: two who publish could lose a version; use a store with conditional puts",
        objects.url()
    );
    Err(io::Error::new(io::ErrorKind::Unsupported, words))
}

fn probe_at(objects: &Objects, name: &str) -> io::Result<bool> {
    objects.create(name, b"1".to_vec())?;
    if objects.create(name, b"22".to_vec())? {
        return Ok(false);
    }
    let Some((_, seen)) = objects.get(name)? else {
        return Ok(false);
    };
    objects.put(name, b"333".to_vec())?;
    Ok(!objects.swap(name, b"4444".to_vec(), Some(seen))?)
}

struct Sending<'s> {
    objects: &'s Objects,
    /// Objects of the version before: those are there, and no collector takes them.
    known: HashSet<&'s str>,
    published: Published,
}

impl Sending<'_> {
    fn send(&mut self, path: &Path) -> io::Result<RemoteFile> {
        let file = OsVfs.open(path, OpenMode::ReadOwn)?;
        let bytes = file.len()?;
        let (sha256, sums) = digest(&file, bytes)?;
        let described = RemoteFile {
            bytes,
            sums: hash_of(&sums),
            sha256,
        };
        self.published.bytes += bytes;
        if !self.known.contains(described.sha256.as_str()) {
            let mut read = |offset, bytes| read_range(&file, offset, bytes);
            let name = object_name(&described.sha256);
            self.objects.upload(&name, bytes, &mut read)?;
            self.published.uploaded_files += 1;
            self.published.uploaded_bytes += bytes;
        }
        if !self.known.contains(described.sums.as_str()) {
            self.objects.put(&object_name(&described.sums), sums)?;
        }
        Ok(described)
    }
}

/// SHA-256 of a file, and the checksums of its blocks.
fn digest(file: &Arc<dyn VfsFile>, bytes: u64) -> io::Result<(String, Vec<u8>)> {
    let (mut hash, mut sums) = (Sha256::new(), Vec::new());
    let mut offset = 0;
    while offset < bytes {
        let block = read_range(file, offset, BLOCK_BYTES.min(bytes - offset))?;
        hash.update(&block);
        sums.extend_from_slice(&crc32c::crc32c(&block).to_le_bytes());
        offset += block.len() as u64;
    }
    Ok((digits(hash.finalize().as_slice()), sums))
}

fn read_range(file: &Arc<dyn VfsFile>, offset: u64, bytes: u64) -> io::Result<Vec<u8>> {
    let mut read = vec![0; bytes as usize];
    file.read_exact_at(&mut read, offset)?;
    Ok(read)
}
