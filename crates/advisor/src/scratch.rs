//! A directory for indexes that are built to be measured; gone when the plan is made.

use std::path::{Path, PathBuf};

use pageway::{Error, OsVfs, Result, Vfs};

/// The directory, and what was put into it.
#[derive(Debug)]
pub struct Scratch {
    root: PathBuf,
    made: Vec<PathBuf>,
}

impl Scratch {
    /// Makes a directory of this process within `parent`.
    ///
    /// # Errors
    /// `Io` where it cannot be made.
    pub fn within(parent: &Path) -> Result<Self> {
        let root = parent.join(format!("pageway-plan-{}", std::process::id()));
        let made = OsVfs.create_dir_all(&root);
        made.map_err(|error| Error::from(error).within(root.display()))?;
        Ok(Self {
            root,
            made: Vec::new(),
        })
    }

    /// Where the disk is that is measured.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// A path for one more index.
    pub fn place(&mut self) -> PathBuf {
        let path = self.root.join(format!("index-{}", self.made.len()));
        self.made.push(path.clone());
        path
    }

    /// Removes an index; what is left of it goes at the end.
    pub fn remove(&self, index: &Path) {
        for name in OsVfs.list(index).unwrap_or_default() {
            let _ = OsVfs.remove_file(&index.join(name));
        }
        let _ = OsVfs.remove_dir(index);
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        for index in &self.made {
            self.remove(index);
        }
        let _ = OsVfs.remove_dir(&self.root);
    }
}

#[cfg(test)]
mod tests {
    use pageway::lab::OpenMode;
    use pageway::{OsVfs, Vfs};

    use super::*;

    #[test]
    fn nothing_is_left() {
        let parent = tempfile::tempdir().unwrap();
        let mut scratch = Scratch::within(parent.path()).unwrap();
        let (first, second) = (scratch.place(), scratch.place());
        for index in [&first, &second] {
            OsVfs.create_dir_all(index).unwrap();
            OsVfs.open(&index.join("a"), OpenMode::CreateNew).unwrap();
        }
        scratch.remove(&first);
        assert!(!OsVfs.exists(&first).unwrap() && OsVfs.exists(&second).unwrap());
        let root = scratch.root().to_owned();
        drop(scratch);
        assert!(!OsVfs.exists(&root).unwrap());
    }
}
