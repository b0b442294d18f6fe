//! Pages from a journal to where they belong.
//!
//! A patch of a design that overwrites is a journal: its images were synced, and the manifest that
//! names them was committed, before a page is written over. Until the next manifest is, images are
//! read and not what they are written over, so it may be torn; and whoever finds a journal begins
//! again.

use std::path::PathBuf;

use pageway_store::{
    AlignedBuffers, BlobWriter, FileEntry, IoBackend, LaneRequest, OpenMode, PAGE_HEADER_BYTES,
    PageDone, PageFile, PageGeometry, PageIo, PageReader, PageWrite, StoreError,
};
use pageway_types::PageId;

use crate::error::{Error, ErrorKind, Result};
use crate::layout::PageCodec;
use crate::layout::RecordCodec;
use crate::manifest::{FileKind, OverwrittenFiles, SegmentEntry};
use crate::resolve::{self, Source};
use crate::storage::RecordPages;

/// Writes the images of a journal over the pages that they are of, and what epochs those have then.
/// The entry that is to be committed, and the bytes that were written; none where nothing is in a
/// journal. Nobody may read these pages but from the journal, and no other process at all.
///
/// # Errors
/// As files are read and written; `NoSpace` before a page is written over.
pub(crate) fn overwrite(
    source: Source<'_>,
    generation: u64,
) -> Result<Option<(SegmentEntry, u64)>> {
    let segment = source.segment;
    if !segment.files.has_journal() {
        return Ok(None);
    }
    // What pages differ by stays beside them.
    let journal = resolve::record_pages(source, OpenMode::ReadDirect)?;
    let journal = journal.records.as_written();
    let codec = RecordCodec::new(&segment.spec, segment.node_count)?.grown_from(segment.built());
    let epoch = segment.files.records.epoch.checked_add(1);
    let epoch = epoch.ok_or_else(|| {
        Error::new(
            ErrorKind::Unsupported,
            "pages were written over too often: merge fully",
        )
    })?;
    let records = FileEntry {
        units: codec.map().page_count().into(),
        payload_bytes: codec.payload_bytes(),
        epoch,
        ..segment.files.records.clone()
    };
    put_in_place(source, &journal, &records)?;
    let epochs = write_epochs(source, (&journal, &records), generation)?;
    let unit_bytes = records.geometry()?.unit_bytes() as u64;
    let bytes = journal.shadow().pages().len() as u64 * unit_bytes + epochs.file_bytes()?;
    let mut entry = segment.clone();
    entry.files.overwritten = Some(OverwrittenFiles {
        epochs,
        identity: segment.files.identity(),
    });
    (entry.files.records, entry.files.patches) = (records, None);
    Ok(Some((entry, bytes)))
}

/// Writes the pages, and syncs them.
fn put_in_place(source: Source<'_>, journal: &RecordPages, records: &FileEntry) -> Result<()> {
    let before = &source.segment.files.records;
    let mut file = PageFile::open_to_write(source.vfs, source.dir, before)?;
    file.grow(records.units)?;
    let mut pen = Pen::new(&file)?;
    let mut buffers = AlignedBuffers::new(1, records.geometry()?.unit_bytes())?;
    for page in journal.shadow().pages() {
        let payload = journal.read(PageId(*page), &mut buffers)?;
        pen.write((*page).into(), records.epoch, payload)?;
    }
    pen.sync()
}

fn write_epochs(
    source: Source<'_>,
    (journal, records): (&RecordPages, &FileEntry),
    generation: u64,
) -> Result<FileEntry> {
    let known = journal.epochs().unwrap_or_default();
    let mut epochs = known.to_vec();
    epochs.resize(records.units as usize, 0);
    for page in journal.shadow().pages() {
        if let Some(slot) = epochs.get_mut(*page as usize) {
            *slot = records.epoch;
        }
    }
    let kind = FileKind::Epochs;
    let path = source.dir.join(kind.file_name(generation, None));
    let geometry = PageGeometry::new(source.segment.spec.layout.page_bytes, 1)?;
    let uuid = kind.uuid_beside(source.segment.files.identity(), generation);
    let mut file = BlobWriter::create(source.vfs, &path, kind as u16, geometry, uuid)?;
    for some in epochs.chunks(1 << 14) {
        let bytes: Vec<u8> = some.iter().flat_map(|epoch| epoch.to_le_bytes()).collect();
        file.write(&bytes)?;
    }
    Ok(file.finish()?)
}

/// Writes units of a file, one after the other.
struct Pen {
    path: PathBuf,
    reader: PageReader,
    lane: Box<dyn PageIo>,
    done: Vec<PageDone>,
}

impl Pen {
    fn new(file: &PageFile) -> Result<Self> {
        let reader = PageReader::with_backend(file.clone(), IoBackend::Blocking);
        Ok(Self {
            path: file.path().to_path_buf(),
            lane: reader.lane(1)?,
            reader,
            done: Vec::new(),
        })
    }

    fn write(&mut self, unit: u64, epoch: u32, payload: &[u8]) -> Result<()> {
        let bytes = self.lane.buffer_mut(0);
        bytes.fill(0);
        let room = bytes.get_mut(PAGE_HEADER_BYTES..PAGE_HEADER_BYTES + payload.len());
        room.unwrap_or_default().copy_from_slice(payload);
        self.reader.seal_unit(unit, epoch, bytes);
        self.request(LaneRequest::Write(PageWrite {
            unit,
            buffer: 0,
            tag: unit,
        }))
    }

    fn sync(&mut self) -> Result<()> {
        self.request(LaneRequest::Sync { buffer: 0, tag: 0 })
    }

    fn request(&mut self, request: LaneRequest) -> Result<()> {
        let path = self.path.clone();
        let failed = |error| Error::from(StoreError::io(&path, "write", error));
        self.lane.request(request).map_err(failed)?;
        self.lane.wait(1, &mut self.done).map_err(failed)?;
        self.done
            .drain(..)
            .try_for_each(|done| done.result.map_err(failed))
    }
}
