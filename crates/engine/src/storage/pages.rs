//! The pages of a segment: a file of them, and newer images of some in files of their own.
//!
//! Of a page that was written over it is known in which epoch: an older image of it, which is
//! sound, is one whose write was lost. Where few bytes of a page changed since it was written,
//! these are in memory, and put into what was read.

use std::sync::Arc;

use pageway_store::{
    AlignedBuffers, IoBackend, IoProbe, PAGE_HEADER_BYTES, PageFile, PageGeometry, PageIo,
    PageReader,
};
use pageway_types::PageId;

use super::{Differences, Shadow};
use crate::error::{Error, ErrorKind, Result};

/// Bytes of the epoch of a page.
pub(crate) const EPOCH_BYTES: u64 = 4;

/// The pages of a segment, open to be read. No page changes that is read from here.
#[derive(Clone, Debug)]
pub(crate) struct RecordPages {
    first: PagesFile,
    /// Of each page of the first file, where some were written over.
    epochs: Option<Arc<[u32]>>,
    /// Newer images, older files first.
    images: Vec<PagesFile>,
    shadow: Shadow,
    /// What pages differ by from all of these.
    differences: Arc<Differences>,
}

#[derive(Clone, Debug)]
struct PagesFile {
    file: PageFile,
    reader: PageReader,
}

impl RecordPages {
    /// The pages of a file, of which some have newer images in others, and how they are read.
    ///
    /// # Errors
    /// When no way of reading works.
    pub(crate) fn open(
        first: PageFile,
        images: Vec<PageFile>,
        shadow: Shadow,
    ) -> Result<(Self, IoProbe)> {
        let (reader, probe) = PageReader::open(first.clone())?;
        let image = |file: PageFile| PagesFile {
            reader: PageReader::with_backend(file.clone(), reader.backend()),
            file,
        };
        let pages = Self {
            epochs: None,
            images: images.into_iter().map(image).collect(),
            first: PagesFile {
                file: first,
                reader,
            },
            shadow,
            differences: Arc::default(),
        };
        Ok((pages, probe))
    }

    /// The same, of which epoch each page of the first file is.
    #[must_use]
    pub(crate) fn with_epochs(mut self, epochs: Vec<u32>) -> Self {
        self.epochs = Some(epochs.into());
        self
    }

    /// The same, with what pages differ by from what the files hold.
    #[must_use]
    pub(crate) fn with_differences(mut self, differences: Differences) -> Self {
        self.differences = Arc::new(differences);
        self
    }

    /// What pages differ by from what the files hold.
    pub(crate) fn differences(&self) -> &Differences {
        &self.differences
    }

    /// The same pages, as the files hold them.
    pub(crate) fn as_written(&self) -> Self {
        self.clone().with_differences(Differences::default())
    }

    /// Of each page of the first file, where some were written over.
    pub(crate) fn epochs(&self) -> Option<&[u32]> {
        self.epochs.as_deref()
    }

    /// Which pages have newer images.
    pub(crate) fn shadow(&self) -> &Shadow {
        &self.shadow
    }

    /// Bytes and pages of one read.
    pub(crate) fn geometry(&self) -> PageGeometry {
        self.first.reader.geometry()
    }

    /// The beginning of `room` that a payload of these pages takes.
    #[inline]
    pub(crate) fn part_of<'r>(&self, room: &'r mut [u8]) -> &'r mut [u8] {
        let length = self.geometry().payload_bytes().min(room.len());
        room.split_at_mut(length).0
    }

    /// How reads are made.
    pub(crate) fn backend(&self) -> IoBackend {
        self.first.reader.backend()
    }

    /// Where messages say that pages are.
    pub(crate) fn path(&self) -> &std::path::Path {
        self.first.file.path()
    }

    /// Files, in the order of their numbers.
    pub(crate) fn readers(&self) -> impl Iterator<Item = &PageReader> {
        let images = self.images.iter().map(|image| &image.reader);
        std::iter::once(&self.first.reader).chain(images)
    }

    /// Number of the file, and of its unit, that hold a page.
    #[inline]
    pub(crate) fn place(&self, page: PageId) -> (u32, u64) {
        self.shadow.place(page)
    }

    /// A lane over all of its files, by their numbers.
    ///
    /// # Errors
    /// When memory or a lane is refused.
    pub(crate) fn lane(&self, buffers: u32) -> Result<Box<dyn PageIo>> {
        let others: Vec<&PageReader> = self.readers().skip(1).collect();
        Ok(self.first.reader.lane_with(&others, buffers)?)
    }

    /// Checks the bytes of a page that was read into the beginning of a buffer, puts in what it
    /// differs by, and returns its payload.
    ///
    /// # Errors
    /// `Corrupt`.
    #[inline]
    pub(crate) fn verify<'b>(&self, page: PageId, bytes: &'b mut [u8]) -> Result<&'b [u8]> {
        let (file, unit) = self.place(page);
        let reader = &self.file(file)?.reader;
        let length = self.geometry().unit_bytes().min(bytes.len());
        let (bytes, _) = bytes.split_at_mut(length);
        match &self.epochs {
            Some(epochs) if file == 0 => {
                let epoch = epochs.get(unit as usize).copied().unwrap_or(u32::MAX);
                reader.verify_unit_epoch(unit, bytes, epoch..=epoch)?;
            }
            _ => {
                reader.verify_unit(unit, bytes)?;
            }
        }
        Ok(self.differing(page, bytes))
    }

    /// The payload of a page that was checked.
    fn differing<'b>(&self, page: PageId, bytes: &'b mut [u8]) -> &'b [u8] {
        let payload = bytes.get_mut(PAGE_HEADER_BYTES..).unwrap_or_default();
        self.differences.apply(page, payload);
        payload
    }

    /// Reads and checks a page, without a lane, into a buffer that holds one at least.
    ///
    /// # Errors
    /// `Corrupt` or `Io`.
    pub(crate) fn read<'b>(
        &self,
        page: PageId,
        buffers: &'b mut AlignedBuffers,
    ) -> Result<&'b [u8]> {
        let (file, unit) = self.place(page);
        let own = self.file(file)?;
        let length = self.geometry().unit_bytes();
        let bytes = buffers.get_mut(0).get_mut(..length).unwrap_or_default();
        own.file.read_units(unit, bytes)?;
        self.verify(page, bytes)
    }

    /// Reads adjacent pages from `first` on into as many buffers, those that lie together at once.
    /// Nothing is checked yet.
    ///
    /// # Errors
    /// `Io`, and `InvalidInput` for pages that there are not.
    pub(crate) fn read_run(
        &self,
        first: PageId,
        (buffers, count): (&mut AlignedBuffers, usize),
    ) -> Result<()> {
        let mut at = 0;
        while at < count {
            let (file, unit) = self.place(PageId(first.0 + at as u32));
            let follows = |behind: &usize| {
                let page = PageId(first.0 + *behind as u32);
                self.place(page) == (file, unit + (*behind - at) as u64)
            };
            let end = (at + 1..count).find(|behind| !follows(behind));
            let end = end.unwrap_or(count);
            let bytes = buffers.get_many_mut(at, end - at);
            self.file(file)?.file.read_units(unit, bytes)?;
            at = end;
        }
        Ok(())
    }

    #[inline]
    fn file(&self, number: u32) -> Result<&PagesFile> {
        let image = (number as usize).checked_sub(1);
        let file = image.map_or(Some(&self.first), |at| self.images.get(at));
        file.ok_or_else(|| Error::new(ErrorKind::Internal, "an image in no file"))
    }
}
