//! A life of an index that changes on a simulated file system, recorded, with what was promised
//! when.

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use pageway::source::{TextRead, TextSlice};
use pageway::{
    CreateOptions, Document, Durability, Edit, ElementType, Metric, NoProgress, OpenOptions,
    Preset, Progress, Result, Rows, UpdateOptions, VectorShape, Vfs, Which, Writer,
};
use pageway_testkit::{Boundary, SimVfs, SplitMix64};

pub(crate) const DIR: &str = "/data/index";
/// Where the snapshot goes.
pub(crate) const COPY: &str = "/data/copy";
pub(crate) const SHAPE: VectorShape = VectorShape {
    dimension: 12,
    element: ElementType::U8,
};
const HOUR: Duration = Duration::from_secs(3600);

/// Ids and their rows: the vector, and behind it the attributes as JSON where there are any.
pub(crate) type Held = BTreeMap<u64, Vec<u8>>;

/// A row with attributes, if it is one that has some.
fn with_attributes(mut row: Vec<u8>) -> Vec<u8> {
    if !row[0].is_multiple_of(3) {
        row.extend(format!("{{\"first\":{}}}", row[0]).into_bytes());
    }
    row
}

/// The vectors of rows one after the other, and their attributes.
fn parts(rows: &[Vec<u8>]) -> (Vec<u8>, Vec<String>) {
    let split = rows.iter().map(|row| row.split_at(SHAPE.row_bytes()));
    let text = |json: &[u8]| match json {
        [] => "{}".to_owned(),
        json => String::from_utf8(json.to_vec()).unwrap(),
    };
    split
        .map(|(row, json)| (row, text(json)))
        .fold(Default::default(), |mut all, one| {
            all.0.extend(one.0);
            all.1.push(one.1);
            all
        })
}

/// What happens to an index.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Step {
    /// So many new rows, with ids of the index's choice.
    Insert(usize),
    /// So many rows with ids, half of which are there.
    Upsert(usize),
    /// So many rows get other attributes.
    Edit(usize),
    /// So many rows go.
    Delete(usize),
    /// A row goes, and another comes with its id.
    Again,
    /// Rows that a kill or power cut may lose, until `Sync`.
    Batched(usize),
    Deferred(usize),
    Sync,
    Flush,
    Merge,
    /// The same, with changes of what is being written.
    FlushBeside,
    MergeBeside,
    /// A flush and a merge, beside each of which attributes change.
    EditBeside,
    /// A merge beside which rows come and go, are flushed, and come and go again.
    FlushInMerge,
    Snapshot,
    /// The process ends without a word, or in peace; and the index is opened again.
    Kill,
    Close,
    /// A sync fails and loses what it should have saved; the index is opened again.
    FailedSync,
}

/// Everything that happened. Moments are counted in operations of the file system.
#[derive(Default)]
pub(crate) struct Story {
    pub(crate) boundaries: Vec<Boundary>,
    /// What the index held, change by change.
    pub(crate) states: Vec<Held>,
    /// The next id that each of them gives.
    next_ids: Vec<u64>,
    /// From when on each of them may be found.
    begun: Vec<u64>,
    /// From when on a state must be found, or a later one.
    told: Vec<(u64, usize)>,
    /// The state of the snapshot, and from when on that must be there.
    pub(crate) copied: Option<(usize, u64)>,
    /// Whether rows were linked as they came.
    pub(crate) linked: bool,
}

impl Story {
    /// The states that may be found at a moment.
    pub(crate) fn allowed(&self, operations: u64) -> &[Held] {
        &self.states[self.range(operations)]
    }

    /// Of who opens an index, finds the last state but one at a moment, and is told of the last at
    /// another.
    pub(crate) fn of_recovery(
        boundaries: Vec<Boundary>,
        states: Vec<Held>,
        (opened, told): (u64, u64),
    ) -> Self {
        let last = states.len() - 1;
        let mut begun = vec![0; last];
        begun.push(opened);
        Self {
            boundaries,
            states,
            begun,
            told: vec![(opened, last - 1), (told, last)],
            ..Self::default()
        }
    }

    fn range(&self, operations: u64) -> Range<usize> {
        let past = self.told.iter().filter(|(moment, _)| *moment <= operations);
        let least = past.map(|(_, state)| *state).max().unwrap_or(0);
        let most = self.begun.partition_point(|moment| *moment <= operations);
        least..most.max(least + 1)
    }
}

pub(crate) fn open(vfs: &Arc<dyn Vfs>) -> Result<Writer> {
    let update = UpdateOptions::default()
        .with_threads(1)
        .with_merge_by_hand(true);
    Writer::open_on(vfs, Path::new(DIR), &OpenOptions::default(), &update)
}

