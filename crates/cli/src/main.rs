//! `pageway`: the command line.
//!
//! ```text
//! arguments   what was typed, one struct per command
//! command     arguments -> options of the engine -> one engine call -> an Outcome
//! workload    a stream of queries through an index, with what it cost
//! place       a directory or a URL -> what the engine opens
//! picture     pages, drawn by pageway-lab
//! system      the only door to the clock and to files that are not vectors
//! ```
//!
//! What it shares with `pageway-lab` is in `pageway_shell`: output, progress, session, text.
//!
//! Invariants: results go to standard output, everything else to standard error; a command that
//! fails exits with the code of the error's kind and leaves no half index behind; no speed is shown
//! without the recall it was reached at.

#![expect(
    clippy::format_push_string,
    reason = "reports are short; plain appends read best"
)]

mod arguments;
mod command;
mod costs;
mod design;
mod distinct;
mod exact;
mod latency;
mod opened;
mod picture;
mod place;
mod resources;
mod results;
mod system;
mod table;
mod workload;

use std::ffi::OsString;
use std::process::ExitCode;

use clap::Parser;
use clap::error::ErrorKind;
use pageway_shell::{output, program, session, text};

use crate::arguments::Cli;
use crate::output::Outcome;
use crate::session::Session;

fn main() -> ExitCode {
    match Cli::try_parse() {
        Ok(cli) => program::conclude(answer(&cli), cli.json && cli.command.is_some()),
        Err(usage) => {
            let usage = with_likeness(usage);
            program::explain(usage.render(), usage.use_stderr())
        }
    }
}

/// What is wrong with what was typed: `help` of no command names the one that it is like, as the
/// command itself would.
fn with_likeness(usage: clap::Error) -> clap::Error {
    let words: Vec<OsString> = std::env::args_os().take(3).collect();
    match words.as_slice() {
        [program, help, name] if help == "help" && usage.kind() == ErrorKind::InvalidSubcommand => {
            Cli::try_parse_from([program, name]).err().unwrap_or(usage)
        }
        _ => usage,
    }
}

fn answer(cli: &Cli) -> pageway::Result<Outcome> {
    match &cli.command {
        None => Outcome::new(arguments::OVERVIEW.to_owned(), &()),
        Some(command) => command.run(&Session::start(cli.quiet, cli.json)),
    }
}
