//! How long the disk takes to make 4 KiB durable: what an update waits for before it counts.
//!
//! Appended and synced one after the other, as a log is written that nobody shares; first alone,
//! then while another thread reads at random. Reads and syncs meet in the queue of the device.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use pageway_store::{OpenMode, PageReader, StoreError, Vfs, VfsFile, clock};
use serde::Serialize;

use super::{latencies, measure};
use crate::error::{Error, ErrorKind, Result};

/// Bytes of an append.
const APPEND_BYTES: usize = 4096;
/// Most appends measured at a time: where syncs cost nothing, time alone would fill the disk.
const MAX_SYNCS: usize = 4096;
/// Longest time measured, alone and again beside reads.
const MAX_TIME: Duration = Duration::from_secs(1);
/// Reads in flight beside the syncs.
const READS_IN_FLIGHT: u32 = 16;

/// Appends of 4 KiB, each made durable by itself.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct SyncReading {
    /// Appends measured.
    pub syncs: u64,
    /// Mean time of an append and its sync in microseconds.
    pub latency_us_mean: f64,
    /// 99th percentile.
    pub latency_us_p99: f64,
}

/// What it takes to make an append durable, if that could be measured.
#[derive(Clone, PartialEq, Default, Debug, Serialize)]
pub struct SyncReport {
    /// With nothing else to do for the disk.
    pub alone: Option<SyncReading>,
    /// With 16 random reads of 4 KiB in flight.
    pub beside_reads: Option<SyncReading>,
    /// Why neither was measured.
    pub skipped: Option<String>,
}

/// Measures for `time`, at most a second, alone and as long again beside reads. What fails is said
/// in the report: the rest of what `doctor` found still holds.
pub(super) fn measure_syncs(
    vfs: &dyn Vfs,
    dir: &Path,
    reader: &PageReader,
    time: Duration,
) -> SyncReport {
    let time = time.min(MAX_TIME);
    let both = Log::create(vfs, dir).and_then(|mut log| {
        let alone = log.measure(time)?;
        let beside_reads = beside_reads(&mut log, reader, time)?;
        Ok((alone, beside_reads))
    });
    match both {
        Ok((alone, beside_reads)) => SyncReport {
            alone: Some(alone),
            beside_reads: Some(beside_reads),
            skipped: None,
        },
        Err(error) => SyncReport {
            skipped: Some(error.to_string()),
            ..SyncReport::default()
        },
    }
}

fn beside_reads(log: &mut Log<'_>, reader: &PageReader, time: Duration) -> Result<SyncReading> {
    std::thread::scope(|scope| {
        let reads = scope.spawn(|| measure(reader, READS_IN_FLIGHT, time));
        let syncs = log.measure(time);
        let reads = reads.join().unwrap_or_else(|_| {
            let what = "the thread that reads beside the syncs is gone";
            Err(Error::new(ErrorKind::Internal, what))
        });
        reads.and(syncs)
    })
}

/// The file that is appended to; removed with this.
struct Log<'v> {
    vfs: &'v dyn Vfs,
    path: PathBuf,
    file: Arc<dyn VfsFile>,
    bytes: u64,
}

impl Drop for Log<'_> {
    fn drop(&mut self) {
        let _ = self.vfs.remove_file(&self.path);
    }
}

impl<'v> Log<'v> {
    fn create(vfs: &'v dyn Vfs, dir: &Path) -> Result<Self> {
        let path = dir.join(format!("doctor-{}-log.pw", std::process::id()));
        let file = vfs
            .open(&path, OpenMode::CreateNew)
            .map_err(|error| StoreError::io(&path, "create", error))?;
        Ok(Self {
            vfs,
            path,
            file,
            bytes: 0,
        })
    }

