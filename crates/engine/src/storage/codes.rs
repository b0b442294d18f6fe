//! Codes in memory: a table of those of the first nodes, or of all; and those of a few others.

use std::ops::Range;

use pageway_kernels::{places, prefetch};
use pageway_quant::{CodeBatch, CodeForms, CodeScorer, Scorer};
use pageway_types::{NodeId, Place};

/// Codes in node order: of all nodes in the form in which single ones are scored faster, of the
/// first ones as they are stored, as those beside lists are.
#[derive(Debug, Default)]
pub(crate) struct CodeTable {
    bytes: Vec<u8>,
    node_count: u32,
    is_arranged: bool,
}

impl CodeTable {
    /// A table of the codes of the first `node_count` nodes, as they are stored.
    pub(crate) const fn stored(bytes: Vec<u8>, node_count: u32) -> Self {
        Self {
            bytes,
            node_count,
            is_arranged: false,
        }
    }

    /// A table of the codes of all nodes, which are in the other form.
    pub(crate) const fn arranged(bytes: Vec<u8>, node_count: u32) -> Self {
        Self {
            bytes,
            node_count,
            is_arranged: true,
        }
    }

    /// The codes of some nodes, which it holds.
    #[inline]
    pub(crate) fn batch<'t>(&'t self, nodes: &'t [NodeId]) -> CodeBatch<'t> {
        let (codes, places) = (self.bytes.as_slice(), places(nodes));
        if self.is_arranged {
            CodeBatch::Table { codes, places }
        } else {
            CodeBatch::Gather { codes, places }
        }
    }

    /// The form of all codes that queries meet.
    pub(crate) const fn forms(&self) -> CodeForms {
        if self.is_arranged {
            CodeForms::Table
        } else {
            CodeForms::Stored
        }
    }

    /// The code of a node, of `code_bytes` bytes, its head in front; nothing for nodes whose codes
    /// are not here.
    #[inline]
    pub(crate) fn code(&self, node: NodeId, code_bytes: usize) -> Option<&[u8]> {
        let start = node.index() * code_bytes;
        self.bytes.get(start..start + code_bytes)
    }

    /// Asks for bytes of the code of a node that is scored soon.
    #[inline]
    pub(crate) fn prefetch(&self, node: NodeId, code_bytes: usize, bytes: Range<usize>) {
        let code = self.code(node, code_bytes).unwrap_or(&[]);
        prefetch(code.get(bytes).unwrap_or(&[]));
    }

    /// Bytes of a code that are looked at first, to leave out nodes beyond `limit`; all of it where
    /// none are.
    #[inline]
    pub(crate) fn first_bytes(&self, scorer: &Scorer, limit: f32) -> usize {
        if self.is_arranged && limit < f32::INFINITY {
            scorer.screened_bytes()
        } else {
            scorer.code_bytes()
        }
    }

    /// Leaves out nodes that the first bytes of their codes tell to lie beyond `limit`; asks for
    /// the other bytes of those that stay.
    pub(crate) fn screen(&self, scorer: &Scorer, limit: f32, nodes: &mut Vec<NodeId>) {
        let (code_bytes, first) = (scorer.code_bytes(), self.first_bytes(scorer, limit));
        if first == code_bytes {
            return;
        }
        let (mut kept, mut at) = (0, 0);
        while let Some(part) = nodes.get(at..).filter(|rest| !rest.is_empty()) {
            let part = part.get(..Scorer::SCREENED).unwrap_or(part);
            let behind = at + part.len();
            let mut marks = scorer.screen(&self.bytes, places(part), limit);
            while marks != 0 {
                let from = at + marks.trailing_zeros() as usize;
                marks &= marks - 1;
                if let Some(node) = nodes.get(from).copied()
                    && let Some(own) = nodes.get_mut(kept)
                {
                    *own = node;
                    kept += 1;
                    self.prefetch(node, code_bytes, first..code_bytes);
                }
            }
            at = behind;
        }
        nodes.truncate(kept);
    }

    /// Nodes it holds codes of: node 0 and those behind it.
    #[inline]
    pub(crate) fn node_count(&self) -> u32 {
        self.node_count
    }
}

/// Codes of a few nodes, by node.
#[derive(Debug, Default)]
pub(crate) struct EntryCodes {
    /// Ascending.
    pub(crate) nodes: Vec<NodeId>,
    /// In the order of `nodes`.
    pub(crate) codes: Vec<u8>,
}

impl EntryCodes {
    /// Place of the code of a node.
    pub(crate) fn place_of(&self, node: NodeId) -> Option<Place> {
        let at = self.nodes.binary_search(&node).ok()?;
        Some(Place(at as u32))
    }

    /// Bytes of `count` codes.
    pub(crate) const fn bytes(count: u64, code_bytes: u64) -> u64 {
        count * (4 + code_bytes)
    }
}