/// A file system with a place for an index.
pub(crate) fn place() -> SimVfs {
    let sim = SimVfs::new();
    sim.create_dir_all(Path::new("/data")).unwrap();
    sim.sync_dir(Path::new("/")).unwrap();
    sim
}

/// A file system with an empty index.
pub(crate) fn empty() -> SimVfs {
    empty_of(Preset::default())
}

pub(crate) fn empty_of(preset: Preset) -> SimVfs {
    let sim = place();
    let vfs: Arc<dyn Vfs> = Arc::new(sim.clone());
    let options = CreateOptions::new(SHAPE, Metric::L2)
        .with_preset(preset)
        .with_degree(8)
        // So much that a flush beside a merge is never refused: it would wait for the merge.
        .with_memory(4 << 20)
        .with_expected(500);
    Writer::create_on(&vfs, Path::new(DIR), &options).unwrap();
    sim
}

/// An index being changed.
pub(crate) struct World {
    sim: SimVfs,
    vfs: Arc<dyn Vfs>,
    has_attributes: bool,
    inner: Mutex<Inner>,
}

struct Inner {
    story: Story,
    state: Held,
    /// Above all ids that were given.
    next_id: u64,
    random: SplitMix64,
}

impl World {
    /// `vfs` is `sim`, or wraps it.
    pub(crate) fn new(sim: &SimVfs, vfs: Arc<dyn Vfs>) -> Self {
        let inner = Inner {
            story: Story::default(),
            state: Held::new(),
            next_id: 0,
            random: SplitMix64::new(7),
        };
        let world = Self {
            sim: sim.clone(),
            vfs,
            has_attributes: true,
            inner: Mutex::new(inner),
        };
        world.begin(Held::new());
        world.tell();
        world
    }

    pub(crate) fn end(self) -> Story {
        let mut story = self.inner.into_inner().unwrap().story;
        story.boundaries = self.sim.take_boundaries();
        story
    }

    /// The states that may be found now.
    pub(crate) fn allowed(&self) -> Vec<Held> {
        let inner = self.inner();
        inner.story.allowed(self.sim.operations()).to_vec()
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap()
    }

    /// The index is about to hold this.
    fn begin(&self, state: Held) {
        let mut inner = self.inner();
        let last = state.keys().next_back().map_or(0, |id| id + 1);
        inner.next_id = inner.next_id.max(last);
        let next_id = inner.next_id;
        inner.story.next_ids.push(next_id);
        inner.state = state.clone();
        inner.story.begun.push(self.sim.operations());
        inner.story.states.push(state);
    }

    /// It was said to hold what it holds, for good.
    fn tell(&self) {
        let mut inner = self.inner();
        let last = inner.story.states.len() - 1;
        inner.story.told.push((self.sim.operations(), last));
    }

    /// The same of an index whose pages are patched: of rows without attributes.
    pub(crate) fn patched(sim: &SimVfs, vfs: Arc<dyn Vfs>) -> Self {
        Self {
            has_attributes: false,
            ..Self::new(sim, vfs)
        }
    }

    /// The same with other rows.
    pub(crate) fn seeded(self, seed: u64) -> Self {
        self.inner().random = SplitMix64::new(seed);
        self
    }

    /// The same of an index that holds rows.
    pub(crate) fn holding(self, held: Held) -> Self {
        self.begin(held);
        self.tell();
        self
    }

    /// Lives through steps, up to the first error.
    pub(crate) fn run(&self, steps: &[Step]) -> Result<()> {
        let mut writer = open(&self.vfs)?;
        for step in steps {
            let links = writer.changes()?.work.linked > 0;
            self.inner().story.linked |= links;
            writer = self.step(writer, *step)?;
        }
        Ok(())
    }

