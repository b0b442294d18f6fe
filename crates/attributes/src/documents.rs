//! The file of documents: of each node its own, in order, in compressed blocks.
//!
//! ```text
//! block 0 | block 1 | .. | offsets u64 of each block and the end | footer
//! block    length unpacked u32, LZ4 of { length u32, JSON } of 32 nodes, the last fewer
//! footer   magic u32, nodes u32, offset of the offsets u64
//! ```
//!
//! Opening reads the footer. A document costs a read of an offset and one of its block.
//! `docs/format/attributes.md`.

use std::path::Path;

use pageway_store::{BlobWriter, FileEntry, Vfs};

use crate::error::{AttributeError, Result, invalid};
use crate::evaluate::Document;
use crate::stream::{Cursor, Stream};

/// Documents of a block.
const BLOCK_NODES: u32 = 32;
/// Bytes of a document at most, as JSON.
pub const MAX_DOCUMENT_BYTES: usize = 1 << 20;
/// Bytes of a block at most.
const MAX_BLOCK_BYTES: usize = BLOCK_NODES as usize * (MAX_DOCUMENT_BYTES + 4);
const FOOTER_BYTES: usize = 16;
const MAGIC: u32 = 0x5044_6f63;

/// Writes documents in the order of their nodes.
///
/// Holds a block, and 8 bytes for each that was written.
pub struct DocumentWriter {
    out: BlobWriter,
    block: Vec<u8>,
    offsets: Vec<u64>,
    written: u64,
    nodes: u32,
}

impl DocumentWriter {
    /// A writer into an empty stream.
    pub fn new(out: BlobWriter) -> Self {
        Self {
            out,
            block: Vec::new(),
            offsets: Vec::new(),
            written: 0,
            nodes: 0,
        }
    }

    /// Appends the document of the next node, as JSON.
    pub fn push(&mut self, json: &[u8]) -> Result<()> {
        if json.len() > MAX_DOCUMENT_BYTES {
            let what = format!("{} bytes, 1 MiB is possible", json.len());
            return Err(invalid("document", what));
        }
        self.block.extend((json.len() as u32).to_le_bytes());
        self.block.extend(json);
        self.nodes += 1;
        if self.nodes.is_multiple_of(BLOCK_NODES) {
            self.end_block()?;
        }
        Ok(())
    }

    /// Ends the file.
    pub fn finish(mut self) -> Result<FileEntry> {
        if !self.nodes.is_multiple_of(BLOCK_NODES) {
            self.end_block()?;
        }
        self.offsets.push(self.written);
        for offset in &self.offsets {
            self.out.write(&offset.to_le_bytes())?;
        }
        self.out.write(&MAGIC.to_le_bytes())?;
        self.out.write(&self.nodes.to_le_bytes())?;
        self.out.write(&self.written.to_le_bytes())?;
        Ok(self.out.finish()?)
    }

    fn end_block(&mut self) -> Result<()> {
        let packed = lz4_flex::block::compress(&self.block);
        let length = self.block.len() as u32;
        self.out.write(&length.to_le_bytes())?;
        self.out.write(&packed)?;
        self.offsets.push(self.written);
        self.written += 4 + packed.len() as u64;
        self.block.clear();
        Ok(())
    }
}

/// What is shown a node and its document, as JSON.
pub type VisitDocument<'v, E> = dyn FnMut(u32, &[u8]) -> std::result::Result<(), E> + 'v;

/// An open file of documents.
#[derive(Clone, Debug)]
pub struct DocumentFile {
    stream: Stream,
    nodes: u32,
    offsets: u64,
}

impl DocumentFile {
    /// Opens the file of so many nodes, reading its footer.
    ///
    /// # Errors
    /// `Corrupt`, or as the file is.
    pub fn open(vfs: &dyn Vfs, dir: &Path, entry: &FileEntry, nodes: u32) -> Result<Self> {
        let stream = Stream::open(vfs, dir, entry)?;
        let end = stream.bytes().checked_sub(FOOTER_BYTES as u64);
        let end = end.ok_or_else(|| stream.corrupt("no footer"))?;
        let footer = stream.cursor()?.read(end, FOOTER_BYTES)?;
        let magic = read_u32(&footer, 0);
        let own = read_u32(&footer, 4);
        let offsets = read_u64(&footer, 8);
        let blocks = u64::from(nodes.div_ceil(BLOCK_NODES));
        let expected = offsets.checked_add((blocks + 1) * 8);
        if magic != MAGIC || own != nodes || expected != Some(end) {
            return Err(stream.corrupt("a footer of other documents"));
        }
        Ok(Self {
            stream,
            nodes,
            offsets,
        })
    }

