//! How much longer steps take here than planned, learnt from those that are done.

use std::collections::BTreeMap;

use crate::record::Task;

/// Steps of a kind from which on they stand for themselves.
const ENOUGH: u64 = 2;

/// What steps were planned to take, and took: of a design in a task, of a task, and of all.
#[derive(Clone, PartialEq, Debug, Default)]
pub(crate) struct Pace(BTreeMap<(Option<Task>, Option<String>), Taken>);

#[derive(Clone, Copy, PartialEq, Debug, Default)]
struct Taken {
    steps: u64,
    planned_seconds: f64,
    seconds: f64,
}

/// Kinds that a step is of, the narrowest first.
fn kinds(task: Task, design: &str) -> [(Option<Task>, Option<String>); 3] {
    [
        (Some(task), Some(design.to_owned())),
        (Some(task), None),
        (None, None),
    ]
}

impl Pace {
    /// Takes notice of a step.
    pub(crate) fn learn(
        &mut self,
        (task, design): (Task, &str),
        planned_seconds: f64,
        seconds: f64,
    ) {
        for kind in kinds(task, design) {
            let taken = self.0.entry(kind).or_default();
            taken.steps += 1;
            taken.planned_seconds += planned_seconds;
            taken.seconds += seconds;
        }
    }

    /// What a step takes that is planned to take so long.
    pub(crate) fn correct(&self, (task, design): (Task, &str), planned_seconds: f64) -> f64 {
        let known = kinds(task, design)
            .into_iter()
            .filter_map(|kind| self.0.get(&kind))
            .find(|taken| taken.steps >= ENOUGH && taken.planned_seconds > 0.0);
        let factor = known.map_or(1.0, |taken| taken.seconds / taken.planned_seconds);
        planned_seconds * factor
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_known_best_decides() {
        let mut pace = Pace::default();
        let (search, build) = (Task::Search, Task::Build);
        assert_eq!(pace.correct((search, "a"), 3.0), 3.0, "nothing is known");
        pace.learn((search, "a"), 1.0, 2.0);
        assert_eq!(
            pace.correct((search, "a"), 3.0),
            3.0,
            "one step says little"
        );
        pace.learn((search, "a"), 3.0, 6.0);
        assert_eq!(pace.correct((search, "a"), 3.0), 6.0);
        assert_eq!(pace.correct((search, "b"), 3.0), 6.0, "as the task");
        pace.learn((search, "b"), 4.0, 4.0);
        assert_eq!(
            pace.correct((search, "b"), 2.0),
            3.0,
            "as the task, 12 s for 8"
        );
        assert_eq!(pace.correct((search, "a"), 2.0), 4.0, "as itself");
        assert_eq!(pace.correct((build, "c"), 2.0), 3.0, "as everything");
    }
}
