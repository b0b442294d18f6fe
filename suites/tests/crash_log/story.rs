//! The life of a log on a simulated file system, recorded, and when what was promised.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use pageway_store::{
    FileUuid, LogPlace, LogWriter, Lsn, OnDamage, Room, StoreError, Vfs, commit_manifest,
    create_directory, read_manifest, replay_log,
};
use pageway_testkit::{Boundary, SimVfs, SplitMix64};

pub(crate) const DIR: &str = "/indexes/one";

/// What happens to a log.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Step {
    /// Records that are written, and synced or not.
    Written(u64),
    Synced(u64),
    /// A group that covers the last records.
    Cover,
    /// The log goes on in a new file.
    Rotate,
    /// Files take over what the log holds up to here; records come while they are written.
    Checkpoint,
    /// The process is killed: what was written is in the page cache. Then it is opened again.
    Kill,
    /// A sync fails and loses what it should have saved, and the log is opened again.
    FailedSync,
    /// Closed in peace, and opened again.
    Close,
}

/// What is done wrong.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Plant {
    Nothing,
    /// Records that were written only are told to be durable.
    ToldBeforeSync,
    /// Files of the log go before the manifest says that they may.
    RemovedBeforeCommit,
    /// The floor is where the log ends when the manifest is written, not where it was cut.
    FloorAtCommit,
    /// The floor is that of the manifest, and removal goes one file further.
    RemovedAboveFloor,
}

/// Everything that happened. Moments are counted in operations.
#[derive(Default)]
pub(crate) struct Story {
    pub(crate) boundaries: Vec<Boundary>,
    /// From when on records up to a number may be found.
    begun: Vec<(u64, Lsn)>,
    /// From when on they must be.
    told: Vec<(u64, Lsn)>,
}

impl Story {
    /// The last records that may be found at a moment, from the least to the most.
    pub(crate) fn range(&self, operations: u64) -> (Lsn, Lsn) {
        let greatest = |moments: &[(u64, Lsn)]| {
            let past = moments.iter().filter(|(moment, _)| *moment <= operations);
            past.map(|(_, lsn)| *lsn).max().unwrap_or_default()
        };
        (greatest(&self.told), greatest(&self.begun))
    }
}

/// The record with this number.
pub(crate) fn record(lsn: Lsn) -> Vec<u8> {
    let mut random = SplitMix64::new(lsn.0);
    let length = random.below(700);
    (0..length).map(|_| random.next_u64() as u8).collect()
}

pub(crate) fn place(vfs: Arc<dyn Vfs>) -> LogPlace {
    LogPlace {
        file_bytes: 16 << 10,
        reserve_bytes: 2 << 10,
        ..LogPlace::new(vfs, &log_dir(), FileUuid([9; 16]))
    }
}

pub(crate) fn log_dir() -> PathBuf {
    Path::new(DIR).join("log")
}

/// The floor in the manifest, and up to where the files hold what the log held.
pub(crate) fn manifest(vfs: &dyn Vfs) -> Result<(Lsn, Lsn), StoreError> {
    match read_manifest(vfs, Path::new(DIR)) {
        Err(StoreError::NotFound { .. }) => Ok((Lsn::NONE, Lsn::NONE)),
        json => Ok(serde_json::from_slice(&json?).unwrap()),
    }
}

/// A simulated file system with an empty directory for the log.
pub(crate) fn empty() -> SimVfs {
    let sim = SimVfs::new();
    create_directory(&sim, &log_dir()).unwrap();
    sim
}

/// A log being written, with whatever may be wrong.
pub(crate) struct World {
    sim: SimVfs,
    place: LogPlace,
    plant: Plant,
    writer: LogWriter,
    story: Story,
}

impl World {
    /// Begins a log. `vfs` is `sim`, or wraps it.
    pub(crate) fn begin(sim: &SimVfs, vfs: Arc<dyn Vfs>, plant: Plant) -> Result<Self, StoreError> {
        let place = place(vfs);
        Ok(Self {
            sim: sim.clone(),
            writer: LogWriter::create(&place, Lsn::NONE)?,
            place,
            plant,
            story: Story::default(),
        })
    }