    /// Appends for `time`, or as often as is bounded. The first append also makes the file's own
    /// data structures durable, and does not count.
    fn measure(&mut self, time: Duration) -> Result<SyncReading> {
        self.append()?;
        let mut latencies_us = Vec::with_capacity(MAX_SYNCS);
        let start = clock::now();
        let mut begin = start;
        while latencies_us.is_empty() || (begin - start < time && latencies_us.len() < MAX_SYNCS) {
            self.append()?;
            let end = clock::now();
            latencies_us.push((end - begin).as_secs_f64() * 1e6);
            begin = end;
        }
        let syncs = latencies_us.len() as u64;
        let latencies = latencies(&mut latencies_us);
        Ok(SyncReading {
            syncs,
            latency_us_mean: latencies.mean,
            latency_us_p99: latencies.p99,
        })
    }

    fn append(&mut self) -> Result<()> {
        self.file
            .write_all_at(&[0x5a; APPEND_BYTES], self.bytes)
            .map_err(|error| StoreError::io(&self.path, "write", error))?;
        self.file
            .sync_data()
            .map_err(|error| StoreError::io(&self.path, "sync", error))?;
        self.bytes += APPEND_BYTES as u64;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use pageway_store::{FileUuid, PageGeometry};
    use pageway_testkit::{Fault, FaultPlan, FaultVfs, Operation, SimVfs};

    use super::*;

    const TIME: Duration = Duration::from_millis(20);

    fn reader() -> PageReader {
        let geometry = PageGeometry::new(4096, 1).unwrap();
        PageReader::in_memory(geometry, FileUuid([1; 16]), &[b"a", b"b"], None).unwrap()
    }

    fn report(plan: &FaultPlan) -> (SyncReport, SimVfs) {
        let sim = SimVfs::new();
        let vfs = FaultVfs::new(Arc::new(sim.clone()), plan.clone());
        (measure_syncs(&vfs, Path::new("/"), &reader(), TIME), sim)
    }

    #[test]
    fn every_append_is_synced_and_the_file_goes() {
        let plan = FaultPlan::none();
        let (report, sim) = report(&plan);
        let (alone, beside) = (report.alone.unwrap(), report.beside_reads.unwrap());
        for reading in [alone, beside] {
            assert!(reading.syncs >= 1 && reading.syncs <= MAX_SYNCS as u64);
            assert!(reading.latency_us_mean > 0.0, "{reading:?}");
            assert!(reading.latency_us_p99 > 0.0, "{reading:?}");
        }
        // Two do not count.
        let syncs = alone.syncs + beside.syncs + 2;
        assert_eq!(plan.calls(Operation::SyncFile), syncs);
        assert_eq!(plan.calls(Operation::Write), syncs);
        assert_eq!(report.skipped, None);
        assert!(sim.list(Path::new("/")).unwrap().is_empty());
    }

    #[test]
    fn what_fails_is_said_and_leaves_nothing_behind() {
        let cases = [
            (Operation::Create, Fault::AccessDenied, "create"),
            (Operation::Write, Fault::NoSpace, "no space"),
            (Operation::SyncFile, Fault::Io, "sync"),
        ];
        for (operation, fault, word) in cases {
            let (report, sim) = report(&FaultPlan::none().for_ever(operation, 0, fault));
            let why = report.skipped.unwrap();
            assert!(why.contains(word), "{why}");
            assert!(report.alone.is_none() && report.beside_reads.is_none());
            assert!(sim.list(Path::new("/")).unwrap().is_empty());
        }
    }

    #[test]
    fn the_keys_are_there_measured_or_not() {
        let skipped = SyncReport {
            skipped: Some("why".to_owned()),
            ..SyncReport::default()
        };
        let json = serde_json::to_string(&skipped).unwrap();
        assert_eq!(
            json,
            r#"{"alone":null,"beside_reads":null,"skipped":"why"}"#
        );
        let reading = SyncReading {
            syncs: 3,
            latency_us_mean: 1.5,
            latency_us_p99: 2.0,
        };
        let json = serde_json::to_string(&reading).unwrap();
        assert_eq!(
            json,
            r#"{"syncs":3,"latency_us_mean":1.5,"latency_us_p99":2.0}"#
        );
    }
}
