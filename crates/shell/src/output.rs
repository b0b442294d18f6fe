//! The only door to the terminal: results to standard output, everything else to standard error.
//!
//! A reader that went away (`pageway inspect DIR | head -3`) is not an error; a full disk behind a
//! redirection is.

use std::fmt::Display;
use std::io::{self, Write};

use pageway::{Error, ErrorKind, Result};
use serde::Serialize;
use serde_json::Value;

/// What a command found, for people and for programs.
pub struct Outcome {
    /// Lines for people.
    pub text: String,
    /// One object for programs.
    pub json: Value,
    /// Exit code; 0 unless what was found is bad news.
    pub exit_code: u8,
}

impl Outcome {
    /// A success that shows `text`, or `report` under `--json`.
    pub fn new(text: String, report: &impl Serialize) -> Result<Self> {
        // By way of text, where a float of 4 bytes has the digits that it was written with.
        let json = serde_json::to_string(report)
            .and_then(|text| serde_json::from_str(&text))
            .map_err(|error| Error::new(ErrorKind::Internal, error.to_string()))?;
        Ok(Self {
            text,
            json,
            exit_code: 0,
        })
    }

    /// The same, with the exit code of an error where what was found is bad news.
    #[must_use]
    pub fn failed_if(mut self, is_bad: bool, kind: ErrorKind) -> Self {
        if is_bad {
            self.exit_code = kind.exit_code();
        }
        self
    }
}

/// Shows an outcome.
pub fn outcome(outcome: &Outcome, json: bool) -> Result<()> {
    if json {
        line(&outcome.json)
    } else {
        line(outcome.text.trim_end())
    }
}

/// Writes a line to standard output.
pub fn line(text: impl Display) -> Result<()> {
    let mut stdout = io::stdout().lock();
    let written = writeln!(stdout, "{text}").and_then(|()| stdout.flush());
    match written {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            Err(Error::from(error).within("standard output"))
        }
        _ => Ok(()),
    }
}

/// Reports an error.
pub fn error(error: &Error) {
    note(format_args!("pageway: error: {error}"));
}

/// Reports wrong usage in clap's words, which begin with `error:`.
pub fn usage_error(words: impl Display) {
    note(format_args!("pageway: {words}"));
}

/// Writes a line to standard error. When even that fails, nobody is left to tell.
pub fn note(text: impl Display) {
    let _ = writeln!(io::stderr().lock(), "{text}");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_floats_keep_their_digits() {
        let outcome = Outcome::new(String::new(), &[0.95_f32, 1.2, f32::NAN]).unwrap();
        assert_eq!(outcome.json.to_string(), "[0.95,1.2,null]");
    }
}
