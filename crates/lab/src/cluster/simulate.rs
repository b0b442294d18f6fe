//! Courses in virtual time.
//!
//! ```text
//! request --half a round trip--> a core of the node --> its disks, or the object store --> a core
//!   ... round by round ... --> the node's link --half a round trip--> home; after the last: next
//! stage
//! ```
//!
//! Cores serve first come, first served; a disk is that of [`crate::model`]; a link sends one
//! message after the other. Routers are never short of anything: any number may stand beside one
//! another. Queries come from so many callers, each of which asks again when it is answered.
#![expect(
    clippy::indexing_slicing,
    reason = "nodes, callers and legs are numbered by this file"
)]

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

use pageway::lab::SplitMix64;
use pageway_shell::trace::LatencyUs;
use serde::Serialize;

use super::course::{Leg, QueryCourse};
use super::site::Site;
use crate::model::{DeviceQueue, latency_summary};

/// Bytes that the object store is asked for at a time.
const BLOCK_BYTES: u64 = 64 << 10;

/// What would happen.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize)]
pub struct Simulated {
    /// Queries per second.
    pub qps: f64,
    /// Latency of a query.
    pub latency_us: LatencyUs,
    /// Reads per query, of disks and of the object store.
    pub reads: f64,
    /// Those of the object store.
    pub store_reads: f64,
    /// Messages per query, there and back being one.
    pub calls: f64,
    /// Bytes over the network per query.
    pub network_bytes: f64,
    /// Share of the time of the cores of the busiest node that is used.
    pub busiest_cpu: f64,
    /// Reads per second of the busiest node.
    pub busiest_reads_per_second: f64,
}

/// What happens next; of several things at a time, what was foreseen first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    /// A request is at its node.
    Arrive(usize, usize),
    /// A round was computed: its reads go out.
    Send(usize, usize),
    /// A read is done, at this disk of the node, or at the store.
    Done(usize, usize, Option<usize>),
    /// A leg was computed to its end.
    Reply(usize, usize),
    /// Its answer is at a home that is a node.
    Back(usize, usize),
    /// Its answer is taken.
    Home(usize),
}

/// What a node has.
struct NodeState<'s> {
    /// When each core is free.
    cores: BinaryHeap<Reverse<u64>>,
    disks: Vec<DeviceQueue<'s>>,
    /// When its link is free.
    link_ns: u64,
    /// Calls under way.
    calls: u64,
    busy_ns: u64,
    reads: u64,
}

/// A leg under way.
#[derive(Clone, Copy, Default)]
struct Under {
    node: usize,
    round: usize,
    reads_left: usize,
}

/// Who asks one query after the other.
#[derive(Default)]
struct Caller {
    query: usize,
    began_ns: u64,
    stage: usize,
    legs: Vec<Under>,
    legs_left: usize,
    home: Option<usize>,
    /// The replica of each subject.
    chosen: BTreeMap<u64, usize>,
}

struct Simulation<'s> {
    site: &'s Site,
    courses: &'s [QueryCourse],
    machines: Vec<NodeState<'s>>,
    store: DeviceQueue<'s>,
    callers: Vec<Caller>,
    events: BinaryHeap<Reverse<(u64, u64, Event)>>,
    foreseen: u64,
    random: SplitMix64,
    asked: u64,
    done: SimulatedSums,
}

/// What has come of it so far.
#[derive(Default)]
struct SimulatedSums {
    latencies_ns: Vec<u64>,
    end_ns: u64,
    store_reads: u64,
    calls: u64,
    network_bytes: u64,
}

/// Replays courses, whose reads are of `read_bytes` each. Costs about a microsecond per read and
/// message.
pub(super) fn simulate(courses: &[QueryCourse], site: &Site, read_bytes: u64) -> Simulated {
    if courses.is_empty() {
        return Simulated::default();
    }
    let machine = || NodeState {
        cores: (0..site.cores).map(|_| Reverse(0)).collect(),
        disks: (0..site.disks)
            .map(|_| DeviceQueue::new(&site.disk, read_bytes))
            .collect(),
        link_ns: 0,
        calls: 0,
        busy_ns: 0,
        reads: 0,
    };
    let mut own = Simulation {
        site,
        courses,
        machines: (0..site.nodes).map(|_| machine()).collect(),
        store: DeviceQueue::new(&site.store, BLOCK_BYTES),
        callers: (0..site.load.in_flight)
            .map(|_| Caller::default())
            .collect(),
        events: BinaryHeap::new(),
        foreseen: 0,
        random: SplitMix64::new(site.load.seed),
        asked: 0,
        done: SimulatedSums::default(),
    };
    own.run();
    own.conclude()
}

