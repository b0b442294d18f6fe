//! Two ways to rewrite units so that a crash leaves a generation whole, and what is planted wrong.
//!
//! ```text
//! journal   images -> journal, synced -> manifest names the next state -> images -> their places,
//!           synced -> manifest of the next state alone -> the journal may be written again
//! apart     images -> units that the manifest does not name, synced -> manifest with a new table
//! ```

use std::path::Path;

use pageway_store::{
    FileEntry, FileUuid, OpenMode, PageFile, PageFileWriter, PageGeometry, StoreError, Vfs,
    create_directory,
};

use crate::pen::{Pen, read};
use crate::state::{Manifest, State, payload, rows, touched};

/// How generations are written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Form {
    /// A double write: first to a journal, then over the old images.
    Journal,
    /// Out of place: new images take units that nobody uses.
    Apart,
}

/// What a protocol gets wrong, if anything.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Plant {
    Nothing,
    /// Images go to their places before the journal is committed.
    PlacesFirst,
    /// The journal is not synced before it is committed.
    JournalNotSynced,
    /// The journal is written again while the manifest still names it.
    JournalReusedEarly,
    /// The manifest is committed before the images in their places are synced.
    NoSyncBeforeCommit,
    /// What the file grows by is written after the sync.
    GrowthNotSynced,
    /// A unit is taken that the current manifest still names.
    UnitTakenEarly,
    /// Units that are written over keep their epoch.
    EpochKept,
}

/// A unit to be written.
struct Image {
    unit: u64,
    epoch: u32,
    payload: Vec<u8>,
}

// ---- creation -----------------------------------------------------------------------------------

/// Generation 0, committed.
pub(crate) fn create(vfs: &dyn Vfs, dir: &Path, form: Form) -> Result<State, StoreError> {
    create_directory(vfs, dir)?;
    let all: Vec<_> = (0..rows(0)).map(|row| payload(row, 0)).collect();
    let units = growable(vfs, &dir.join("units.pw"), 1, &all)?;
    let journal = (form == Form::Journal)
        .then(|| growable(vfs, &dir.join("journal.pw"), 2, &[]))
        .transpose()?;
    let state = State {
        generation: 0,
        units,
        table: (0..rows(0)).map(|row| (row, 0)).collect(),
        journal,
    };
    Manifest::settled(state.clone()).commit(vfs, dir)?;
    Ok(state)
}

fn growable(
    vfs: &dyn Vfs,
    path: &Path,
    span: u32,
    payloads: &[Vec<u8>],
) -> Result<FileEntry, StoreError> {
    let (geometry, uuid) = (PageGeometry::new(4096, span)?, FileUuid([span as u8; 16]));
    let mut writer = PageFileWriter::create(vfs, path, span as u16, geometry, uuid)?;
    for payload in payloads {
        writer.append_unit(payload)?;
    }
    Ok(FileEntry {
        growable: true,
        ..writer.finish()?
    })
}

// ---- generations --------------------------------------------------------------------------------

/// Writes the generation after `now` and commits it.
pub(crate) fn advance(
    vfs: &dyn Vfs,
    dir: &Path,
    now: &State,
    plant: Plant,
) -> Result<State, StoreError> {
    let (next, images) = plan(now, plant);
    if next.journal.is_none() {
        write_units(vfs, dir, (now, &next), &images, plant)?;
        Manifest::settled(next.clone()).commit(vfs, dir)?;
        return Ok(next);
    }
    if plant == Plant::PlacesFirst {
        write_units(vfs, dir, (now, &next), &images, plant)?;
    }
    let journal = write_journal(vfs, dir, now, &images, plant)?;
    let next = State {
        journal: Some(journal.clone()),
        ..next
    };
    let decided = Manifest {
        now: State {
            journal: Some(journal),
            ..now.clone()
        },
        next: Some(next),
    };
    decided.commit(vfs, dir)?;
    roll_forward(vfs, dir, decided, plant)
}

/// The next state, and the units that lead to it.
fn plan(now: &State, plant: Plant) -> (State, Vec<Image>) {
    let generation = now.generation + 1;
    let epoch = if plant == Plant::EpochKept {
        0
    } else {
        generation
    };
    let mut next = now.clone();
    next.generation = generation;
    let mut free = free_units(now, generation, plant).into_iter();
    let mut end = now.units.units;
    let mut images = Vec::new();
    for row in touched(generation) {
        let home = now.table.get(row as usize).map(|&(unit, _)| unit);
        let home = home.filter(|_| now.journal.is_some());
        let unit = home.or_else(|| free.next()).unwrap_or_else(|| {
            end += 1;
            end - 1
        });
        images.push(Image {
            unit,
            epoch,
            payload: payload(row, generation),
        });
        next.table
            .resize(next.table.len().max(row as usize + 1), (0, 0));
        next.table[row as usize] = (unit, epoch);
    }
    next.units.units = end;
    next.units.epoch = epoch;
    (next, images)
}

