//! Nodes that lead one partition in turn, over a store in memory: they are paused between any two
//! steps and go on as if nothing had been, are killed and come back with an older position or with
//! nothing, have clocks of their own, make snapshots and cut the log. Everything follows from a
//! seed.
//!
//! ```text
//! node    a replica with its points, and what it does      here   the world, and what must hold
//! ```
//!
//! What must hold, whatever they do:
//!
//! * each change that was acknowledged is in the one log, by its number, and behind all that were
//!   acknowledged before it was asked for;
//! * what a node may answer from is what the log says up to a number: no change twice or left out;
//! * a node that may answer a read of a router has all that was acknowledged through that router.

#![allow(
    clippy::indexing_slicing,
    reason = "a simulation that goes wrong fails its test"
)]

mod node;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use object_store::ObjectStore;
use object_store::memory::InMemory;
use object_store::path::Path;
use pageway::lab::SplitMix64;
use pageway_object::{Objects, SharedLog};

use self::node::{PartitionNode, Rows, SimChange, redo};
use crate::cluster::Leaders;

const SEEDS: u64 = 1000;
const STEPS: usize = 400;
const NODES: u64 = 3;
const KEYS: u64 = 5;
const TERM: Duration = Duration::from_millis(200);
/// How old snapshots are when their records go: older than what some nodes have missed.
const GRACE: Duration = Duration::from_millis(100);

struct World {
    random: SplitMix64,
    store: Arc<dyn ObjectStore>,
    /// What checks look by.
    objects: Objects,
    now: u64,
    nodes: Vec<PartitionNode>,
    /// All records, as far as they were looked at: those that were cut are nowhere else.
    records: Vec<(u64, Vec<u8>)>,
    leaders: Leaders,
    /// By the numbers of their records.
    acknowledged: BTreeMap<u64, SimChange>,
    next_value: u64,
    counts: Counts,
}

#[derive(Default, Debug)]
struct Counts {
    acknowledged: u64,
    refused: u64,
    led: u64,
    lost: u64,
    reads: u64,
    killed: u64,
    snapshots: u64,
    cut: u64,
    begun_anew: u64,
}

fn objects(store: &Arc<dyn ObjectStore>) -> Objects {
    Objects::new(Arc::clone(store), Path::from("p"), "memory://p").unwrap()
}

impl World {
    fn new(seed: u64) -> Self {
        let mut random = SplitMix64::new(seed);
        let store: Arc<dyn ObjectStore> = Arc::new(InMemory::new());
        let mut node = |number| {
            let ahead = random.below(TERM.as_millis() as u64);
            PartitionNode::new(&store, number, ahead)
        };
        let nodes = (0..NODES as usize).map(&mut node).collect();
        Self {
            now: 1000,
            nodes,
            records: Vec::new(),
            leaders: Leaders::default(),
            acknowledged: BTreeMap::new(),
            next_value: 1,
            counts: Counts::default(),
            objects: objects(&store),
            store,
            random,
        }
    }

    fn run(mut self) -> Counts {
        for _ in 0..STEPS {
            // At times longer than a lease.
            let pause = if self.random.below(16) == 0 { 500 } else { 6 };
            self.now += self.random.below(pause);
            let node = self.random.below(NODES) as usize;
            match self.random.below(16) {
                0..6 => self.keep(node),
                6..8 => self
                    .leaders
                    .hear(&name_of(node), &[self.nodes[node].replica.sign()]),
                8..10 => self.ask(),
                10..13 => self.go_on(node),
                13 => self.interrupt(node),
                14 => self.archive(node),
                _ => self.read(node),
            }
        }
        self.conclude();
        self.counts
    }

    fn clock(&self, node: usize) -> Duration {
        Duration::from_millis(self.now + self.nodes[node].ahead)
    }

    /// What the thread of a partition does: one of its steps.
    fn keep(&mut self, node: usize) {
        let now = self.clock(node);
        let step = self.random.below(4);
        let own = &mut self.nodes[node];
        if step == 0 {
            let led = own.replica.sign().leads;
            own.replica.renew(now).unwrap();
            self.counts.lost += u64::from(led && !own.replica.sign().leads);
            return;
        }
        // Who changes rows has the right to that; all others wait.
        if own.begun.is_some() {
            return;
        }
        if step == 1 {
            self.counts.led += u64::from(own.lead(now));
        } else {
            own.follow();
        }
    }

    /// A node is killed, at times with its disk, or notes its position.
    fn interrupt(&mut self, node: usize) {
        match self.random.below(12) {
            0 => {
                self.nodes[node].lose(&self.store, node);
                self.counts.begun_anew += 1;
            }
            1 | 2 => self.kill(node),
            _ => self.nodes[node].position = self.nodes[node].replica.sign().sequence,
        }
    }

    /// A node goes on with its snapshot, however long ago it was begun, or cuts the log.
    fn archive(&mut self, node: usize) {
        // What is cut cannot be looked at afterwards.
        self.learn();
        let (now, cuts) = (self.clock(node), self.random.below(3) == 0);
        let own = &mut self.nodes[node];
        if cuts {
            let epoch = own.epoch;
            self.counts.cut += own.replica.cut(epoch, now).unwrap() as u64;
        } else if own.snapshot.is_some() {
            self.counts.snapshots += u64::from(own.publish_snapshot(now));
        } else {
            own.begin_snapshot();
        }
    }

