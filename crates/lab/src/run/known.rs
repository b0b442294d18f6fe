//! Which data a directory has measured or prepared under which name.
//!
//! Cells, indexes and prepared files are known by the names of their data. Other data under a name
//! that is taken would be mixed with what is there, so they are refused.
//!
//! ```text
//! RUN/data.json    WORK/data.json    name -> Identity
//! ```

use std::collections::BTreeMap;
use std::path::Path;

use pageway::{Error, Result};

use super::context::internal;
use crate::data::Identity;
use crate::files;

const NAME: &str = "data.json";

/// Data by the names that keys have of them.
pub(super) type Named = BTreeMap<String, Identity>;

/// Compares data with those that a directory knows; changes nothing.
///
/// # Errors
/// `InvalidInput` with name, difference and remedy for other data under a known name.
pub(super) fn check(place: &Path, data: &Named) -> Result<()> {
    let known = read(place)?;
    for (name, identity) in data {
        let difference = known
            .get(name)
            .map_or_else(Vec::new, |before| identity.difference(before));
        if !difference.is_empty() {
            let (place, what) = (place.display(), difference.join(" and "));
            return Err(Error::invalid(format!(
                "{place}: has records or files of other data named '{name}': {what} differ; give \
                 another --out and --work, or these data another --name"
            )));
        }
    }
    Ok(())
}

/// Adds data to those that a directory knows.
///
/// # Errors
/// As [`check`]; `Io`.
pub(super) fn add(place: &Path, data: &Named) -> Result<()> {
    check(place, data)?;
    let before = read(place)?;
    let mut known = before.clone();
    known.extend(data.clone());
    if known == before {
        return Ok(());
    }
    let text = serde_json::to_string_pretty(&known).map_err(|error| internal(error.to_string()))?;
    files::write(&place.join(NAME), text.as_bytes())
}

fn read(place: &Path) -> Result<Named> {
    let path = place.join(NAME);
    if !files::exists(&path)? {
        return Ok(Named::new());
    }
    serde_json::from_str(&files::read_text(&path)?)
        .map_err(|error| Error::invalid(format!("{}: {error}", path.display())))
}

#[cfg(test)]
mod tests {
    use pageway::ErrorKind;

    use super::*;
    use crate::data::Registry;

    fn named(name: &str, set: &str) -> Named {
        let registry = Registry::builtin().unwrap();
        let (set, part) = registry.find(set).unwrap();
        let identity = Identity::of(set, part).unwrap();
        [(name.to_owned(), identity)].into()
    }

    #[test]
    fn other_data_under_a_name_are_refused_and_more_names_are_not() {
        let dir = tempfile::tempdir().unwrap();
        add(dir.path(), &named("own", "demo")).unwrap();
        add(dir.path(), &named("own", "demo")).unwrap();
        add(dir.path(), &named("mine", "demo-5k")).unwrap();
        assert_eq!(read(dir.path()).unwrap().len(), 2);
        let error = add(dir.path(), &named("own", "demo-5k")).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidInput);
        for words in ["'own'", "base differ", "--work", "--name"] {
            assert!(error.to_string().contains(words), "{error}");
        }
        assert!(check(dir.path(), &named("own", "demo")).is_ok());
    }
}