/// Units that no row of the current state lies in; where that is planted, also those of rows that
/// are about to change.
fn free_units(now: &State, generation: u32, plant: Plant) -> Vec<u64> {
    let taken_early =
        |row: usize| plant == Plant::UnitTakenEarly && touched(generation).contains(&(row as u64));
    let mut rows = now.table.iter().enumerate();
    let mut used = std::collections::BTreeSet::new();
    used.extend(
        rows.by_ref()
            .filter(|(row, _)| !taken_early(*row))
            .map(|(_, &(unit, _))| unit),
    );
    (0..now.units.units)
        .filter(|unit| !used.contains(unit))
        .collect()
}

/// Writes images where they belong, growing the file, and syncs.
fn write_units(
    vfs: &dyn Vfs,
    dir: &Path,
    (now, next): (&State, &State),
    images: &[Image],
    plant: Plant,
) -> Result<(), StoreError> {
    let mut file = PageFile::open_to_write(vfs, dir, &now.units)?;
    file.grow(next.units.units)?;
    let mut pen = Pen::new(&file)?;
    let late = |image: &&Image| plant == Plant::GrowthNotSynced && image.unit >= now.units.units;
    for image in images.iter().filter(|image| !late(image)) {
        pen.write(image.unit, image.epoch, &image.payload)?;
    }
    if plant == Plant::NoSyncBeforeCommit {
        return pen.wait();
    }
    pen.sync()?;
    for image in images.iter().filter(late) {
        pen.write(image.unit, image.epoch, &image.payload)?;
    }
    pen.wait()
}

// ---- the journal --------------------------------------------------------------------------------

/// Writes the images over those of the last generation: unit, epoch, payload.
fn write_journal(
    vfs: &dyn Vfs,
    dir: &Path,
    now: &State,
    images: &[Image],
    plant: Plant,
) -> Result<FileEntry, StoreError> {
    let entry = now.journal.as_ref().unwrap();
    let mut file = PageFile::open_to_write(vfs, dir, entry)?;
    file.grow(entry.units.max(images.len() as u64))?;
    let mut pen = Pen::new(&file)?;
    for (place, image) in (0..).zip(images) {
        let mut bytes = image.unit.to_le_bytes().to_vec();
        bytes.extend(image.epoch.to_le_bytes());
        bytes.extend(&image.payload);
        pen.write(place, now.generation + 1, &bytes)?;
    }
    if plant == Plant::JournalNotSynced {
        pen.wait()?;
    } else {
        pen.sync()?;
    }
    Ok(FileEntry {
        units: file.units(),
        epoch: now.generation + 1,
        ..entry.clone()
    })
}

/// Copies a committed journal to where its images belong, and commits what it leads to.
pub(crate) fn roll_forward(
    vfs: &dyn Vfs,
    dir: &Path,
    decided: Manifest,
    plant: Plant,
) -> Result<State, StoreError> {
    let next = decided.next.unwrap();
    let file = PageFile::open(
        vfs,
        dir,
        next.journal.as_ref().unwrap(),
        OpenMode::ReadDirect,
    )?;
    let count = touched(next.generation).len() as u64;
    let images: Vec<Image> = (0..count)
        .map(|place| read(&file, place, next.generation).map(|bytes| parse(&bytes)))
        .collect::<Result<_, _>>()?;
    if plant != Plant::PlacesFirst {
        write_units(vfs, dir, (&decided.now, &next), &images, plant)?;
    }
    if plant != Plant::JournalReusedEarly {
        Manifest::settled(next.clone()).commit(vfs, dir)?;
    }
    Ok(next)
}

fn parse(bytes: &[u8]) -> Image {
    Image {
        unit: u64::from_le_bytes(bytes[..8].try_into().unwrap()),
        epoch: u32::from_le_bytes(bytes[8..12].try_into().unwrap()),
        payload: bytes[12..4012].to_vec(),
    }
}

// ---- opening ------------------------------------------------------------------------------------

/// What a reader finds: the state, after a committed journal was rolled forward. `None` where no
/// generation was ever committed.
pub(crate) fn recover(
    vfs: &dyn Vfs,
    dir: &Path,
    plant: Plant,
) -> Result<Option<State>, StoreError> {
    let manifest = match Manifest::read(vfs, dir) {
        Err(StoreError::NotFound { .. }) => return Ok(None),
        other => other?,
    };
    if manifest.next.is_none() {
        return Ok(Some(manifest.now));
    }
    roll_forward(vfs, dir, manifest, plant).map(Some)
}

/// Rows of a state, each checked as far as the store can: checksum, unit, epoch.
pub(crate) fn read_rows(
    vfs: &dyn Vfs,
    dir: &Path,
    state: &State,
) -> Result<Vec<Vec<u8>>, StoreError> {
    let file = PageFile::open(vfs, dir, &state.units, OpenMode::Read)?;
    let row = |&(unit, epoch): &(u64, u32)| {
        let mut bytes = read(&file, unit, epoch)?;
        bytes.truncate(4000);
        Ok(bytes)
    };
    state.table.iter().map(row).collect()
}
