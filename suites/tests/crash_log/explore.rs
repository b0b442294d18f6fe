//! Crash images of a life, and what each must hold.

use std::sync::Arc;

use pageway_store::{LOG_EXTENSION, LogWriter, Lsn, OnDamage, Room, StoreError, replay_log};
use pageway_testkit::{Boundary, SimVfs};

use crate::story::{Story, manifest, place, record};

pub(crate) const SEED: u64 = 0x5eed;
const IMAGES: u64 = 16;
/// Images of each moment before and during a recovery.
const IMAGES_BEFORE: u64 = 4;
const IMAGES_DURING: u64 = 4;

/// The last record that an image holds, if all of them are right and none is missing.
pub(crate) fn check(image: &SimVfs) -> Result<Lsn, String> {
    recover(image).map(|(last, _)| last)
}

fn recover(image: &SimVfs) -> Result<(Lsn, Option<LogWriter>), String> {
    let text = |error: StoreError| error.to_string();
    let (floor, held) = manifest(image).map_err(text)?;
    if floor > held {
        return Err(format!("records from {held} to {floor} are nowhere"));
    }
    let place = place(Arc::new(image.clone()));
    let files = place.vfs.list(&place.dir).unwrap();
    if floor == Lsn::NONE && !files.iter().any(|name| name.ends_with(LOG_EXTENSION)) {
        return Ok((Lsn::NONE, None));
    }
    let mut last = floor;
    let replayed = replay_log(&place, floor, OnDamage::Refuse, |lsn, bytes| {
        if lsn != last.next() || bytes != record(lsn) {
            return Err(StoreError::invalid(format!("record {lsn} is another")));
        }
        last = lsn;
        Ok(())
    });
    let replayed = replayed.map_err(text)?;
    if replayed.tail.last() != last {
        return Err(format!("the log ends at {}", replayed.tail.last()));
    }
    let writer = LogWriter::continue_after(&place, &replayed.tail).map_err(text)?;
    Ok((last, Some(writer)))
}

/// Life after a crash: more records are taken, rotated, and all of them found.
pub(crate) fn go_on(image: &SimVfs) -> Result<Lsn, String> {
    let (last, writer) = recover(image)?;
    let Some(mut writer) = writer else {
        return Ok(last);
    };
    let mut run = || {
        for by in 1..=4 {
            let bytes = record(last.plus(by));
            writer.reserve(1, bytes.len() as u64, Room::Ordinary)?;
            writer.append(&[&bytes])?;
            if by == 2 {
                writer.rotate()?;
            }
        }
        writer.sync()
    };
    let told = run().map_err(|error| error.to_string())?;
    let found = check(image)?;
    if told != last.plus(4) || found != told {
        return Err(format!("told {told}, found {found}"));
    }
    Ok(told)
}

/// Images tried, and what was wrong with those that broke a promise.
pub(crate) fn explore(story: &Story, seed: u64) -> (u64, Vec<String>) {
    let (mut images, mut broken) = (0, Vec::new());
    for boundary in &story.boundaries {
        for (number, image) in boundary.images(IMAGES, seed).enumerate() {
            images += 1;
            let judged = judge(story, boundary, &image.fork());
            if let Err(error) = judged.and_then(|()| go_on(&image).map(drop)) {
                broken.push(complaint(boundary, number, &error));
            }
        }
    }
    (images, broken)
}

/// The same for images of recoveries from images: what the first one told, the second one finds.
pub(crate) fn explore_recovery(story: &Story) -> (u64, Vec<String>) {
    let (mut images, mut broken) = (0, Vec::new());
    for boundary in &story.boundaries {
        for (number, image) in boundary.images(IMAGES_BEFORE, SEED).enumerate() {
            let found = check(&image.fork());
            image.record();
            let told = go_on(&image);
            let during = image.take_boundaries();
            let ends = found.and_then(|found| told.map(|told| (found, told)));
            let (least, most) = match ends {
                Ok(ends) => ends,
                Err(error) => {
                    broken.push(complaint(boundary, number, &error));
                    continue;
                }
            };
            let last = during.len().saturating_sub(1);
            for (moment, inner) in during.iter().enumerate() {
                for again in inner.images(IMAGES_DURING, SEED) {
                    images += 1;
                    let least = if moment == last { most } else { least };
                    match check(&again) {
                        Ok(found) if least <= found && found <= most => {}
                        Ok(found) => broken.push(complaint(
                            inner,
                            number,
                            &format!("found {found}, not {least} to {most}"),
                        )),
                        Err(error) => broken.push(complaint(inner, number, &error)),
                    }
                }
            }
        }
    }
    (images, broken)
}

fn judge(story: &Story, boundary: &Boundary, image: &SimVfs) -> Result<(), String> {
    let found = check(image)?;
    let (least, most) = story.range(boundary.operations);
    if least <= found && found <= most {
        return Ok(());
    }
    Err(format!("found {found}, not {least} to {most}"))
}

fn complaint(boundary: &Boundary, number: usize, error: &str) -> String {
    let Boundary {
        operations, last, ..
    } = boundary;
    format!("after operation {operations} ({last}), image {number}: {error}")
}
