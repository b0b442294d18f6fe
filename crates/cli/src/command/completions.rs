//! `pageway completions`: a script for a shell.

use clap::{Args, Command};
use clap_complete::Shell;
use pageway::{Error, ErrorKind, Result};

use crate::output::Outcome;

const EXAMPLES: &str = "\
Examples:
  pageway completions bash > ~/.local/share/bash-completion/completions/pageway
  pageway completions zsh > ~/.zfunc/_pageway
  pageway completions fish > ~/.config/fish/completions/pageway.fish";

/// Print a script that completes commands and options in a shell.
#[derive(Debug, Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct CompletionsArguments {
    /// The shell
    #[arg(value_name = "SHELL")]
    shell: Shell,
}

impl CompletionsArguments {
    /// Makes the script of the whole program.
    pub(crate) fn run(&self, mut program: Command) -> Result<Outcome> {
        let name = program.get_name().to_owned();
        let mut script = Vec::new();
        clap_complete::generate(self.shell, &mut program, name, &mut script);
        let script = String::from_utf8(script)
            .map_err(|error| Error::new(ErrorKind::Internal, error.to_string()))?;
        let json = serde_json::json!({"shell": self.shell.to_string(), "script": script});
        Outcome::new(script, &json)
    }
}
