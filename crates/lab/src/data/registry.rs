//! Data sets by name: those that come with the program, and those a user declares over them.

use std::collections::BTreeMap;
use std::path::Path;

use pageway::{Error, ErrorKind, Result};

use super::cut::Cut;
use super::entry::DataSet;
use crate::files;

const BUILTIN: &str = include_str!("../../data/registry.toml");
/// Names that an error lists.
const NEAR_NAMES: usize = 5;

/// Data sets by name.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Registry {
    sets: BTreeMap<String, DataSet>,
}

impl Registry {
    /// The sets that come with the program.
    ///
    /// # Errors
    /// Never in a released program: its tests read the same text.
    pub fn builtin() -> Result<Self> {
        let mut registry = Self::default();
        registry.add(BUILTIN, Path::new("."), "the registry of the program")?;
        Ok(registry)
    }

    /// The sets that come with the program, and over them those of a file.
    ///
    /// # Errors
    /// `NotFound` and `Io`; `InvalidInput` with the line for what is no table of a data set.
    pub fn read(path: &Path) -> Result<Self> {
        let mut registry = Self::builtin()?;
        let home = files::directory_of(path);
        registry.add(&files::read_text(path)?, home, &path.display().to_string())?;
        Ok(registry)
    }

    /// Adds the sets of a TOML text; one of a name that is there already replaces it. Relative
    /// paths are meant against `home`; `source` names the text in errors.
    ///
    /// # Errors
    /// `InvalidInput`, as [`Registry::read`].
    pub fn add(&mut self, text: &str, home: &Path, source: &str) -> Result<()> {
        let wrong = |what: String| Error::invalid(format!("{source}: {what}"));
        let sets: BTreeMap<String, DataSet> =
            toml::from_str(text).map_err(|error| wrong(error.to_string()))?;
        for (name, mut set) in sets {
            check_name(&name).map_err(wrong)?;
            set.name.clone_from(&name);
            home.clone_into(&mut set.home);
            check_kept_names(&set).map_err(wrong)?;
            self.sets.insert(name, set);
        }
        Ok(())
    }

    /// All sets, by name.
    pub fn sets(&self) -> impl Iterator<Item = &DataSet> {
        self.sets.values()
    }

    /// The set of a name and the part that the name means: `photo-300k` is the first 300,000 rows
    /// of `photo`, unless a set has that very name.
    ///
    /// # Errors
    /// `NotFound` with the names that are near.
    pub fn find(&self, name: &str) -> Result<(&DataSet, Cut)> {
        if let Some(set) = self.sets.get(name) {
            return Ok((set, Cut::default()));
        }
        let part = name.rsplit_once('-').and_then(|(whole, suffix)| {
            let set = self.sets.get(whole)?;
            Some((set, Cut::of_suffix(&suffix.to_ascii_lowercase())?))
        });
        part.ok_or_else(|| self.unknown(name))
    }

    fn unknown(&self, name: &str) -> Error {
        let mut near: Vec<(usize, &str)> = self
            .sets
            .keys()
            .map(|known| (unlikeness(name, known), known.as_str()))
            .filter(|(unlike, known)| *unlike <= 2.max(known.len() / 3))
            .collect();
        near.sort_unstable();
        let list = |names: Vec<&str>| names.join(", ");
        let words = if near.is_empty() {
            format!(
                "there are {}",
                list(self.sets.keys().map(String::as_str).collect())
            )
        } else {
            let near = near.iter().take(NEAR_NAMES).map(|(_, name)| *name);
            format!("did you mean {}?", list(near.collect()))
        };
        Error::new(
            ErrorKind::NotFound,
            format!("there is no data set '{name}': {words}"),
        )
    }
}

/// A name is part of paths.
fn check_name(name: &str) -> std::result::Result<(), String> {
    let legal = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    let good = !name.starts_with('.') && !name.is_empty() && name.bytes().all(legal);
    good.then_some(()).ok_or_else(|| {
        format!("'{name}' is no name of a data set: use letters, digits, '-', '_' and '.'")
    })
}

/// Files from two addresses must not be kept under one name.
fn check_kept_names(set: &DataSet) -> std::result::Result<(), String> {
    let mut kept = BTreeMap::new();
    for file in set.files().filter(|file| file.is_remote()) {
        let before = kept.insert(file.kept_name(&file.from), &file.from);
        if let Some(before) = before.filter(|before| *before != &file.from) {
            let (name, from) = (&set.name, &file.from);
            return Err(format!(
                "{name}: {before} and {from} would be kept under one name: fetch one by hand"
            ));
        }
    }
    Ok(())
}

