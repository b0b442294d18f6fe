//! How far a build is: one share over all that it does.
//!
//! The plan tells which phases come, and about how long each takes; the stages that a phase reports
//! move the share within it. A phase that an earlier build finished takes no time: the share moves
//! on when the next begins.

use std::sync::{Mutex, MutexGuard, PoisonError};

use pageway_types::Progress;

use super::phases::{Phase, phases};
use super::plan::BuildPlan;

/// Least change of the share that is reported.
const STEP: f64 = 0.0005;

/// The progress of a build, which tells its share of the whole.
pub(super) struct Course<'c> {
    progress: &'c dyn Progress,
    phases: Vec<Phase>,
    place: Mutex<Reached>,
}

/// Where a build is.
#[derive(Default)]
struct Reached {
    segment: u32,
    phase: usize,
    /// The share of the phase before the running portion, and the share of that portion.
    before: f64,
    portion: f64,
    /// The portion that begins with the next stage.
    next: Option<f64>,
    /// Portions that were skipped.
    passed: f64,
    /// What is done of each stage of the phase.
    done: Vec<f64>,
    /// The stage that runs, and its units.
    stage: Option<usize>,
    total: u64,
    told: f64,
}

impl<'c> Course<'c> {
    /// The course of a build as planned.
    pub(super) fn new(progress: &'c dyn Progress, plan: &BuildPlan) -> Self {
        Self::through(progress, phases(plan))
    }

    /// The course of a part of other work, which reports no share.
    pub(super) fn of_part(progress: &'c dyn Progress) -> Self {
        Self::through(progress, Vec::new())
    }

    fn through(progress: &'c dyn Progress, phases: Vec<Phase>) -> Self {
        let place = Reached {
            portion: 1.0,
            ..Reached::default()
        };
        Self {
            progress,
            phases,
            place: Mutex::new(place),
        }
    }

    /// The segment with this number begins.
    pub(super) fn segment(&self, number: u32) {
        let mut place = self.place();
        let first = self
            .phases
            .iter()
            .position(|phase| phase.segment == Some(number));
        if let Some(first) = first {
            place.segment = number;
            place.enter(first);
            self.tell(&mut place);
        }
    }

    /// The stages that follow, until the next call, make up this share of their phase.
    pub(super) fn portion(&self, share: f64) {
        let mut place = self.place();
        place.passed += place.next.replace(share).unwrap_or(0.0);
    }

    /// All is done.
    pub(super) fn end(&self) {
        self.progress.share(1.0);
    }

    fn place(&self) -> MutexGuard<'_, Reached> {
        self.place.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The first phase from the present one on that has a stage of this name, and that stage.
    fn find(&self, place: &Reached, name: &str) -> Option<(usize, usize)> {
        let coming = self.phases.iter().enumerate().skip(place.phase);
        let own = |segment: Option<u32>| segment.is_none_or(|own| own == place.segment);
        coming
            .filter(|(_, phase)| own(phase.segment))
            .find_map(|(number, phase)| {
                let stage = phase.stages.iter().position(|(own, _)| *own == name);
                stage.map(|stage| (number, stage))
            })
    }

    fn tell(&self, place: &mut Reached) {
        let all: f64 = self.phases.iter().map(|phase| phase.seconds).sum();
        let before = self.phases.iter().take(place.phase);
        let before: f64 = before.map(|phase| phase.seconds).sum();
        let now = self.phases.get(place.phase);
        let now = now.map_or(0.0, |phase| phase.seconds * place.share_of(phase));
        let share = ((before + now) / all.max(f64::MIN_POSITIVE)).min(1.0);
        if share >= place.told + STEP {
            place.told = share;
            self.progress.share(share);
        }
    }
}

impl Reached {
    fn enter(&mut self, phase: usize) {
        (self.phase, self.before, self.portion) = (phase, 0.0, 1.0);
        self.stage = None;
        self.done.clear();
    }

    fn begin(&mut self, (phase, stage): (usize, usize), total: u64) {
        if phase != self.phase {
            self.enter(phase);
            self.portion = 0.0;
            self.next = self.next.or(Some(1.0));
        }
        if let Some(next) = self.next.take() {
            self.before += self.portion + std::mem::take(&mut self.passed);
            self.portion = next;
            self.done.clear();
        }
        if self.done.len() <= stage {
            self.done.resize(stage + 1, 0.0);
        }
        (self.stage, self.total) = (Some(stage), total);
    }

    fn advance(&mut self, units: u64) {
        let Some(done) = self.stage.and_then(|stage| self.done.get_mut(stage)) else {
            return;
        };
        *done = (*done + units as f64 / self.total.max(1) as f64).min(1.0);
    }

