//! Reads at a device: when each is done, given when it was sent and what else is there.
//!
//! ```text
//! sent --> pace (reads and bytes per second) --> one of `parallel` places --> time of the read
//! ```
//!
//! First come, first served. The time of a read is drawn from the distribution and grows with the
//! reads in flight where the device says so.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::device::Device;

/// The reads at a device.
pub(crate) struct DeviceQueue<'d> {
    device: &'d Device,
    pace_ns: f64,
    /// When the pace allows the next read to begin.
    next_ns: f64,
    in_flight: u32,
    /// When each place is free again; as many as were ever taken.
    places: BinaryHeap<Reverse<u64>>,
}

impl<'d> DeviceQueue<'d> {
    pub(crate) fn new(device: &'d Device, read_bytes: u64) -> Self {
        Self {
            device,
            pace_ns: device.pace_ns(read_bytes),
            next_ns: 0.0,
            in_flight: 0,
            places: BinaryHeap::new(),
        }
    }

    /// Sends a read at `now_ns`, no earlier than the one before; gives when it is done. `share` (0
    /// to 1) is its place in the distribution of read times.
    pub(crate) fn send(&mut self, now_ns: u64, share: f64) -> u64 {
        self.in_flight += 1;
        let slowdown = self.device.slowdown(self.in_flight.into());
        let alone_us = self.device.latency_us.at(share) - self.device.cpu_us();
        let begin = self.next_ns.max(now_ns as f64);
        self.next_ns = begin + self.pace_ns;
        let mut begin = begin.ceil() as u64;
        if self.places.len() >= self.device.parallel as usize
            && let Some(Reverse(free)) = self.places.pop()
        {
            begin = begin.max(free);
        }
        let done = begin + (alone_us * slowdown * 1e3) as u64;
        if self.device.is_narrow() {
            self.places.push(Reverse(done));
        }
        done
    }

    /// A read is done.
    pub(crate) fn done(&mut self) {
        self.in_flight -= 1;
    }
}

#[cfg(test)]
mod tests {
    use pageway::lab::SplitMix64;

    use super::super::scenario::constant;
    use super::*;

    /// Mean wait of reads that come at random, `load` of what one place serves.
    fn mean_wait(device: &Device, load: f64, service_ns: f64) -> f64 {
        let mut queue = DeviceQueue::new(device, 4096);
        let mut random = SplitMix64::new(3);
        let (mut now, mut waited) = (0.0, 0.0);
        let reads = 400_000;
        for _ in 0..reads {
            now += -(1.0 - random.unit()).ln() * service_ns / load;
            let done = queue.send(now as u64, 0.5);
            waited += done as f64 - now.floor() - service_ns;
            queue.done();
        }
        waited / f64::from(reads)
    }

    #[test]
    fn one_place_waits_as_the_formula_for_constant_service_says() {
        let mut device = constant(100.0);
        device.parallel = 1;
        for load in [0.3, 0.6, 0.8] {
            let expected = load * 100_000.0 / (2.0 * (1.0 - load));
            let wait = mean_wait(&device, load, 100_000.0);
            assert!(
                (wait / expected - 1.0).abs() < 0.05,
                "{load}: {wait} {expected}"
            );
        }
    }

    #[test]
    fn a_pace_waits_like_a_place_but_delays_nobody_who_is_alone() {
        let mut device = constant(100.0);
        device.max_iops = Some(10_000.0);
        let expected = 0.6 * 100_000.0 / (2.0 * 0.4);
        let wait = mean_wait(&device, 0.6, 100_000.0);
        assert!((wait / expected - 1.0).abs() < 0.05, "{wait} {expected}");
        let mut queue = DeviceQueue::new(&device, 4096);
        assert_eq!(queue.send(1_000_000, 0.1), 1_100_000);
    }

    #[test]
    fn reads_slow_each_other_down_as_the_device_says() {
        let mut device = constant(100.0);
        device.slowdown = vec![(1.0, 1.0), (3.0, 2.0)];
        let mut queue = DeviceQueue::new(&device, 4096);
        let done: Vec<u64> = (0..4).map(|_| queue.send(0, 0.5)).collect();
        assert_eq!(done, [100_000, 150_000, 200_000, 266_666]);
        (0..4).for_each(|_| queue.done());
        assert_eq!(queue.send(0, 0.5), 100_000);
    }
}
