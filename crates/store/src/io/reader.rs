//! The way in: an open file and the backend that reads it.

use std::io;
use std::ops::RangeInclusive;
use std::path::Path;
use std::sync::Arc;

use super::blocking::BlockingLane;
use super::files::LaneFiles;
use super::memory::{MemoryLane, MemoryUnits};
use super::slots::Slots;
use super::threads::{self, ThreadLane};
use super::{IoBackend, IoProbe, MAX_LANE_BUFFERS, PageIo, probe};
use crate::page::{UnitSeal, corrupt_unit};
use crate::{FileUuid, PAGE_HEADER_BYTES, PageFile, PageGeometry, StoreError};

/// Environment variable that forces a backend: `uring`, `threads` or `blocking`.
const BACKEND_VARIABLE: &str = "PAGEWAY_IO";

/// Reads units of one file, and writes them where it was opened to be written. Cheap to clone,
/// shared by threads; each thread takes its own lane.
#[derive(Clone, Debug)]
pub struct PageReader {
    source: Source,
    seal: UnitSeal,
    units: u64,
    backend: IoBackend,
}

#[derive(Clone, Debug)]
enum Source {
    File(PageFile),
    Memory(Arc<MemoryUnits>),
}

impl PageReader {
    /// Reads `file` by the best backend that works here, or by the one that `PAGEWAY_IO` names.
    /// Also says which and why. `Invalid` when the named one does not exist or does not work.
    pub fn open(file: PageFile) -> Result<(Self, IoProbe), StoreError> {
        let chosen = choose(
            std::env::var(BACKEND_VARIABLE).ok().as_deref(),
            probe(&file),
        )?;
        Ok((Self::with_backend(file, chosen.backend), chosen))
    }

    /// Reads `file` by a given backend. Whether it works shows in `lane`.
    pub fn with_backend(file: PageFile, backend: IoBackend) -> Self {
        Self {
            seal: file.seal(),
            units: file.units(),
            source: Source::File(file),
            backend,
        }
    }

    /// Serves payloads from memory, sealed as a file would be, and takes writes. With a seed,
    /// completions come in a repeatable random order and number; without, in the order of
    /// submission.
    pub fn in_memory(
        geometry: PageGeometry,
        uuid: FileUuid,
        payloads: &[&[u8]],
        order_seed: Option<u64>,
    ) -> Result<Self, StoreError> {
        let seal = UnitSeal::new(geometry, uuid, 0);
        let units = payloads
            .iter()
            .enumerate()
            .map(|(unit, payload)| sealed(seal, unit as u64, payload))
            .collect::<Result<Vec<_>, _>>()?;
        Ok(Self {
            units: units.len() as u64,
            source: Source::Memory(Arc::new(MemoryUnits {
                units: units.into(),
                seal,
                order_seed,
            })),
            seal,
            backend: IoBackend::Memory,
        })
    }

    /// Page and unit sizes.
    pub fn geometry(&self) -> PageGeometry {
        self.seal.geometry()
    }

    /// Units of the file.
    pub fn units(&self) -> u64 {
        self.units
    }

    /// The backend of lanes with more than one buffer.
    pub fn backend(&self) -> IoBackend {
        self.backend
    }

    /// A lane with `buffers` buffers of one unit, so as many requests in flight. A lane with a
    /// single buffer has nothing to overlap and starts no threads. It knows the units that its
    /// file had when this reader was made: after [`PageFile::grow`], make another.
    pub fn lane(&self, buffers: u32) -> Result<Box<dyn PageIo>, StoreError> {
        self.lane_with(&[], buffers)
    }

    /// As [`lane`](Self::lane), over this file, number 0, and `others`, whose pages are as large
    /// and which are only read. Buffers hold the largest unit of all; a smaller one fills their
    /// beginning.
    pub fn lane_with(&self, others: &[&Self], buffers: u32) -> Result<Box<dyn PageIo>, StoreError> {
        if buffers == 0 || buffers > MAX_LANE_BUFFERS {
            return Err(StoreError::invalid(format!(
                "a lane of {buffers} buffers: use 1 to {MAX_LANE_BUFFERS}"
            )));
        }
        self.make_lane(others, buffers)
            .map_err(|error| StoreError::io(self.path(), "set up a lane", error))
    }

    /// Memory that a lane holds: buffers, bookkeeping, thread stacks or ring.
    pub fn lane_bytes(geometry: PageGeometry, buffers: u32, backend: IoBackend) -> usize {
        let each = geometry.unit_bytes() + Slots::BYTES_EACH;
        let own = match lane_backend(backend, buffers) {
            IoBackend::Threads => threads::thread_count(buffers) * threads::STACK_BYTES,
            IoBackend::Uring => ring_bytes(buffers),
            IoBackend::Blocking | IoBackend::Memory => 0,
        };
        buffers as usize * each + own
    }