    pub(crate) fn end(mut self) -> Story {
        self.story.boundaries = self.sim.take_boundaries();
        self.story
    }

    pub(crate) fn story(&self) -> &Story {
        &self.story
    }

    pub(crate) fn writer(&mut self) -> &mut LogWriter {
        &mut self.writer
    }

    pub(crate) fn step(&mut self, step: Step) -> Result<(), StoreError> {
        match step {
            Step::Written(records) => self.append(records)?,
            Step::Synced(records) => {
                self.append(records)?;
                self.writer.sync()?;
            }
            Step::Cover => self.writer.cover()?,
            Step::Rotate => drop(self.writer.rotate()?),
            Step::Checkpoint => self.checkpoint()?,
            Step::Kill => self.reopen()?,
            Step::FailedSync => {
                self.append(2)?;
                self.sim.fail_sync(0);
                if self.writer.sync().is_ok() {
                    return Err(StoreError::invalid("a failed sync was not told"));
                }
                self.reopen()?;
            }
            Step::Close => self.close()?,
        }
        self.tell();
        Ok(())
    }

    fn append(&mut self, records: u64) -> Result<(), StoreError> {
        let last = self.writer.last();
        let moment = self.sim.operations();
        self.story.begun.push((moment, last.plus(records)));
        let next: Vec<_> = (1..=records).map(|by| record(last.plus(by))).collect();
        let bytes = next.iter().map(Vec::len).sum::<usize>() as u64;
        self.writer.reserve(records, bytes, Room::Ordinary)?;
        for record in next {
            self.writer.append(&[&record])?;
        }
        self.writer.write().map(drop)
    }

    fn tell(&mut self) {
        let durable = if self.plant == Plant::ToldBeforeSync {
            self.writer.written()
        } else {
            self.writer.durable()
        };
        self.story.told.push((self.sim.operations(), durable));
    }

    /// What an engine does at a flush: cut, write files, commit, remove.
    fn checkpoint(&mut self) -> Result<(), StoreError> {
        let cut = self.writer.rotate()?;
        self.append(3)?;
        let floor = if self.plant == Plant::FloorAtCommit {
            self.writer.sync()?
        } else {
            cut
        };
        if self.plant == Plant::RemovedBeforeCommit {
            self.writer.remove_below(floor)?;
        }
        let json = serde_json::to_vec(&(floor, cut)).unwrap();
        commit_manifest(self.place.vfs.as_ref(), Path::new(DIR), &json)?;
        if self.plant == Plant::RemovedAboveFloor {
            self.writer.rotate()?;
            return self.writer.remove_below(self.writer.last());
        }
        self.writer.remove_below(floor)
    }

    fn close(&mut self) -> Result<(), StoreError> {
        // The writer is consumed: another one, of no file of ours, stands in meanwhile.
        let aside = empty();
        let other = LogWriter::create(&place(Arc::new(aside)), Lsn::NONE)?;
        std::mem::replace(&mut self.writer, other).close()?;
        self.reopen()
    }

    fn reopen(&mut self) -> Result<(), StoreError> {
        let (floor, _) = manifest(self.place.vfs.as_ref())?;
        let visit = |_: Lsn, _: &[u8]| Ok::<(), StoreError>(());
        let replayed = replay_log(&self.place, floor, OnDamage::Refuse, visit)?;
        self.writer = LogWriter::continue_after(&self.place, &replayed.tail)?;
        Ok(())
    }
}

/// A life, recorded from before the log begins.
pub(crate) fn live(
    wrap: impl FnOnce(SimVfs) -> Arc<dyn Vfs>,
    steps: &[Step],
    plant: Plant,
) -> Result<Story, StoreError> {
    let sim = empty();
    sim.record();
    let mut world = World::begin(&sim, wrap(sim.clone()), plant)?;
    world.tell();
    steps.iter().try_for_each(|step| world.step(*step))?;
    Ok(world.end())
}
