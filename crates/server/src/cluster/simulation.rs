//! Requests to nodes that die, pause, are slow, lose answers, give them twice, or are behind, in
//! virtual time: everything follows from a seed.
//!
//! What must hold, of each request, whatever the nodes do:
//!
//! * a whole answer is that of one index with all points as the map says, and never an older one;
//! * an answer in part is that of the shards which it does not name, and names those it lacks;
//! * none fails while each shard has a node that was well all the time (none is lost);
//! * no replica is asked twice in a round, and hedges stay within their budget;
//! * afterwards no call is left on the books, whether maps changed meanwhile or not.

#![allow(
    clippy::wildcard_enum_match_arm,
    clippy::indexing_slicing,
    reason = "a simulation that goes wrong fails its test"
)]

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::time::Duration;

use pageway::lab::SplitMix64;

use super::coverage::{Missing, cover};
use super::fan_out::{CallEnd, FanOut, Step};
use super::merge::by_score;
use super::pool::{NodePool, Patience};
use crate::collection::PointOutput;
use crate::failure::{Failure, Outcome};
use crate::wire::PointId;

const SEEDS: u64 = 10_000;
const LIMIT: usize = 5;
/// What ids are divided by: their remainder is the shard of the point.
const SHARD_IDS: u64 = 4;
/// Time in which things happen; requests that have begun go on until they end.
const TIME: Duration = Duration::from_secs(12);
/// Time of a request: enough for an attempt at each of three replicas, and a heartbeat.
const DEADLINE: Duration = Duration::from_secs(12);

type SimPoint = (u64, f32);

/// What a node does.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Mood {
    Well,
    Dead,
    Paused,
    /// Calls take so many milliseconds.
    Slow(u64),
    /// Refuses every other call.
    Busy,
    /// Loses every answer, and still answers heartbeats.
    Lossy,
}

struct SimNode {
    mood: Mood,
    /// When it was last not well.
    unwell: Option<Duration>,
    /// Shards of which it has less than the map says.
    behind: Vec<usize>,
    /// Calls that came while it was paused.
    held: Vec<(usize, usize)>,
    /// Calls it works at.
    working: Vec<(usize, usize)>,
}

enum Event {
    Mood(usize, Mood),
    Beat(usize),
    Heard(usize),
    Request,
    Wake(usize),
    Arrives(usize, usize),
    Answers(usize, usize),
    NewMap,
}

struct SimRequest {
    fan: Option<FanOut<Vec<PointOutput>>>,
    began: Duration,
    replicas: Vec<Vec<usize>>,
    allows_part: bool,
    /// Shard and node of each call.
    calls: Vec<(usize, usize)>,
}

struct World {
    random: SplitMix64,
    now: Duration,
    queue: BinaryHeap<Reverse<(Duration, u64)>>,
    events: BTreeMap<u64, Event>,
    nodes: Vec<SimNode>,
    pool: NodePool,
    /// Of each shard: its points, and its nodes.
    points: Vec<Vec<SimPoint>>,
    replicas: Vec<Vec<usize>>,
    requests: Vec<SimRequest>,
    counts: Counts,
}

#[derive(Default, Debug)]
struct Counts {
    whole: u64,
    part: u64,
    failed: u64,
    calls: u64,
    shards_asked: u64,
}

fn millis(count: u64) -> Duration {
    Duration::from_millis(count)
}

fn name_of(node: usize) -> String {
    format!("n{node}")
}

fn output((id, score): SimPoint) -> PointOutput {
    PointOutput {
        id: PointId::Number(id),
        version: None,
        score: Some(score),
        payload: None,
        vector: None,
        order_value: None,
    }
}

/// The best of some points, by a sort of all of them.
fn best(points: impl Iterator<Item = SimPoint>) -> Vec<SimPoint> {
    let mut all: Vec<SimPoint> = points.collect();
    let place = |id: u64| (id % SHARD_IDS, id);
    let by_place = |one: u64, next: u64| place(one).cmp(&place(next));
    all.sort_by(|one, next| next.1.total_cmp(&one.1).then(by_place(one.0, next.0)));
    all.truncate(LIMIT);
    all
}

