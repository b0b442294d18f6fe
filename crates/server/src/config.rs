//! Options out of a file: each key is the name of an option, so there is nothing to keep in step.

use std::ffi::OsString;
use std::path::Path;

use pageway::{Error, Result};
use pageway_server::read_file;
use toml::{Table, Value};

/// The option that names the file.
const OPTION: &str = "--config";
/// Bytes of the file at most.
const MAX_BYTES: u64 = 1 << 20;

/// The words of a command line with the options of the file that they name in front, so that what
/// is given counts more.
pub(crate) fn with_file(words: Vec<OsString>) -> Result<Vec<OsString>> {
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
        all.extend(option(name, value).map_err(|error| wrong(&error))?);
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

/// The words of an option.
fn option(name: &str, value: &Value) -> Result<Vec<OsString>> {
    let word = |text: &dyn std::fmt::Display| vec![format!("--{name}={text}").into()];
    match value {
        _ if name == "config" => Err(Error::invalid("config: a file names no other")),
        Value::String(text) => Ok(word(text)),
        Value::Integer(number) => Ok(word(number)),
        Value::Float(number) => Ok(word(number)),
        Value::Boolean(true) => Ok(vec![format!("--{name}").into()]),
        Value::Boolean(false) => Ok(Vec::new()),
        Value::Array(all) => {
            let words: Result<Vec<_>> = all.iter().map(|one| option(name, one)).collect();
            Ok(words?.concat())
        }
        Value::Datetime(_) | Value::Table(_) => {
            let words = format!("{name}: text, a number, true or false is expected");
            Err(Error::invalid(words))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(all: &[&str]) -> Vec<OsString> {
        all.iter().map(OsString::from).collect()
    }

    #[test]
    #[expect(clippy::disallowed_methods, reason = "a test writes a file")]
    fn options_of_a_file_stand_before_those_that_are_given() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.toml");
        let given = |text: &str| {
            std::fs::write(&path, text).unwrap();
            let path = path.to_str().unwrap();
            with_file(words(&["p", "--config", path, "--memory", "1GB"]))
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
            ("memory", "a.toml"),
        ] {
            assert!(
                given(text).unwrap_err().to_string().contains(word),
                "{text}"
            );
        }
        assert!(with_file(words(&["p", "--config=/no/such/file"])).is_err());
        assert_eq!(with_file(words(&["p", "-x"])).unwrap(), words(&["p", "-x"]));
    }
}
