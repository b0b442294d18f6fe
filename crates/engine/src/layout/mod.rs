//! Axis 2: how records lie in pages. `codec` turns nodes into page bytes and back, `address` says
//! which page holds a node. Byte layouts are in `docs/format/records.md`.
//!
//! * `record`: records of fixed size, with or without vector, codes of neighbours, lists of
//!   neighbours (codecs `packed`, `inline_codes`, `replicated`, `split` of a spec);
//! * `page_node`: a page is one node of the graph (codec `page_node`).
//!
//! `fold` makes vectors that have pages of their own fit those.

mod address;
mod codec;
mod fold;
mod page_node;
mod record;
mod stored;

pub(crate) use address::PageMap;
pub use codec::PageError;
pub(crate) use codec::{Neighbors, NodeFeed, PageCodec, PageView, Record, VectorPart};
pub(crate) use fold::{Fold, UnfoldedVector};
pub(crate) use page_node::PageNodeCodec;
pub(crate) use record::RecordCodec;
pub(crate) use stored::{PackedList, StoredList, UnpackedList};
