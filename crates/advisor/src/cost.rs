//! What a query takes: counts of a search, and the device, as microseconds and queries per second.
//!
//! ```text
//! latency  =  rounds x time of a round of so many reads  +  computing
//! QPS      =  the least of  threads / processor time        (cores)
//!                           reads per second / reads         (device)
//!                           threads x interleave / latency   (queries in flight)
//! ```
//!
//! The time of a round, as it was measured, holds the processor time of its reads, which is the
//! larger part of it on a fast disk; so latency adds computing alone, and cores serve both.
//! Computing that overlaps reads is not taken off: it is little beside them.

use serde::Serialize;

use crate::device::Device;
use crate::model::Counts;
use crate::wish::Goal;

/// Queries that a thread keeps in flight in a batch.
const INTERLEAVE: f64 = 8.0;

/// Counts of a query, and what they take.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct Cost {
    /// The counts.
    #[serde(flatten)]
    pub counts: Counts,
    /// Microseconds from question to answer, one query at a time.
    pub latency_us: f64,
    /// Queries per second, all threads busy.
    pub queries_per_second: f64,
}

impl Cost {
    /// Of queries with these counts, on `threads` threads.
    pub fn of(counts: Counts, device: &Device, threads: usize) -> Self {
        let Counts {
            reads,
            rounds,
            bytes,
            compute_us,
            read_us,
            ..
        } = counts;
        let cpu_us = compute_us + read_us;
        let read_bytes = bytes / reads.max(1e-9);
        let waiting = if reads > 0.0 {
            rounds * device.round_us(reads / rounds.max(1e-9), read_bytes)
        } else {
            0.0
        };
        let latency_us = (waiting + compute_us).max(1e-3);
        let threads = threads.max(1) as f64;
        let by_cores = threads * 1e6 / cpu_us.max(1e-3);
        let by_device = device.rate(read_bytes) / reads.max(1e-9);
        let by_queries = threads * INTERLEAVE * 1e6 / latency_us;
        Self {
            counts,
            latency_us,
            queries_per_second: by_cores.min(by_device).min(by_queries),
        }
    }

    /// What a goal counts: less is better. Near equals are told apart by pages and processor time.
    pub fn score(&self, goal: Goal) -> f64 {
        match goal {
            Goal::Latency => self.latency_us,
            Goal::Throughput => 1e6 / self.queries_per_second,
            Goal::Reads => self.counts.pages + self.counts.compute_us * 1e-4,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(reads: f64, rounds: f64, compute_us: f64) -> Counts {
        Counts {
            pages: reads,
            reads,
            rounds,
            bytes: reads * 4096.0,
            compute_us,
            ..Counts::default()
        }
    }

    fn device() -> Device {
        Device::new([(1.0, 20_000.0), (4.0, 50_000.0), (16.0, 100_000.0)])
    }

    #[test]
    fn latency_is_rounds_and_computing() {
        let cost = Cost::of(counts(40.0, 10.0, 200.0), &device(), 1);
        assert!((cost.latency_us - (10.0 * 80.0 + 200.0)).abs() < 1e-6);
        let nothing_read = Cost::of(counts(0.0, 0.0, 200.0), &device(), 1);
        assert!((nothing_read.latency_us - 200.0).abs() < 1e-6);
    }

    #[test]
    fn the_scarcest_of_three_limits_the_queries() {
        let cores = Cost::of(counts(2.0, 1.0, 1000.0), &device(), 2);
        assert!((cores.queries_per_second - 2000.0).abs() < 1e-6);
        let disk = Cost::of(counts(100.0, 10.0, 10.0), &device(), 8);
        assert!((disk.queries_per_second - 1000.0).abs() < 1e-6);
        let slow = Device::new([(1.0, 1_000.0), (64.0, 60_000.0)]);
        let flight = Cost::of(counts(2.0, 2.0, 1.0), &slow, 1);
        assert!((flight.queries_per_second - 8e6 / 2001.0).abs() < 1e-3);
    }

    #[test]
    fn each_goal_has_its_own_winner() {
        let few = Cost::of(counts(10.0, 10.0, 500.0), &device(), 1);
        let wide = Cost::of(counts(16.0, 1.0, 300.0), &device(), 1);
        assert!(few.score(Goal::Reads) < wide.score(Goal::Reads));
        assert!(wide.score(Goal::Latency) < few.score(Goal::Latency));
        assert!(wide.score(Goal::Throughput) < few.score(Goal::Throughput));
    }
}
