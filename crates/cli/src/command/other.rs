//! `pageway lab`, `serve`, `route` and `import-qdrant`: each hands over to another program, which
//! is installed where it is wanted.

use std::ffi::OsString;
use std::process::Command;

use clap::Args;
use pageway::{Error, Result};
use pageway_shell::program;

use crate::output::Outcome;

/// A program that is installed where it is wanted.
pub(crate) struct Other {
    name: &'static str,
    /// How to get it.
    advice: &'static str,
    /// What help shows where it is not there.
    pub(crate) examples: &'static str,
}

pub(crate) const LAB: Other = Other {
    name: "pageway-lab",
    advice: "`cargo install --path crates/lab` in the source of pageway installs it",
    examples: "\
Examples:
  pageway lab --help
  pageway lab run all --quick --out first-look
  pageway lab report first-look",
};

pub(crate) const SERVER: Other = Other {
    name: "pageway-server",
    advice: "`cargo install --path crates/server` in the source of pageway installs it",
    examples: "\
Examples:
  pageway serve --help
  pageway serve --data-dir ./data
  pageway serve --data-dir ./data --memory 256MB",
};

pub(crate) const ROUTER: Other = Other {
    examples: "\
Examples:
  pageway route --help
  pageway route --map map.toml
  pageway route --map map.toml --allow-partial",
    ..SERVER
};

pub(crate) const IMPORTER: Other = Other {
    name: "pageway-import-qdrant",
    advice: "`cargo install --path crates/import` in the source of pageway installs it",
    examples: "\
Examples:
  pageway import-qdrant --help
  pageway import-qdrant --url http://localhost:6333 --collection texts --out texts.index",
};

/// What the other program is asked.
#[derive(Debug, Args)]
pub(crate) struct OtherArguments {
    /// See [`Other::asked`]
    #[arg(
        value_name = "ARGUMENTS",
        trailing_var_arg = true,
        allow_hyphen_values = true
    )]
    arguments: Vec<OsString>,
}

impl Other {
    /// The help text of its arguments.
    pub(crate) fn asked(&self) -> String {
        format!("What {} is asked; --help lists it", self.name)
    }

    /// Becomes it, with flags and then what was typed; shows examples where help is asked for and
    /// it is not there.
    pub(crate) fn hand_over(
        &self,
        flags: impl IntoIterator<Item = &'static str>,
        OtherArguments { arguments }: &OtherArguments,
    ) -> Result<Outcome> {
        let asks_for_help = || {
            arguments
                .iter()
                .any(|word| word == "--help" || word == "-h")
        };
        let found = match program::find(self.name, self.advice) {
            Err(absent) if asks_for_help() => {
                let words = format!("{}\n\nNot here yet: {absent}", self.examples);
                return Outcome::new(words, &());
            }
            found => found?,
        };
        let mut other = Command::new(found);
        other.args(flags).args(arguments);
        become_other(self.name, other)
    }
}

/// Becomes the program `name`, which has its own way to stop and gives the exit code.
#[cfg(unix)]
fn become_other(name: &str, mut program: Command) -> Result<Outcome> {
    use std::os::unix::process::CommandExt as _;
    Err(Error::from(program.exec()).within(name))
}

/// Runs the program `name` to its end, and gives its exit code.
#[cfg(not(unix))]
fn become_other(name: &str, mut program: Command) -> Result<Outcome> {
    let ended = program.status();
    let ended = ended.map_err(|error| Error::from(error).within(name))?;
    let mut outcome = Outcome::new(String::new(), &())?;
    outcome.exit_code = ended
        .code()
        .and_then(|code| code.try_into().ok())
        .unwrap_or(1);
    Ok(outcome)
}
