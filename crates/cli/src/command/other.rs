//! Handing over to another program.

use std::process::Command;

use pageway::{Error, Result};

use crate::output::Outcome;

/// Becomes the program `name`, which has its own way to stop and gives the exit code.
#[cfg(unix)]
pub(super) fn become_other(name: &str, mut program: Command) -> Result<Outcome> {
    use std::os::unix::process::CommandExt as _;
    Err(Error::from(program.exec()).within(name))
}

/// Runs the program `name` to its end, and gives its exit code.
#[cfg(not(unix))]
pub(super) fn become_other(name: &str, mut program: Command) -> Result<Outcome> {
    let ended = program.status();
    let ended = ended.map_err(|error| Error::from(error).within(name))?;
    let mut outcome = Outcome::new(String::new(), &())?;
    outcome.exit_code = ended
        .code()
        .and_then(|code| code.try_into().ok())
        .unwrap_or(1);
    Ok(outcome)
}
