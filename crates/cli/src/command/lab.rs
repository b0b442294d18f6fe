//! `pageway lab`: hands over to the program `pageway-lab`, which is installed where it is wanted.

use std::ffi::OsString;
use std::process::Command;

use clap::Args;
use pageway::Result;
use pageway_shell::program;

use super::other::become_other;
use crate::output::Outcome;
use crate::session::Session;

const EXAMPLES: &str = "\
Examples:
  pageway lab --help
  pageway lab run all --quick --out first-look
  pageway lab report first-look";

/// How to get the program.
const ADVICE: &str = "`cargo install --path crates/lab` in the source of pageway installs it";

/// Measure every design on your data: runs, reports, predictions (the program pageway-lab)
#[derive(Debug, Args)]
#[command(disable_help_flag = true, after_long_help = EXAMPLES)]
pub(crate) struct LabArguments {
    /// What pageway-lab is asked; --help lists it
    #[arg(
        value_name = "ARGUMENTS",
        trailing_var_arg = true,
        allow_hyphen_values = true
    )]
    arguments: Vec<OsString>,
}

impl LabArguments {
    /// Becomes the other program, which has its own way to stop and gives the exit code.
    pub(crate) fn run(&self, session: &Session) -> Result<Outcome> {
        let program = match program::find("pageway-lab", ADVICE) {
            Err(absent) if self.asks_for_help() => {
                return Outcome::new(format!("{EXAMPLES}\n\nNot here yet: {absent}"), &());
            }
            found => found?,
        };
        let mut lab = Command::new(program);
        lab.args(session.flags()).args(&self.arguments);
        become_other("pageway-lab", lab)
    }

    fn asks_for_help(&self) -> bool {
        self.arguments
            .iter()
            .any(|word| word == "--help" || word == "-h")
    }
}
