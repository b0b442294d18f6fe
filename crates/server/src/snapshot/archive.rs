//! The archive of a collection, written and read; what is read comes from anybody.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::path::Path;
use std::sync::Arc;

use pageway::Vfs;
use pageway::server::{OpenMode, VfsFile, create_directory};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tar::{Archive, Builder, Entry, EntryType, Header};

use super::file::{FileSink, FileSource};
use crate::failure::{Failure, Outcome};

/// The version of what an archive holds.
const FORMAT: u32 = 1;
/// The first entry.
const HEAD: &str = "snapshot.json";
/// Bytes of the first entry at most.
const MAX_HEAD_BYTES: u64 = 16 << 20;
/// What nobody but a writer has.
const LOCK: &str = "LOCK";
/// Bytes of a block of an archive; two of zeros are its end.
const BLOCK_BYTES: usize = 512;
/// Bytes that are copied at a time.
const CHUNK_BYTES: usize = 256 << 10;

/// What an archive says of its collection.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub(crate) struct SnapshotHead {
    pageway_snapshot: u32,
    pub(crate) config: Value,
    pub(crate) payload_schema: BTreeMap<String, Value>,
    pub(crate) indexes: usize,
}

impl SnapshotHead {
    pub(crate) fn new(
        config: Value,
        payload_schema: BTreeMap<String, Value>,
        indexes: usize,
    ) -> Self {
        Self {
            pageway_snapshot: FORMAT,
            config,
            payload_schema,
            indexes,
        }
    }
}

/// Writes an archive of the directories of indexes that lie in `from`.
pub(super) fn pack(
    vfs: &dyn Vfs,
    (from, head): (&Path, &SnapshotHead),
    sink: FileSink,
) -> Outcome<FileSink> {
    let failed = |error: std::io::Error| Failure::from(pageway::Error::from(error));
    let mut archive = Builder::new(sink);
    let json = serde_json::to_vec(head).map_err(Failure::internal)?;
    let mut header = header_of(json.len() as u64);
    archive
        .append_data(&mut header, HEAD, json.as_slice())
        .map_err(failed)?;
    for number in 0..head.indexes {
        let dir = from.join(format!("v{number}"));
        for name in vfs.list(&dir).map_err(failed)? {
            if name == LOCK {
                continue;
            }
            let file = vfs
                .open(&dir.join(&name), OpenMode::ReadOwn)
                .map_err(failed)?;
            let length = file.len().map_err(failed)?;
            let source = FileSource::new(file).take(length);
            let mut header = header_of(length);
            archive
                .append_data(&mut header, format!("v{number}/{name}"), source)
                .map_err(failed)?;
        }
    }
    archive.into_inner().map_err(failed)
}

fn header_of(length: u64) -> Header {
    let mut header = Header::new_gnu();
    header.set_size(length);
    header.set_mode(0o644);
    header.set_entry_type(EntryType::Regular);
    header
}

/// Takes the indexes of an archive out into a directory that is not there yet.
///
/// # Errors
/// 400 where it is no archive of a collection, of another version, or names files that no
/// collection has.
pub(crate) fn unpack(vfs: &Arc<dyn Vfs>, archive: &Path, dir: &Path) -> Outcome<SnapshotHead> {
    let file = vfs.open(archive, OpenMode::ReadOwn);
    let file = file.map_err(|error| Failure::from(pageway::Error::from(error)))?;
    let mut archive = Archive::new(FileSource::new(Arc::clone(&file)));
    // Extensions would be read into memory, and our own archives have none.
    let mut entries = archive.entries().map_err(refused)?.raw(true);
    let first = entries.next().ok_or_else(|| refused("it is empty"))?;
    let mut last = first.map_err(refused)?;
    let head = head_of(&mut last)?;
    for number in 0..head.indexes {
        create_directory(vfs.as_ref(), &dir.join(format!("v{number}")))?;
    }
    for entry in entries {
        let mut entry = entry.map_err(refused)?;
        let path = path_of(&entry, head.indexes)?;
        take_out(vfs.as_ref(), &mut entry, &dir.join(path))?;
        last = entry;
    }
    check_end(&last, file)?;
    for number in 0..head.indexes {
        let synced = vfs.sync_dir(&dir.join(format!("v{number}")));
        synced.map_err(|error| Failure::from(pageway::Error::from(error)))?;
    }
    Ok(head)
}

