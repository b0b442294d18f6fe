//! Looking terms up.

use std::ops::ControlFlow;
use std::path::Path;

use pageway_store::{FileEntry, Vfs};
use roaring::RoaringBitmap;

use super::entry::{Content, Extent, entries};
use super::{FOOTER_BYTES, MAGIC, MAX_BLOCK_BYTES, MAX_DEPTH};
use crate::documents::{read_u32, read_u64};
use crate::error::Result;
use crate::stream::{Cursor, Stream};

/// An open file of terms. Holds its root, a block.
#[derive(Clone, Debug)]
pub struct TermFile {
    stream: Stream,
    nodes: u32,
    terms: u64,
    root: Vec<u8>,
    depth: u32,
}

/// What is shown of a term: itself, how many nodes it is said of, and these where they are asked
/// for.
pub(crate) type Visit<'v> = dyn FnMut(&[u8], Posting<'_, '_>) -> Result<()> + 'v;

/// The same until it breaks off.
type VisitUntil<'v> = dyn FnMut(&[u8], Posting<'_, '_>) -> Result<ControlFlow<()>> + 'v;

/// Bytes of a bitmap of so many nodes at most: a bit for each, in parts of 65,536, with their
/// heads.
pub(crate) const fn bitmap_bytes(nodes: u32) -> u64 {
    nodes.div_ceil(1 << 16) as u64 * 8256 + 64
}

/// The nodes of a term, not read yet.
pub(crate) struct Posting<'p, 's> {
    content: &'p Content,
    file: &'s TermFile,
    cursor: &'p mut Cursor<'s>,
}

impl Posting<'_, '_> {
    /// How many there are.
    pub(crate) fn count(&self) -> u64 {
        match self.content {
            Content::Nodes(nodes) => nodes.len() as u64,
            Content::Bitmap(count, _) => (*count).into(),
            Content::Block(_) => 0,
        }
    }

    /// Adds them to a set.
    pub(crate) fn add_to(self, set: &mut RoaringBitmap) -> Result<()> {
        match self.content {
            Content::Nodes(nodes) => {
                if nodes.last().is_some_and(|last| *last >= self.file.nodes) {
                    return Err(self.file.stream.corrupt("a node that there is not"));
                }
                set.extend(nodes.iter().copied());
            }
            Content::Bitmap(count, extent) => {
                *set |= self.file.bitmap(self.cursor, *count, *extent)?;
            }
            Content::Block(_) => {}
        }
        Ok(())
    }
}

impl TermFile {
    /// Opens the file of so many nodes, reading its footer and its root.
    ///
    /// # Errors
    /// `Corrupt`, or as the file is.
    pub fn open(vfs: &dyn Vfs, dir: &Path, entry: &FileEntry, nodes: u32) -> Result<Self> {
        let stream = Stream::open(vfs, dir, entry)?;
        let end = stream.bytes().checked_sub(FOOTER_BYTES as u64);
        let end = end.ok_or_else(|| stream.corrupt("no footer"))?;
        let mut cursor = stream.cursor()?;
        let footer = cursor.read(end, FOOTER_BYTES)?;
        let (own, length) = (read_u32(&footer, 4), read_u32(&footer, 24) as usize);
        let depth = read_u32(&footer, 28);
        let known = read_u32(&footer, 0) == MAGIC && own == nodes;
        if !known || length > MAX_BLOCK_BYTES || !(1..=MAX_DEPTH).contains(&depth) {
            return Err(stream.corrupt("a footer of other terms"));
        }
        let root = cursor.read(read_u64(&footer, 16), length)?;
        drop(cursor);
        Ok(Self {
            nodes,
            terms: read_u64(&footer, 8),
            root,
            depth,
            stream,
        })
    }

    /// Nodes of which terms may be said.
    pub(crate) fn nodes(&self) -> u32 {
        self.nodes
    }

    /// Terms that there are.
    pub(crate) fn terms(&self) -> u64 {
        self.terms
    }