impl World {
    fn new(seed: u64) -> Self {
        let mut random = SplitMix64::new(seed);
        let shards = 1 + random.below(4) as usize;
        let count = 2 + random.below(4) as usize;
        let points = (0..shards).map(|shard| {
            let point = |number: u64| (number * SHARD_IDS + shard as u64, random.below(40) as f32);
            (0..12).map(point).collect()
        });
        let points: Vec<Vec<SimPoint>> = points.collect();
        let nodes = (0..count).map(|_| SimNode {
            mood: Mood::Well,
            unwell: None,
            behind: Vec::new(),
            held: Vec::new(),
            working: Vec::new(),
        });
        let mut world = Self {
            now: Duration::ZERO,
            queue: BinaryHeap::new(),
            events: BTreeMap::new(),
            nodes: nodes.collect(),
            pool: NodePool::new(Patience::default(), random.next_u64()),
            points,
            replicas: Vec::new(),
            requests: Vec::new(),
            counts: Counts::default(),
            random,
        };
        world.deal();
        world.set_up();
        world
    }

    /// Puts every shard on some nodes.
    fn deal(&mut self) {
        let count = self.nodes.len() as u64;
        let shards = self.points.len();
        let mut replicas = Vec::new();
        for _ in 0..shards {
            let first = self.random.below(count);
            let own = 1 + self.random.below(3.min(count));
            replicas.push(
                (0..own)
                    .map(|next| ((first + next) % count) as usize)
                    .collect(),
            );
        }
        self.replicas = replicas;
        let names: Vec<String> = (0..self.nodes.len()).map(name_of).collect();
        // A node that no shard needs may leave the map.
        let needed = |node: &usize| self.replicas.iter().flatten().any(|own| own == node);
        let named = names.iter().enumerate().filter(|(node, _)| needed(node));
        let named: Vec<&str> = named.map(|(_, name)| name.as_str()).collect();
        self.pool.set_nodes(named.into_iter(), self.now);
    }

    fn set_up(&mut self) {
        for node in 0..self.nodes.len() {
            let first = millis(self.random.below(300));
            self.at(first, Event::Beat(node));
            if self.random.below(4) == 0 {
                let shard = self.random.below(self.points.len() as u64) as usize;
                self.nodes[node].behind.push(shard);
            }
        }
        for _ in 0..self.random.below(8) {
            let node = self.random.below(self.nodes.len() as u64) as usize;
            let mood = match self.random.below(6) {
                0 => Mood::Dead,
                1 | 2 => Mood::Paused,
                3 => Mood::Slow(50 + self.random.below(4000)),
                4 => Mood::Busy,
                _ => Mood::Lossy,
            };
            let from = millis(self.random.below(TIME.as_millis() as u64));
            let length = millis(1 + self.random.below(6000));
            self.at(from, Event::Mood(node, mood));
            self.at(from + length, Event::Mood(node, Mood::Well));
        }
        for _ in 0..8 {
            let at = millis(self.random.below(TIME.as_millis() as u64));
            self.at(at, Event::Request);
        }
        if self.random.below(2) == 0 {
            let at = millis(self.random.below(TIME.as_millis() as u64));
            self.at(at, Event::NewMap);
        }
    }

    fn at(&mut self, time: Duration, event: Event) {
        let number = self.events.last_key_value().map_or(0, |(last, _)| last + 1);
        self.queue.push(Reverse((time, number)));
        self.events.insert(number, event);
    }

    fn run(mut self) -> Counts {
        while let Some(Reverse((time, number))) = self.queue.pop() {
            let Some(event) = self.events.remove(&number) else {
                continue;
            };
            self.now = time;
            self.happen(event);
        }
        assert!(self.requests.iter().all(|request| request.fan.is_none()));
        for (name, state, _) in self.pool.states(self.now) {
            assert_eq!(state.in_flight, 0, "{name}");
        }
        self.counts
    }