impl<'s> Simulation<'s> {
    fn run(&mut self) {
        for caller in 0..self.callers.len() {
            self.ask(caller, 0);
        }
        while let Some(Reverse((now, _, event))) = self.events.pop() {
            match event {
                Event::Arrive(caller, leg) => self.round(caller, leg, now),
                Event::Send(caller, leg) => self.send(caller, leg, now),
                Event::Done(caller, leg, disk) => self.done((caller, leg), disk, now),
                Event::Reply(caller, leg) => self.reply(caller, leg, now),
                Event::Back(caller, home) => {
                    let at = self.compute(home, self.message_ns(), now);
                    self.foresee(at, Event::Home(caller));
                }
                Event::Home(caller) => self.home(caller, now),
            }
        }
    }

    fn foresee(&mut self, at: u64, event: Event) {
        self.foreseen += 1;
        self.events.push(Reverse((at, self.foreseen, event)));
    }

    /// The next query of a caller.
    fn ask(&mut self, caller: usize, now: u64) {
        if self.asked == self.site.load.queries {
            return;
        }
        let query = (self.asked % self.courses.len() as u64) as usize;
        self.asked += 1;
        let home = self.courses[query].home;
        self.callers[caller] = Caller {
            query,
            began_ns: now,
            home: home.map(|number| (number % u64::from(self.site.nodes)) as usize),
            ..Caller::default()
        };
        self.begin(caller, now);
    }

