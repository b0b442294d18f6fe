//! How far an import got, in a file beside what it makes.

use std::path::{Path, PathBuf};

use pageway::{Error, ErrorKind, OsVfs, Result, Vfs};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::file;

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
        if !OsVfs.exists(&self.0)? {
            if !is_empty(out).map_err(|error| Error::from(error).within(out.display()))? {
                let words = format!("{}: is there already, and not empty", out.display());
                return Err(Error::invalid(words));
            }
            OsVfs.create_dir_all(file::parent(&self.0))?;
            self.write(&first)?;
            return Ok(first);
        }
        let state: State = serde_json::from_str(&file::read(&self.0)?).map_err(|error| {
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
        let text = serde_json::to_string(state);
        let text = text.map_err(|error| Error::new(ErrorKind::Internal, error.to_string()))?;
        file::replace(&self.0, &text)
    }

    /// Takes it away: the import is done.
    pub(crate) fn remove(&self) -> Result<()> {
        file::remove(&self.0)
    }
}

/// Whether nothing is in a directory, or it is not there.
fn is_empty(dir: &Path) -> std::io::Result<bool> {
    if !OsVfs.exists(dir)? {
        return Ok(true);
    }
    Ok(OsVfs.list(dir)?.is_empty() && OsVfs.list_others(dir)?.is_empty())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_state_is_gone_on_with_by_its_own_import_alone() {
        let dir = tempfile::tempdir().unwrap();
        let out = dir.path().join("i.index");
        let place = StateFile::beside(&out);
        let first = State {
            collection: "c".to_owned(),
            vectors: vec![String::new()],
            next: None,
            points: 0,
            without: vec![0],
            read: false,
        };
        assert_eq!(place.begin(first.clone(), &out).unwrap(), first);
        let later = State {
            next: Some(json!("0198")),
            points: 256,
            ..first.clone()
        };
        place.write(&later).unwrap();
        assert_eq!(place.begin(first.clone(), &out).unwrap(), later);
        let other = State {
            collection: "d".to_owned(),
            ..first.clone()
        };
        let error = place.begin(other, &out).unwrap_err().to_string();
        assert!(
            error.contains("collection 'c'") && error.contains("i.index.import"),
            "{error}"
        );
        file::replace(&dir.path().join("i.index.import"), "{").unwrap();
        let error = place.begin(first.clone(), &out).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Corrupt);
        place.remove().unwrap();
        OsVfs.create_dir_all(&out).unwrap();
        file::replace(&out.join("MANIFEST"), "").unwrap();
        let error = place.begin(first, &out).unwrap_err().to_string();
        assert!(error.contains("is there already"), "{error}");
    }
}