    fn step(&self, writer: Writer, step: Step) -> Result<Writer> {
        match step {
            Step::Insert(count) => self.insert(&writer, count)?,
            Step::Upsert(count) => self.upsert(&writer, count, Durability::Synced)?,
            Step::Batched(count) => self.upsert(&writer, count, Durability::Batched(HOUR))?,
            Step::Deferred(count) => self.upsert(&writer, count, Durability::Deferred)?,
            Step::Edit(count) => self.edit(&writer, count)?,
            Step::Delete(count) => self.delete(&writer, &self.some(count))?,
            Step::Again => self.again(&writer)?,
            Step::Sync => {
                writer.sync()?;
                self.tell();
            }
            Step::Flush => {
                writer.flush(&NoProgress)?;
                self.tell();
            }
            Step::Merge => drop(writer.merge(true, &NoProgress)?),
            Step::FlushBeside => writer.flush(&Beside::new(self, &writer))?,
            Step::MergeBeside => {
                writer.flush(&NoProgress)?;
                writer.merge(true, &Beside::new(self, &writer))?;
            }
            Step::EditBeside => {
                writer.flush(&Beside::with_edits(self, &writer))?;
                writer.flush(&NoProgress)?;
                writer.merge(true, &Beside::with_edits(self, &writer))?;
            }
            Step::FlushInMerge => {
                writer.flush(&NoProgress)?;
                writer.merge(true, &Beside::with_flush(self, &writer))?;
            }
            Step::Snapshot => self.snapshot(&writer)?,
            Step::Kill => {
                drop(writer);
                return self.reopen();
            }
            Step::Close => {
                writer.close()?;
                self.tell();
                return open(&self.vfs);
            }
            Step::FailedSync => return self.failed_sync(writer),
        }
        Ok(writer)
    }

    fn rows(&self, count: usize) -> Vec<Vec<u8>> {
        let mut inner = self.inner();
        let mut row = || {
            let middle = inner.random.below(5) as u8 * 40;
            let own = |_| middle + inner.random.below(50) as u8;
            (0..SHAPE.dimension).map(own).collect()
        };
        (0..count).map(|_| row()).collect()
    }

    /// Rows, with attributes where any have some.
    fn dressed(&self, count: usize) -> Vec<Vec<u8>> {
        let rows = self.rows(count).into_iter();
        if self.has_attributes {
            rows.map(with_attributes).collect()
        } else {
            rows.collect()
        }
    }

    /// Ids that are there.
    fn some(&self, count: usize) -> Vec<u64> {
        let mut inner = self.inner();
        let mut ids: Vec<u64> = inner.state.keys().copied().collect();
        let mut chosen = Vec::new();
        while chosen.len() < count && !ids.is_empty() {
            let at = inner.random.below(ids.len() as u64) as usize;
            chosen.push(ids.swap_remove(at));
        }
        chosen
    }

    fn insert(&self, writer: &Writer, count: usize) -> Result<()> {
        let rows = self.dressed(count);
        let next = 3 + self.inner().next_id;
        let ids: Vec<u64> = (next..next + count as u64).collect();
        let mut state = self.inner().state.clone();
        state.extend(ids.iter().copied().zip(rows.iter().cloned()));
        self.begin(state);
        let (bytes, texts) = parts(&rows);
        let documents = TextSlice::attributes(&texts);
        let mut rows = Rows::new(&bytes, SHAPE).with_ids(&*ids);
        if self.has_attributes {
            rows = rows.with_attributes(&documents as &dyn TextRead);
        }
        writer.insert(&rows)?;
        self.tell();
        self.insert_unnamed(writer)
    }

    /// A row that gets the next id.
    fn insert_unnamed(&self, writer: &Writer) -> Result<()> {
        let rows = self.rows(1);
        let mut state = self.inner().state.clone();
        let next = self.inner().next_id;
        state.insert(next, rows[0].clone());
        self.begin(state);
        let done = writer.insert(&Rows::new(&rows[0], SHAPE))?;
        assert_eq!(done.first_id, Some(next), "an id that was given before");
        self.tell();
        Ok(())
    }

    fn upsert(&self, writer: &Writer, count: usize, durability: Durability) -> Result<()> {
        let rows = self.dressed(count);
        let mut ids = self.some(count / 2);
        let next = self.inner().next_id;
        ids.extend((next..).take(count - ids.len()));
        let mut state = self.inner().state.clone();
        state.extend(ids.iter().copied().zip(rows.iter().cloned()));
        self.begin(state);
        let (bytes, texts) = parts(&rows);
        let documents = TextSlice::attributes(&texts);
        let mut rows = Rows::new(&bytes, SHAPE).with_ids(&*ids);
        if self.has_attributes {
            rows = rows.with_attributes(&documents as &dyn TextRead);
        }
        let done = writer.upsert(&rows.with_durability(durability))?;
        if done.durable {
            self.tell();
        }
        Ok(())
    }

    fn edit(&self, writer: &Writer, count: usize) -> Result<()> {
        let mut ids = self.some(count);
        let mut state = self.inner().state.clone();
        let value = self.inner().random.below(1000);
        for id in &ids {
            let row = state.get_mut(id).unwrap();
            row.truncate(SHAPE.row_bytes());
            row.extend(format!("{{\"edited\":{value}}}").into_bytes());
        }
        self.begin(state);
        // One that is not there.
        ids.push(8_888_888);
        let mut fields = Document::new();
        fields.insert("edited".to_owned(), value.into());
        let edit = Edit::Overwrite(fields);
        let done = writer.edit_attributes(Which::Ids(&ids), &edit, Durability::Synced)?;
        assert_eq!(done.absent, 1);
        self.tell();
        Ok(())
    }

