//! The watch over a call: what it notes, whether it was cancelled, and its deadline.

use std::time::Instant;

use pageway_store::clock;
use pageway_types::Progress;

use super::pool::Patience;
use crate::error::Result;
use crate::execution::driver::timed_out;
use crate::options::SearchOptions;

/// What a call records beside its answers.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Notes {
    /// Whether to note which nodes are expanded.
    pub(super) visits: bool,
    /// First queries whose reads are recorded.
    pub(super) recorded: usize,
    /// Compared vectors that a call of one query keeps, at most.
    pub(super) met: usize,
}

/// The watch of a whole call, over all of its passes.
#[derive(Clone, Copy)]
pub(super) struct Watch<'p> {
    pub(super) notes: Notes,
    pub(super) progress: &'p dyn Progress,
    /// The deadline, if there is one.
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

    /// How long to wait for memory.
    pub(super) fn patience(&self) -> Patience {
        self.deadline.map_or(Patience::Endless, Patience::Until)
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
