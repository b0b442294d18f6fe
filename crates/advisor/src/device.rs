//! The disk, as `doctor` measured it: how long a round of reads takes, and how many it gives per
//! second.

use pageway::DoctorReport;
use serde::Serialize;

/// Bytes of the reads that `doctor` times.
const READ_BYTES: f64 = 4096.0;
/// Bytes per second that a read of several pages moves beyond its first, where nothing is known:
/// two pages take longer than one, though far less than twice as long.
const STREAM_BYTES_PER_US: f64 = 1500.0;

/// A disk by queue depth.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Device {
    /// Reads in flight, and microseconds until all of them are there.
    rounds: Vec<(f64, f64)>,
    /// Most reads per second.
    pub reads_per_second: f64,
}

impl Device {
    /// The disk of a report.
    pub fn of(report: &DoctorReport) -> Self {
        Self::new(report.disk.iter().map(|reading| {
            let depth = f64::from(reading.queue_depth);
            (depth, reading.reads_per_second)
        }))
    }

    /// A disk that gives so many reads per second at each queue depth, depths rising.
    ///
    /// Reads that are sent together are all there when the last one is: after `depth / rate`.
    pub fn new(rates: impl IntoIterator<Item = (f64, f64)>) -> Self {
        let rates: Vec<(f64, f64)> = rates.into_iter().collect();
        let most = rates.iter().map(|(_, rate)| *rate).fold(1.0, f64::max);
        let mut longest = 0.0_f64;
        let round = |&(depth, rate): &(f64, f64)| {
            longest = longest.max(1e6 * depth / rate.max(1.0));
            (depth, longest)
        };
        Self {
            rounds: rates.iter().map(round).collect(),
            reads_per_second: most,
        }
    }

    /// Microseconds of a round of `depth` reads of `read_bytes`: straight lines between the depths
    /// that were measured, beyond the last one in proportion.
    pub fn round_us(&self, depth: f64, read_bytes: f64) -> f64 {
        let depth = depth.max(1.0);
        let after = self.rounds.partition_point(|(at, _)| *at <= depth);
        let before = after.checked_sub(1).and_then(|at| self.rounds.get(at));
        let pages = match (before, self.rounds.get(after)) {
            (Some((a, t)), Some((b, u))) => t + (u - t) * (depth - a) / (b - a),
            (Some((a, t)), None) => t * depth / a,
            (None, Some((_, t))) => *t,
            (None, None) => 0.0,
        };
        pages + depth * (read_bytes - READ_BYTES).max(0.0) / STREAM_BYTES_PER_US
    }

    /// Most reads of `read_bytes` per second.
    pub fn rate(&self, read_bytes: f64) -> f64 {
        let each = 1e6 / self.reads_per_second;
        1e6 / (each + (read_bytes - READ_BYTES).max(0.0) / STREAM_BYTES_PER_US)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn device() -> Device {
        Device::new([(1.0, 20_000.0), (4.0, 50_000.0), (16.0, 100_000.0)])
    }

    #[test]
    fn rounds_take_what_was_measured_and_what_lies_between() {
        let device = device();
        for (depth, us) in [(1.0, 50.0), (4.0, 80.0), (16.0, 160.0), (10.0, 120.0)] {
            let found = device.round_us(depth, 4096.0);
            assert!((found - us).abs() < 1e-9, "{depth}: {found}");
        }
        assert!((device.round_us(32.0, 4096.0) - 320.0).abs() < 1e-9);
        assert!((device.round_us(0.2, 4096.0) - 50.0).abs() < 1e-9);
    }

    #[test]
    fn longer_reads_take_longer() {
        let device = device();
        assert!(device.round_us(4.0, 16_384.0) > device.round_us(4.0, 4096.0));
        assert!((device.rate(4096.0) - 100_000.0).abs() < 1e-6);
        assert!(device.rate(16_384.0) < 100_000.0);
    }

    #[test]
    fn a_deeper_queue_is_never_faster_to_the_last_read() {
        let odd = Device::new([(1.0, 10_000.0), (2.0, 40_000.0)]);
        assert!(odd.round_us(2.0, 4096.0) >= odd.round_us(1.0, 4096.0));
    }
}
