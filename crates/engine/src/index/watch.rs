//! What a call is watched by: notes, whoever waits for it, and the clock.

use std::time::Instant;

use pageway_store::clock;
use pageway_types::Progress;

use crate::error::Result;
use crate::execution::driver::timed_out;
use crate::options::SearchOptions;

/// What a call notes beside its answers.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Notes {
    /// Whether to note which nodes are expanded.
    pub(super) visits: bool,
    /// First queries whose reads are recorded.
    pub(super) recorded: usize,
    /// Vectors that are kept of those that a call of one query compares, at most.
    pub(super) met: usize,
}

/// One for a whole call, however many passes it takes.
#[derive(Clone, Copy)]
pub(super) struct Watch<'p> {
    pub(super) notes: Notes,
    pub(super) progress: &'p dyn Progress,
    /// When its time is up, if there is such a time.
    pub(super) deadline: Option<Instant>,
}

impl<'p> Watch<'p> {
    /// The watch of a call that begins now, which notes nothing.
    pub(super) fn new(options: &SearchOptions, progress: &'p dyn Progress) -> Self {
        Self {
            notes: Notes::default(),
            progress,
            deadline: options
                .timeout
                .and_then(|timeout| clock::now().checked_add(timeout)),
        }
    }

    /// The same with notes.
    pub(super) const fn noting(self, notes: Notes) -> Self {
        Self { notes, ..self }
    }

    /// # Errors
    /// `Cancelled`; `TimedOut` past the deadline.
    pub(super) fn check(&self) -> Result<()> {
        self.progress.check()?;
        match self.deadline {
            Some(deadline) if clock::now() >= deadline => Err(timed_out()),
            _ => Ok(()),
        }
    }
}
