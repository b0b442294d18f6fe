//! How far an import got, in a file beside what it makes.

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};

use pageway::{Error, ErrorKind, Result};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::arguments::read;

/// What a run goes on with.
#[derive(Serialize, Deserialize, Clone, PartialEq, Debug)]
pub(crate) struct State {
    pub(crate) collection: String,
    /// Names of the vectors that are imported.
    pub(crate) vectors: Vec<String>,
    /// Where the next page begins; null before the first.
    pub(crate) next: Option<Value>,
    /// Points that were read.
    pub(crate) points: u64,
    /// Of those, for each vector, the points without one.
    pub(crate) without: Vec<u64>,
    /// Whether all were read.
    pub(crate) read: bool,
}

/// The file of a state.
pub(crate) struct StateFile(PathBuf);

impl StateFile {
    /// That of an import to `out`.
    pub(crate) fn beside(out: &Path) -> Self {
        let mut name = out.as_os_str().to_owned();
        name.push(".import");
        Self(PathBuf::from(name))
    }

    /// The state of an import that stopped, or of one that begins.
    ///
    /// # Errors
    /// Where it is of another import, or what is there was not made by one.
    pub(crate) fn begin(&self, first: State, out: &Path) -> Result<State> {
        let place = self.0.display();
        if !self.0.exists() {
            if fs::read_dir(out).is_ok_and(|mut files| files.next().is_some()) {
                let words = format!("{}: is there already, and not empty", out.display());
                return Err(Error::invalid(words));
            }
            if let Some(parent) = self.0.parent() {
                fs::create_dir_all(parent)?;
            }
            self.write(&first)?;
            return Ok(first);
        }
        let state: State = serde_json::from_str(&read(&self.0)?).map_err(|error| {
            Error::new(
                ErrorKind::Corrupt,
                format!("{place}: no state of an import: {error}"),
            )
        })?;
        if (&state.collection, &state.vectors) == (&first.collection, &first.vectors)
            && state.without.len() == state.vectors.len()
        {
            return Ok(state);
        }
        let own = state.vectors.join("', '");
        Err(Error::invalid(format!(
            "{place}: of an import of collection '{}', vectors '{own}': go on with that, or delete \
             this file and {}",
            state.collection,
            out.display()
        )))
    }

    /// Writes a state in place of the one before, durably.
    pub(crate) fn write(&self, state: &State) -> Result<()> {
        let temporary = self.0.with_extension("import.tmp");
        let written = || -> std::io::Result<()> {
            let mut file = File::create(&temporary)?;
            file.write_all(serde_json::to_string(state)?.as_bytes())?;
            file.sync_all()?;
            fs::rename(&temporary, &self.0)
        };
        written().map_err(|error| Error::from(error).within(self.0.display()))
    }

    /// Takes it away: the import is done.
    pub(crate) fn remove(&self) -> Result<()> {
        fs::remove_file(&self.0).map_err(|error| Error::from(error).within(self.0.display()))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_state_is_gone_on_with_by_its_own_import_alone() {
        let dir = tempfile::tempdir().unwrap();
        let out = dir.path().join("i.index");
        let file = StateFile::beside(&out);
        let first = State {
            collection: "c".to_owned(),
            vectors: vec![String::new()],
            next: None,
            points: 0,
            without: vec![0],
            read: false,
        };
        assert_eq!(file.begin(first.clone(), &out).unwrap(), first);
        let later = State {
            next: Some(json!("0198")),
            points: 256,
            ..first.clone()
        };
        file.write(&later).unwrap();
        assert_eq!(file.begin(first.clone(), &out).unwrap(), later);
        let other = State {
            collection: "d".to_owned(),
            ..first.clone()
        };
        let error = file.begin(other, &out).unwrap_err().to_string();
        assert!(
            error.contains("collection 'c'") && error.contains("i.index.import"),
            "{error}"
        );
        fs::write(dir.path().join("i.index.import"), "{").unwrap();
        let error = file.begin(first.clone(), &out).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Corrupt);
        file.remove().unwrap();
        fs::create_dir(&out).unwrap();
        fs::write(out.join("MANIFEST"), "").unwrap();
        let error = file.begin(first, &out).unwrap_err().to_string();
        assert!(error.contains("is there already"), "{error}");
    }
}