    fn delete(&self, writer: &Writer, ids: &[u64]) -> Result<()> {
        let mut state = self.inner().state.clone();
        state.retain(|id, _| !ids.contains(id));
        self.begin(state);
        writer.delete(ids, Durability::Synced)?;
        self.tell();
        Ok(())
    }

    fn again(&self, writer: &Writer) -> Result<()> {
        let ids = self.some(1);
        self.delete(writer, &ids)?;
        let rows = self.rows(ids.len());
        let mut state = self.inner().state.clone();
        state.extend(ids.iter().copied().zip(rows.iter().cloned()));
        self.begin(state);
        writer.insert(&Rows::new(&rows.concat(), SHAPE).with_ids(&*ids))?;
        self.tell();
        Ok(())
    }

    fn snapshot(&self, writer: &Writer) -> Result<()> {
        let state = self.inner().story.states.len() - 1;
        writer.snapshot(Path::new(COPY), &NoProgress)?;
        self.inner().story.copied = Some((state, self.sim.operations()));
        Ok(())
    }

    fn failed_sync(&self, writer: Writer) -> Result<Writer> {
        self.sim.fail_sync(0);
        let outcome = self.upsert(&writer, 3, Durability::Synced);
        assert!(outcome.is_err(), "a failed sync was not told");
        drop(writer);
        self.reopen()
    }

    /// Opens it again. Whether what was not synced is there is for the disk to say.
    fn reopen(&self) -> Result<Writer> {
        let writer = open(&self.vfs)?;
        let range = self.inner().story.range(self.sim.operations());
        let allowed = self.inner().story.states[range.clone()].to_vec();
        let found = crate::oracle::find(writer.index(), &allowed)?;
        let mut inner = self.inner();
        inner.next_id = inner.story.next_ids[range.start + found];
        drop(inner);
        self.begin(allowed[found].clone());
        self.tell();
        Ok(writer)
    }
}

/// Changes the index while a segment is made of it.
struct Beside<'w> {
    world: &'w World,
    writer: &'w Writer,
    /// Whether what changed is flushed too, before more changes.
    flushes: bool,
    /// Whether attributes change, and nothing else.
    edits: bool,
    is_done: Mutex<bool>,
}

impl<'w> Beside<'w> {
    fn new(world: &'w World, writer: &'w Writer) -> Self {
        Self {
            world,
            writer,
            flushes: false,
            edits: false,
            is_done: Mutex::new(false),
        }
    }

    fn with_flush(world: &'w World, writer: &'w Writer) -> Self {
        Self {
            flushes: true,
            ..Self::new(world, writer)
        }
    }

    fn with_edits(world: &'w World, writer: &'w Writer) -> Self {
        Self {
            edits: true,
            ..Self::new(world, writer)
        }
    }

    /// Changes of what is being written.
    fn change(&self) -> Result<()> {
        let (world, writer) = (self.world, self.writer);
        if self.edits {
            return world.edit(writer, 6);
        }
        world.delete(writer, &world.some(6))?;
        world.upsert(writer, 5, Durability::Synced)?;
        world.again(writer)
    }
}

impl Progress for Beside<'_> {
    fn stage(&self, _: &'static str, _: u64) {
        let mut is_done = self.is_done.lock().unwrap();
        if std::mem::replace(&mut *is_done, true) {
            return;
        }
        self.change().unwrap();
        if self.flushes {
            self.writer.flush(&NoProgress).unwrap();
            self.change().unwrap();
        }
    }

    fn advance(&self, _: u64) {}
}

/// A life, recorded from before the index is first opened to be changed.
pub(crate) fn live(wrap: impl FnOnce(SimVfs) -> Arc<dyn Vfs>, steps: &[Step]) -> Result<Story> {
    let sim = empty();
    sim.record();
    let world = World::new(&sim, wrap(sim.clone()));
    world.run(steps)?;
    Ok(world.end())
}

/// The same of an index whose pages are patched: of rows without attributes.
pub(crate) fn live_patched(
    wrap: impl FnOnce(SimVfs) -> Arc<dyn Vfs>,
    preset: Preset,
    steps: &[Step],
) -> Result<Story> {
    let sim = empty_of(preset);
    sim.record();
    let world = World::patched(&sim, wrap(sim.clone()));
    world.run(steps)?;
    Ok(world.end())
}
