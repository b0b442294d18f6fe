//! The file of terms: what is said of which nodes, as a tree of sorted blocks.
//!
//! ```text
//! leaf     { shared u16, rest u16, rest of the term, kind u8, count u32, nodes or place } ..
//!            kind 0: nodes u32 each       kind 1: offset u64, length u32 of a roaring bitmap
//! branch   { shared u16, rest u16, rest of the first term, kind 2, 0 u32, offset u64, length u32 }
//! footer   magic u32, nodes u32, terms u64, root offset u64, root length u32, depth u32
//! ```
//!
//! A term shares its first bytes with the one before it in its block. Blocks and bitmaps are
//! written as terms come, branches behind them.
//! Opening reads the footer and the root. A term costs a read
//! for each level, and those of its bitmap. `docs/format/attributes.md`.

mod entry;
mod reader;
mod writer;

pub use reader::TermFile;
pub(crate) use reader::bitmap_bytes;
pub use writer::TermWriter;

/// Bytes of a block from which on it is ended.
const BLOCK_BYTES: usize = 4000;
/// Bytes of a block at most: one term may exceed the aim.
const MAX_BLOCK_BYTES: usize = 1 << 16;
/// Nodes of a term that stand in its entry.
const INLINE_NODES: usize = 16;
const MAGIC: u32 = 0x5054_726d;
const FOOTER_BYTES: usize = 32;
/// Levels of the tree at most.
const MAX_DEPTH: u32 = 8;
