//! `doctor`: what this machine and this disk can do, measured with the reads a search makes and
//! the syncs an update would wait for.

mod sync;

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use pageway_kernels::KernelSet;
use pageway_store::{
    FileEntry, FileUuid, OpenMode, OsVfs, PageDone, PageFile, PageFileWriter, PageGeometry,
    PageRead, PageReader, StoreError, Vfs, clock, machine,
};
use pageway_types::Progress;
use serde::Serialize;

use crate::error::{Error, ErrorKind, Result};
use crate::index::BackendReport;
use crate::resolve;
use crate::threads::thread_count;

use sync::measure_syncs;
pub use sync::{SyncReading, SyncReport};

/// Bytes of the file that is read: larger than what a disk's own cache holds in front of a small
/// test.
const FILE_BYTES: u64 = 256 << 20;
const PAGE_BYTES: u32 = 4096;
/// Reads in flight that are tried.
const QUEUE_DEPTHS: [u32; 6] = [1, 2, 4, 8, 16, 64];

/// How long to measure.
#[derive(Clone, Copy, PartialEq, Debug)]
#[non_exhaustive]
pub struct DoctorOptions {
    /// Seconds of reading in all. Syncs take a third as long again, at most two seconds.
    pub seconds: f32,
}

impl Default for DoctorOptions {
    fn default() -> Self {
        Self { seconds: 3.0 }
    }
}

impl DoctorOptions {
    /// The same with so many seconds of reading.
    #[must_use]
    pub const fn with_seconds(self, seconds: f32) -> Self {
        Self { seconds, ..self }
    }
}

/// Random reads of 4 KiB pages at one queue depth.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
#[non_exhaustive]
pub struct DepthReading {
    /// Reads in flight.
    pub queue_depth: u32,
    /// Reads per second.
    pub reads_per_second: f64,
    /// Mean latency of a read in microseconds.
    pub latency_us_mean: f64,
    /// Median latency.
    pub latency_us_p50: f64,
    /// 99th percentile.
    pub latency_us_p99: f64,
}

/// The processor, and the kernels chosen for it.
#[derive(Clone, PartialEq, Debug, Serialize)]
#[non_exhaustive]
pub struct CpuReport {
    /// Instruction set in use.
    pub isa: String,
    /// Instruction sets that would work.
    pub available: Vec<String>,
    /// Value of `PAGEWAY_ISA`, when it is set.
    pub forced: Option<String>,
    /// Cores that this process may use.
    pub cores: usize,
}

/// What this machine can do.
#[derive(Clone, PartialEq, Debug, Serialize)]
#[non_exhaustive]
pub struct DoctorReport {
    /// How reads reach the disk, and why that way.
    pub io: BackendReport,
    /// The processor.
    pub cpu: CpuReport,
    /// Random reads, by queue depth.
    pub disk: Vec<DepthReading>,
    /// Appends made durable.
    pub sync: SyncReport,
    /// Bytes free where the directory lies.
    pub free_bytes: u64,
    /// Main memory.
    pub memory_bytes: Option<u64>,
    /// Most files this process may open.
    pub open_files_limit: Option<u64>,
    /// Most memory it may lock; io_uring counts its buffers here on old kernels.
    pub locked_memory_limit: Option<u64>,
}

