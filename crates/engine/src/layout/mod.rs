//! Axis 2: how records lie in pages. `codec` turns records into page bytes and back, `address` says
//! which page holds a node. Byte layouts are in `docs/format/records.md`.

mod address;
mod codec;
mod packed;

pub(crate) use address::AddressMap;
pub use codec::PageError;
pub(crate) use codec::{NodeBytes, PageCodec, PageView, Record};
pub(crate) use packed::PackedCodec;