    /// Nodes that have a document.
    pub fn nodes(&self) -> u32 {
        self.nodes
    }

    /// Shows the JSON of some nodes, given in ascending order. Reads the block of each once.
    ///
    /// # Errors
    /// `Corrupt`, or as the file is; what `visit` gives.
    pub fn visit<E: From<AttributeError>>(
        &self,
        nodes: impl IntoIterator<Item = u32>,
        visit: &mut VisitDocument<'_, E>,
    ) -> std::result::Result<(), E> {
        let (mut cursor, mut offsets) = (self.stream.cursor()?, self.stream.cursor()?);
        let mut current: Option<(u32, Vec<u8>)> = None;
        for node in nodes {
            let number = node / BLOCK_NODES;
            if current.as_ref().is_none_or(|(own, _)| *own != number) {
                current = Some((number, self.block(number, (&mut cursor, &mut offsets))?));
            }
            let block = current.as_ref().map(|(_, block)| block.as_slice());
            let json = json_of(block.unwrap_or_default(), node % BLOCK_NODES);
            let json = json.ok_or_else(|| self.stream.corrupt("a document is cut off"))?;
            visit(node, json)?;
        }
        Ok(())
    }

    /// The document of a JSON text of this file.
    ///
    /// # Errors
    /// `Corrupt` where it is none.
    pub fn parse(&self, json: &[u8]) -> Result<Document> {
        serde_json::from_slice(json)
            .map_err(|error| self.stream.corrupt(format!("a document: {error}")))
    }

    fn block(
        &self,
        number: u32,
        (cursor, offsets): (&mut Cursor<'_>, &mut Cursor<'_>),
    ) -> Result<Vec<u8>> {
        let at = self.offsets + u64::from(number) * 8;
        let pair = offsets.read(at, 16)?;
        let (start, end) = (read_u64(&pair, 0), read_u64(&pair, 8));
        let length = end.checked_sub(start).filter(|_| end <= self.offsets);
        let length = length.filter(|length| (5..=2 * MAX_BLOCK_BYTES as u64).contains(length));
        let length = length.ok_or_else(|| self.stream.corrupt("blocks out of order"))?;
        let packed = cursor.read(start, length as usize)?;
        let (own, packed) = packed.split_first_chunk().unwrap_or((&[0; 4], &[]));
        let unpacked = u32::from_le_bytes(*own) as usize;
        if unpacked > MAX_BLOCK_BYTES {
            return Err(self.stream.corrupt("a block that is too long"));
        }
        let block = lz4_flex::block::decompress(packed, unpacked);
        let block = block.map_err(|error| self.stream.corrupt(error))?;
        if block.len() == unpacked {
            return Ok(block);
        }
        Err(self.stream.corrupt("a block of another length"))
    }
}

fn json_of(block: &[u8], number: u32) -> Option<&[u8]> {
    let mut rest = block;
    for at in 0..=number {
        let (length, behind) = rest.split_first_chunk()?;
        let (json, behind) = behind.split_at_checked(u32::from_le_bytes(*length) as usize)?;
        if at == number {
            return Some(json);
        }
        rest = behind;
    }
    None
}

pub(crate) fn read_u32(bytes: &[u8], at: usize) -> u32 {
    let own = bytes.get(at..).and_then(<[u8]>::first_chunk);
    own.map_or(0, |own| u32::from_le_bytes(*own))
}

pub(crate) fn read_u64(bytes: &[u8], at: usize) -> u64 {
    let own = bytes.get(at..).and_then(<[u8]>::first_chunk);
    own.map_or(0, |own| u64::from_le_bytes(*own))
}
