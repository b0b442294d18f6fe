//! Handing over to another program.

use std::ffi::OsString;
use std::process::Command;

use pageway::{Error, Result};
use pageway_shell::program;

use crate::output::Outcome;

/// A program that is installed where it is wanted.
pub(super) struct Other {
    pub(super) name: &'static str,
    /// How to get it.
    pub(super) advice: &'static str,
    /// What help shows where it is not there.
    pub(super) examples: &'static str,
}

impl Other {
    /// Becomes it, with flags and then what was typed; shows examples where help is asked for and
    /// it is not there.
    pub(super) fn hand_over(
        &self,
        flags: impl Iterator<Item = &'static str>,
        arguments: &[OsString],
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
