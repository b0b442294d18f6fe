//! Opening again and again: each step timed, and counted by the operating system the first time.

use std::path::Path;

use pageway::{Index, OpenOptions, Progress, Queries, Result, SearchOptions, VectorRead};

use crate::system;

/// What is opened, and how.
pub(super) struct Subject<'s> {
    pub(super) index: &'s Path,
    /// An index to switch to.
    pub(super) other: Option<&'s Path>,
    /// One of them is searched after each opening.
    pub(super) queries: Option<&'s dyn VectorRead>,
    pub(super) open: OpenOptions,
    pub(super) search: SearchOptions,
}

/// What the rounds found out.
pub(super) struct Rounds {
    /// Of opening.
    pub(super) open: Step,
    /// Of switching, where there is an index to switch to.
    pub(super) switch: Option<Step>,
    /// Milliseconds from the beginning of opening to the first answer, where there are queries.
    pub(super) first_answers_ms: Option<Vec<f64>>,
}

/// One step of all rounds.
#[derive(Default)]
pub(super) struct Step {
    /// Milliseconds, a round each.
    pub(super) times_ms: Vec<f64>,
    /// Bytes of the first round.
    pub(super) first: StepBytes,
}

/// Bytes as the operating system counts them; absent where it does not tell.
#[derive(Clone, Copy, Default)]
pub(super) struct StepBytes {
    /// From the disk.
    pub(super) read: Option<u64>,
    /// From the disk or the page cache.
    pub(super) loaded: Option<u64>,
}

impl StepBytes {
    fn now() -> Self {
        Self {
            read: pageway::lab::process_read_bytes(),
            loaded: pageway::lab::process_requested_bytes(),
        }
    }

    fn since(self, before: Self) -> Self {
        let between =
            |before: Option<u64>, after: Option<u64>| Some(after?.saturating_sub(before?));
        Self {
            read: between(before.read, self.read),
            loaded: between(before.loaded, self.loaded),
        }
    }
}

impl Step {
    /// Times an action, and counts what it reads if it is the first; gives its milliseconds, too.
    fn measure<A>(&mut self, action: impl FnOnce() -> Result<A>) -> Result<(A, f64)> {
        let before = StepBytes::now();
        let (outcome, milliseconds) = timed(action)?;
        if self.times_ms.is_empty() {
            self.first = StepBytes::now().since(before);
        }
        self.times_ms.push(milliseconds);
        Ok((outcome, milliseconds))
    }
}

fn timed<A>(action: impl FnOnce() -> Result<A>) -> Result<(A, f64)> {
    let started = system::now();
    let outcome = action()?;
    Ok((outcome, started.elapsed().as_secs_f64() * 1e3))
}

impl Subject<'_> {
    /// Opens `repeats` times, at least once; gives the index as it was opened last.
    pub(super) fn run(&self, repeats: u32, progress: &dyn Progress) -> Result<(Rounds, Index)> {
        progress.stage("open", repeats.into());
        let mut rounds = Rounds {
            open: Step::default(),
            switch: self.other.map(|_| Step::default()),
            first_answers_ms: self.queries.map(|_| Vec::new()),
        };
        let mut index = self.round(0, &mut rounds)?;
        for number in 1..u64::from(repeats) {
            progress.check()?;
            progress.advance(1);
            // Two would take twice the memory.
            drop(index);
            index = self.round(number, &mut rounds)?;
        }
        Ok((rounds, index))
    }

    /// Opens, searches, switches.
    fn round(&self, number: u64, rounds: &mut Rounds) -> Result<Index> {
        let open = || Index::open(self.index, &self.open);
        let (index, open_ms) = rounds.open.measure(open)?;
        if let (Some(queries), Some(times_ms)) = (self.queries, &mut rounds.first_answers_ms) {
            let search_ms = self.search(&index, queries, number)?;
            times_ms.push(open_ms + search_ms);
        }
        if let (Some(other), Some(switch)) = (self.other, &mut rounds.switch) {
            switch.measure(|| index.switch(other, &self.open))?;
        }
        Ok(index)
    }

    /// Searches one of the queries; gives the milliseconds.
    fn search(&self, index: &Index, queries: &dyn VectorRead, number: u64) -> Result<f64> {
        let shape = queries.shape();
        let mut row = vec![0; shape.row_bytes()];
        queries.read(number % queries.count().max(1), &mut row)?;
        let query = Queries::new(&row, shape);
        let (_, milliseconds) = timed(|| index.search(&query, &self.search))?;
        Ok(milliseconds)
    }
}
