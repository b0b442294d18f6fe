//! Options out of a file: each key is the name of an option, so there is nothing to keep in step.

use std::ffi::OsString;
use std::path::Path;

use clap::{Arg, Command};
use pageway::server::did_you_mean;
use pageway::{Error, Result};
use pageway_server::read_file;
use toml::{Table, Value};

/// The option that names the file.
const OPTION: &str = "--config";
/// Bytes of the file at most.
const MAX_BYTES: u64 = 1 << 20;

/// The words of a command line with the options of the file that they name in front, so that what
/// is given counts more. The file has options of `command` alone.
pub(crate) fn with_file(words: Vec<OsString>, command: &Command) -> Result<Vec<OsString>> {
    let Some(path) = path_of(&words) else {
        return Ok(words);
    };
    let path = Path::new(&path);
    let text = String::from_utf8(read_file(path, MAX_BYTES)?);
    let wrong =
        |what: &dyn std::fmt::Display| Error::invalid(format!("{}: {what}", path.display()));
    let text = text.map_err(|error| wrong(&error))?;
    let table: Table = text.parse().map_err(|error| wrong(&error))?;
    let mut words = words.into_iter();
    let mut all: Vec<OsString> = words.next().into_iter().collect();
    for (name, value) in &table {
        let own = known(name, command).and_then(|known| option(known, (name, value)));
        all.extend(own.map_err(|error| error.within(path.display()))?);
    }
    all.extend(words);
    Ok(all)
}

fn path_of(words: &[OsString]) -> Option<OsString> {
    let mut words = words.iter().skip(1);
    while let Some(word) = words.next() {
        if word == OPTION {
            return words.next().cloned();
        }
        let value = word
            .to_str()
            .and_then(|word| word.strip_prefix(OPTION)?.strip_prefix('='));
        if let Some(value) = value {
            return Some(value.into());
        }
    }
    None
}

/// The option of a key.
fn known<'c>(name: &str, command: &'c Command) -> Result<&'c Arg> {
    if format!("--{name}") == OPTION {
        return Err(Error::invalid("config: a file names no other"));
    }
    let named = |option: &&Arg| option.get_long() == Some(name);
    command.get_arguments().find(named).ok_or_else(|| {
        let all = command.get_arguments().filter_map(Arg::get_long);
        let all: Vec<&str> = all.filter(|one| *one != "config").collect();
        let near = did_you_mean(name, &all);
        Error::invalid(format!(
            "{name} is no option of {}{near}",
            command.get_name()
        ))
    })
}

/// The words of an option.
fn option(known: &Arg, (name, value): (&str, &Value)) -> Result<Vec<OsString>> {
    let takes_value = known.get_action().takes_values();
    let word = |text: &dyn std::fmt::Display| vec![format!("--{name}={text}").into()];
    match value {
        Value::Boolean(true) if !takes_value => Ok(vec![format!("--{name}").into()]),
        Value::Boolean(false) if !takes_value => Ok(Vec::new()),
        _ if !takes_value => Err(Error::invalid(format!("{name}: true or false is expected"))),
        Value::String(text) => Ok(word(text)),
        Value::Integer(number) => Ok(word(number)),
        Value::Float(number) => Ok(word(number)),
        Value::Array(all) => {
            let words: Result<Vec<_>> = all.iter().map(|one| option(known, (name, one))).collect();
            Ok(words?.concat())
        }
        Value::Boolean(_) | Value::Datetime(_) | Value::Table(_) => {
            let words = format!("{name}: text or a number is expected");
            Err(Error::invalid(words))
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    fn words(all: &[&str]) -> Vec<OsString> {
        all.iter().map(OsString::from).collect()
    }

    fn command() -> Command {
        crate::arguments::Arguments::command()
    }

    #[test]
    #[expect(clippy::disallowed_methods, reason = "a test writes a file")]
    fn options_of_a_file_stand_before_those_that_are_given() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.toml");
        let given = |text: &str| {
            std::fs::write(&path, text).unwrap();
            let path = path.to_str().unwrap();
            with_file(
                words(&["p", "--config", path, "--memory", "1GB"]),
                &command(),
            )
        };
        let all = given(
            "memory = '64MB'\nrecall = 0.9\nthreads = 3\ninsecure = true\ncors-origin = ['a', 'b']\n",
        );
        let mut all = all.unwrap();
        all.truncate(7);
        all.sort();
        let own = [
            "--cors-origin=a",
            "--cors-origin=b",
            "--insecure",
            "--memory=64MB",
            "--recall=0.9",
            "--threads=3",
            "p",
        ];
        assert_eq!(all, words(&own));
        for (text, word) in [
            ("config = 'x'", "names no other"),
            ("[memory]\na = 1", "memory: text"),
            ("memory = true", "memory: text"),
            (
                "threads = 3\nmemroy = '1GB'",
                "a.toml: memroy is no option of pageway serve; did you mean 'memory'?",
            ),
            ("data_dir = 'x'", "did you mean 'data-dir'?"),
            ("colour = 'red'", "colour is no option"),
            ("insecure = 'yes'", "insecure: true or false"),
            ("memory", "a.toml"),
        ] {
            assert!(
                given(text).unwrap_err().to_string().contains(word),
                "{text}"
            );
        }
        assert!(with_file(words(&["p", "--config=/no/such/file"]), &command()).is_err());
        let given = with_file(words(&["p", "-x"]), &command());
        assert_eq!(given.unwrap(), words(&["p", "-x"]));
    }
}
