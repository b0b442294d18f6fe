//! Everything the simulated file system knows at one moment.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use super::contents::Contents;
use super::digest::{Digest, mix};
use super::names::{Names, Node, Tree};

#[derive(Clone, Debug)]
pub(super) struct State {
    pub(super) names: Names,
    pub(super) files: Vec<Contents>,
}

impl State {
    /// An empty root directory.
    pub(super) fn empty() -> Self {
        let tree = Tree::from([(PathBuf::from("/"), Node::Directory)]);
        Self {
            names: Names::durable(tree),
            files: Vec::new(),
        }
    }

    /// Digests of what can be read here.
    pub(super) fn digest(&self) -> Digest {
        let mut digest = Digest::default();
        for (path, node) in self.names.all() {
            let mut hasher = DefaultHasher::new();
            path.as_os_str().hash(&mut hasher);
            let place = match node {
                Node::Directory => u64::MAX,
                Node::File(number) => self.place(number, &mut digest) as u64,
            };
            digest.names = mix(digest.names ^ hasher.finish() ^ mix(place));
        }
        digest
    }

    /// The place of a file among those of a digest, at the end where it is new.
    fn place(&self, number: usize, digest: &mut Digest) -> usize {
        let known = digest.files.iter().position(|(known, _)| *known == number);
        known.unwrap_or_else(|| {
            let held = self.files.get(number).map_or(0, Contents::digest);
            digest.files.push((number, held));
            digest.files.len() - 1
        })
    }

    pub(super) fn file_number(&self, path: &Path) -> io::Result<usize> {
        match self.names.get(path) {
            Some(Node::File(number)) => Ok(number),
            Some(Node::Directory) => Err(ErrorKind::IsADirectory.into()),
            None => Err(ErrorKind::NotFound.into()),
        }
    }

    pub(super) fn directory(&self, path: &Path) -> io::Result<()> {
        match self.names.get(path) {
            Some(Node::Directory) => Ok(()),
            Some(Node::File(_)) => Err(ErrorKind::NotADirectory.into()),
            None => Err(ErrorKind::NotFound.into()),
        }
    }

    pub(super) fn contents(&mut self, number: usize) -> io::Result<&mut Contents> {
        self.files
            .get_mut(number)
            .ok_or_else(|| ErrorKind::NotFound.into())
    }

    pub(super) fn create(&mut self, path: &Path) -> io::Result<usize> {
        self.directory(path.parent().unwrap_or(path))?;
        if self.names.get(path).is_some() {
            return Err(ErrorKind::AlreadyExists.into());
        }
        let number = self.files.len();
        self.files.push(Contents::default());
        self.names.add(path, Node::File(number));
        Ok(number)
    }

    /// Another name of a file.
    pub(super) fn link(&mut self, from: &Path, to: &Path) -> io::Result<()> {
        let number = self.file_number(from)?;
        self.directory(to.parent().unwrap_or(to))?;
        if self.names.get(to).is_some() {
            return Err(ErrorKind::AlreadyExists.into());
        }
        self.names.add(to, Node::File(number));
        Ok(())
    }

    pub(super) fn create_directories(&mut self, path: &Path) -> io::Result<()> {
        let levels: Vec<&Path> = path.ancestors().collect();
        for level in levels.into_iter().rev() {
            match self.names.get(level) {
                None => self.names.add(level, Node::Directory),
                Some(Node::Directory) => {}
                Some(Node::File(_)) => return Err(ErrorKind::NotADirectory.into()),
            }
        }
        Ok(())
    }

    pub(super) fn rename(&mut self, from: &Path, to: &Path) -> io::Result<()> {
        if from.parent() != to.parent() {
            return Err(io::Error::new(
                ErrorKind::Unsupported,
                "rename across directories",
            ));
        }
        let number = self.file_number(from)?;
        self.names.rename(from, to, Node::File(number));
        Ok(())
    }

    pub(super) fn remove_directory(&mut self, path: &Path) -> io::Result<()> {
        self.directory(path)?;
        if self.names.children(path).next().is_some() {
            return Err(ErrorKind::DirectoryNotEmpty.into());
        }
        self.names.remove(path);
        Ok(())
    }

    pub(super) fn list(&self, dir: &Path) -> io::Result<Vec<String>> {
        self.directory(dir)?;
        let names = self
            .names
            .children(dir)
            .filter(|(_, node)| matches!(node, Node::File(_)));
        let text = |(path, _): (&Path, Node)| Some(path.file_name()?.to_str()?.to_owned());
        Ok(names.filter_map(text).collect())
    }
}
