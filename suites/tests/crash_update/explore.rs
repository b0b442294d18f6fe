//! Crash images of a life, and what each must hold.

use std::collections::HashSet;
use std::sync::Arc;

use pageway::{Rows, Vfs};
use pageway_testkit::{Boundary, SimVfs, Tally, Verdicts};

use crate::oracle::{find, fit, fit_copy, go_on, open_copy, open_sound};
use crate::story::{Held, SHAPE, Story, open};

/// Tells images of one run from those of another: `PAGEWAY_CRASH_SEED`.
pub(crate) fn seed() -> u64 {
    let given = std::env::var("PAGEWAY_CRASH_SEED").ok();
    given.and_then(|seed| seed.parse().ok()).unwrap_or(0x5eed)
}

/// How many of all images are tried.
#[derive(Clone, Copy)]
pub(crate) struct Width {
    /// Of so many moments one.
    pub(crate) stride: usize,
    /// Images of each.
    pub(crate) images: u64,
    /// Of so many images that are checked one lives on.
    pub(crate) next: u64,
    /// Whether the first finding is enough.
    pub(crate) stops: bool,
}

/// Images tried, and what was wrong with those that broke a promise.
#[derive(Default)]
pub(crate) struct Findings {
    pub(crate) tally: Tally,
    pub(crate) broken: Vec<String>,
}

/// What an image holds, and the snapshot in it, if any.
#[derive(Clone)]
struct Found {
    held: Arc<Held>,
    copy: Option<Arc<Held>>,
}

/// Judges images of lives. What was found in one is known for all that cannot be told from it, and
/// compared with what each of them may hold.
pub(crate) struct Explorer {
    width: Width,
    pub(crate) seed: u64,
    /// Whether snapshots are opened as well.
    has_copies: bool,
    verdicts: Verdicts<Result<Found, String>>,
    /// All that was ever held.
    states: HashSet<Arc<Held>>,
    broken: Vec<String>,
}

impl Explorer {
    pub(crate) fn new(width: Width, has_copies: bool) -> Self {
        Self {
            width,
            seed: seed(),
            has_copies,
            verdicts: Verdicts::default(),
            states: HashSet::new(),
            broken: Vec::new(),
        }
    }

    pub(crate) fn findings(self) -> Findings {
        Findings {
            tally: self.verdicts.tally(),
            broken: self.broken,
        }
    }

    pub(crate) fn tally(&self) -> Tally {
        self.verdicts.tally()
    }

    fn is_enough(&self) -> bool {
        self.width.stops && !self.broken.is_empty()
    }

    fn note(&mut self, boundary: &Boundary, number: usize, outcome: Result<(), String>) {
        if let Err(error) = outcome {
            let Boundary {
                operations, last, ..
            } = boundary;
            let seed = self.seed;
            self.broken.push(format!(
                "seed {seed}, after operation {operations} ({last}), image {number}: {error}"
            ));
        }
    }

    /// Tries images of many moments of a life, each after `before` had its way with it.
    pub(crate) fn explore(&mut self, story: &Story, before: &dyn Fn(&SimVfs)) {
        self.try_moments(story, self.width.stride, before);
    }

    fn try_moments(&mut self, story: &Story, stride: usize, before: &dyn Fn(&SimVfs)) {
        for (turn, boundary) in strided(&story.boundaries, stride) {
            for (number, image) in images(boundary, self.width, (self.seed, turn)).enumerate() {
                before(&image);
                let found = self.judge(image);
                let now = boundary.operations;
                let outcome = found.and_then(|found| compare(story, now, &found));
                self.note(boundary, number, outcome);
            }
            if self.is_enough() {
                break;
            }
        }
    }

    fn judge(&mut self, image: SimVfs) -> Result<Found, String> {
        let tally = self.verdicts.tally();
        let lives_on = tally.checked.is_multiple_of(self.width.next);
        let (has_copies, states) = (self.has_copies, &mut self.states);
        let mut keep = |state: Held| {
            let state = Arc::new(state);
            if let Some(known) = states.get(&state) {
                return Arc::clone(known);
            }
            states.insert(Arc::clone(&state));
            state
        };
        self.verdicts.judge(&image, || {
            let (held, copy) = check(&image, lives_on, has_copies)?;
            Ok(Found {
                held: keep(held),
                copy: copy.map(&mut keep),
            })
        })
    }