    /// The share of the phase that is done; stages before the running one count as done.
    fn share_of(&self, phase: &Phase) -> f64 {
        let parts = phase.stages.iter().map(|(_, part)| part);
        let all: f64 = parts.clone().sum();
        let last = self.stage.unwrap_or(0);
        let done: f64 = parts
            .zip(&self.done)
            .enumerate()
            .map(|(at, (part, done))| if at < last { *part } else { part * done })
            .sum();
        (self.before + self.portion * done / all.max(f64::MIN_POSITIVE)).min(1.0)
    }
}

impl Progress for Course<'_> {
    fn stage(&self, name: &'static str, total: u64) {
        self.progress.stage(name, total);
        let mut place = self.place();
        match self.find(&place, name) {
            Some(found) => place.begin(found, total),
            None => place.stage = None,
        }
        self.tell(&mut place);
    }

    fn advance(&self, units: u64) {
        self.progress.advance(units);
        let mut place = self.place();
        place.advance(units);
        self.tell(&mut place);
    }

    fn cancelled(&self) -> bool {
        self.progress.cancelled()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering};

    use super::*;

    /// Hears shares, in thousandths, and that none falls.
    #[derive(Default)]
    struct Heard(AtomicU64);

    impl Heard {
        fn now(&self) -> u64 {
            self.0.load(Ordering::Relaxed)
        }
    }

    impl Progress for Heard {
        fn stage(&self, _: &'static str, _: u64) {}
        fn advance(&self, _: u64) {}

        fn share(&self, done: f64) {
            let before = self
                .0
                .swap((done * 1000.0).round() as u64, Ordering::Relaxed);
            assert!(before <= self.now());
        }
    }

    fn phase(
        seconds: f64,
        stages: super::super::phases::StageParts,
        segment: Option<u32>,
    ) -> Phase {
        Phase {
            seconds,
            stages,
            segment,
        }
    }

    fn run(course: &Course<'_>, stage: &'static str, done: u64, total: u64) {
        course.stage(stage, total);
        course.advance(done);
    }

    #[test]
    fn stages_move_the_share_by_their_parts_of_a_phase() {
        let heard = Heard::default();
        let phases = vec![
            phase(2.0, &[("a", 1.0), ("b", 3.0)], Some(0)),
            phase(4.0, &[("c", 1.0)], Some(0)),
            phase(4.0, &[("d", 1.0)], None),
        ];
        let course = Course::through(&heard, phases);
        run(&course, "a", 5, 10);
        assert_eq!(heard.now(), 25);
        run(&course, "unknown", 7, 7);
        assert_eq!(heard.now(), 25);
        run(&course, "b", 10, 30);
        assert_eq!(heard.now(), 100, "what is before it is done");
        run(&course, "c", 0, 10);
        assert_eq!(heard.now(), 200);
        course.advance(20);
        assert_eq!(heard.now(), 600, "no stage is more than done");
        run(&course, "a", 5, 10);
        assert_eq!(heard.now(), 600, "a stage of a phase that is over");
        run(&course, "d", 1, 2);
        assert_eq!(heard.now(), 800);
        course.end();
        assert_eq!(heard.now(), 1000);
    }

    #[test]
    fn portions_repeat_the_stages_of_a_phase() {
        let heard = Heard::default();
        let phases = vec![
            phase(1.0, &[("deal", 1.0)], Some(0)),
            phase(8.0, &[("link", 3.0), ("order", 1.0)], Some(0)),
            phase(1.0, &[("merge", 1.0)], Some(0)),
        ];
        let course = Course::through(&heard, phases);
        run(&course, "deal", 1, 1);
        course.portion(0.5);
        run(&course, "link", 10, 10);
        assert_eq!(heard.now(), 400);
        run(&course, "order", 10, 10);
        assert_eq!(heard.now(), 500);
        // One that was kept, and the last.
        course.portion(0.25);
        course.portion(0.25);
        run(&course, "link", 0, 5);
        assert_eq!(heard.now(), 700);
        run(&course, "order", 5, 5);
        assert_eq!(heard.now(), 900);
        run(&course, "merge", 1, 2);
        assert_eq!(heard.now(), 950);
    }

    #[test]
    fn segments_have_the_same_stages_and_work_within_other_work_tells_none() {
        let heard = Heard::default();
        let phases = [0, 1].map(|number| phase(1.0, &[("link", 1.0)], Some(number)));
        let course = Course::through(&heard, phases.into());
        course.segment(0);
        run(&course, "link", 1, 1);
        assert_eq!(heard.now(), 500);
        run(&course, "link", 1, 1);
        assert_eq!(heard.now(), 500);
        course.segment(1);
        run(&course, "link", 1, 2);
        assert_eq!(heard.now(), 750);
        let heard = Heard::default();
        run(&Course::of_part(&heard), "link", 1, 1);
        assert_eq!(heard.now(), 0);
    }
}
