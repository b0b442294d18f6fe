//! Codes and ids beside the pages: those that came, to files of their own, until they are so many
//! that all are written.

use pageway_store::{BlobReader, FileEntry};

use super::super::ids::IdFile;
use super::SegmentPatch;
use crate::error::{Error, ErrorKind, Result};
use crate::manifest::{FileKind, SegmentEntry};
use crate::segment::IdCursor;

/// Bytes that are copied at a time.
const COPY_BYTES: usize = 1 << 18;
/// What came is written with all the rest once it is one in so many bytes of that.
const ADDED_SHARE: u64 = 16;

/// A file, and what was added to it since.
type Grown<F> = [Option<F>; 2];

impl SegmentPatch<'_> {
    /// Writes codes and ids of the new rows.
    pub(super) fn write_beside(
        &self,
        entry: &mut SegmentEntry,
        (codes, second): (&[u8], Option<&[u8]>),
    ) -> Result<()> {
        let writes_all = entry.files.additions.is_none();
        let files = &self.base.files;
        let codes = self.grown_codes(
            (FileKind::Codes, writes_all),
            files.codes_and_additions(),
            codes,
        )?;
        let second = second.map(|codes| {
            let known = files.second_codes_and_additions();
            self.grown_codes((FileKind::SecondCodes, writes_all), known, codes)
        });
        let second = second.transpose()?.unwrap_or_default();
        let ids = self.grown_ids(writes_all)?;
        let ([codes, more_codes], [second, more_second], [ids, more_ids]) = (codes, second, ids);
        (entry.files.codes, entry.files.second_codes) = (codes, second);
        entry.files.ids = ids;
        if let Some(own) = &mut entry.files.additions {
            (own.codes, own.second_codes, own.ids) = (more_codes, more_second, more_ids);
        }
        Ok(())
    }

    /// Writes codes: those that came since all were written, or all.
    fn grown_codes(
        &self,
        (kind, writes_all): (FileKind, bool),
        [whole, added]: Grown<&FileEntry>,
        new: &[u8],
    ) -> Result<Grown<FileEntry>> {
        let whole = whole.ok_or_else(|| Error::new(ErrorKind::Internal, "no codes in memory"))?;
        let came = added.map_or(0, |file| file.payload_bytes) + new.len() as u64;
        let joins = writes_all || came > whole.payload_bytes / ADDED_SHARE;
        if new.is_empty() && !(joins && came > 0) {
            return Ok([Some(whole.clone()), added.cloned()]);
        }
        let mut file = self.blob(kind)?;
        let mut bytes = vec![0; COPY_BYTES];
        for known in [Some(whole).filter(|_| joins), added].into_iter().flatten() {
            let mut from = BlobReader::open(self.vfs.as_ref(), self.dir, known)?;
            while from.remaining_bytes() > 0 {
                let length = from.remaining_bytes().min(bytes.len() as u64) as usize;
                let some = bytes.get_mut(..length).unwrap_or_default();
                from.read_exact(some)?;
                file.write(some)?;
            }
        }
        file.write(new)?;
        let file = file.finish()?;
        Ok(if joins {
            [Some(file), None]
        } else {
            [Some(whole.clone()), Some(file)]
        })
    }

    /// Writes ids of those who live: those that came since all were written, or all.
    fn grown_ids(&self, writes_all: bool) -> Result<Grown<FileEntry>> {
        let source = self.source();
        let [whole, added] = self.base.files.ids_and_additions();
        let bytes = |file: Option<&FileEntry>| file.map_or(0, |file| file.payload_bytes);
        let came = bytes(added) + self.ids.len() as u64 * 12;
        let joins = writes_all || came > bytes(whole) / ADDED_SHARE;
        if self.ids.is_empty() && !(joins && came > 0) {
            return Ok([whole.cloned(), added.cloned()]);
        }
        let mut known = if joins {
            Some(IdCursor::open(source)?)
        } else {
            IdCursor::of_additions(source)?
        };
        let mut living = || {
            while let Some(known) = &mut known {
                match known.next(source)? {
                    Some((_, node)) if self.dead.contains(node) => {}
                    found => return Ok(found.map(|(id, node)| (id, node.0))),
                }
            }
            Ok(None)
        };
        let new = self.ids.iter().copied().zip(self.base.node_count..);
        let mut new: Vec<(u64, u32)> = new.collect();
        new.sort_unstable();
        let file = IdFile {
            vfs: self.vfs,
            dir: self.dir,
            name: (self.generation, None),
            page_bytes: self.base.spec.layout.page_bytes,
            uuid: FileKind::Ids.uuid_beside(self.base.files.identity(), self.generation),
            memory_bytes: 0,
        };
        let file = file.write_merged(&mut living, &new)?;
        Ok(if joins {
            [Some(file), None]
        } else {
            [whole.cloned(), Some(file)]
        })
    }
}
