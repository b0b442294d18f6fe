//! Writing a file of terms, front to back.

use pageway_store::{BlobWriter, FileEntry};
use roaring::RoaringBitmap;

use super::entry::{Content, Extent, push};
use super::{BLOCK_BYTES, FOOTER_BYTES, INLINE_NODES, MAGIC};
use crate::error::Result;

/// Writes terms in their order, each with its nodes in theirs.
///
/// Holds a block for each level, and the bitmap of one term: a bit for each node at most.
pub struct TermWriter {
    out: BlobWriter,
    written: u64,
    terms: u64,
    term: Vec<u8>,
    nodes: RoaringBitmap,
    /// Blocks from the leaves up.
    levels: Vec<Level>,
}

#[derive(Default)]
struct Level {
    block: Vec<u8>,
    first: Vec<u8>,
    last: Vec<u8>,
    /// Whether a block of it was written.
    ended: bool,
}

impl TermWriter {
    /// A writer into an empty stream.
    pub fn new(out: BlobWriter) -> Self {
        Self {
            out,
            written: 0,
            terms: 0,
            term: Vec::new(),
            nodes: RoaringBitmap::new(),
            levels: vec![Level::default()],
        }
    }

    /// Says a term of a node. Terms, and the nodes of each, come in ascending order; a pair that
    /// comes again changes nothing.
    pub fn push(&mut self, term: &[u8], node: u32) -> Result<()> {
        if self.term != term {
            self.end_term()?;
            self.term.extend(term);
        }
        self.nodes.insert(node);
        Ok(())
    }

    /// Ends the file of so many nodes.
    pub fn finish(mut self, nodes: u32) -> Result<FileEntry> {
        self.end_term()?;
        let mut at = 0;
        let mut root = Extent {
            offset: 0,
            length: 0,
        };
        while let Some(level) = self.levels.get(at) {
            if at + 1 == self.levels.len() && !level.ended {
                let block = level.block.clone();
                root = self.write(&block)?;
            } else {
                self.end_block(at)?;
            }
            at += 1;
        }
        let mut footer = Vec::with_capacity(FOOTER_BYTES);
        footer.extend(MAGIC.to_le_bytes());
        footer.extend(nodes.to_le_bytes());
        footer.extend(self.terms.to_le_bytes());
        footer.extend(root.offset.to_le_bytes());
        footer.extend(root.length.to_le_bytes());
        footer.extend((self.levels.len() as u32).to_le_bytes());
        self.out.write(&footer)?;
        Ok(self.out.finish()?)
    }

    fn end_term(&mut self) -> Result<()> {
        if self.nodes.is_empty() {
            return Ok(());
        }
        let nodes = std::mem::take(&mut self.nodes);
        let content = if nodes.len() <= INLINE_NODES as u64 {
            Content::Nodes(nodes.iter().collect())
        } else {
            let mut bytes = Vec::with_capacity(nodes.serialized_size());
            let count = nodes.len() as u32;
            nodes
                .serialize_into(&mut bytes)
                .map_err(|error| crate::AttributeError::Corrupt(error.to_string()))?;
            Content::Bitmap(count, self.write(&bytes)?)
        };
        let term = std::mem::take(&mut self.term);
        self.terms += 1;
        self.add(0, &term, &content)
    }

    fn add(&mut self, at: usize, term: &[u8], content: &Content) -> Result<()> {
        if self
            .levels
            .get(at)
            .is_some_and(|level| level.block.len() >= BLOCK_BYTES)
        {
            self.end_block(at)?;
        }
        if self.levels.len() == at {
            self.levels.push(Level::default());
        }
        if let Some(level) = self.levels.get_mut(at) {
            if level.block.is_empty() {
                level.first = term.to_vec();
                level.last.clear();
            }
            push(&mut level.block, &level.last, term, content);
            level.last = term.to_vec();
        }
        Ok(())
    }

    /// Writes the block of a level and names it in the one above.
    fn end_block(&mut self, at: usize) -> Result<()> {
        let Some(level) = self.levels.get_mut(at) else {
            return Ok(());
        };
        let block = std::mem::take(&mut level.block);
        let first = std::mem::take(&mut level.first);
        level.ended = true;
        if block.is_empty() {
            return Ok(());
        }
        let extent = self.write(&block)?;
        self.add(at + 1, &first, &Content::Block(extent))
    }

    fn write(&mut self, bytes: &[u8]) -> Result<Extent> {
        self.out.write(bytes)?;
        let extent = Extent {
            offset: self.written,
            length: bytes.len() as u32,
        };
        self.written += bytes.len() as u64;
        Ok(extent)
    }
}
