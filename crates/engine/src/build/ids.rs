//! The table from ids to nodes, sorted within a memory budget.

use std::path::Path;
use std::sync::Arc;

use pageway_store::{FileEntry, FileUuid, PageFileWriter, PageGeometry, Vfs};

use super::sort::Sorter;
use crate::error::Result;
use crate::manifest::FileKind;
use crate::segment::{ID_ENTRY_BYTES, entries_per_page, twice};

/// Ids that are read at a time.
const RUN_IDS: usize = 8192;

/// Where a table goes, and the memory for making it.
pub(crate) struct IdFile<'f> {
    pub(crate) vfs: &'f Arc<dyn Vfs>,
    pub(crate) dir: &'f Path,
    /// Generation, and number where several are made in one.
    pub(crate) name: (u64, Option<u32>),
    pub(crate) page_bytes: u32,
    pub(crate) uuid: FileUuid,
    pub(crate) memory_bytes: u64,
}

impl IdFile<'_> {
    /// Writes the table of `count` rows: `read` gives the ids from a row on, `node_of` the node of
    /// a row. Costs a pass over the ids, and one over sorted runs on disk if they do not fit
    /// memory.
    ///
    /// # Errors
    /// `InvalidInput` naming an id that two rows have.
    pub(crate) fn write(
        &self,
        count: u32,
        read: &mut dyn FnMut(u64, &mut [u64]) -> Result<()>,
        node_of: &dyn Fn(u32) -> u32,
    ) -> Result<FileEntry> {
        let (generation, segment) = self.name;
        let stem = format!("id-run-{generation}-{}", segment.unwrap_or(0));
        let mut sorter = Sorter::new(self.vfs, self.dir.join(stem), self.memory_bytes);
        let mut ids = vec![0; RUN_IDS];
        let mut first = 0u32;
        while first < count {
            let length = RUN_IDS.min((count - first) as usize);
            let ids = ids.get_mut(..length).unwrap_or_default();
            read(first.into(), ids)?;
            for (row, id) in (first..).zip(ids.iter()) {
                sorter.push(&id.to_be_bytes(), &node_of(row).to_be_bytes())?;
            }
            first += length as u32;
        }
        let mut table = self.table()?;
        sorter.finish(&mut |id, node| {
            let id = id.first_chunk().map_or(0, |id| u64::from_be_bytes(*id));
            let node = node.first_chunk();
            table.push((id, node.map_or(0, |node| u32::from_be_bytes(*node))))
        })?;
        table.finish()
    }

    /// Writes the merged table of `old` and `new`, both ascending.
    ///
    /// # Errors
    /// `InvalidInput` naming an id that two rows have, and as `old` fails.
    pub(crate) fn write_merged(
        &self,
        old: &mut dyn FnMut() -> Result<Option<(u64, u32)>>,
        new: &[(u64, u32)],
    ) -> Result<FileEntry> {
        let mut table = self.table()?;
        let (mut next, mut new) = (old()?, new.iter().copied().peekable());
        loop {
            let own = match (next, new.peek()) {
                (Some(own), Some(other)) if other.0 < own.0 => new.next(),
                (Some(_), _) => std::mem::replace(&mut next, old()?),
                (None, _) => new.next(),
            };
            match own {
                Some(entry) => table.push(entry)?,
                None => return table.finish(),
            }
        }
    }

    fn table(&self) -> Result<TableWriter> {
        let geometry = PageGeometry::new(self.page_bytes, 1)?;
        let path = self
            .dir
            .join(FileKind::Ids.file_name(self.name.0, self.name.1));
        let kind = FileKind::Ids as u16;
        let writer = PageFileWriter::create(self.vfs.as_ref(), &path, kind, geometry, self.uuid)?;
        Ok(TableWriter {
            writer,
            page: Vec::with_capacity(geometry.payload_bytes()),
            page_bytes: entries_per_page(geometry) * ID_ENTRY_BYTES,
            before: None,
        })
    }
}

fn encode((id, node): (u64, u32)) -> [u8; ID_ENTRY_BYTES] {
    let mut entry = [0; ID_ENTRY_BYTES];
    let bytes = id.to_le_bytes().into_iter().chain(node.to_le_bytes());
    entry
        .iter_mut()
        .zip(bytes)
        .for_each(|(to, from)| *to = from);
    entry
}

struct TableWriter {
    writer: PageFileWriter,
    page: Vec<u8>,
    page_bytes: usize,
    before: Option<u64>,
}

impl TableWriter {
    fn push(&mut self, entry: (u64, u32)) -> Result<()> {
        if self.before == Some(entry.0) {
            return Err(twice(entry.0));
        }
        self.before = Some(entry.0);
        if self.page.len() == self.page_bytes {
            self.writer.append_unit(&self.page)?;
            self.page.clear();
        }
        self.page.extend_from_slice(&encode(entry));
        Ok(())
    }

    fn finish(mut self) -> Result<FileEntry> {
        if !self.page.is_empty() {
            self.writer.append_unit(&self.page)?;
        }
        Ok(self.writer.finish()?)
    }
}