/// Refuses an archive that does not end behind its last entry: what was cut off may be entries.
fn check_end(last: &Entry<'_, impl Read>, file: Arc<dyn VfsFile>) -> Outcome<()> {
    let end = last.raw_file_position() + last.size().next_multiple_of(BLOCK_BYTES as u64);
    let mut blocks = [0; 2 * BLOCK_BYTES];
    let read = FileSource::starting_at(file, end).read_exact(&mut blocks);
    if read.is_err() || blocks.iter().any(|byte| *byte != 0) {
        return Err(refused("it is cut off"));
    }
    Ok(())
}

fn refused(what: impl std::fmt::Display) -> Failure {
    Failure::wrong(format_args!(
        "Snapshot: not an archive of a collection: {what}"
    ))
}

fn head_of(entry: &mut Entry<'_, impl Read>) -> Outcome<SnapshotHead> {
    let is_head = entry.path_bytes().as_ref() == HEAD.as_bytes();
    if !is_head || entry.header().entry_type() != EntryType::Regular {
        return Err(refused(format_args!("its first entry is not {HEAD}")));
    }
    if entry.size() > MAX_HEAD_BYTES {
        return Err(refused(format_args!("{HEAD} is too long")));
    }
    let mut json = Vec::new();
    entry.read_to_end(&mut json).map_err(refused)?;
    let format: Value = serde_json::from_slice(&json).map_err(refused)?;
    let format = format.get("pageway_snapshot").and_then(Value::as_u64);
    if format != Some(FORMAT.into()) {
        let format = format.map_or("unknown".to_owned(), |own| own.to_string());
        return Err(Failure::wrong(format_args!(
            "Snapshot: its version is {format}, this server knows {FORMAT}"
        )));
    }
    serde_json::from_slice(&json).map_err(refused)
}

/// The path of an entry, which is `v<number>/<name>` or refused.
fn path_of(entry: &Entry<'_, impl Read>, indexes: usize) -> Outcome<String> {
    let bytes = entry.path_bytes();
    let path = String::from_utf8_lossy(&bytes).into_owned();
    let wrong = || refused(format_args!("the entry {path:?}"));
    if entry.header().entry_type() != EntryType::Regular {
        return Err(wrong());
    }
    let (index, name) = path.split_once('/').ok_or_else(wrong)?;
    let number = index.strip_prefix('v').and_then(|own| own.parse().ok());
    let is_known = number.is_some_and(|own: usize| own < indexes && index == format!("v{own}"));
    let is_plain = |one: char| one.is_ascii_alphanumeric() || matches!(one, '.' | '-' | '_');
    let is_name = !name.starts_with('.') && !name.is_empty() && name.chars().all(is_plain);
    if is_known && is_name && name != LOCK {
        return Ok(path);
    }
    Err(wrong())
}

fn take_out(vfs: &dyn Vfs, entry: &mut Entry<'_, impl Read>, to: &Path) -> Outcome<()> {
    let failed = |error: std::io::Error| {
        if error.kind() == std::io::ErrorKind::AlreadyExists {
            return refused("the same entry twice");
        }
        Failure::from(pageway::Error::from(error))
    };
    let mut sink = FileSink::new(vfs.open(to, OpenMode::CreateNew).map_err(failed)?);
    let mut buffer = vec![0; CHUNK_BYTES];
    let mut length = 0;
    loop {
        let count = entry.read(&mut buffer).map_err(refused)?;
        match buffer.get(..count) {
            Some(bytes) if !bytes.is_empty() => sink.write_all(bytes).map_err(failed)?,
            _ => break,
        }
        length += count as u64;
    }
    if length != entry.size() {
        return Err(refused("it is cut off"));
    }
    sink.finish().map_err(failed)?;
    Ok(())
}
