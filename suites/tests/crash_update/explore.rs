//! Crash images of a life, and what each must hold.

use std::path::Path;
use std::sync::Arc;

use pageway::{Rows, Vfs};
use pageway_testkit::{Boundary, SimVfs};

use crate::oracle::{check_copy, go_on, recover};
use crate::story::{COPY, Held, SHAPE, Story, open};

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
    /// Of so many images one lives on.
    pub(crate) next: u64,
    /// Whether the first finding is enough.
    pub(crate) stops: bool,
}

/// Images tried, and what was wrong with those that broke a promise.
#[derive(Default)]
pub(crate) struct Findings {
    pub(crate) images: u64,
    pub(crate) broken: Vec<String>,
}

impl Findings {
    fn is_enough(&self, width: Width) -> bool {
        width.stops && !self.broken.is_empty()
    }

    fn note(&mut self, boundary: &Boundary, number: usize, outcome: Result<(), String>) {
        self.images += 1;
        if let Err(error) = outcome {
            let Boundary {
                operations, last, ..
            } = boundary;
            self.broken.push(format!(
                "after operation {operations} ({last}), image {number}: {error}"
            ));
        }
    }
}

/// Tries images of many moments, each after `before` had its way with it.
pub(crate) fn explore(story: &Story, width: Width, before: &dyn Fn(&SimVfs)) -> Findings {
    let mut findings = Findings::default();
    for (turn, boundary) in strided(&story.boundaries, width.stride) {
        let allowed = story.allowed(boundary.operations);
        for (number, image) in images(boundary, width, turn).enumerate() {
            before(&image);
            let vfs: Arc<dyn Vfs> = Arc::new(image);
            let lives_on = findings.images.is_multiple_of(width.next);
            let outcome = judge(&vfs, allowed, lives_on)
                .and_then(|()| judge_copy(&vfs, story, boundary.operations));
            findings.note(boundary, number, outcome);
        }
        if findings.is_enough(width) {
            break;
        }
    }
    findings
}

/// A moment of every stride, and its number among them.
fn strided(boundaries: &[Boundary], stride: usize) -> impl Iterator<Item = (usize, &Boundary)> {
    boundaries.iter().step_by(stride).enumerate()
}

/// Images of a moment: where there is one alone, another kind each time.
fn images(boundary: &Boundary, width: Width, turn: usize) -> impl Iterator<Item = SimVfs> + '_ {
    let skipped = if width.images < 4 { turn % 4 } else { 0 };
    boundary
        .images(width.images + skipped as u64, seed())
        .skip(skipped)
}

fn judge(vfs: &Arc<dyn Vfs>, allowed: &[Held], lives_on: bool) -> Result<(), String> {
    let (writer, found) = recover(vfs, allowed)?;
    if lives_on {
        go_on(vfs, writer, &allowed[found])?;
    }
    Ok(())
}

fn judge_copy(vfs: &Arc<dyn Vfs>, story: &Story, operations: u64) -> Result<(), String> {
    let Some((state, told)) = story.copied else {
        return Ok(());
    };
    if !vfs.exists(Path::new(COPY)).unwrap() && told > operations {
        return Ok(());
    }
    check_copy(vfs, &story.states[state], told <= operations)
}

/// The same for images of recoveries, after a power cut and after a kill that left the page cache:
/// what the first recovery found and took, the second one finds. `wrap` is what the first runs on.
pub(crate) fn explore_recovery(
    story: &Story,
    width: Width,
    wrap: &dyn Fn(SimVfs) -> Arc<dyn Vfs>,
) -> Findings {
    let mut findings = Findings::default();
    for (turn, boundary) in strided(&story.boundaries, width.stride) {
        let killed = (turn % 2 == 0).then(|| boundary.kill());
        let cut = images(boundary, Width { images: 1, ..width }, turn / 2);
        for (number, image) in killed.into_iter().chain(cut).enumerate().take(1) {
            let allowed = story.allowed(boundary.operations);
            if let Err(error) = recover_twice(&image, allowed, width, wrap, &mut findings) {
                findings.note(boundary, number, Err(error));
            }
        }
        if findings.is_enough(width) {
            break;
        }
    }
    findings
}

fn recover_twice(
    image: &SimVfs,
    allowed: &[Held],
    width: Width,
    wrap: &dyn Fn(SimVfs) -> Arc<dyn Vfs>,
    findings: &mut Findings,
) -> Result<(), String> {
    image.record();
    let text = |error: pageway::Error| error.to_string();
    let vfs = wrap(image.clone());
    let writer = open(&vfs).map_err(text)?;
    let found = crate::oracle::find(writer.index(), allowed).map_err(text)?;
    let opened = image.operations();
    let mut state = allowed[found].clone();
    let (row, id) = ([77; 12], [5_555_555]);
    writer
        .insert(&Rows::new(&row, SHAPE).with_ids(&id[..]))
        .map_err(text)?;
    state.insert(id[0], row.to_vec());
    let told = image.operations();
    drop(writer);
    let found = allowed[found].clone();
    for (turn, inner) in image.take_boundaries().iter().enumerate() {
        let allowed = match inner.operations {
            now if now >= told => vec![state.clone()],
            now if now >= opened => vec![found.clone(), state.clone()],
            _ => allowed.to_vec(),
        };
        for (number, again) in images(inner, width, turn).enumerate() {
            let vfs: Arc<dyn Vfs> = Arc::new(again);
            findings.note(inner, number, judge(&vfs, &allowed, false));
        }
    }
    Ok(())
}
