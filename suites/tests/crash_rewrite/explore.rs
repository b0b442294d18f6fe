//! Lives of a store, their crash images, and what each image must hold.

use std::path::Path;

use pageway_testkit::{Boundary, SimVfs};

use crate::protocol::{Form, Plant, advance, create, read_rows, recover};
use crate::state::payload;

pub(crate) const SEED: u64 = 0x5eed;
pub(crate) const DIR: &str = "/indexes/one";
/// Generations after the first.
pub(crate) const GENERATIONS: u32 = 3;
const IMAGES: u64 = 16;

/// Images of each moment before and during a recovery.
const IMAGES_BEFORE: u64 = 5;
const IMAGES_DURING: u64 = 4;

/// Everything that happened, and when generations began and were acknowledged.
pub(crate) struct Story {
    pub(crate) boundaries: Vec<Boundary>,
    /// Operations done when generation g began, and when it was acknowledged.
    begun: Vec<u64>,
    acknowledged: Vec<u64>,
}

impl Story {
    /// Whether an image of this moment may hold this.
    fn allows(&self, operations: u64, found: Option<u32>) -> bool {
        let newest = |moments: &[u64]| {
            let past = moments.iter().take_while(|&&moment| moment <= operations);
            past.count()
                .checked_sub(1)
                .map(|generation| generation as u32)
        };
        newest(&self.acknowledged) <= found && found <= newest(&self.begun)
    }
}

/// The life of a store, recorded.
pub(crate) fn live(form: Form, plant: Plant) -> Story {
    let (sim, dir) = (SimVfs::new(), Path::new(DIR));
    sim.record();
    let mut begun = vec![sim.operations()];
    let mut state = create(&sim, dir, form).unwrap();
    let mut acknowledged = vec![sim.operations()];
    for _ in 0..GENERATIONS {
        begun.push(sim.operations());
        state = advance(&sim, dir, &state, plant).unwrap();
        acknowledged.push(sim.operations());
    }
    Story {
        boundaries: sim.take_boundaries(),
        begun,
        acknowledged,
    }
}

/// The generation that an image holds after recovery, if every row of it is right.
pub(crate) fn check(vfs: &SimVfs, plant: Plant) -> Result<Option<u32>, String> {
    let dir = Path::new(DIR);
    let found = recover(vfs, dir, plant).map_err(|error| error.to_string())?;
    let Some(state) = found else {
        return Ok(None);
    };
    let rows = read_rows(vfs, dir, &state).map_err(|error| error.to_string())?;
    for (row, bytes) in (0..).zip(rows) {
        if bytes != payload(row, state.generation) {
            return Err(format!("row {row} holds other bytes"));
        }
    }
    Ok(Some(state.generation))
}

/// Life after a crash: another generation can be written.
pub(crate) fn go_on(vfs: &SimVfs) -> Result<(), String> {
    let dir = Path::new(DIR);
    let text = |error: pageway_store::StoreError| error.to_string();
    let Some(state) = recover(vfs, dir, Plant::Nothing).map_err(text)? else {
        return Ok(());
    };
    let next = advance(vfs, dir, &state, Plant::Nothing).map_err(text)?;
    match check(vfs, Plant::Nothing)? {
        found if found == Some(next.generation) => Ok(()),
        found => Err(format!("committed {}, found {found:?}", next.generation)),
    }
}

/// Images tried, and what was wrong with those that broke the promise.
pub(crate) fn explore(story: &Story, seed: u64) -> (u64, Vec<String>) {
    let mut images = 0;
    let mut broken = Vec::new();
    for boundary in &story.boundaries {
        for (number, image) in boundary.images(IMAGES, seed).enumerate() {
            images += 1;
            let found = judge(story, boundary.operations, &image);
            if let Err(error) = found.and_then(|()| go_on(&image)) {
                broken.push(complaint(boundary, number, &error));
            }
        }
    }
    (images, broken)
}

/// The same for images of recoveries from images.
pub(crate) fn explore_recovery(story: &Story, plant: Plant) -> (u64, Vec<String>) {
    let mut images = 0;
    let mut broken = Vec::new();
    for boundary in &story.boundaries {
        for (number, image) in boundary.images(IMAGES_BEFORE, SEED).enumerate() {
            image.record();
            let first = check(&image, plant);
            let during = image.take_boundaries();
            if let Err(error) = &first {
                broken.push(complaint(boundary, number, error));
            }
            // The first moment is the image itself.
            for inner in during.iter().skip(1) {
                for again in inner.images(IMAGES_DURING, SEED) {
                    images += 1;
                    if let Err(error) = judge(story, boundary.operations, &again) {
                        broken.push(complaint(inner, number, &error));
                    }
                }
            }
        }
    }
    (images, broken)
}

fn judge(story: &Story, operations: u64, image: &SimVfs) -> Result<(), String> {
    let found = check(image, Plant::Nothing)?;
    if story.allows(operations, found) {
        return Ok(());
    }
    Err(format!("found generation {found:?}"))
}

fn complaint(boundary: &Boundary, number: usize, error: &str) -> String {
    let Boundary {
        operations, last, ..
    } = boundary;
    format!("after operation {operations} ({last}), image {number}: {error}")
}
