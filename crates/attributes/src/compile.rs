//! From a predicate to the nodes that match it.
//!
//! Terms say for most conditions which nodes match; where they cannot (a phrase, elements of nested
//! objects, areas, texts longer than terms), they say which may, and the documents of those decide.

use std::collections::BTreeMap;

use roaring::RoaringBitmap;

use crate::documents::DocumentFile;
use crate::error::{AttributeError, Result};
use crate::evaluate::Document;
use crate::known::Known;
use crate::leaf::Leaf;
use crate::path::{Path, Step};
use crate::predicate::{Predicate, Test};
use crate::term_file::{TermFile, bitmap_bytes};
use crate::terms::{Tag, path_key, tag_key};

/// What is known of the attributes of some nodes.
#[derive(Clone, Debug)]
pub struct Attributes {
    pub(crate) terms: TermFile,
    pub(crate) documents: DocumentFile,
}

/// The nodes that match a predicate.
#[derive(Clone, Debug, Default)]
pub struct Matches {
    /// Them.
    pub nodes: RoaringBitmap,
    /// Documents that were read to tell.
    pub documents: u64,
}

/// Ids that a predicate may ask for, by the nodes that have them.
pub type NodeIds = BTreeMap<u32, u64>;

impl Attributes {
    /// The attributes in two files.
    pub fn new(terms: TermFile, documents: DocumentFile) -> Self {
        Self { terms, documents }
    }

    /// Nodes that have attributes.
    pub fn nodes(&self) -> u32 {
        self.documents.nodes()
    }

    /// The file of documents.
    pub fn documents(&self) -> &DocumentFile {
        &self.documents
    }

    /// Bytes held.
    pub fn held_bytes(&self) -> u64 {
        self.terms.held_bytes()
    }

    /// The nodes that match a predicate in canonical form. `ids` has every node whose id the
    /// predicate names.
    ///
    /// Holds a few bitmaps for each level of the tree: [`compile_bytes`].
    ///
    /// # Errors
    /// `Corrupt`, or as files are.
    pub fn matching(&self, predicate: &Predicate, ids: &NodeIds) -> Result<Matches> {
        let compiler = Compiler {
            terms: &self.terms,
            ids,
            within: &[],
        };
        let Known { certain, open } = compiler.known(predicate)?;
        let mut matches = Matches {
            nodes: certain,
            documents: open.len(),
        };
        if open.is_empty() {
            return Ok(matches);
        }
        self.documents
            .visit::<AttributeError>(open.iter(), &mut |node, json| {
                let document = self.documents.parse(json)?;
                if predicate.matches(&document, ids.get(&node).copied()) {
                    matches.nodes.insert(node);
                }
                Ok(())
            })?;
        Ok(matches)
    }
}

/// The nodes, from 0 on, that match where none has attributes.
pub fn matching_without(predicate: &Predicate, nodes: u32, ids: &NodeIds) -> RoaringBitmap {
    let none = Document::new();
    let mut all = RoaringBitmap::new();
    if predicate.matches(&none, None) {
        all.insert_range(0..nodes);
    }
    for (node, id) in ids {
        if predicate.matches(&none, Some(*id)) {
            all.insert(*node);
        } else {
            all.remove(*node);
        }
    }
    all
}

/// Bytes that compiling a predicate over so many nodes takes at most.
pub fn compile_bytes(predicate: &Predicate, nodes: u32) -> u64 {
    bitmaps(predicate) * bitmap_bytes(nodes) + BUFFER_BYTES
}

/// Blocks, pages and documents while terms are looked up.
const BUFFER_BYTES: u64 = 256 << 10;

/// Bitmaps that are held at a time: two for what is known so far and two for what is next.
fn bitmaps(predicate: &Predicate) -> u64 {
    let most = |of: &[Predicate]| of.iter().map(bitmaps).max().unwrap_or(0);
    match predicate {
        Predicate::All | Predicate::HasId(_) => 1,
        Predicate::Field { .. } => 4,
        Predicate::And(of) | Predicate::Or(of) => 3 + most(of),
        Predicate::Not(of) | Predicate::Nested { of, .. } => 2 + bitmaps(of),
        Predicate::AtLeast { count, of } => 2 * *count as u64 + 3 + most(of),
    }
}

