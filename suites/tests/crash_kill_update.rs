//! `kill -9` of a real process that changes an index on a real file system, at random moments: of
//! changes, flushes, merges, and of recovery from the kill before. What it was told is kept in this
//! process, outside of what is killed.
//!
//! Change `n` is the same whoever makes it, so what the index must hold after it is known: all that
//! was acknowledged, in order, and at most the one that was under way. One in two is synced, the
//! others are written only, which a kill does not lose either. Designs that put changes on disk in
//! different ways are killed one after the other; `PAGEWAY_KILL_POLICY` names one, or any preset,
//! and `PAGEWAY_KILLS` says how often each is.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stdout,
    reason = "a failed test may panic, and a suite says what it did"
)]

mod common;

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Arc, mpsc};
use std::time::Duration;

use common::{Data, long, quick};
use pageway::spec::{DeltaSpec, RepairSpec, UpdateSpec};
use pageway::{
    CreateOptions, Durability, ElementType, MemoryWish, Metric, NoProgress, OpenOptions, OsVfs,
    Overrides, Preset, Rows, UpdateOptions, VectorShape, Vfs, Writer, verify_on,
};
use pageway_testkit::SplitMix64;

const SEED: u64 = 0xfade;
/// Tells the process that is killed where its index is.
const PLACE: &str = "PAGEWAY_KILL_UPDATE";
const SHAPE: VectorShape = VectorShape {
    dimension: 8,
    element: ElementType::U8,
};
/// Ids that changes are of, beside the one that counts them.
const IDS: u64 = 400;
/// A flush and a merge come after so many changes.
const FLUSH: u64 = 37;
const MERGE: u64 = 151;
const MEMORY: u64 = 4 << 20;
/// By segments, by rewriting, out of place with rows that are linked, in place with lists and
/// vectors together, and in place with them apart.
const PRESETS: [Preset; 5] = [
    Preset::Pageway,
    Preset::FreshDiskAnn,
    Preset::OdinAnn,
    Preset::IpDiskAnn,
    Preset::Dgai,
];
/// What no preset does: the nearest neighbour of a dead node takes its place.
const POLICIES: [(UpdateSpec, DeltaSpec, RepairSpec); 2] = [
    (UpdateSpec::Patch, DeltaSpec::Linked, RepairSpec::Replace),
    (UpdateSpec::Overwrite, DeltaSpec::Scan, RepairSpec::Replace),
];

type Held = BTreeMap<u64, Vec<u8>>;

/// A change: rows that come in place of others, the number of the change among them as the row of
/// id 0; or ids that go.
struct Change {
    rows: Vec<(u64, Vec<u8>)>,
    gone: Vec<u64>,
}

impl Change {
    fn new(number: u64) -> Self {
        let mut random = SplitMix64::new(SEED ^ number << 8);
        let most = if random.below(20) == 0 { 200 } else { 9 };
        let count = 1 + random.below(most);
        let mut ids: Vec<u64> = (0..count).map(|_| 1 + random.below(IDS)).collect();
        ids.sort_unstable();
        ids.dedup();
        if number % 4 == 3 {
            return Self {
                rows: Vec::new(),
                gone: ids,
            };
        }
        let mut rows = vec![(0, number.to_le_bytes().to_vec())];
        rows.extend(ids.into_iter().map(|id| {
            let row = (0..8).map(|_| random.below(256) as u8).collect();
            (id, row)
        }));
        Self {
            rows,
            gone: Vec::new(),
        }
    }

    /// What is held after it.
    fn put_into(self, held: &mut Held) {
        held.extend(self.rows);
        held.retain(|id, _| !self.gone.contains(id));
    }

    fn run(&self, writer: &Writer, durability: Durability) {
        if self.rows.is_empty() {
            let done = writer.delete(&self.gone, durability).unwrap();
            assert!(done.durable || durability != Durability::Synced);
            return;
        }
        let ids: Vec<u64> = self.rows.iter().map(|(id, _)| *id).collect();
        let bytes: Vec<u8> = self.rows.iter().flat_map(|(_, row)| row.clone()).collect();
        let rows = Rows::new(&bytes, SHAPE).with_ids(&*ids);
        let done = writer.upsert(&rows.with_durability(durability)).unwrap();
        assert!(done.durable || durability != Durability::Synced);
    }
}

fn open(dir: &Path) -> Writer {
    let update = UpdateOptions::default()
        .with_threads(1)
        .with_merge_by_hand(true);
    Writer::open(dir, &OpenOptions::default(), &update).unwrap()
}