    /// Bytes held.
    pub fn held_bytes(&self) -> u64 {
        self.root.len() as u64
    }

    /// Shows the terms from `low` on and before `high`, in order.
    ///
    /// # Errors
    /// `Corrupt`, or as the file is; what `visit` gives.
    pub(crate) fn visit(&self, low: &[u8], high: &[u8], visit: &mut Visit<'_>) -> Result<()> {
        let all = self.visit_until(low, high, &mut |term, posting| {
            visit(term, posting).map(ControlFlow::Continue)
        });
        all.map(|_| ())
    }

    /// Whether there is a term from `low` on and before `high`.
    pub(crate) fn has_any(&self, low: &[u8], high: &[u8]) -> Result<bool> {
        let found = self.visit_until(low, high, &mut |_, _| Ok(ControlFlow::Break(())))?;
        Ok(found.is_break())
    }

    fn visit_until(
        &self,
        low: &[u8],
        high: &[u8],
        visit: &mut VisitUntil<'_>,
    ) -> Result<ControlFlow<()>> {
        let mut cursors = (self.stream.cursor()?, self.stream.cursor()?);
        self.descend((&self.root, self.depth), (low, high), &mut cursors, visit)
    }

    /// Adds the nodes of one term to a set.
    pub(crate) fn find(&self, term: &[u8], set: &mut RoaringBitmap) -> Result<()> {
        let mut behind = term.to_vec();
        behind.push(0);
        self.visit(term, &behind, &mut |_, posting| posting.add_to(set))
    }

    fn descend<'s>(
        &'s self,
        (block, level): (&[u8], u32),
        (low, high): (&[u8], &[u8]),
        cursors: &mut (Cursor<'s>, Cursor<'s>),
        visit: &mut VisitUntil<'_>,
    ) -> Result<ControlFlow<()>> {
        let all = entries(block).ok_or_else(|| self.stream.corrupt("a block of terms"))?;
        // The last child that begins before the first term may hold it.
        let first = match level {
            1 => all.partition_point(|(term, _)| term.as_slice() < low),
            _ => all
                .partition_point(|(term, _)| term.as_slice() <= low)
                .saturating_sub(1),
        };
        for (term, content) in all.iter().skip(first) {
            if term.as_slice() >= high {
                break;
            }
            let flow = match (content, level) {
                (Content::Block(extent), 2..) => {
                    let length = extent.length as usize;
                    if length > MAX_BLOCK_BYTES {
                        return Err(self.stream.corrupt("a block that is too long"));
                    }
                    let child = cursors.0.read(extent.offset, length)?;
                    self.descend((&child, level - 1), (low, high), cursors, visit)?
                }
                (Content::Nodes(_) | Content::Bitmap(..), 1) => {
                    let posting = Posting {
                        content,
                        file: self,
                        cursor: &mut cursors.1,
                    };
                    visit(term, posting)?
                }
                _ => return Err(self.stream.corrupt("a block at another level")),
            };
            if flow.is_break() {
                return Ok(flow);
            }
        }
        Ok(ControlFlow::Continue(()))
    }

    fn bitmap(&self, cursor: &mut Cursor<'_>, count: u32, extent: Extent) -> Result<RoaringBitmap> {
        if u64::from(extent.length) > bitmap_bytes(self.nodes) {
            return Err(self.stream.corrupt("a bitmap that is too long"));
        }
        let bytes = cursor.read(extent.offset, extent.length as usize)?;
        let bitmap = RoaringBitmap::deserialize_from(bytes.as_slice())
            .map_err(|error| self.stream.corrupt(format!("a bitmap: {error}")))?;
        let fits = bitmap.max().is_none_or(|last| last < self.nodes);
        if fits && bitmap.len() == u64::from(count) {
            return Ok(bitmap);
        }
        Err(self.stream.corrupt("a bitmap of other nodes"))
    }
}