    fn happen(&mut self, event: Event) {
        match event {
            Event::Mood(node, mood) => self.set_mood(node, mood),
            Event::Beat(node) => self.beat(node),
            Event::Heard(node) => self.pool.hear(&name_of(node), self.now),
            Event::Request => self.request(),
            Event::Wake(request) => self.step(request),
            Event::Arrives(request, call) => self.arrive(request, call),
            Event::Answers(request, call) => self.answer(request, call),
            Event::NewMap => self.deal(),
        }
    }

    fn set_mood(&mut self, node: usize, mood: Mood) {
        let own = &mut self.nodes[node];
        if own.mood != Mood::Well || mood != Mood::Well {
            own.unwell = Some(self.now);
        }
        own.mood = mood;
        let mut gone = Vec::new();
        if mood == Mood::Dead {
            gone.append(&mut own.held);
            gone.append(&mut own.working);
        }
        let held = if mood == Mood::Paused {
            Vec::new()
        } else {
            std::mem::take(&mut own.held)
        };
        for (request, call) in gone {
            self.end(
                request,
                call,
                CallEnd::Failed("connection reset".to_owned()),
            );
        }
        for (request, call) in held {
            self.arrive(request, call);
        }
    }

    fn beat(&mut self, node: usize) {
        match self.nodes[node].mood {
            Mood::Dead => self.pool.miss(&name_of(node), "refused"),
            Mood::Paused => {}
            _ => self.at(self.now + millis(1), Event::Heard(node)),
        }
        if self.now < TIME + DEADLINE {
            let next = self.now + self.pool.patience.heartbeat;
            self.at(next, Event::Beat(node));
        }
    }

    fn request(&mut self) {
        let names = self.replicas.iter();
        let names = names.map(|own| own.iter().map(|node| name_of(*node)).collect());
        let times = (self.now, self.now + DEADLINE);
        let fan = FanOut::new("query", names.collect(), times);
        self.requests.push(SimRequest {
            fan: Some(fan),
            began: self.now,
            replicas: self.replicas.clone(),
            allows_part: self.random.below(2) == 0,
            calls: Vec::new(),
        });
        self.counts.shards_asked += self.points.len() as u64;
        self.step(self.requests.len() - 1);
    }

    /// Does what a request wants done, and ends it where it is done.
    fn step(&mut self, request: usize) {
        let own = &mut self.requests[request];
        let Some(fan) = &mut own.fan else { return };
        let steps = fan.poll(self.now, &mut self.pool);
        for step in steps {
            let Step::Send { call, shard, node } = step else {
                continue;
            };
            let node: usize = node[1..].parse().unwrap();
            let calls = &mut self.requests[request].calls;
            assert_eq!(calls.len(), call);
            let before = calls.iter().filter(|own| **own == (shard, node));
            assert!(before.count() < 3, "once in each of three rounds");
            calls.push((shard, node));
            self.counts.calls += 1;
            let at = self.now + millis(1 + self.random.below(3));
            self.at(at, Event::Arrives(request, call));
        }
        let Some(fan) = &self.requests[request].fan else {
            return;
        };
        if fan.is_done() {
            return self.conclude(request);
        }
        let wakes = fan.wakes(self.now, &self.pool);
        self.at(
            wakes.max(self.now + Duration::from_micros(100)),
            Event::Wake(request),
        );
    }

    fn arrive(&mut self, request: usize, call: usize) {
        let node = self.requests[request].calls[call].1;
        let own = &mut self.nodes[node];
        let takes = match own.mood {
            Mood::Dead => {
                let refused = CallEnd::Unreached("connection refused".to_owned());
                return self.end(request, call, refused);
            }
            Mood::Paused => return own.held.push((request, call)),
            Mood::Lossy => return,
            Mood::Slow(takes) => takes,
            Mood::Busy if call.is_multiple_of(2) => {
                return self.end(request, call, CallEnd::Failed("busy".to_owned()));
            }
            Mood::Busy | Mood::Well => 1 + self.random.below(20),
        };
        own.working.push((request, call));
        self.at(self.now + millis(takes), Event::Answers(request, call));
        if self.random.below(8) == 0 {
            self.at(self.now + millis(2 * takes), Event::Answers(request, call));
        }
    }

