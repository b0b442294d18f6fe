//! What every command shares: how to show progress, and whether anyone wants to read.

use std::io::{self, IsTerminal};

use crate::interrupt::Interrupt;
use crate::output;
use crate::progress::{Audience, Bars};

/// One run of one command.
pub struct Session {
    /// Progress and cancellation.
    pub progress: Bars,
    talks: bool,
    quiet: bool,
}

impl Session {
    /// Begins to listen to Ctrl-C, to bear a limit of file sizes, and to give freed memory back;
    /// bars show on a terminal, lines elsewhere.
    pub fn start(quiet: bool, json: bool) -> Self {
        pageway::lab::bear_file_size_limit();
        pageway::lab::give_back_freed_memory();
        let audience = if quiet || json {
            Audience::Nobody
        } else if io::stderr().is_terminal() {
            Audience::Terminal
        } else {
            Audience::Log
        };
        Self {
            progress: Bars::new(audience, Interrupt::listen()),
            talks: !json,
            quiet,
        }
    }

    /// How to ask another program for a session like this one.
    pub fn flags(&self) -> impl Iterator<Item = &'static str> {
        let json = (!self.talks).then_some("--json");
        json.into_iter().chain(self.quiet.then_some("--quiet"))
    }

    /// Tells the reader something before the outcome; nothing under `--json`.
    pub fn say(&self, text: &str) -> pageway::Result<()> {
        self.progress.clear();
        if self.talks {
            output::line(text)
        } else {
            Ok(())
        }
    }
}
