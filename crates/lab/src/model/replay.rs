//! Recorded queries on a modelled device, in virtual time.
//!
//! ```text
//! thread:   pages that arrived -> a turn of each query they belong to -> reads out -> rest
//! device:   reads out -> done, in any order
//! ```
//!
//! A thread does what the driver of the engine does: it takes all pages that have arrived, computes
//! the next turn of each query they are for, sends the reads of all of them, and waits. Reads go
//! out earlier where a query has work to do meanwhile. A query's n-th page begins its n-th turn,
//! whichever read it is of: the recorded order is one of many. A thread that has something to do
//! needs a core, first come, first served, and keeps it until it waits.
#![expect(
    clippy::indexing_slicing,
    reason = "threads, lanes and queries are numbered by this file"
)]

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use clap::Args;
use pageway::lab::{ReadTurn, SplitMix64};
use pageway::{Error, Result};
use serde::Serialize;

use super::device::Device;
use super::queue::DeviceQueue;
use super::trace::Trace;
use pageway_shell::trace::LatencyUs;

/// Who searches.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Args)]
pub struct Load {
    /// Searching threads; 0 for those of the recorded search
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub threads: usize,

    /// Queries in flight per thread; 0 for those of the recorded search
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub interleave: u32,

    /// Cores; 0 for as many as threads
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub cores: usize,

    /// Queries to replay; 0 for as many as were searched, within 1,000 and 10,000
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub queries: u64,

    // Shown last.
    /// Seed of the order of queries and of read times
    #[arg(long, value_name = "SEED", default_value_t = 42, display_order = 100)]
    pub seed: u64,
}

/// What would happen.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct Prediction {
    /// Queries per second.
    pub qps: f64,
    /// Latency of a query.
    pub latency_us: LatencyUs,
    /// Reads per second.
    pub reads_per_second: f64,
    /// Share of the time of the cores that is used.
    pub cpu_share: f64,
    /// Share of what the device can give; 0 where it has no limit.
    pub device_share: f64,
}

/// Replays `trace` on `device`. Costs about a microsecond per read, and 8 bytes per query.
///
/// # Errors
/// `InvalidInput` for a load of nothing.
pub fn replay(trace: &Trace, device: &Device, load: &Load) -> Result<Prediction> {
    if load.threads == 0 || load.interleave == 0 || load.queries == 0 {
        return Err(Error::invalid(
            "give at least one thread, query and interleave",
        ));
    }
    if trace.queries.is_empty() {
        return Err(Error::invalid("no query was recorded"));
    }
    let read_bytes = trace.header.subject.read_bytes;
    let mut replay = Replay::new(&trace.queries, (device, read_bytes), load);
    replay.run();
    Ok(replay.conclude(device.ceiling(read_bytes)))
}

/// What happens next; of several things at a time, what was foreseen first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    /// A read of this thread and lane goes out.
    Send(usize, usize),
    /// It is done.
    Done(usize, usize),
    /// The thread has nothing left but what arrived meanwhile.
    Rest(usize),
}

/// A place for one query in flight.
#[derive(Clone, Copy, Default)]
struct Lane {
    /// Query, and number of its turn.
    at: Option<(usize, usize)>,
    began_ns: u64,
}

struct Thread {
    lanes: Vec<Lane>,
    /// Lanes that a page has arrived for.
    arrived: Vec<usize>,
    /// Whether it has or wants a core.
    awake: bool,
}

struct Replay<'r> {
    queries: &'r [Vec<ReadTurn>],
    order: Vec<usize>,
    device: DeviceQueue<'r>,
    /// Of a batch of reads, and of each.
    cpu_ns: (u64, u64),
    random: SplitMix64,
    events: BinaryHeap<Reverse<(u64, u64, Event)>>,
    foreseen: u64,
    threads: Vec<Thread>,
    cores: Cores,
    queries_left: u64,
    done: Totals,
}

struct Cores {
    count: usize,
    free: usize,
    /// Threads that wait for one.
    waiting: VecDeque<usize>,
}

#[derive(Default)]
struct Totals {
    latencies_ns: Vec<u64>,
    busy_ns: u64,
    reads: u64,
    end_ns: u64,
}

