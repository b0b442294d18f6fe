//! `pageway lab`: hands over to the program `pageway-lab`, which is installed where it is wanted.

use std::ffi::OsString;

use clap::Args;
use pageway::Result;

use super::other::Other;
use crate::output::Outcome;
use crate::session::Session;

const EXAMPLES: &str = "\
Examples:
  pageway lab --help
  pageway lab run all --quick --out first-look
  pageway lab report first-look";

const LAB: Other = Other {
    name: "pageway-lab",
    advice: "`cargo install --path crates/lab` in the source of pageway installs it",
    examples: EXAMPLES,
};

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
        LAB.hand_over(session.flags(), &self.arguments)
    }
}
