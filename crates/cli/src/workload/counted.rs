//! What the operating system counted during searches: a check of our own counters from outside.

use std::path::Path;
use std::time::Duration;

/// Counts, or sums of differences between counts.
#[derive(Clone, Copy)]
pub(crate) struct Counted {
    /// Bytes that this process had read from storage; absent where the system does not tell.
    pub(crate) read_bytes: Option<u64>,
    /// Reads of the device of the index, whoever asked for them; absent where the system does not
    /// tell.
    pub(crate) device_reads: Option<u64>,
    /// Processor time of this process, user and system.
    pub(crate) cpu: Duration,
}

impl Counted {
    pub(super) const NOTHING: Self = Self {
        read_bytes: Some(0),
        device_reads: Some(0),
        cpu: Duration::ZERO,
    };

    /// Counts up to now, for an index in `dir`.
    pub(super) fn now(dir: &Path) -> Self {
        let (read_bytes, device_reads) = disk_counts(dir);
        Self {
            read_bytes,
            device_reads,
            // Last, so that it leaves out what reading the others takes.
            cpu: pageway::lab::process_cpu_time(),
        }
    }

    /// Adds what was counted since `before`.
    pub(super) fn add_since(&mut self, before: &Self, dir: &Path) {
        self.cpu += pageway::lab::process_cpu_time().saturating_sub(before.cpu);
        let (read_bytes, device_reads) = disk_counts(dir);
        self.read_bytes = sum(self.read_bytes, before.read_bytes, read_bytes);
        self.device_reads = sum(self.device_reads, before.device_reads, device_reads);
    }
}

fn disk_counts(dir: &Path) -> (Option<u64>, Option<u64>) {
    (
        pageway::lab::process_read_bytes(),
        pageway::lab::device_reads(dir),
    )
}

/// `total` and the difference of two counts, where all are known.
fn sum(total: Option<u64>, before: Option<u64>, after: Option<u64>) -> Option<u64> {
    Some(total? + after?.saturating_sub(before?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_told_once_is_not_told() {
        assert_eq!(sum(Some(3), Some(10), Some(14)), Some(7));
        assert_eq!(sum(None, Some(10), Some(14)), None);
        assert_eq!(sum(Some(3), None, Some(14)), None);
        assert_eq!(sum(Some(3), Some(10), None), None);
    }
}