impl<'r> Replay<'r> {
    fn new(
        queries: &'r [Vec<ReadTurn>],
        (device, read_bytes): (&'r Device, u64),
        load: &Load,
    ) -> Self {
        let lanes = load.interleave as usize;
        let thread = || Thread {
            lanes: vec![Lane::default(); lanes],
            arrived: (0..lanes).collect(),
            awake: false,
        };
        let count = if load.cores == 0 {
            load.threads
        } else {
            load.cores
        };
        let mut random = SplitMix64::new(load.seed);
        Self {
            queries,
            order: shuffled(queries.len(), &mut random),
            device: DeviceQueue::new(device, read_bytes),
            cpu_ns: (
                (device.cpu_us_per_batch * 1e3) as u64,
                (device.cpu_us_per_read * 1e3) as u64,
            ),
            random,
            events: BinaryHeap::new(),
            foreseen: 0,
            threads: std::iter::repeat_with(thread).take(load.threads).collect(),
            cores: Cores {
                count,
                free: count,
                waiting: VecDeque::new(),
            },
            queries_left: load.queries,
            done: Totals::default(),
        }
    }

    fn run(&mut self) {
        for thread in 0..self.threads.len() {
            self.wake(thread, 0);
        }
        while let Some(Reverse((now, _, event))) = self.events.pop() {
            match event {
                Event::Send(thread, lane) => {
                    let share = self.random.unit();
                    let done = self.device.send(now, share);
                    self.foresee(done, Event::Done(thread, lane));
                }
                Event::Done(thread, lane) => {
                    self.device.done();
                    self.threads[thread].arrived.push(lane);
                    self.wake(thread, now);
                }
                Event::Rest(thread) => self.rest(thread, now),
            }
        }
    }

    fn foresee(&mut self, at_ns: u64, event: Event) {
        self.foreseen += 1;
        self.events.push(Reverse((at_ns, self.foreseen, event)));
    }

    /// Gives a thread that has something to do a core, or a place in the queue for one.
    fn wake(&mut self, thread: usize, now: u64) {
        if std::mem::replace(&mut self.threads[thread].awake, true) {
            return;
        }
        if self.cores.free == 0 {
            self.cores.waiting.push_back(thread);
            return;
        }
        self.cores.free -= 1;
        self.compute(thread, now);
    }

    /// A thread waits: its core goes to who wants it most.
    fn rest(&mut self, thread: usize, now: u64) {
        self.threads[thread].awake = false;
        self.cores.free += 1;
        if let Some(next) = self.cores.waiting.pop_front() {
            self.cores.free -= 1;
            self.compute(next, now);
        }
        if !self.threads[thread].arrived.is_empty() {
            self.wake(thread, now);
        }
    }

    /// All that a thread can do before it must wait.
    fn compute(&mut self, thread: usize, now: u64) {
        let arrived = std::mem::take(&mut self.threads[thread].arrived);
        let mut unsent = Vec::new();
        let mut at = now;
        for lane in arrived {
            at = self.turn(thread, lane, at, &mut unsent);
        }
        at = self.send(thread, at, &mut unsent);
        self.done.busy_ns += at - now;
        self.done.end_ns = self.done.end_ns.max(at);
        self.foresee(at, Event::Rest(thread));
    }

    /// The next turn of a lane's query; where that was its last, the first of the next query.
    fn turn(&mut self, thread: usize, lane: usize, begin: u64, unsent: &mut Vec<usize>) -> u64 {
        let mut at = begin;
        loop {
            let state = self.threads[thread].lanes[lane];
            let (query, number) = match state.at {
                Some((query, number)) => (query, number + 1),
                None => match self.next_query() {
                    Some(query) => (query, 0),
                    None => return at,
                },
            };
            let began_ns = if number == 0 { at } else { state.began_ns };
            let turn = self.queries[query][number];
            at += turn.compute_ns;
            unsent.extend((0..turn.reads).map(|_| lane));
            if turn.work_ns > 0 {
                at = self.send(thread, at, unsent) + turn.work_ns;
            }
            let last = number + 1 == self.queries[query].len();
            self.threads[thread].lanes[lane] = Lane {
                at: (!last).then_some((query, number)),
                began_ns,
            };
            if !last {
                return at;
            }
            self.done.latencies_ns.push(at - began_ns);
        }
    }

    fn next_query(&mut self) -> Option<usize> {
        self.queries_left = self.queries_left.checked_sub(1)?;
        Some(self.order[(self.queries_left % self.order.len() as u64) as usize])
    }

    /// Sends reads, one after the other.
    fn send(&mut self, thread: usize, begin: u64, unsent: &mut Vec<usize>) -> u64 {
        if unsent.is_empty() {
            return begin;
        }
        let (batch_ns, read_ns) = self.cpu_ns;
        let mut at = begin + batch_ns;
        for lane in unsent.drain(..) {
            at += read_ns;
            self.done.reads += 1;
            self.foresee(at, Event::Send(thread, lane));
        }
        at
    }

    fn conclude(mut self, ceiling: f64) -> Prediction {
        let seconds = self.done.end_ns.max(1) as f64 / 1e9;
        let reads_per_second = self.done.reads as f64 / seconds;
        let cores_ns = self.cores.count as f64 * self.done.end_ns.max(1) as f64;
        Prediction {
            qps: self.done.latencies_ns.len() as f64 / seconds,
            latency_us: latency_summary(&mut self.done.latencies_ns),
            reads_per_second,
            cpu_share: self.done.busy_ns as f64 / cores_ns,
            device_share: reads_per_second / ceiling,
        }
    }
}

/// The numbers below `count` in an order of their own.
fn shuffled(count: usize, random: &mut SplitMix64) -> Vec<usize> {
    let mut order: Vec<usize> = (0..count).collect();
    for end in (1..count).rev() {
        order.swap(end, random.below(end as u64 + 1) as usize);
    }
    order
}

/// Mean and quantiles.
pub(crate) fn latency_summary(latencies_ns: &mut [u64]) -> LatencyUs {
    latencies_ns.sort_unstable();
    let count = latencies_ns.len().max(1) as f64;
    let rank = |share: f64| {
        let rank = (count * share).ceil() as usize;
        latencies_ns
            .get(rank.saturating_sub(1))
            .copied()
            .unwrap_or(0) as f64
            / 1e3
    };
    LatencyUs {
        mean: latencies_ns.iter().sum::<u64>() as f64 / count / 1e3,
        p50: rank(0.5),
        p99: rank(0.99),
    }
}

#[cfg(test)]
mod tests {
    use super::super::latency::Quantiles;
    use super::super::scenario::{beam, constant, trace_of};
    use super::*;

