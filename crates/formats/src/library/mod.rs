//! Vectors of index files of other libraries, where they lie: nothing is copied, no graph is kept.
//!
//! ```text
//! find      which library wrote a file, by its first bytes      found    what is in it
//! fields    numbers of a file, one after the other              runs     rows where they lie
//! faiss     flat, IVF-flat and HNSW-flat indexes, ID maps
//! hnswlib   saved indexes            diskann   disk indexes, and the data of memory indexes
//! ```
//!
//! Invariants: nothing is believed that the length of the file contradicts; memory is taken for
//! lists that the file holds, at most twice their bytes; rows that were deleted are left out.

mod diskann;
mod faiss;
mod fields;
mod find;
mod found;
mod hnswlib;
mod runs;

pub(crate) use find::{begin_of, find};
pub(crate) use found::Found;
pub use found::Origin;
pub(crate) use runs::{RunIds, Runs};
