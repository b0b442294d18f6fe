//! What every command shares: how to show progress, and whether anyone wants to read.

use std::io::{self, IsTerminal};

use crate::interrupt::Interrupt;
use crate::output;
use crate::progress::Bars;

/// One run of one command.
pub(crate) struct Session {
    /// Progress and cancellation.
    pub(crate) progress: Bars,
    talks: bool,
}

impl Session {
    /// Begins to listen to Ctrl-C; bars show on a terminal only.
    pub(crate) fn start(quiet: bool, json: bool) -> Self {
        let visible = !quiet && !json && io::stderr().is_terminal();
        Self {
            progress: Bars::new(visible, Interrupt::listen()),
            talks: !json,
        }
    }

    /// Tells the reader something before the outcome; nothing under `--json`.
    pub(crate) fn say(&self, text: &str) -> pageway::Result<()> {
        self.progress.clear();
        if self.talks {
            output::line(text)
        } else {
            Ok(())
        }
    }
}