    const LOAD: Load = Load {
        threads: 1,
        interleave: 1,
        queries: 1000,
        cores: 0,
        seed: 1,
    };

    fn near(found: f64, expected: f64, tolerance: f64) {
        let error = (found / expected - 1.0).abs();
        assert!(error <= tolerance, "{found} is not {expected}");
    }

    #[test]
    fn one_read_at_a_time_takes_what_is_computed_and_what_is_waited_for() {
        let trace = trace_of(vec![beam(9, 1, 20_000)]);
        let mut device = constant(100.0);
        device.cpu_us_per_read = 5.0;
        let found = replay(&trace, &device, &LOAD).unwrap();
        let query_us = 10.0 * 20.0 + 9.0 * 100.0;
        near(found.latency_us.mean, query_us, 1e-9);
        near(found.latency_us.p99, query_us, 1e-9);
        near(found.qps, 1e6 / query_us, 1e-9);
        near(found.cpu_share, (200.0 + 45.0) / query_us, 1e-9);
        near(found.reads_per_second, 9e6 / query_us, 1e-9);
        device.cpu_us_per_batch = 10.0;
        let found = replay(&trace, &device, &LOAD).unwrap();
        near(found.latency_us.mean, query_us, 1e-9);
        near(found.cpu_share, (200.0 + 135.0) / query_us, 1e-9);
        assert_eq!(found.device_share, 0.0);
    }

    #[test]
    fn a_beam_waits_for_several_at_a_time() {
        let trace = trace_of(vec![beam(12, 4, 0)]);
        let found = replay(&trace, &constant(100.0), &LOAD).unwrap();
        near(found.latency_us.mean, 300.0, 1e-9);
    }

    #[test]
    fn work_that_was_kept_for_the_time_of_the_reads_costs_nothing_while_it_fits() {
        let mut turns = beam(1, 1, 10_000);
        turns[0].work_ns = 60_000;
        let found = replay(&trace_of(vec![turns.clone()]), &constant(100.0), &LOAD).unwrap();
        near(found.latency_us.mean, 120.0, 1e-9);
        turns[0].work_ns = 150_000;
        let found = replay(&trace_of(vec![turns]), &constant(100.0), &LOAD).unwrap();
        near(found.latency_us.mean, 170.0, 1e-9);
    }

