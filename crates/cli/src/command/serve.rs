//! `pageway serve`: hands over to the program `pageway-server`, which is installed where it is
//! wanted.

use std::ffi::OsString;
use std::process::Command;

use clap::Args;
use pageway::Result;
use pageway_shell::program;

use super::other::become_other;
use crate::output::Outcome;

const EXAMPLES: &str = "\
Examples:
  pageway serve --help
  pageway serve --data-dir ./data
  pageway serve --data-dir ./data --memory 256MB";

/// How to get the program.
const ADVICE: &str = "`cargo install --path crates/server` in the source of pageway installs it";

/// Serve collections over HTTP to clients of Qdrant (the program pageway-server)
#[derive(Debug, Args)]
#[command(disable_help_flag = true, after_long_help = EXAMPLES)]
pub(crate) struct ServeArguments {
    /// What pageway-server is asked; --help lists it
    #[arg(
        value_name = "ARGUMENTS",
        trailing_var_arg = true,
        allow_hyphen_values = true
    )]
    arguments: Vec<OsString>,
}

impl ServeArguments {
    /// Becomes the other program.
    pub(crate) fn run(&self) -> Result<Outcome> {
        let program = match program::find("pageway-server", ADVICE) {
            Err(absent) if self.asks_for_help() => {
                return Outcome::new(format!("{EXAMPLES}\n\nNot here yet: {absent}"), &());
            }
            found => found?,
        };
        let mut server = Command::new(program);
        server.args(&self.arguments);
        become_other("pageway-server", server)
    }

    fn asks_for_help(&self) -> bool {
        self.arguments
            .iter()
            .any(|word| word == "--help" || word == "-h")
    }
}