/// Writes a temporary file into `dir`, reads it at random, and removes it. Then appends to another
/// one, syncing each time, at most 8,192 times 4 KiB; where that fails the report says so.
///
/// # Errors
/// `NoSpace` when 512 MiB are not free, `ReadOnly` when the directory cannot be written to.
pub fn doctor(
    dir: &Path,
    options: &DoctorOptions,
    progress: &dyn Progress,
) -> Result<DoctorReport> {
    let vfs: Arc<dyn Vfs> = Arc::new(OsVfs);
    let each = options.seconds.max(0.1) / QUEUE_DEPTHS.len() as f32;
    let each = Duration::try_from_secs_f32(each)
        .map_err(|_| Error::invalid(format!("seconds = {}: that is too long", options.seconds)))?;
    let test = TestFile::create(&vfs, dir, progress)?;
    let file = PageFile::open(vfs.as_ref(), dir, &test.entry, OpenMode::ReadDirect)?;
    let (reader, probe) = PageReader::open(file)?;
    progress.stage("read at random", QUEUE_DEPTHS.len() as u64);
    let mut disk = Vec::new();
    for depth in QUEUE_DEPTHS {
        progress.check()?;
        disk.push(measure(&reader, depth, each)?);
        progress.advance(1);
    }
    progress.check()?;
    progress.stage("append and sync", 1);
    let sync = measure_syncs(vfs.as_ref(), dir, &reader, each);
    progress.advance(1);
    Ok(DoctorReport {
        io: probe.into(),
        cpu: cpu()?,
        disk,
        sync,
        free_bytes: vfs.free_bytes(dir)?,
        memory_bytes: machine::memory_bytes(),
        open_files_limit: machine::open_files_limit(),
        locked_memory_limit: machine::locked_memory_limit(),
    })
}

fn cpu() -> Result<CpuReport> {
    Ok(CpuReport {
        isa: resolve::kernels()?.isa().to_string(),
        available: KernelSet::available()
            .iter()
            .map(ToString::to_string)
            .collect(),
        forced: std::env::var("PAGEWAY_ISA").ok(),
        cores: thread_count(0),
    })
}

/// The temporary file; removed with this.
struct TestFile {
    vfs: Arc<dyn Vfs>,
    path: std::path::PathBuf,
    entry: FileEntry,
}

impl Drop for TestFile {
    fn drop(&mut self) {
        let _ = self.vfs.remove_file(&self.path);
    }
}

impl TestFile {
    fn create(vfs: &Arc<dyn Vfs>, dir: &Path, progress: &dyn Progress) -> Result<Self> {
        let free = vfs
            .free_bytes(dir)
            .map_err(|error| Error::from(error).within(dir.display()))?;
        if free < FILE_BYTES * 2 {
            return Err(Error::new(
                ErrorKind::NoSpace,
                format!(
                    "{}: {free} B are free, the test needs {}",
                    dir.display(),
                    FILE_BYTES * 2
                ),
            ));
        }
        let path = dir.join(format!("doctor-{}.pw", std::process::id()));
        let geometry = PageGeometry::new(PAGE_BYTES, 1)?;
        let uuid = FileUuid(*b"pageway doctor !");
        let mut writer = PageFileWriter::create(vfs.as_ref(), &path, 0, geometry, uuid)
            .map_err(|error| unwritable(dir, error))?;
        // Nothing may survive from here on but the guard.
        let outcome = fill(&mut writer, progress).and_then(|()| Ok(writer.finish()?));
        match outcome {
            Ok(entry) => Ok(Self {
                vfs: Arc::clone(vfs),
                path,
                entry,
            }),
            Err(error) => {
                let _ = vfs.remove_file(&path);
                Err(error)
            }
        }
    }
}

/// An error of creating a file, by what there is to do about it.
fn unwritable(dir: &Path, error: StoreError) -> Error {
    if matches!(error, StoreError::ReadOnly { .. }) {
        let what = "the disk is measured by a file of its own: make the directory writable, or \
                    name another one on the same disk";
        return Error::new(ErrorKind::ReadOnly, format!("{}: {what}", dir.display()));
    }
    error.into()
}

fn fill(writer: &mut PageFileWriter, progress: &dyn Progress) -> Result<()> {
    let units = FILE_BYTES / u64::from(PAGE_BYTES);
    progress.stage("write a test file", units);
    let mut payload = vec![0u8; writer.geometry().payload_bytes()];
    let mut random = Random(1);
    for unit in 0..units {
        for word in payload.chunks_exact_mut(8) {
            word.copy_from_slice(&random.next().to_le_bytes());
        }
        writer.append_unit(&payload)?;
        if unit % 1024 == 0 {
            progress.check()?;
            progress.advance(1024);
        }
    }
    Ok(())
}