    fn answer(&mut self, request: usize, call: usize) {
        let (shard, node) = self.requests[request].calls[call];
        let own = &mut self.nodes[node];
        let place = own.working.iter().position(|own| *own == (request, call));
        match own.mood {
            Mood::Dead => return,
            Mood::Paused => return own.held.push((request, call)),
            // An answer that comes twice is no longer worked at.
            _ => place.map(|place| own.working.swap_remove(place)),
        };
        let end = if own.behind.contains(&shard) {
            CallEnd::Behind("an older shard".to_owned())
        } else {
            let found = best(self.points[shard].iter().copied());
            CallEnd::Answered(found.into_iter().map(output).collect())
        };
        self.end(request, call, end);
    }

    fn end(&mut self, request: usize, call: usize, end: CallEnd<Vec<PointOutput>>) {
        let Some(fan) = &mut self.requests[request].fan else {
            return;
        };
        fan.end((call, end), self.now, &mut self.pool);
        self.step(request);
    }

    fn conclude(&mut self, request: usize) {
        let own = &mut self.requests[request];
        let (began, allows_part) = (own.began, own.allows_part);
        let replicas = std::mem::take(&mut own.replicas);
        let Some(fan) = own.fan.take() else { return };
        let names: Vec<String> = (0..self.points.len()).map(|own| own.to_string()).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let mut missing = Missing::default();
        let ends = fan.finish(&mut self.pool);
        let covered = cover(ends, &names, (allows_part, &mut missing));
        let found = covered.map(|answers| {
            let lists = answers.into_iter().map(|(_, own)| own).collect();
            by_score(lists, true, (LIMIT, 0))
        });
        let is_whole = found.is_ok() && missing.is_none();
        self.judge(found, &missing);
        if is_whole {
            return;
        }
        let lost = (0..self.points.len()).all(|shard| {
            let mut own = replicas[shard].iter();
            own.any(|node| self.was_well(*node, shard, began))
        });
        assert!(
            !lost,
            "every shard had a node that was well since {began:?}, now {:?}",
            self.now
        );
    }

    /// Compares an answer with that of an index of all shards that are not missing.
    fn judge(&mut self, found: Outcome<Vec<PointOutput>>, missing: &Missing) {
        let found = match found {
            Ok(found) => found,
            Err(Failure { status, .. }) => {
                assert_eq!(status, 503);
                self.counts.failed += 1;
                return;
            }
        };
        let is_there = |shard: &usize| !missing.0.contains_key(&shard.to_string());
        let shards = (0..self.points.len()).filter(is_there);
        let all = shards.flat_map(|shard| self.points[shard].iter().copied());
        let scored = |point: &PointOutput| match point.id {
            PointId::Number(number) => (number, point.score.unwrap()),
            PointId::Uuid(_) => panic!("no such point"),
        };
        assert_eq!(found.iter().map(scored).collect::<Vec<_>>(), best(all));
        if missing.is_none() {
            self.counts.whole += 1;
        } else {
            self.counts.part += 1;
        }
    }

    /// Whether a node could have answered for a shard at any time since.
    fn was_well(&self, node: usize, shard: usize, since: Duration) -> bool {
        let own = &self.nodes[node];
        let is_well = own.mood == Mood::Well && own.unwell.is_none_or(|last| last < since);
        is_well && !own.behind.contains(&shard)
    }
}

#[test]
fn requests_are_answered_as_by_one_index_whatever_nodes_do() {
    let mut sum = Counts::default();
    for seed in 0..SEEDS {
        let run = std::panic::catch_unwind(|| World::new(seed).run());
        let counts = run.unwrap_or_else(|_| panic!("seed {seed}"));
        sum.whole += counts.whole;
        sum.part += counts.part;
        sum.failed += counts.failed;
        sum.calls += counts.calls;
        sum.shards_asked += counts.shards_asked;
    }
    // What is tried for is there, so that the above is no praise of nothing.
    assert!(sum.whole > 4 * SEEDS, "{sum:?}");
    assert!(sum.part > SEEDS / 20 && sum.failed > SEEDS / 20, "{sum:?}");
    assert!(sum.calls > sum.shards_asked, "{sum:?}");
}