/// Bytes that predicates of few levels take over so many nodes: `LEVELS` of them.
pub fn usual_bytes(nodes: u32) -> u64 {
    ((3 * LEVELS + 4) * bitmap_bytes(nodes) + BUFFER_BYTES).max(LEAST_BYTES)
}

/// Bytes that are set aside at least: of few rows predicates may have many levels.
const LEAST_BYTES: u64 = 1 << 20;

/// Levels of conditions joined by `and` and `or` that memory is set aside for.
const LEVELS: u64 = 3;

/// A predicate on the way to nodes.
struct Compiler<'c> {
    terms: &'c TermFile,
    ids: &'c NodeIds,
    /// Inside of the elements of this array.
    within: &'c [Step],
}

impl Compiler<'_> {
    fn nodes(&self) -> u32 {
        self.terms.nodes()
    }

    fn known(&self, predicate: &Predicate) -> Result<Known> {
        match predicate {
            Predicate::All => Ok(Known::all(self.nodes())),
            Predicate::And(of) => self.all_of(of),
            Predicate::Or(of) => self.one_of(of),
            Predicate::Not(of) if self.within.is_empty() => {
                Ok(self.known(of)?.negated(self.nodes()))
            }
            Predicate::AtLeast { count, of } if self.within.is_empty() => self.some_of(*count, of),
            Predicate::Not(_) | Predicate::AtLeast { .. } => self.elements(),
            Predicate::Field { path, test } => self.field(path, test),
            Predicate::Nested { path, of } => self.nested(path, of),
            Predicate::HasId(ids) => {
                let found = self.ids.iter().filter(|(_, id)| ids.contains(id));
                Ok(Known::exactly(found.map(|(node, _)| *node).collect()))
            }
        }
    }

    fn all_of(&self, of: &[Predicate]) -> Result<Known> {
        let mut known = None;
        for one in of {
            let own = self.known(one)?;
            match &mut known {
                None => known = Some(own),
                Some(known) => known.and(&own),
            }
        }
        Ok(known.unwrap_or_else(|| Known::all(self.nodes())))
    }

    fn one_of(&self, of: &[Predicate]) -> Result<Known> {
        let mut known = Known::default();
        for one in of {
            known.or(&self.known(one)?);
        }
        Ok(known)
    }

    /// Nodes of which so many are true: of each number below, after each predicate.
    fn some_of(&self, count: usize, of: &[Predicate]) -> Result<Known> {
        let mut counted = vec![Known::default(); count];
        for one in of {
            let own = self.known(one)?;
            for at in (0..count).rev() {
                let mut more = match at.checked_sub(1).and_then(|below| counted.get(below)) {
                    Some(below) => below.clone(),
                    None => Known::all(self.nodes()),
                };
                more.and(&own);
                if let Some(slot) = counted.get_mut(at) {
                    slot.or(&more);
                }
            }
        }
        Ok(counted.pop().unwrap_or_else(|| Known::all(self.nodes())))
    }

    fn field(&self, path: &Path, test: &Test) -> Result<Known> {
        let path = path.within(self.within);
        let leaf = Leaf {
            terms: self.terms,
            path: &path,
        };
        let known = leaf.known(test)?;
        let exact = self.within.is_empty() && !path.has_index();
        if exact {
            return Ok(known);
        }
        // Of one element, or of any: the terms tell of all elements together.
        if test.is_of_absence() {
            if !self.within.is_empty() {
                return self.elements();
            }
            return Ok(Known::perhaps(Known::all(self.nodes()).certain));
        }
        let Known { certain, open } = known;
        Ok(Known::perhaps(certain | open))
    }

    fn nested(&self, path: &Path, of: &Predicate) -> Result<Known> {
        let array = path.of_array().within(self.within);
        let element = Path::extended(Some(array), Step::Each);
        let inner = Compiler {
            within: element.steps(),
            ..*self
        };
        let mut known = inner.known(of)?;
        known.and(&inner.elements()?);
        Ok(Known::perhaps(known.certain | known.open))
    }

    /// Nodes that have elements at all: of some it may be true what is not of others.
    fn elements(&self) -> Result<Known> {
        let Some(path) = Path::of_steps(self.within) else {
            return Ok(Known::all(self.nodes()));
        };
        let mut found = RoaringBitmap::new();
        let term = tag_key(&path_key(&path), Tag::Object);
        self.terms.find(&term, &mut found)?;
        Ok(Known::perhaps(found))
    }
}