    /// Looks at the records that came since.
    fn learn(&mut self) {
        let (after, records) = (self.records.len() as u64, &mut self.records);
        let read = SharedLog::read(&self.objects, after, &mut |record| {
            records.push((record.epoch, record.bytes));
            Ok(())
        });
        assert_eq!(read.unwrap(), self.records.len() as u64);
    }

    /// A client asks the node that the router takes for the leader.
    fn ask(&mut self) {
        if self.leaders.of("p").is_none() {
            for node in 0..NODES as usize {
                let sign = self.nodes[node].replica.sign();
                self.leaders.hear(&name_of(node), &[sign]);
            }
        }
        let Some(leader) = self.leaders.of("p") else {
            return;
        };
        let node: usize = leader[1..].parse().unwrap();
        let value = if self.random.below(5) == 0 {
            0
        } else {
            self.next_value
        };
        self.next_value += 1;
        let change = SimChange(self.random.below(KEYS), value);
        let before = self
            .acknowledged
            .last_key_value()
            .map_or(0, |(last, _)| *last);
        let own = &mut self.nodes[node];
        if own.begun.is_some() {
            return;
        }
        let rows = &mut own.rows;
        if own.replica.begin(&mut |record| redo(rows, record)).is_ok() {
            own.begun = Some((change, before));
        } else {
            self.leaders.lose("p", &name_of(node));
            self.counts.refused += 1;
        }
    }

    /// A node goes on with the change that it has begun, however long ago.
    fn go_on(&mut self, node: usize) {
        let now = self.clock(node);
        let is_cut = self.random.below(8) == 0;
        let own = &mut self.nodes[node];
        let Some((change, before)) = own.begun.take() else {
            return;
        };
        let Ok(number) = own.replica.append(&change.encode(), now) else {
            self.counts.refused += 1;
            self.leaders.lose("p", &name_of(node));
            return;
        };
        if is_cut {
            // Its rows do not take it, or it dies: it was not acknowledged, and is in the log.
            if self.random.below(2) == 0 {
                self.kill(node);
            }
            return;
        }
        redo(&mut own.rows, &change.encode()).unwrap();
        own.replica.settled(number);
        assert!(number > before, "behind what was acknowledged before");
        let twice = self.acknowledged.insert(number, change);
        assert_eq!(twice, None, "two changes at {number}");
        self.leaders.acknowledge("p", number);
        self.counts.acknowledged += 1;
    }

    fn kill(&mut self, node: usize) {
        self.nodes[node].restart(&self.store, node);
        self.counts.killed += 1;
    }

    /// A read through the router, which a node may answer or not.
    fn read(&mut self, node: usize) {
        let least = self.leaders.least("p");
        if self.nodes[node].replica.check_read(least).is_err() {
            return;
        }
        let sequence = self.nodes[node].replica.sign().sequence;
        assert!(sequence >= least);
        let history = self.history(sequence);
        assert_eq!(self.nodes[node].rows, history, "up to {sequence}");
        self.counts.reads += 1;
    }

    /// What the log makes of points up to a number.
    fn history(&mut self, up_to: u64) -> Rows {
        self.learn();
        let mut rows = Rows::new();
        for (_, bytes) in self.records.iter().take(up_to as usize) {
            if !bytes.is_empty() {
                redo(&mut rows, bytes).unwrap();
            }
        }
        rows
    }

    fn conclude(&mut self) {
        self.learn();
        assert!(self.records.is_sorted_by_key(|(epoch, _)| *epoch));
        for (number, change) in &self.acknowledged {
            assert_eq!(self.records[*number as usize - 1].1, change.encode());
        }
        // All of them read on, and one leads after that.
        self.now += 10 * TERM.as_millis() as u64;
        let last = self.random.below(NODES) as usize;
        for node in 0..NODES as usize {
            self.nodes[node].begun = None;
            self.nodes[node].replica.leave(self.clock(node)).unwrap();
        }
        let clock = self.clock(last) + 10 * TERM;
        while self.nodes[last].follow() {}
        assert!(self.nodes[last].lead(clock));
        for node in 0..NODES as usize {
            while self.nodes[node].follow() {}
            let rows = self.history(u64::MAX);
            let sign = self.nodes[node].replica.sign();
            assert_eq!(sign.sequence, self.records.len() as u64);
            assert_eq!(self.nodes[node].rows, rows);
        }
    }
}

fn name_of(node: usize) -> String {
    format!("n{node}")
}

#[test]
fn there_is_one_acknowledged_history_whoever_leads() {
    let mut sum = Counts::default();
    for seed in 0..SEEDS {
        let run = std::panic::catch_unwind(|| World::new(seed).run());
        let counts = run.unwrap_or_else(|_| panic!("seed {seed}"));
        sum.acknowledged += counts.acknowledged;
        sum.refused += counts.refused;
        sum.led += counts.led;
        sum.lost += counts.lost;
        sum.reads += counts.reads;
        sum.killed += counts.killed;
        sum.snapshots += counts.snapshots;
        sum.cut += counts.cut;
        sum.begun_anew += counts.begun_anew;
    }
    // What is tried for is there, so that the above is no praise of nothing.
    assert!(
        sum.acknowledged > 4 * SEEDS && sum.reads > 4 * SEEDS,
        "{sum:?}"
    );
    assert!(sum.led > 2 * SEEDS && sum.refused > SEEDS, "{sum:?}");
    assert!(sum.lost > SEEDS / 10 && sum.killed > SEEDS, "{sum:?}");
    assert!(sum.snapshots > SEEDS / 2 && sum.cut > SEEDS, "{sum:?}");
    assert!(sum.begun_anew > SEEDS / 2, "{sum:?}");
}
