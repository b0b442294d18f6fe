//! Progress bars with time left, on standard error, where it is a terminal; elsewhere a line for
//! each stage that takes a while.
//!
//! One bar at a time: a new stage replaces the one before, but where the work knows its share of
//! the whole; there one bar stands for all stages, and names the one that runs. Work that ends
//! within `QUIET` never shows.

use std::borrow::Cow;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use pageway::Progress;
use pageway::lab::clock;

use crate::interrupt::Interrupt;
use crate::output;

/// A stage shorter than this shows no bar.
const QUIET: Duration = Duration::from_millis(500);
/// A stage shorter than this gets no line.
const UNTOLD: Duration = Duration::from_secs(2);
/// Redraws per second.
const REDRAWS: u8 = 10;
const OF_STAGE: &str = "{msg:<24} [{bar:30}] {percent:>3}%  {human_pos} of {human_len}  {eta} left";
const OF_WHOLE: &str = "{msg:<24} [{bar:30}] {percent:>3}% of all  {eta} left";
/// Steps of a bar for the whole.
const STEPS: u64 = 1000;

/// Where progress goes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Audience {
    /// A terminal: bars.
    Terminal,
    /// A file or a pipe: lines.
    Log,
    /// Nobody wants to know.
    Nobody,
}

/// The bars of one command, and its wish to stop.
pub struct Bars {
    current: Mutex<Shown>,
    interrupt: Interrupt,
    audience: Audience,
}

/// The bar of a stage, or of the whole.
struct Shown {
    bar: ProgressBar,
    of_whole: bool,
    /// When the stage began that has no line yet.
    untold: Option<Instant>,
}

impl Shown {
    fn nothing() -> Self {
        Self {
            bar: ProgressBar::hidden(),
            of_whole: false,
            untold: None,
        }
    }

    fn new(total: u64, name: impl Into<Cow<'static, str>>, of_whole: bool) -> Self {
        let bar = ProgressBar::with_draw_target(Some(total), ProgressDrawTarget::hidden());
        let template = if of_whole { OF_WHOLE } else { OF_STAGE };
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style.progress_chars("=> "));
        }
        bar.set_message(name);
        Self {
            bar,
            of_whole,
            untold: Some(clock::now()),
        }
    }

    /// The line of a stage that has no line yet and takes longer than `long`.
    fn line(&mut self, long: Duration) -> Option<String> {
        self.untold.take_if(|began| began.elapsed() > long)?;
        let (stage, done) = (self.bar.message(), self.bar.position());
        let total = self.bar.length().unwrap_or(0);
        Some(match total {
            0 => stage,
            _ if self.of_whole => format!("{stage} ({}% of all)", done * 100 / total),
            _ => format!("{stage} ({done} of {total})"),
        })
    }
}

impl Bars {
    /// Bars or lines for `audience`; Ctrl-C works for any.
    pub fn new(audience: Audience, interrupt: Interrupt) -> Self {
        Self {
            current: Mutex::new(Shown::nothing()),
            interrupt,
            audience,
        }
    }

    /// Takes the last bar off the screen.
    pub fn clear(&self) {
        replace(&mut self.current(), Shown::nothing());
    }

    fn current(&self) -> MutexGuard<'_, Shown> {
        self.current.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn show(&self, current: &mut Shown) {
        match self.audience {
            Audience::Terminal => {
                let bar = &current.bar;
                if bar.is_hidden() && bar.elapsed() > QUIET {
                    bar.set_draw_target(ProgressDrawTarget::stderr_with_hz(REDRAWS));
                }
            }
            Audience::Log => {
                if let Some(line) = current.line(UNTOLD) {
                    output::note(format_args!("pageway: {line}"));
                }
            }
            Audience::Nobody => {}
        }
    }
}

fn replace(current: &mut Shown, next: Shown) {
    current.bar.finish_and_clear();
    *current = next;
}

impl Progress for Bars {
    fn stage(&self, name: &'static str, total: u64) {
        let mut current = self.current();
        if current.of_whole {
            current.bar.set_message(name);
            current.untold = Some(clock::now());
        } else {
            replace(&mut current, Shown::new(total, name, false));
        }
    }

    fn advance(&self, units: u64) {
        let mut current = self.current();
        if !current.of_whole {
            current.bar.inc(units);
        }
        self.show(&mut current);
    }

    fn share(&self, done: f64) {
        let mut current = self.current();
        if !current.of_whole {
            let stage = current.bar.message();
            replace(&mut current, Shown::new(STEPS, stage, true));
        }
        current.bar.set_position((done * STEPS as f64) as u64);
        self.show(&mut current);
        if done >= 1.0 {
            replace(&mut current, Shown::nothing());
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stage_counts_and_the_next_one_begins_at_zero() {
        let bars = Bars::new(Audience::Nobody, Interrupt::default());
        let shown = || {
            let current = bars.current();
            (current.bar.position(), current.bar.length())
        };
        bars.stage("encode", 10);
        bars.advance(4);
        bars.advance(3);
        assert_eq!(shown(), (7, Some(10)));
        bars.stage("graph", 5);
        assert_eq!(shown(), (0, Some(5)));
        assert!(!bars.cancelled());
    }

    #[test]
    fn a_known_whole_has_one_bar_until_it_is_done() {
        let bars = Bars::new(Audience::Nobody, Interrupt::default());
        let shown = || {
            let bar = bars.current().bar.clone();
            (bar.message(), bar.position(), bar.length())
        };
        bars.stage("graph", 5);
        bars.share(0.25);
        bars.advance(4);
        assert_eq!(shown(), ("graph".to_owned(), 250, Some(STEPS)));
        bars.stage("encode", 7);
        bars.advance(7);
        assert_eq!(shown(), ("encode".to_owned(), 250, Some(STEPS)));
        bars.share(1.0);
        bars.stage("search", 9);
        assert_eq!(shown(), ("search".to_owned(), 0, Some(9)));
    }

    #[test]
    fn a_stage_that_takes_a_while_gets_one_line() {
        let bars = Bars::new(Audience::Nobody, Interrupt::default());
        let line = |long| bars.current().line(long);
        bars.stage("try designs", 9);
        bars.advance(2);
        assert_eq!(line(Duration::from_secs(60)), None);
        assert_eq!(
            line(Duration::ZERO).as_deref(),
            Some("try designs (2 of 9)")
        );
        assert_eq!(line(Duration::ZERO), None);
        bars.share(0.25);
        bars.stage("encode", 5);
        assert_eq!(line(Duration::ZERO).as_deref(), Some("encode (25% of all)"));
    }
}
