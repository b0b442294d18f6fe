//! A program: from what a command found to an exit code, and finding the program beside this one.

use std::fmt::Display;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use pageway::{Error, ErrorKind, Result};

use crate::output::{self, Outcome};

/// Exit code of what cannot be understood.
const USAGE: u8 = 2;

/// Shows what a command found, or its error, and gives the exit code.
pub fn conclude(found: Result<Outcome>, json: bool) -> ExitCode {
    let shown = found.and_then(|found| {
        output::outcome(&found, json)?;
        Ok(found.exit_code)
    });
    match shown {
        Ok(code) => ExitCode::from(code),
        Err(error) => {
            output::error(&error);
            ExitCode::from(error.kind().exit_code())
        }
    }
}

/// Shows words of help, or what is wrong with what was typed.
pub fn explain(words: impl Display, is_wrong: bool) -> ExitCode {
    if is_wrong {
        output::usage_error(words);
        return ExitCode::from(USAGE);
    }
    let text = words.to_string();
    conclude(Outcome::new(text, &()), false)
}

/// This program's file.
///
/// # Errors
/// Where the system does not tell.
pub fn own() -> Result<PathBuf> {
    std::env::current_exe().map_err(|error| Error::from(error).within("this program"))
}

/// The program `name` beside this one, else the first on `PATH`.
///
/// # Errors
/// `NotFound`, with `advice` on how to get it.
pub fn find(name: &str, advice: &str) -> Result<PathBuf> {
    let beside = own()?.parent().map(Path::to_owned);
    let path = std::env::var_os("PATH").unwrap_or_default();
    let places = beside.into_iter().chain(std::env::split_paths(&path));
    let file = format!("{name}{}", std::env::consts::EXE_SUFFIX);
    let mut candidates = places.map(|place| place.join(&file));
    candidates.find(|file| file.is_file()).ok_or_else(|| {
        let words = format!("{name} is neither beside this program nor on PATH: {advice}");
        Error::new(ErrorKind::NotFound, words)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_that_is_nowhere_is_named_with_advice() {
        let error = find("no-such-program-anywhere", "make one").unwrap_err();
        assert_eq!(error.kind(), ErrorKind::NotFound);
        let words = error.to_string();
        assert!(words.contains("no-such-program-anywhere") && words.contains("make one"));
    }
}
