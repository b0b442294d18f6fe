//! `pageway-lab`: the lab as a program, reached as `pageway lab` where it lies beside `pageway`.
//!
//! Results go to standard output, everything else to standard error. What it measures it measures
//! by the commands that users have: children are `pageway`, from beside this program or `PATH`.

#![expect(
    clippy::format_push_string,
    reason = "what is said is short; plain appends read best"
)]

mod command;

use std::process::ExitCode;

use clap::Parser;
use pageway_shell::program;
use pageway_shell::session::Session;

use crate::command::Lab;

fn main() -> ExitCode {
    match Lab::try_parse() {
        Ok(lab) => {
            let session = Session::start(lab.quiet, lab.json);
            program::conclude(lab.run(&session), lab.json)
        }
        Err(usage) => program::explain(usage.render(), usage.use_stderr()),
    }
}
