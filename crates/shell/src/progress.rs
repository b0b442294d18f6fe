//! Progress bars with time left, on standard error, where it is a terminal.
//!
//! One bar at a time: a new stage replaces the one before. Stages that end within `QUIET` never
//! show.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use pageway::Progress;

use crate::interrupt::Interrupt;

/// A stage shorter than this shows no bar.
const QUIET: Duration = Duration::from_millis(500);
/// Redraws per second.
const REDRAWS: u8 = 10;
const TEMPLATE: &str = "{msg:<24} [{bar:30}] {percent:>3}%  {human_pos} of {human_len}  {eta} left";

/// The bars of one command, and its wish to stop.
pub struct Bars {
    current: Mutex<ProgressBar>,
    interrupt: Interrupt,
    visible: bool,
}

impl Bars {
    /// Bars that never draw when `visible` is false; Ctrl-C works either way.
    pub fn new(visible: bool, interrupt: Interrupt) -> Self {
        Self {
            current: Mutex::new(ProgressBar::hidden()),
            interrupt,
            visible,
        }
    }

    /// Takes the last bar off the screen.
    pub fn clear(&self) {
        self.replace(ProgressBar::hidden());
    }

    fn replace(&self, bar: ProgressBar) {
        let mut current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        current.finish_and_clear();
        *current = bar;
    }

    fn current(&self) -> ProgressBar {
        self.current
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }
}

impl Progress for Bars {
    fn stage(&self, name: &'static str, total: u64) {
        let bar = ProgressBar::with_draw_target(Some(total), ProgressDrawTarget::hidden());
        if let Ok(style) = ProgressStyle::with_template(TEMPLATE) {
            bar.set_style(style.progress_chars("=> "));
        }
        bar.set_message(name);
        self.replace(bar);
    }

    fn advance(&self, units: u64) {
        let bar = self.current();
        bar.inc(units);
        if self.visible && bar.is_hidden() && bar.elapsed() > QUIET {
            bar.set_draw_target(ProgressDrawTarget::stderr_with_hz(REDRAWS));
        }
    }

    fn cancelled(&self) -> bool {
        self.interrupt.requested()
    }
}

impl Drop for Bars {
    fn drop(&mut self) {
        self.clear();
    }
}

/// Forwards the wish to stop and nothing else: for work inside of a stage that is counted outside.
pub struct Uncounted<'p>(pub &'p dyn Progress);

impl Progress for Uncounted<'_> {
    fn stage(&self, _name: &'static str, _total: u64) {}

    fn advance(&self, _units: u64) {}

    fn cancelled(&self) -> bool {
        self.0.cancelled()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stage_counts_and_the_next_one_begins_at_zero() {
        let bars = Bars::new(false, Interrupt::default());
        bars.stage("encode", 10);
        bars.advance(4);
        bars.advance(3);
        assert_eq!(bars.current().position(), 7);
        bars.stage("graph", 5);
        assert_eq!(
            (bars.current().position(), bars.current().length()),
            (0, Some(5))
        );
        assert!(!bars.cancelled());
    }
}