/// How many letters to change, add or leave out; 0 where one name begins with the other.
fn unlikeness(asked: &str, known: &str) -> usize {
    if known.starts_with(asked) || asked.starts_with(known) {
        return 0;
    }
    let mut row: Vec<usize> = (0..=known.len()).collect();
    for (i, a) in asked.bytes().enumerate() {
        let mut diagonal = i;
        let mut left = i + 1;
        for (cell, b) in row
            .iter_mut()
            .zip(std::iter::once(None).chain(known.bytes().map(Some)))
        {
            let Some(b) = b else {
                *cell = left;
                continue;
            };
            let changed = diagonal + usize::from(a != b);
            diagonal = *cell;
            left = changed.min(left + 1).min(*cell + 1);
            *cell = left;
        }
    }
    row.last().copied().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SETS: &str = r#"
        [photo-sift]
        metric = "l2"
        base = "b.u8bin"
        queries = "q.u8bin"
        [photo-sift-1m]
        metric = "l2"
        base = "m.u8bin"
        queries = "q.u8bin"
    "#;

    fn registry() -> Registry {
        let mut registry = Registry::default();
        registry.add(SETS, Path::new("/data"), "a test").unwrap();
        registry
    }

    #[test]
    fn a_suffix_is_a_cut_unless_a_set_has_the_name() {
        let registry = registry();
        let (set, cut) = registry.find("photo-sift-300k").unwrap();
        assert_eq!((set.name.as_str(), cut.rows), ("photo-sift", Some(300_000)));
        let (set, cut) = registry.find("photo-sift-1m").unwrap();
        assert_eq!((set.name.as_str(), cut.rows), ("photo-sift-1m", None));
        assert_eq!(set.home, Path::new("/data"));
    }

    #[test]
    fn an_unknown_name_lists_near_ones() {
        let error = registry().find("foto-sift").unwrap_err();
        assert_eq!(error.kind(), ErrorKind::NotFound);
        assert!(
            error.context().contains("did you mean photo-sift"),
            "{error}"
        );
        let error = registry().find("zzz").unwrap_err();
        assert!(
            error
                .context()
                .contains("there are photo-sift, photo-sift-1m"),
            "{error}"
        );
    }

    #[test]
    fn a_user_file_replaces_and_adds() {
        let mut registry = Registry::builtin().unwrap();
        let before = registry.sets().count();
        let text = "[demo]\nmetric = \"cosine\"\nbase = \"mine.fbin\"\nqueries = \"q.fbin\"\n";
        registry.add(text, Path::new("."), "a test").unwrap();
        assert_eq!(registry.sets().count(), before);
        assert_eq!(registry.find("demo").unwrap().0.base.from, "mine.fbin");
        let error = registry.add(
            "[\"a/b\"]\nmetric=\"l2\"\nbase=\"b\"\nqueries=\"q\"",
            Path::new("."),
            "x",
        );
        assert!(error.unwrap_err().context().contains("a/b"));
    }

    #[test]
    fn two_addresses_need_two_names() {
        let text = |queries: &str| {
            format!(
                "[a]\nmetric=\"l2\"\nbase=\"http://h/1/x.fbin\"\nqueries=\"http://h/{queries}\"\n"
            )
        };
        let add = |text: &str| Registry::default().add(text, Path::new("."), "a test");
        assert!(add(&text("1/y.fbin")).is_ok() && add(&text("1/x.fbin")).is_ok());
        let error = add(&text("2/x.fbin")).unwrap_err();
        assert!(error.context().contains("http://h/2/x.fbin"), "{error}");
    }

    #[test]
    fn unlikeness_is_the_number_of_edits() {
        assert_eq!(unlikeness("kitten", "sitting"), 3);
        assert_eq!(unlikeness("flaw", "lawn"), 2);
        assert_eq!(unlikeness("gist", "gist1m"), 0);
    }

    #[test]
    fn every_builtin_set_is_complete() {
        for set in Registry::builtin().unwrap().sets() {
            assert!(
                !set.about.is_empty() && set.origin.is_some(),
                "{}",
                set.name
            );
            assert!(
                set.dimension.is_some() && set.element.is_some(),
                "{}",
                set.name
            );
            for file in set.files() {
                let sums = file.sha256.iter();
                assert!(sums.clone().all(|sum| sum.len() == 64), "{}", set.name);
                assert!(
                    file.from.starts_with("builtin:") || file.is_remote(),
                    "{}",
                    set.name
                );
            }
        }
    }
}