    /// Checks the bytes of a completed read, and returns the payload (padding included).
    #[inline]
    pub fn verify_unit<'b>(&self, unit: u64, bytes: &'b [u8]) -> Result<&'b [u8], StoreError> {
        let checked = self.seal.check(unit, bytes);
        checked.map_err(|error| corrupt_unit(self.path(), self.seal, unit, error))
    }

    /// As [`verify_unit`](Self::verify_unit), of a unit whose epoch is known better than that it
    /// is no newer than the manifest's. See [`StoreError::is_lost_write`].
    pub fn verify_unit_epoch<'b>(
        &self,
        unit: u64,
        bytes: &'b [u8],
        epochs: RangeInclusive<u32>,
    ) -> Result<&'b [u8], StoreError> {
        let checked = self.seal.check_epoch(unit, bytes, epochs);
        checked.map_err(|error| corrupt_unit(self.path(), self.seal, unit, error))
    }

    /// Fills in the header of a unit whose payload is in place, before it is written. Epochs only
    /// rise: one that stays as it was hides a lost write. Panics unless `bytes` is one unit long.
    pub fn seal_unit(&self, unit: u64, epoch: u32, bytes: &mut [u8]) {
        self.seal.seal(unit, epoch, bytes);
    }

    fn path(&self) -> &Path {
        match &self.source {
            Source::File(file) => file.path(),
            Source::Memory(_) => Path::new("memory"),
        }
    }

    fn make_lane(&self, others: &[&Self], buffers: u32) -> io::Result<Box<dyn PageIo>> {
        let (mut files, mut units) = (Vec::new(), Vec::new());
        for reader in others {
            match &reader.source {
                Source::File(file) => files.push(file),
                Source::Memory(source) => units.push(Arc::clone(source)),
            }
        }
        match &self.source {
            Source::File(file) if units.is_empty() => {
                file_lane(LaneFiles::new(file, &files)?, self.backend, buffers)
            }
            Source::Memory(source) if files.is_empty() => {
                units.insert(0, Arc::clone(source));
                Ok(Box::new(MemoryLane::new(units, buffers)?))
            }
            Source::File(_) | Source::Memory(_) => {
                let words = "a lane reads files or memory, not both";
                Err(io::Error::new(io::ErrorKind::InvalidInput, words))
            }
        }
    }
}

fn file_lane(files: LaneFiles, backend: IoBackend, buffers: u32) -> io::Result<Box<dyn PageIo>> {
    match lane_backend(backend, buffers) {
        IoBackend::Uring => uring_lane(files, buffers),
        IoBackend::Threads => Ok(Box::new(ThreadLane::new(files, buffers)?)),
        IoBackend::Blocking | IoBackend::Memory => Ok(Box::new(BlockingLane::new(files, buffers)?)),
    }
}

/// The probe's choice, or the one that the environment forces.
fn choose(forced: Option<&str>, probed: IoProbe) -> Result<IoProbe, StoreError> {
    let Some(name) = forced else {
        return Ok(probed);
    };
    let backend: IoBackend = name.parse()?;
    if backend == IoBackend::Uring && probed.backend != IoBackend::Uring {
        let reason = probed.reason;
        return Err(StoreError::invalid(format!(
            "{BACKEND_VARIABLE}=uring: {reason}"
        )));
    }
    let reason = format!("chosen by {BACKEND_VARIABLE}={name}");
    Ok(IoProbe {
        backend,
        reason,
        ..probed
    })
}

fn lane_backend(backend: IoBackend, buffers: u32) -> IoBackend {
    if backend == IoBackend::Threads && buffers == 1 {
        IoBackend::Blocking
    } else {
        backend
    }
}

#[cfg(target_os = "linux")]
fn uring_lane(files: LaneFiles, buffers: u32) -> io::Result<Box<dyn PageIo>> {
    Ok(Box::new(super::uring::UringLane::new(files, buffers)?))
}

#[cfg(not(target_os = "linux"))]
fn uring_lane(_files: LaneFiles, _buffers: u32) -> io::Result<Box<dyn PageIo>> {
    Err(io::ErrorKind::Unsupported.into())
}

/// Submission entries of 64 bytes and an index, and twice as many completions of 16 bytes.
fn ring_bytes(buffers: u32) -> usize {
    buffers.next_power_of_two() as usize * (64 + 4 + 2 * 16)
}

fn sealed(seal: UnitSeal, unit: u64, payload: &[u8]) -> Result<Vec<u8>, StoreError> {
    let geometry = seal.geometry();
    if payload.len() > geometry.payload_bytes() {
        return Err(StoreError::invalid("a payload does not fit its unit"));
    }
    let mut bytes = Vec::with_capacity(geometry.unit_bytes());
    bytes.resize(PAGE_HEADER_BYTES, 0);
    bytes.extend_from_slice(payload);
    bytes.resize(geometry.unit_bytes(), 0);
    seal.seal(unit, 0, &mut bytes);
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_environment_overrides_the_probe_unless_it_asks_for_the_impossible() {
        let probed = |backend| IoProbe {
            backend,
            reason: "denied".into(),
            direct: true,
        };
        let threads = || probed(IoBackend::Threads);
        assert_eq!(choose(None, threads()).unwrap(), threads());
        let forced = choose(Some("blocking"), probed(IoBackend::Uring)).unwrap();
        assert_eq!(forced.backend, IoBackend::Blocking);
        assert!(forced.direct && forced.reason.contains("PAGEWAY_IO"));
        let impossible = choose(Some("uring"), threads()).unwrap_err().to_string();
        assert!(impossible.contains("denied"), "{impossible}");
        assert!(choose(Some("fast"), threads()).is_err());
    }

    #[test]
    fn a_payload_must_fit_its_unit() {
        let geometry = PageGeometry::new(4096, 1).unwrap();
        let make =
            |bytes: &[u8]| PageReader::in_memory(geometry, FileUuid([0; 16]), &[bytes], None);
        assert!(make(&[1; 4088]).is_ok());
        assert!(make(&[1; 4089]).is_err());
    }
}