/// The last change whose number is in the index.
fn counted(writer: &Writer) -> u64 {
    let row = writer.index().vectors(&[0]);
    row.map_or(0, |row| u64::from_le_bytes(row.try_into().unwrap()))
}

/// What the process does that is killed: opens the index, and changes it for ever.
#[test]
fn process_that_is_killed() {
    let Some(dir) = std::env::var_os(PLACE) else {
        return;
    };
    let writer = open(Path::new(&dir));
    let mut out = std::io::stdout();
    let mut say = |words: String| {
        out.write_all(words.as_bytes()).unwrap();
        out.flush().unwrap();
    };
    for number in counted(&writer) + 1.. {
        say(format!("\n@begun {number}\n"));
        let durability = if number % 2 == 0 {
            Durability::Synced
        } else {
            Durability::Batched(Duration::from_secs(3600))
        };
        Change::new(number).run(&writer, durability);
        say(format!("\n@told {number}\n"));
        // After a delete, which counts nothing, whoever comes next would begin with the same again.
        if number % 4 == 3 {
            continue;
        }
        if number % MERGE == 0 {
            writer.merge(number % 2 == 0, &NoProgress).unwrap();
        } else if number % FLUSH == 0 {
            writer.flush(&NoProgress).unwrap();
        }
    }
}

/// What this process knows of the other.
#[derive(Default)]
struct Heard {
    begun: u64,
    told: u64,
}

impl Heard {
    fn hear(&mut self, line: &str) {
        let number = |word: &str| line.strip_prefix(word).and_then(|rest| rest.parse().ok());
        self.begun = self.begun.max(number("@begun ").unwrap_or(0));
        self.told = self.told.max(number("@told ").unwrap_or(0));
    }
}

/// Lets a process change the index for a while, and kills it. The while begins with its first
/// change where `from_first` says so, else with the process, which recovers first.
fn kill_after(dir: &Path, from_first: bool, wait: Duration, heard: &mut Heard) {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "process_that_is_killed", "--nocapture"]);
    command
        .env(PLACE, dir)
        .stdout(Stdio::piped())
        .stderr(Stdio::null());
    let mut child = command.spawn().unwrap();
    let out = child.stdout.take().unwrap();
    let (said, lines) = mpsc::channel();
    let listening = std::thread::spawn(move || {
        for line in BufReader::new(out).lines().map_while(Result::ok) {
            let _ = said.send(line);
        }
    });
    if from_first {
        let first = lines.iter().find(|line| line.starts_with("@begun"));
        heard.hear(&first.expect("the process ended by itself"));
    }
    std::thread::sleep(wait);
    let ended = child.try_wait().unwrap();
    assert!(ended.is_none(), "the process ended by itself: {ended:?}");
    // SIGKILL: no handler runs, nothing is flushed or tidied up.
    child.kill().unwrap();
    child.wait().unwrap();
    listening.join().unwrap();
    for line in &lines {
        heard.hear(&line);
    }
}

/// A way in which changes reach the disk.
struct Design {
    name: String,
    preset: Preset,
    /// Where they are no preset's: of an index that is built, which then changes.
    policies: Option<Overrides>,
}

impl Design {
    /// The one that is named, or all.
    fn asked() -> Vec<Self> {
        let policies = POLICIES.into_iter().map(Self::of_policies);
        let mut all = PRESETS.into_iter().map(Self::of_preset).chain(policies);
        let Some(only) = wished::<String>("PAGEWAY_KILL_POLICY") else {
            return all.collect();
        };
        let named = all.find(|design| design.name == only);
        vec![named.unwrap_or_else(|| Self::of_preset(only.parse().unwrap()))]
    }

    fn of_preset(preset: Preset) -> Self {
        Self {
            name: preset.name().to_owned(),
            preset,
            policies: None,
        }
    }

    fn of_policies((update, delta, repair): (UpdateSpec, DeltaSpec, RepairSpec)) -> Self {
        Self {
            name: format!("{update:?}-{delta:?}-{repair:?}").to_lowercase(),
            preset: Preset::DiskAnn,
            policies: Some(Overrides {
                update: Some(update),
                delta: Some(delta),
                repair: Some(repair),
                ..Overrides::default()
            }),
        }
    }