    /// Whether a check of each image of a life finds what is said of it, without one where that is
    /// known.
    pub(crate) fn confirm(&mut self, story: &Story) {
        for (turn, boundary) in strided(&story.boundaries, self.width.stride) {
            for image in images(boundary, self.width, (self.seed, turn)) {
                let again = check(&image.fork(), false, self.has_copies);
                let copies = |found: Found| {
                    let copy = found.copy.map(|copy| copy.as_ref().clone());
                    (found.held.as_ref().clone(), copy)
                };
                let said = self.judge(image).map(copies);
                assert_eq!(said, again, "{}", boundary.last);
            }
        }
    }

    /// The same for images of recoveries, after a power cut and after a kill that left the page
    /// cache: what the first recovery found and took, the second one finds. `wrap` is what the
    /// first runs on.
    pub(crate) fn explore_recoveries(
        &mut self,
        story: &Story,
        wrap: &dyn Fn(SimVfs) -> Arc<dyn Vfs>,
    ) {
        for (turn, boundary) in strided(&story.boundaries, self.width.stride) {
            let one = Width {
                images: 1,
                ..self.width
            };
            let image = if turn % 2 == 0 {
                Some(boundary.kill())
            } else {
                images(boundary, one, (self.seed, turn / 2)).next()
            };
            let allowed = story.allowed(boundary.operations);
            match image.map(|image| recovery(&image, allowed, wrap)) {
                Some(Ok(recovery)) => self.try_moments(&recovery, 1, &|_| {}),
                Some(Err(error)) => self.note(boundary, 0, Err(error)),
                None => {}
            }
            if self.is_enough() {
                break;
            }
        }
    }
}

/// What an image holds, and the snapshot in it where that is asked for.
fn check(image: &SimVfs, lives_on: bool, has_copies: bool) -> Result<(Held, Option<Held>), String> {
    let vfs: Arc<dyn Vfs> = Arc::new(image.clone());
    let (writer, held) = open_sound(&vfs)?;
    if lives_on {
        go_on(&vfs, writer, &held)?;
    } else {
        drop(writer);
    }
    let copy = if has_copies { open_copy(&vfs)? } else { None };
    Ok((held, copy))
}

/// A moment of every stride, and its number among them.
fn strided(boundaries: &[Boundary], stride: usize) -> impl Iterator<Item = (usize, &Boundary)> {
    boundaries.iter().step_by(stride).enumerate()
}

/// Images of a moment: where there are few, other kinds each time.
fn images(
    boundary: &Boundary,
    width: Width,
    (seed, turn): (u64, usize),
) -> impl Iterator<Item = SimVfs> + '_ {
    let skipped = if width.images < 4 { turn % 4 } else { 0 };
    boundary
        .images(width.images + skipped as u64, seed)
        .skip(skipped)
}

/// Whether that is what may be found at a moment, and must be.
fn compare(story: &Story, operations: u64, found: &Found) -> Result<(), String> {
    fit(&found.held, story.allowed(operations))?;
    story.copied.map_or(Ok(()), |(state, told)| {
        let copy = found.copy.as_deref();
        fit_copy(copy, &story.states[state], told <= operations)
    })
}

/// Tries images of one life.
pub(crate) fn explore(story: &Story, width: Width, before: &dyn Fn(&SimVfs)) -> Findings {
    let mut explorer = Explorer::new(width, story.copied.is_some());
    explorer.explore(story, before);
    explorer.findings()
}

/// Tries images of the recoveries of one life.
pub(crate) fn explore_recovery(
    story: &Story,
    width: Width,
    wrap: &dyn Fn(SimVfs) -> Arc<dyn Vfs>,
) -> Findings {
    let mut explorer = Explorer::new(width, false);
    explorer.explore_recoveries(story, wrap);
    explorer.findings()
}

/// The life of who recovers from an image, and puts a row in.
fn recovery(
    image: &SimVfs,
    allowed: &[Held],
    wrap: &dyn Fn(SimVfs) -> Arc<dyn Vfs>,
) -> Result<Story, String> {
    image.record();
    let text = |error: pageway::Error| error.to_string();
    let vfs = wrap(image.clone());
    let writer = open(&vfs).map_err(text)?;
    let found = find(writer.index(), allowed).map_err(text)?;
    let opened = image.operations();
    let mut state = allowed[found].clone();
    let (row, id) = ([77; 12], [5_555_555]);
    writer
        .insert(&Rows::new(&row, SHAPE).with_ids(&id[..]))
        .map_err(text)?;
    state.insert(id[0], row.to_vec());
    let told = image.operations();
    drop(writer);
    let states = [allowed, &[allowed[found].clone(), state]].concat();
    Ok(Story::of_recovery(
        image.take_boundaries(),
        states,
        (opened, told),
    ))
}
