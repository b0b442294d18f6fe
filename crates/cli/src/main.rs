//! `pageway`: the command line.
//!
//! ```text
//! arguments   what was typed, one struct per command
//! command     arguments -> options of the engine -> one engine call -> an Outcome
//! workload    a stream of queries through an index, with what it cost
//! output      the only door to standard output and standard error
//! progress    bars with time left; interrupt turns Ctrl-C into cancellation
//! system      the only door to the clock and to files that are not vectors
//! text        numbers, tables and durations for people
//! ```
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
mod exact;
mod interrupt;
mod latency;
mod opened;
mod output;
mod progress;
mod resources;
mod results;
mod session;
mod system;
mod text;
mod workload;

use std::process::ExitCode;

use clap::Parser;

use crate::arguments::Cli;
use crate::session::Session;

/// What clap uses for wrong usage, and `ErrorKind::InvalidInput` too.
const USAGE: u8 = 2;

fn main() -> ExitCode {
    match Cli::try_parse() {
        Ok(cli) => answer(&cli),
        Err(usage) => explain(&usage),
    }
}

fn answer(cli: &Cli) -> ExitCode {
    let Some(command) = &cli.command else {
        return finish(output::line(arguments::OVERVIEW.trim_end()), 0);
    };
    let session = Session::start(cli.quiet, cli.json);
    match command.run(&session) {
        Ok(outcome) => {
            let shown = output::outcome(&outcome, cli.json);
            finish(shown, outcome.exit_code)
        }
        Err(error) => {
            output::error(&error);
            ExitCode::from(error.kind().exit_code())
        }
    }
}

/// Help and version are answers; everything else clap reports is an error.
fn explain(usage: &clap::Error) -> ExitCode {
    let words = usage.render();
    if usage.use_stderr() {
        output::usage_error(&words);
        ExitCode::from(USAGE)
    } else {
        finish(output::line(words.to_string().trim_end()), 0)
    }
}

/// A result that could not be written is not a success.
fn finish(written: pageway::Result<()>, exit_code: u8) -> ExitCode {
    match written {
        Ok(()) => ExitCode::from(exit_code),
        Err(error) => {
            output::error(&error);
            ExitCode::from(error.kind().exit_code())
        }
    }
}
