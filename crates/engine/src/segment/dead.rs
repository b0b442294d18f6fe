//! The dead set of a segment, from its file.

use std::path::Path;

use pageway_store::{BlobReader, BlobWriter, FileEntry, PageGeometry, Vfs};

use crate::error::Result;
use crate::execution::DeadSet;
use crate::manifest::{FileKind, SegmentEntry};
use crate::resolve::Source;

/// Checks that a dead set names nodes of its segment alone.
///
/// # Errors
/// `Corrupt` for one that does not, and as its file is.
pub(super) fn check_dead(source: Source<'_>) -> Result<()> {
    let Some(entry) = &source.segment.files.dead else {
        return Ok(());
    };
    let bits: u32 = read(source, entry)?
        .iter()
        .map(|word| word.count_ones())
        .sum();
    let known = dead_set(source, false)?.map_or(0, |dead| dead.len());
    if bits == known {
        return Ok(());
    }
    Err(source.corrupt(&entry.name, "a dead row that does not exist"))
}

/// The dead set of a segment; an empty one where it has none and is to be changed.
pub(crate) fn dead_set(source: Source<'_>, writable: bool) -> Result<Option<DeadSet>> {
    let nodes = source.segment.node_count;
    let Some(entry) = &source.segment.files.dead else {
        return Ok(writable.then(|| DeadSet::new(nodes)));
    };
    Ok(Some(DeadSet::of_words(nodes, read(source, entry)?)))
}

/// The dead nodes of a segment whose edges were repaired; none where no file says so.
pub(crate) fn repaired_set(source: Source<'_>) -> Result<DeadSet> {
    let nodes = source.segment.node_count;
    match &source.segment.files.repaired {
        Some(entry) => Ok(DeadSet::of_words(nodes, read(source, entry)?)),
        None => Ok(DeadSet::new(nodes)),
    }
}

/// Writes the dead set of a segment, under the name of a generation.
///
/// # Errors
/// As files are written.
pub(crate) fn write_dead_set(
    place: (&dyn Vfs, &Path),
    entry: &SegmentEntry,
    dead: &DeadSet,
    name: (u64, Option<u32>),
) -> Result<FileEntry> {
    write_set(place, (entry, FileKind::Dead), dead, name)
}

/// Writes those of the dead whose edges were repaired.
///
/// # Errors
/// As files are written.
pub(crate) fn write_repaired_set(
    place: (&dyn Vfs, &Path),
    entry: &SegmentEntry,
    dead: &DeadSet,
    name: (u64, Option<u32>),
) -> Result<FileEntry> {
    write_set(place, (entry, FileKind::Repaired), dead, name)
}

fn write_set(
    (vfs, dir): (&dyn Vfs, &Path),
    (entry, kind): (&SegmentEntry, FileKind),
    dead: &DeadSet,
    (generation, number): (u64, Option<u32>),
) -> Result<FileEntry> {
    let path = dir.join(kind.file_name(generation, number));
    let geometry = PageGeometry::new(entry.spec.layout.page_bytes, 1)?;
    let uuid = kind.uuid_beside(entry.files.records.uuid, generation);
    let mut file = BlobWriter::create(vfs, &path, kind as u16, geometry, uuid)?;
    for word in dead.words() {
        file.write(&word.to_le_bytes())?;
    }
    Ok(file.finish()?)
}

fn read(source: Source<'_>, entry: &FileEntry) -> Result<Vec<u64>> {
    let bytes = BlobReader::open(source.vfs, source.dir, entry)?.read_rest(entry.payload_bytes)?;
    let (words, _) = bytes.as_chunks::<8>();
    Ok(words.iter().map(|word| u64::from_le_bytes(*word)).collect())
}