    /// What an index of it holds at first.
    fn make(&self, dir: &Path) -> Held {
        let Some(policies) = self.policies else {
            let options = CreateOptions::new(SHAPE, Metric::L2)
                .with_preset(self.preset)
                .with_degree(8)
                .with_memory(MEMORY)
                .with_expected(2000);
            Writer::create(dir, &options).unwrap();
            return Held::new();
        };
        let data = Data::new(IDS as usize / 2, SHAPE.dimension, SEED);
        let ids: Vec<u64> = (1..=IDS / 2).collect();
        let options = quick()
            .with_preset(self.preset)
            .with_overrides(policies)
            .with_memory(MemoryWish::Bytes(MEMORY));
        let vfs: Arc<dyn Vfs> = Arc::new(OsVfs);
        data.build_with_ids(&vfs, dir, &options, &ids).unwrap();
        let rows = data.rows.chunks(SHAPE.row_bytes()).map(<[u8]>::to_vec);
        ids.into_iter().zip(rows).collect()
    }
}

struct Scene {
    _root: tempfile::TempDir,
    dir: PathBuf,
    heard: Heard,
    /// What the index holds after change `at`.
    held: Held,
    at: u64,
}

impl Scene {
    fn new(design: &Design) -> Self {
        let root = tempfile::tempdir().unwrap();
        let dir = root.path().join("index");
        let held = design.make(&dir);
        Self {
            _root: root,
            dir,
            heard: Heard::default(),
            held,
            at: 0,
        }
    }

    /// Recovers, and compares: the change that it holds last.
    fn check(&mut self, with_files: bool) -> Result<(), String> {
        if with_files {
            let vfs: Arc<dyn Vfs> = Arc::new(OsVfs);
            let report = verify_on(&vfs, &self.dir, &NoProgress).map_err(|e| e.to_string())?;
            if !report.is_sound() {
                return Err(format!("verify: {:?}", report.problems));
            }
        }
        let writer = open(&self.dir);
        while self.at < self.heard.told {
            self.advance();
        }
        while !self.is_held(&writer) {
            if self.at >= self.heard.begun {
                let (told, begun) = (self.heard.told, self.heard.begun);
                let found = (writer.index().len(), counted(&writer));
                return Err(format!(
                    "rows and number {found:?}: told {told}, begun {begun}"
                ));
            }
            self.advance();
        }
        // What was found is told from now on.
        self.heard.told = self.at;
        self.heard.begun = self.at;
        Ok(())
    }

    fn advance(&mut self) {
        self.at += 1;
        Change::new(self.at).put_into(&mut self.held);
    }

    fn is_held(&self, writer: &Writer) -> bool {
        let ids: Vec<u64> = self.held.keys().copied().collect();
        let rows: Vec<u8> = self.held.values().flatten().copied().collect();
        let index = writer.index();
        index.len() == ids.len() as u64 && index.vectors(&ids).is_ok_and(|found| found == rows)
    }
}

/// The value of a variable of the environment, where it is set.
fn wished<T: std::str::FromStr>(name: &str) -> Option<T> {
    let value = std::env::var(name).ok()?;
    let parsed = value.parse().ok();
    Some(parsed.unwrap_or_else(|| panic!("{name}={value}")))
}

#[test]
fn a_killed_writer_loses_nothing_that_it_was_told() {
    if std::env::var_os(PLACE).is_some() {
        return;
    }
    let kills = wished("PAGEWAY_KILLS").unwrap_or(if long() { 2000 } else { 6 });
    for design in Design::asked() {
        kill(&design, kills);
    }
}

/// Kills who changes an index of a design so often, and compares what is left.
fn kill(design: &Design, kills: u64) {
    let mut scene = Scene::new(design);
    let mut random = SplitMix64::new(SEED);
    let (mut done, mut in_recovery, mut checks) = (0, 0, 0);
    // Where the delta is full, changes wait for a flush: whoever is killed sooner never gets on.
    let mut patience = 1;
    while done < kills {
        let wait = Duration::from_micros(random.below(200_000)) * patience;
        kill_after(&scene.dir, true, wait, &mut scene.heard);
        done += 1;
        // Who comes next is killed soon, while it recovers or a little later.
        while done < kills && random.below(3) == 0 {
            let wait = Duration::from_micros(2_000 + random.below(40_000));
            kill_after(&scene.dir, false, wait, &mut scene.heard);
            done += 1;
            in_recovery += 1;
        }
        let (told, begun) = (scene.heard.told, scene.heard.begun);
        checks += 1;
        let before = scene.at;
        scene.check(checks % 4 == 1).unwrap_or_else(|e| {
            let name = &design.name;
            panic!("{name}, kill {done}, {told} told, {begun} begun: {e}")
        });
        patience = if scene.at > before {
            1
        } else {
            (patience * 2).min(64)
        };
    }
    println!(
        "crash_kill_update, {}, seed {SEED:#x}: {done} kills, {in_recovery} of them soon after \
         another, {} changes, {checks} recoveries compared, 0 violations",
        design.name, scene.at
    );
    assert!(scene.at > done, "only {} changes", scene.at);
}
