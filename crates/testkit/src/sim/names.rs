//! The names of all directories, durable and pending.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::SplitMix64;

/// What a name stands for; files by their number.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Node {
    Directory,
    File(usize),
}

pub(super) type Tree = BTreeMap<PathBuf, Node>;

#[derive(Clone, Debug)]
pub(super) struct Names {
    durable: Tree,
    current: Tree,
    pending: Vec<Change>,
}

#[derive(Clone, Debug)]
enum Change {
    Add(PathBuf, Node),
    Remove(PathBuf),
    Rename {
        from: PathBuf,
        to: PathBuf,
        node: Node,
    },
}

impl Names {
    /// Names that are all durable.
    pub(super) fn durable(tree: Tree) -> Self {
        Self {
            durable: tree.clone(),
            current: tree,
            pending: Vec::new(),
        }
    }

    pub(super) fn get(&self, path: &Path) -> Option<Node> {
        self.current.get(path).copied()
    }

    pub(super) fn all(&self) -> impl Iterator<Item = (&Path, Node)> {
        self.current
            .iter()
            .map(|(path, node)| (path.as_path(), *node))
    }

    pub(super) fn children<'a>(&'a self, dir: &'a Path) -> impl Iterator<Item = (&'a Path, Node)> {
        let own = move |path: &Path| path.parent() == Some(dir);
        self.all().filter(move |(path, _)| own(path))
    }

    pub(super) fn add(&mut self, path: &Path, node: Node) {
        self.change(Change::Add(path.to_path_buf(), node));
    }

    pub(super) fn remove(&mut self, path: &Path) {
        self.change(Change::Remove(path.to_path_buf()));
    }

    pub(super) fn rename(&mut self, from: &Path, to: &Path, node: Node) {
        let (from, to) = (from.to_path_buf(), to.to_path_buf());
        self.change(Change::Rename { from, to, node });
    }

    fn change(&mut self, change: Change) {
        change.apply(&mut self.current);
        self.pending.push(change);
    }

    /// The pending changes of a directory become durable, in order.
    pub(super) fn sync(&mut self, dir: &Path) {
        for change in self.take_pending(dir) {
            change.apply(&mut self.durable);
        }
    }

    /// A sync that failed: the pending changes of a directory are forgotten, though still visible.
    pub(super) fn forget_pending(&mut self, dir: &Path) {
        self.take_pending(dir);
    }

    fn take_pending(&mut self, dir: &Path) -> Vec<Change> {
        let all = std::mem::take(&mut self.pending);
        let (taken, kept) = all
            .into_iter()
            .partition(|c: &Change| c.path().parent() == Some(dir));
        self.pending = kept;
        taken
    }

    /// The names after a crash that keeps each pending change with the given chance. Names in
    /// directories that did not survive are gone with them.
    pub(super) fn crash(&self, random: &mut SplitMix64, eighths: u64) -> Tree {
        let mut tree = self.durable.clone();
        for change in &self.pending {
            if random.chance(eighths) {
                change.apply(&mut tree);
            }
        }
        let whole = tree.clone();
        tree.retain(|path, _| {
            path.ancestors()
                .skip(1)
                .all(|above| whole.get(above) == Some(&Node::Directory))
        });
        tree
    }
}

impl Change {
    /// A rename stays within a directory, so either name tells which.
    fn path(&self) -> &Path {
        match self {
            Self::Add(path, _) | Self::Remove(path) | Self::Rename { to: path, .. } => path,
        }
    }

    fn apply(&self, tree: &mut Tree) {
        match self {
            Self::Add(path, node) => {
                tree.insert(path.clone(), *node);
            }
            Self::Remove(path) => {
                tree.remove(path);
            }
            Self::Rename { from, to, node } => {
                tree.remove(from);
                tree.insert(to.clone(), *node);
            }
        }
    }
}
