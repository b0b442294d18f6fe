//! Adjacency lists in memory in about a third of the bytes of their ids.
//!
//! A list is the set of its neighbours: they are sorted, so its order is lost. Lists that must stay
//! ready to be cut from the tail (those on pages, those packed beside records or into a page) are
//! not packed.
//!
//! ```text
//! | length u8, or u16 | classes, 4 bits each | mantissas, one after the other |
//! ```
//!
//! What is coded is the distance from the node's own id to its first neighbour, then the gaps
//! between neighbours, which are small where a placement numbered neighbours alike. A number is the
//! class that it falls into and its place within the class. Sixteen classes cover the numbers that
//! an index of so many nodes can have; they grow about twofold, so that a number costs about its
//! own bits and four. [`ListCode`] knows the classes and is all there is to know.
//!
//! Source: gap coding of sorted lists is common to inverted indexes and web graphs. Gaps of
//! proximity graphs spread evenly over all magnitudes, which no code with one parameter per list
//! suits: fixed widths, Rice, Elias-Fano and patched frames were measured and are longer
//! (`docs/decisions/0013-packed-lists.md`).

mod bits;
mod code;
#[cfg(test)]
mod tests;

pub use code::ListCode;
