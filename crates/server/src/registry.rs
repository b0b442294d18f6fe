//! The collections there are and their other names: one file, replaced as a whole.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use pageway::server::{DirectoryLock, commit_manifest, create_directory, read_manifest};
use pageway::{ErrorKind, Vfs};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::cluster::ShardContent;
use crate::failure::{Failure, Outcome};

/// Bytes of a name at most.
const MAX_NAME_BYTES: usize = 255;
/// What no name has.
const REFUSED: [char; 9] = ['/', '\\', '<', '>', ':', '"', '|', '?', '*'];
/// The directory of the directories of collections.
const COLLECTIONS: &str = "collections";

/// What is known of a collection without opening it.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub(crate) struct CollectionEntry {
    /// The name of its directory.
    pub(crate) number: u64,
    /// Its settings, as they are read back.
    pub(crate) config: Value,
    /// Fields that an index was asked for, and of what kind.
    #[serde(default)]
    pub(crate) payload_schema: BTreeMap<String, Value>,
    /// What it was made of, where that is a snapshot.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) content: Option<ShardContent>,
    /// Where it lies, where that is object storage.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) url: Option<String>,
}

#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Names {
    /// The number of the next collection.
    next: u64,
    pub(crate) collections: BTreeMap<String, CollectionEntry>,
    /// Collections by their other names.
    pub(crate) aliases: BTreeMap<String, String>,
}

impl Names {
    /// The collection of a name, or of an alias.
    ///
    /// # Errors
    /// 404 where there is none.
    pub(crate) fn resolve(&self, name: &str) -> Outcome<(&str, &CollectionEntry)> {
        let own = self.aliases.get(name).map_or(name, String::as_str);
        let found = self.collections.get_key_value(own);
        let (name, entry) = found.ok_or_else(|| Failure::no_collection(name))?;
        Ok((name, entry))
    }

    /// The name of a collection, by its number.
    pub(crate) fn name_of(&self, number: u64) -> Option<String> {
        let mut all = self.collections.iter();
        let found = all.find(|(_, entry)| entry.number == number);
        found.map(|(name, _)| name.clone())
    }

    /// A number that no collection has had.
    pub(crate) fn reserve(&mut self) -> u64 {
        let number = self.next;
        self.next += 1;
        number
    }

    /// Adds a collection, and gives the number of its directory.
    pub(crate) fn add(&mut self, name: &str, config: Value) -> u64 {
        let number = self.reserve();
        let entry = CollectionEntry {
            number,
            config,
            payload_schema: BTreeMap::new(),
            content: None,
            url: None,
        };
        self.collections.insert(name.to_owned(), entry);
        number
    }
}

/// The names of a directory of data, which no other server has.
pub(crate) struct Registry {
    vfs: Arc<dyn Vfs>,
    dir: PathBuf,
    names: Mutex<Arc<Names>>,
    /// Held while names change.
    turn: Mutex<()>,
    _lock: DirectoryLock,
}

impl Registry {
    /// Opens the directory, making it where it is not there; removes collections that were being
    /// made or deleted when the last server stopped.
    ///
    /// # Errors
    /// 503 where another server has it.
    pub(crate) fn open(vfs: &Arc<dyn Vfs>, dir: &Path) -> Outcome<Self> {
        let collections = dir.join(COLLECTIONS);
        let failed = |error: std::io::Error| {
            Failure::from(pageway::Error::from(error).within(dir.display()))
        };
        if !vfs.exists(&collections).map_err(failed)? {
            create_directory(vfs.as_ref(), &collections)?;
        }
        let lock = DirectoryLock::acquire(vfs.as_ref(), dir)?;
        let names = match read_manifest(vfs.as_ref(), dir) {
            Ok(bytes) => serde_json::from_slice(&bytes).map_err(Failure::internal)?,
            Err(error) => {
                let error = pageway::Error::from(error);
                if error.kind() != ErrorKind::NotFound {
                    return Err(error.into());
                }
                Names::default()
            }
        };
        let registry = Self {
            vfs: Arc::clone(vfs),
            dir: dir.to_path_buf(),
            names: Mutex::new(Arc::new(names)),
            turn: Mutex::new(()),
            _lock: lock,
        };
        registry.remove_orphans()?;
        Ok(registry)
    }

    fn remove_orphans(&self) -> Outcome<()> {
        let dir = self.dir.join(COLLECTIONS);
        let there = self.vfs.list_others(&dir);
        let there = there.map_err(Failure::internal)?;
        let names = self.names();
        let known: Vec<u64> = names
            .collections
            .values()
            .map(|entry| entry.number)
            .collect();
        for name in there {
            let number: Option<u64> = name.parse().ok();
            if number.is_some_and(|number| !known.contains(&number)) {
                remove_tree(self.vfs.as_ref(), &dir.join(name))?;
            }
        }
        Ok(())
    }

