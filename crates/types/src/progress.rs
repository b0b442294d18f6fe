//! Progress and cancellation of long work.

/// Receives the progress of long work, and can ask it to stop.
///
/// Implementations must be cheap: `advance` is called every few milliseconds from several threads.
pub trait Progress: Sync {
    /// A new stage begins, which will take `total` units (rows, pages, queries).
    fn stage(&self, name: &'static str, total: u64);

    /// `units` more of the current stage are done.
    fn advance(&self, units: u64);

    /// So much of the whole work is done, from 0 to 1; never falls. Told by work that knows all of
    /// its stages beforehand; 1 ends it.
    fn share(&self, _done: f64) {}

    /// True when the user wants the work to stop. Long loops ask at least every 100 ms.
    fn cancelled(&self) -> bool {
        false
    }

    /// `Err(Cancelled)` when the user wants the work to stop, so that loops can use `?`.
    fn check(&self) -> Result<(), Cancelled> {
        if self.cancelled() {
            Err(Cancelled)
        } else {
            Ok(())
        }
    }
}

/// The work was stopped on request; nothing was published.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("cancelled on request")]
pub struct Cancelled;

/// Ignores progress and never cancels.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoProgress;

impl Progress for NoProgress {
    fn stage(&self, _name: &'static str, _total: u64) {}
    fn advance(&self, _units: u64) {}
}

/// Passes on the wish to stop and nothing else: for work inside of a stage that is counted outside.
pub struct Quiet<'p>(pub &'p dyn Progress);

impl Progress for Quiet<'_> {
    fn stage(&self, _name: &'static str, _total: u64) {}

    fn advance(&self, _units: u64) {}

    fn cancelled(&self) -> bool {
        self.0.cancelled()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Stop;
    impl Progress for Stop {
        fn stage(&self, _: &'static str, _: u64) {}
        fn advance(&self, _: u64) {}
        fn cancelled(&self) -> bool {
            true
        }
    }

    #[test]
    fn check_follows_cancelled() {
        assert_eq!(NoProgress.check(), Ok(()));
        assert_eq!(Stop.check(), Err(Cancelled));
        assert_eq!(Quiet(&Stop).check(), Err(Cancelled));
    }
}
