//! Units written through a lane with several in flight, and synced.

use std::path::Path;

use pageway_store::{
    AlignedBuffers, IoBackend, LaneRequest, PageDone, PageFile, PageIo, PageReader, PageWrite,
    StoreError,
};

/// Writes in flight. The lane serves them by itself, one after the other, so that the same
/// operations have the same order in each run.
const BUFFERS: u32 = 4;

pub(crate) struct Pen {
    path: std::path::PathBuf,
    reader: PageReader,
    lane: Box<dyn PageIo>,
    free: Vec<u32>,
    done: Vec<PageDone>,
}

impl Pen {
    pub(crate) fn new(file: &PageFile) -> Result<Self, StoreError> {
        let reader = PageReader::with_backend(file.clone(), IoBackend::Blocking);
        Ok(Self {
            path: file.path().to_path_buf(),
            lane: reader.lane(BUFFERS)?,
            reader,
            free: (0..BUFFERS).collect(),
            done: Vec::new(),
        })
    }

    pub(crate) fn write(
        &mut self,
        unit: u64,
        epoch: u32,
        payload: &[u8],
    ) -> Result<(), StoreError> {
        if self.free.is_empty() {
            self.wait()?;
        }
        let buffer = self.free.pop().unwrap();
        let bytes = self.lane.buffer_mut(buffer);
        bytes.fill(0);
        bytes[8..8 + payload.len()].copy_from_slice(payload);
        self.reader.seal_unit(unit, epoch, bytes);
        self.request(LaneRequest::Write(PageWrite {
            unit,
            buffer,
            tag: 0,
        }))
    }

    /// Waits for the writes, then makes them durable.
    pub(crate) fn sync(&mut self) -> Result<(), StoreError> {
        self.wait()?;
        let buffer = self.free.pop().unwrap();
        self.request(LaneRequest::Sync { buffer, tag: 0 })?;
        self.wait()
    }

    /// Waits for the writes.
    pub(crate) fn wait(&mut self) -> Result<(), StoreError> {
        let mut failed = None;
        self.lane.wait(usize::MAX, &mut self.done).unwrap();
        for done in self.done.drain(..) {
            self.free.push(done.buffer);
            failed = failed.or(done.result.err());
        }
        failed.map_or(Ok(()), |error| {
            Err(StoreError::io(&self.path, "write", error))
        })
    }

    fn request(&mut self, request: LaneRequest) -> Result<(), StoreError> {
        let asked = self.lane.request(request);
        asked.map_err(|error| StoreError::io(&self.path, "write", error))
    }
}

/// The payload of a unit that must be of this epoch.
pub(crate) fn read(file: &PageFile, unit: u64, epoch: u32) -> Result<Vec<u8>, StoreError> {
    let bytes_each = file.geometry().unit_bytes();
    let mut buffers = AlignedBuffers::new(1, bytes_each)
        .map_err(|error| StoreError::io(Path::new("memory"), "allocate", error))?;
    file.read_units(unit, buffers.get_mut(0))?;
    let payload = file.verify_unit_epoch(unit, buffers.get(0), epoch..=epoch)?;
    Ok(payload.to_vec())
}