    /// The directory of a collection.
    pub(crate) fn dir_of(&self, number: u64) -> PathBuf {
        self.dir.join(COLLECTIONS).join(number.to_string())
    }

    /// The names of now.
    pub(crate) fn names(&self) -> Arc<Names> {
        Arc::clone(&self.names.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// The right to change names.
    pub(crate) fn turn(&self) -> MutexGuard<'_, ()> {
        self.turn.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes names, durably and as a whole, by who has the turn.
    pub(crate) fn change<T>(
        &self,
        _turn: &MutexGuard<'_, ()>,
        change: impl FnOnce(&mut Names) -> Outcome<T>,
    ) -> Outcome<T> {
        let before = self.names();
        let mut names = Names::clone(&before);
        let outcome = change(&mut names)?;
        if names != *before {
            let bytes = serde_json::to_vec(&names).map_err(Failure::internal)?;
            commit_manifest(self.vfs.as_ref(), &self.dir, &bytes)?;
            *self.names.lock().unwrap_or_else(PoisonError::into_inner) = Arc::new(names);
        }
        Ok(outcome)
    }

    /// Removes the files of a collection that no name leads to.
    pub(crate) fn remove_files(&self, number: u64) -> Outcome<()> {
        let dir = self.dir_of(number);
        if self.vfs.exists(&dir).map_err(Failure::internal)? {
            remove_tree(self.vfs.as_ref(), &dir)?;
        }
        Ok(())
    }

    /// Where files are.
    pub(crate) fn vfs(&self) -> &Arc<dyn Vfs> {
        &self.vfs
    }
}

/// Removes a directory and all in it; follows no symbolic links.
pub(crate) fn remove_tree(vfs: &dyn Vfs, dir: &Path) -> Outcome<()> {
    let failed =
        |error: std::io::Error| Failure::internal(format_args!("{}: {error}", dir.display()));
    for name in vfs.list(dir).map_err(failed)? {
        vfs.remove_file(&dir.join(name)).map_err(failed)?;
    }
    for name in vfs.list_others(dir).map_err(failed)? {
        remove_tree(vfs, &dir.join(name))?;
    }
    vfs.remove_dir(dir).map_err(failed)
}

/// Refuses what is no name of a collection.
///
/// # Errors
/// 422 saying why.
pub(crate) fn check_name(name: &str) -> Outcome<()> {
    let wrong = |what: &str| Err(Failure::invalid_parameter("collection_name", what));
    if name.is_empty() || name.len() > MAX_NAME_BYTES {
        return wrong("value invalid, length must be from 1 to 255 bytes");
    }
    let refused = name
        .chars()
        .find(|one| REFUSED.contains(one) || one.is_control());
    match refused {
        Some(refused) => wrong(&format!("value cannot contain {refused:?}")),
        None if name == "." || name == ".." => wrong("value cannot be a directory"),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use pageway::OsVfs;
    use serde_json::json;

    use super::*;

    #[test]
    fn names_survive_and_orphans_do_not() {
        let dir = tempfile::tempdir().unwrap();
        let vfs: Arc<dyn Vfs> = Arc::new(OsVfs);
        let registry = Registry::open(&vfs, dir.path()).unwrap();
        assert!(Registry::open(&vfs, dir.path()).is_err(), "a second server");
        let turn = registry.turn();
        let number = registry
            .change(&turn, |names| Ok(names.add("a", json!({}))))
            .unwrap();
        drop(turn);
        for number in [number, number + 1] {
            create_directory(vfs.as_ref(), &registry.dir_of(number).join("v0")).unwrap();
        }
        drop(registry);
        let registry = Registry::open(&vfs, dir.path()).unwrap();
        assert_eq!(registry.names().resolve("a").unwrap().1.number, number);
        assert!(vfs.exists(&registry.dir_of(number)).unwrap());
        assert!(!vfs.exists(&registry.dir_of(number + 1)).unwrap());
        registry.remove_files(number).unwrap();
        assert!(!vfs.exists(&registry.dir_of(number)).unwrap());
    }

    #[test]
    fn names_have_limits() {
        for name in ["a", "é", "exists", &"a".repeat(255)] {
            assert!(check_name(name).is_ok(), "{name}");
        }
        for name in ["", "a/b", "..", "a\0", "a\nb", "c:d", &"a".repeat(256)] {
            assert_eq!(check_name(name).unwrap_err().status, 422, "{name:?}");
        }
    }
}