    fn legs(&self, caller: usize) -> &'s [Leg] {
        let own = &self.callers[caller];
        let stages = &self.courses[own.query].stages;
        stages.get(own.stage).map_or(&[], Vec::as_slice)
    }

    /// Sends the requests of a stage; answers the query where there is none left.
    fn begin(&mut self, caller: usize, now: u64) {
        let legs = self.legs(caller);
        if legs.is_empty() {
            self.done
                .latencies_ns
                .push(now - self.callers[caller].began_ns);
            self.done.end_ns = self.done.end_ns.max(now);
            self.ask(caller, now);
            return;
        }
        self.callers[caller].legs_left = legs.len();
        self.callers[caller].legs.clear();
        for (number, leg) in legs.iter().enumerate() {
            let node = self.replica(caller, leg.subject);
            self.machines[node].calls += 1;
            self.callers[caller].legs.push(Under {
                node,
                ..Under::default()
            });
            let at = self.message((self.callers[caller].home, node), leg.bytes[0], now);
            self.done.calls += u64::from(self.callers[caller].home != Some(node));
            self.foresee(at, Event::Arrive(caller, number));
        }
    }

    /// The node that has the subject: of two by chance the one with fewer calls.
    fn replica(&mut self, caller: usize, subject: u64) -> usize {
        if let Some(node) = self.callers[caller].chosen.get(&subject) {
            return *node;
        }
        let nodes: Vec<usize> = self.site.owners(subject).collect();
        let one = nodes[self.random.below(nodes.len() as u64) as usize];
        let two = nodes[self.random.below(nodes.len() as u64) as usize];
        let fewer = self.machines[two].calls < self.machines[one].calls;
        let node = if fewer { two } else { one };
        self.callers[caller].chosen.insert(subject, node);
        node
    }

    /// When a message between a home and a node, or back, is there; it costs nothing on one node.
    fn message(&mut self, (from, to): (Option<usize>, usize), bytes: u64, now: u64) -> u64 {
        if from == Some(to) {
            return now;
        }
        self.done.network_bytes += bytes;
        let sent = match from {
            None => now,
            Some(node) => self.link(node, bytes, now),
        };
        sent + self.way_ns()
    }

    fn way_ns(&self) -> u64 {
        (self.site.network.round_trip_us * 500.0) as u64
    }

    fn message_ns(&self) -> u64 {
        (self.site.network.message_us * 1e3) as u64
    }

    fn link(&mut self, node: usize, bytes: u64, now: u64) -> u64 {
        let sent = self.machines[node].link_ns.max(now) + self.site.send_ns(bytes);
        self.machines[node].link_ns = sent;
        sent
    }

    /// When a core of a node has computed for so long.
    fn compute(&mut self, node: usize, ns: u64, now: u64) -> u64 {
        let machine = &mut self.machines[node];
        let free = machine.cores.pop().map_or(0, |Reverse(at)| at);
        let done = free.max(now) + ns;
        machine.cores.push(Reverse(done));
        machine.busy_ns += ns;
        done
    }

    /// Computes the round of a leg whose turn it is, or its end.
    fn round(&mut self, caller: usize, leg: usize, now: u64) {
        let legs = self.legs(caller);
        let under = self.callers[caller].legs[leg];
        let first = under.round == 0 && self.callers[caller].home != Some(under.node);
        let message_ns = if first { self.message_ns() } else { 0 };
        let Some(round) = legs[leg].rounds.get(under.round) else {
            let at = self.compute(under.node, message_ns + legs[leg].tail_ns, now);
            self.foresee(at, Event::Reply(caller, leg));
            return;
        };
        let read_us = self.site.disk.cpu_us_per_read * round.pages.len() as f64;
        let batch_us = if round.pages.is_empty() {
            0.0
        } else {
            self.site.disk.cpu_us_per_batch
        };
        let ns = message_ns + round.compute_ns + ((read_us + batch_us) * 1e3) as u64;
        let at = self.compute(under.node, ns, now);
        self.foresee(at, Event::Send(caller, leg));
    }

    fn send(&mut self, caller: usize, leg: usize, now: u64) {
        let under = self.callers[caller].legs[leg];
        let pages = &self.legs(caller)[leg].rounds[under.round].pages;
        self.callers[caller].legs[leg].round += 1;
        self.callers[caller].legs[leg].reads_left = pages.len();
        if pages.is_empty() {
            self.round(caller, leg, now);
        }
        for page in pages {
            let share = self.random.unit();
            let is_cold = self.site.cold > 0.0 && self.random.unit() < self.site.cold;
            let machine = &mut self.machines[under.node];
            machine.reads += 1;
            if is_cold {
                let at = self.store.send(now, share);
                self.done.store_reads += 1;
                self.done.network_bytes += BLOCK_BYTES;
                self.foresee(at, Event::Done(caller, leg, None));
            } else {
                let disk = *page as usize % machine.disks.len();
                let at = machine.disks[disk].send(now, share);
                self.foresee(at, Event::Done(caller, leg, Some(disk)));
            }
        }
    }

    fn done(&mut self, (caller, leg): (usize, usize), disk: Option<usize>, now: u64) {
        let under = &mut self.callers[caller].legs[leg];
        under.reads_left -= 1;
        let (node, is_last) = (under.node, under.reads_left == 0);
        match disk {
            None => self.store.done(),
            Some(disk) => self.machines[node].disks[disk].done(),
        }
        if is_last {
            self.round(caller, leg, now);
        }
    }

    /// A leg is done: its answer goes home, which takes it.
    fn reply(&mut self, caller: usize, leg: usize, now: u64) {
        let bytes = self.legs(caller)[leg].bytes[1];
        let node = self.callers[caller].legs[leg].node;
        self.machines[node].calls -= 1;
        let home = self.callers[caller].home;
        if home == Some(node) {
            self.foresee(now, Event::Home(caller));
            return;
        }
        let sent = self.link(node, bytes, now);
        self.done.network_bytes += bytes;
        let at = sent + self.way_ns();
        let event = home.map_or(Event::Home(caller), |home| Event::Back(caller, home));
        self.foresee(at, event);
    }

    fn home(&mut self, caller: usize, now: u64) {
        self.callers[caller].legs_left -= 1;
        if self.callers[caller].legs_left == 0 {
            self.callers[caller].stage += 1;
            self.begin(caller, now);
        }
    }

    fn conclude(mut self) -> Simulated {
        let queries = self.done.latencies_ns.len().max(1) as f64;
        let seconds = self.done.end_ns.max(1) as f64 / 1e9;
        let reads: u64 = self.machines.iter().map(|one| one.reads).sum();
        let most = |count: fn(&NodeState<'_>) -> u64| {
            let most = self.machines.iter().map(count).max();
            most.unwrap_or(0) as f64
        };
        let cores_ns = f64::from(self.site.cores) * self.done.end_ns.max(1) as f64;
        Simulated {
            qps: queries / seconds,
            reads: reads as f64 / queries,
            store_reads: self.done.store_reads as f64 / queries,
            calls: self.done.calls as f64 / queries,
            network_bytes: self.done.network_bytes as f64 / queries,
            busiest_cpu: most(|one| one.busy_ns) / cores_ns,
            busiest_reads_per_second: most(|one| one.reads) / seconds,
            latency_us: latency_summary(&mut self.done.latencies_ns),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::site::tests::site;
    use super::super::walk::Round;
    use super::*;

    fn near(found: f64, expected: f64) {
        assert!((found / expected - 1.0).abs() < 0.02, "{found} {expected}");
    }

    fn leg(subject: u64, rounds: &[u32], compute_ns: u64) -> Leg {
        Leg {
            subject,
            bytes: [100, 300],
            rounds: rounds
                .iter()
                .map(|reads| Round {
                    compute_ns,
                    pages: (0..*reads).collect(),
                })
                .collect(),
            tail_ns: compute_ns,
        }
    }

    fn course(stages: Vec<Vec<Leg>>) -> QueryCourse {
        QueryCourse { home: None, stages }
    }

    #[test]
    fn a_query_alone_takes_its_messages_its_rounds_and_what_it_computes() {
        let one = course(vec![
            vec![leg(0, &[2, 1], 10_000), leg(1, &[1], 10_000)],
            vec![leg(0, &[4], 0)],
        ]);
        let found = simulate(&[one], &site(), 4096);
        // Two round trips, three rounds, three turns of the longer leg.
        near(found.latency_us.mean, 2.0 * 200.0 + 3.0 * 100.0 + 30.0);
        near(found.latency_us.p99, found.latency_us.mean);
        near(found.qps, 1e6 / found.latency_us.mean);
        assert_eq!(
            (found.reads, found.calls, found.network_bytes),
            (8.0, 3.0, 1200.0)
        );
        assert_eq!(found.store_reads, 0.0);
    }

    #[test]
    fn a_home_pays_no_message_to_itself() {
        let stage = || vec![leg(2, &[1], 0)];
        let mut own = course(vec![stage(), stage(), stage()]);
        own.home = Some(2);
        let here = simulate(&[own.clone()], &site(), 4096);
        near(here.latency_us.mean, 300.0);
        assert_eq!((here.calls, here.network_bytes), (0.0, 0.0));
        own.home = Some(3);
        let away = simulate(&[own], &site(), 4096);
        near(away.latency_us.mean, 900.0);
        assert_eq!(away.calls, 3.0);
    }

    #[test]
    fn cores_disks_and_links_limit_the_queries() {
        let mut site = site();
        (site.load.in_flight, site.load.queries) = (64, 6400);
        let cpu = simulate(&[course(vec![vec![leg(0, &[], 100_000)]])], &site, 4096);
        near(cpu.qps, 20_000.0);
        near(cpu.busiest_cpu, 1.0);
        site.disk.max_iops = Some(8_000.0);
        let disk = simulate(&[course(vec![vec![leg(0, &[4], 0)]])], &site, 4096);
        near(disk.qps, 2_000.0);
        near(disk.busiest_reads_per_second, 8_000.0);
        site.network.gbit_per_s = 0.0024;
        let link = simulate(&[course(vec![vec![leg(0, &[], 0)]])], &site, 4096);
        near(link.qps, 1_000.0);
    }

    #[test]
    fn replicas_share_the_load_and_a_later_stage_goes_where_the_first_went() {
        let mut site = site();
        (site.load.in_flight, site.load.queries, site.replicas) = (64, 6400, 2);
        let own = course(vec![vec![leg(0, &[], 100_000)], vec![leg(0, &[], 100_000)]]);
        let found = simulate(&[own], &site, 4096);
        assert!(found.qps > 18_000.0 && found.qps < 20_100.0, "{found:?}");
    }

    #[test]
    fn what_is_on_no_disk_comes_from_the_object_store() {
        let mut site = site();
        (site.cold, site.load.queries) = (0.25, 4000);
        let found = simulate(&[course(vec![vec![leg(0, &[1], 0)]])], &site, 4096);
        assert!((found.store_reads - 0.25).abs() < 0.03, "{found:?}");
        near(found.latency_us.p99, 30_200.0);
        assert!(found.network_bytes > 0.2 * 65_536.0);
        let again = simulate(&[course(vec![vec![leg(0, &[1], 0)]])], &site, 4096);
        assert_eq!(found, again, "the seed alone decides");
    }
}
