//! What the operating system counts: bytes, reads and processor time. Each count only grows, so a
//! difference of two is what lies between them; one costs some ten microseconds.
//!
//! They check our own counters from outside. Linux tells all of them, other systems the processor
//! time alone.

use std::path::Path;
use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

use super::read_text;

/// Bytes that all threads of this process had read from storage; what the page cache had is not
/// among them. `None` where the system does not tell.
pub fn process_read_bytes() -> Option<u64> {
    process_counter("read_bytes:")
}

/// Bytes that system calls read for all threads of this process, wherever they came from: the page
/// cache and `/proc`, too, but not what io_uring read. `None` where the system does not tell.
pub fn process_requested_bytes() -> Option<u64> {
    process_counter("rchar:")
}

/// Reads that reached the block device on which `path`, a file or directory, lies: those completed
/// and those merged into others. The whole machine's, not this process's alone. `None` where the
/// system does not tell, or the file system lies on no block device of its own, as overlayfs.
pub fn device_reads(path: &Path) -> Option<u64> {
    let device = rustix::fs::stat(path).ok()?.st_dev;
    let (major, minor) = (rustix::fs::major(device), rustix::fs::minor(device));
    reads_in(&read_text(&format!("/sys/dev/block/{major}:{minor}/stat"))?)
}

/// Processor time that all threads of this process took, user and system.
pub fn process_cpu_time() -> Duration {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    Duration::try_from(time).unwrap_or_default()
}

fn process_counter(name: &str) -> Option<u64> {
    let text = read_text("/proc/self/io")?;
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    line.trim().parse().ok()
}

/// The statistics of a block device begin with its reads completed and its reads merged.
fn reads_in(statistics: &str) -> Option<u64> {
    let mut fields = statistics.split_whitespace();
    let mut field = || fields.next()?.parse::<u64>().ok();
    field()?.checked_add(field()?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{AlignedBuffers, OpenMode, OsVfs, Vfs};

    #[test]
    fn reads_are_completed_and_merged_ones() {
        let statistics = " 226577961 21305078 2115842618 32011381   621864   233878 156705408\n";
        assert_eq!(reads_in(statistics), Some(226_577_961 + 21_305_078));
        for damaged in ["", "7", "seven 1", "1 seven", "18446744073709551615 1"] {
            assert_eq!(reads_in(damaged), None, "{damaged}");
        }
    }

    #[test]
    fn no_block_device_no_reads() {
        assert_eq!(device_reads("no/such/file".as_ref()), None);
        assert_eq!(device_reads("/proc".as_ref()), None);
    }

    #[test]
    fn processor_time_grows_with_work() {
        let before = process_cpu_time();
        let sum = (0..5_000_000_u64).fold(0, |sum: u64, i| std::hint::black_box(sum ^ (i * i)));
        let after = process_cpu_time();
        assert!(after > before, "{sum}: {before:?} {after:?}");
        assert!(after < before + Duration::from_secs(60), "{after:?}");
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn a_direct_read_is_counted() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("x");
        let file = OsVfs.open(&path, OpenMode::CreateNew).unwrap();
        file.write_all_at(&[1; 8192], 0).unwrap();
        file.sync_data().unwrap();
        let direct = OsVfs.open(&path, OpenMode::ReadDirect).unwrap();
        let counts = || {
            let asked = process_requested_bytes();
            (asked, process_read_bytes(), device_reads(&path))
        };
        let (asked, read, reads) = counts();
        let mut buffers = AlignedBuffers::new(1, 8192).unwrap();
        direct.read_exact_at(buffers.get_mut(0), 0).unwrap();
        let (asked_after, read_after, reads_after) = counts();
        assert!(asked_after >= asked.map(|bytes| bytes + 8192));
        // Other file systems answer from memory.
        if direct.direct() && reads.is_some() {
            assert!(read_after >= read.map(|bytes| bytes + 8192));
            assert!(reads_after > reads);
        }
    }
}