fn measure(reader: &PageReader, depth: u32, time: Duration) -> Result<DepthReading> {
    let mut io = reader.lane(depth)?;
    let mut random = Random(u64::from(depth));
    let mut begun: Vec<Instant> = vec![clock::now(); depth as usize];
    let mut latencies_us: Vec<f64> = Vec::new();
    let mut done: Vec<PageDone> = Vec::new();
    let start = clock::now();
    let mut submit = |io: &mut dyn pageway_store::PageIo, buffer: u32| -> Result<Instant> {
        io.submit(PageRead {
            unit: random.next() % reader.units(),
            file: 0,
            buffer,
            tag: 0,
        })?;
        Ok(clock::now())
    };
    for (buffer, begin) in (0u32..).zip(&mut begun) {
        *begin = submit(io.as_mut(), buffer)?;
    }
    loop {
        io.wait(1, &mut done)?;
        let now = clock::now();
        if done.is_empty() {
            break;
        }
        for PageDone {
            buffer,
            unit,
            result,
            ..
        } in done.drain(..)
        {
            result?;
            reader.verify_unit(unit, io.buffer(buffer))?;
            let Some(begin) = begun.get_mut(buffer as usize) else {
                continue;
            };
            latencies_us.push((now - *begin).as_secs_f64() * 1e6);
            if now - start < time {
                *begin = submit(io.as_mut(), buffer)?;
            }
        }
    }
    let seconds = (clock::now() - start).as_secs_f64();
    let count = latencies_us.len() as f64;
    let latencies = latencies(&mut latencies_us);
    Ok(DepthReading {
        queue_depth: depth,
        reads_per_second: count / seconds,
        latency_us_mean: latencies.mean,
        latency_us_p50: latencies.p50,
        latency_us_p99: latencies.p99,
    })
}

/// Latencies in short, in microseconds.
struct Latencies {
    mean: f64,
    p50: f64,
    p99: f64,
}

/// Sorts what was measured.
fn latencies(us: &mut [f64]) -> Latencies {
    us.sort_by(f64::total_cmp);
    let count = us.len() as f64;
    let rank = |share: f64| {
        let at = us.get((count * share) as usize).or(us.last());
        at.copied().unwrap_or(0.0)
    };
    Latencies {
        mean: us.iter().sum::<f64>() / count,
        p50: rank(0.5),
        p99: rank(0.99),
    }
}

/// Xorshift: enough for scattering reads.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0.wrapping_mul(0x2545_F491_4F6C_DD1D)
    }
}

#[cfg(test)]
mod tests {
    use pageway_testkit::{Fault, FaultPlan, FaultVfs, Operation, SimVfs};

    use super::*;

    #[test]
    fn a_directory_that_cannot_be_written_is_named_with_what_to_do() {
        let cases = [
            (Fault::AccessDenied, ErrorKind::ReadOnly),
            (Fault::Io, ErrorKind::Io),
        ];
        for (fault, kind) in cases {
            let plan = FaultPlan::none().once(Operation::Create, 0, fault);
            let vfs: Arc<dyn Vfs> = Arc::new(FaultVfs::new(Arc::new(SimVfs::new()), plan));
            let created = TestFile::create(&vfs, Path::new("/"), &pageway_types::NoProgress);
            let error = created.err().unwrap();
            assert_eq!(error.kind(), kind, "{error}");
            let names = error.to_string().contains("writable");
            assert_eq!(names, kind == ErrorKind::ReadOnly, "{error}");
        }
    }

    #[test]
    fn latencies_are_told_by_their_mean_and_ranks() {
        let mut us: Vec<f64> = (0..200).rev().map(f64::from).collect();
        let Latencies { mean, p50, p99 } = latencies(&mut us);
        assert_eq!((mean, p50, p99), (99.5, 100.0, 198.0));
        assert_eq!(latencies(&mut [7.0]).p99, 7.0);
    }
}