    #[test]
    fn queries_in_flight_hide_waits_until_the_processor_is_busy() {
        let trace = trace_of(vec![beam(9, 1, 20_000)]);
        let device = constant(100.0);
        let at = |interleave| {
            let load = Load {
                interleave,
                queries: 10_000,
                ..LOAD
            };
            replay(&trace, &device, &load).unwrap()
        };
        near(at(2).qps, 2e6 / 1100.0, 0.01);
        let full = at(16);
        near(full.qps, 1e6 / 200.0, 0.01);
        near(full.cpu_share, 1.0, 0.01);
        near(full.latency_us.mean, 16.0 * 200.0, 0.02);
    }

    #[test]
    fn threads_share_cores() {
        let trace = trace_of(vec![beam(4, 1, 50_000)]);
        let device = constant(1.0);
        let at = |cores| {
            let load = Load {
                threads: 4,
                queries: 4000,
                cores,
                ..LOAD
            };
            replay(&trace, &device, &load).unwrap()
        };
        near(at(0).qps / at(2).qps, 2.0, 0.03);
        near(at(2).cpu_share, 1.0, 0.01);
    }

    #[test]
    fn ceilings_of_reads_and_of_bytes_are_reached_and_not_passed() {
        let trace = trace_of(vec![beam(10, 4, 1_000)]);
        let load = Load {
            threads: 8,
            interleave: 8,
            queries: 3000,
            ..LOAD
        };
        let mut device = constant(200.0);
        device.max_iops = Some(16_000.0);
        let found = replay(&trace, &device, &load).unwrap();
        near(found.reads_per_second, 16_000.0, 0.02);
        near(found.device_share, 1.0, 0.02);
        near(found.qps, 1600.0, 0.02);
        device.max_mb_per_s = Some(4.096 * 8.0);
        near(
            replay(&trace, &device, &load).unwrap().reads_per_second,
            8_000.0,
            0.02,
        );
        device.max_iops = None;
        device.max_mb_per_s = None;
        device.parallel = 2;
        near(
            replay(&trace, &device, &load).unwrap().reads_per_second,
            10_000.0,
            0.02,
        );
    }

    #[test]
    fn a_closed_loop_meets_the_readings_that_the_device_was_made_from() {
        let readings = [
            [1.0, 20_000.0, 50.0, 45.0, 80.0],
            [8.0, 100_000.0, 80.0, 70.0, 120.0],
            [64.0, 160_000.0, 400.0, 390.0, 600.0],
        ];
        let device = Device::measured(&readings).unwrap();
        let trace = trace_of(vec![beam(100, 1, 0)]);
        for [depth, rate, ..] in readings {
            let load = Load {
                interleave: depth as u32,
                queries: 6400,
                ..LOAD
            };
            near(
                replay(&trace, &device, &load).unwrap().reads_per_second,
                rate,
                0.15,
            );
        }
    }

    #[test]
    fn the_seed_alone_decides() {
        let trace = trace_of(vec![beam(9, 3, 5_000), beam(30, 3, 2_000), beam(0, 1, 700)]);
        let mut device = constant(1.0);
        device.latency_us = Quantiles::new(vec![(1.0, 20.0), (50.0, 80.0), (99.0, 900.0)]).unwrap();
        let load = Load {
            threads: 3,
            interleave: 4,
            cores: 2,
            ..LOAD
        };
        let of = |seed| replay(&trace, &device, &Load { seed, ..load }).unwrap();
        assert_eq!(of(5), of(5));
        assert_ne!(of(5), of(6));
        near(of(5).qps, of(6).qps, 0.05);
    }

    #[test]
    fn a_load_of_nothing_is_refused() {
        let trace = trace_of(vec![beam(1, 1, 1)]);
        for load in [
            Load { threads: 0, ..LOAD },
            Load {
                interleave: 0,
                ..LOAD
            },
            Load { queries: 0, ..LOAD },
        ] {
            assert!(replay(&trace, &constant(1.0), &load).is_err());
        }
        assert!(replay(&trace_of(Vec::new()), &constant(1.0), &LOAD).is_err());
    }
}
