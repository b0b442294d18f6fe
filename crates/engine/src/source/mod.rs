//! Where vectors and ids come from, and files of them go: formats of the field, streamed.
//!
//! ```text
//! format   extension -> family and element type         layout   header -> where rows lie
//! file     VectorFile: rows of a file                   slice    VectorSlice: rows in memory
//! blocks   one pass, a block at a time                  check    finite, within f32, directed
//! narrowed NarrowedVectors: rounded while they are read            shape   which shapes there are
//! writer   VectorFileWriter: rows to a file             convert  formats, elements, slices
//! documents, names: what rows have beside their vectors    lines: of a text file
//! ids      user ids and the check for duplicates        npy      NumPy's header
//! ```
//!
//! Invariants: no file is held whole (buffers are about 1 MiB); a header is believed only when it
//! agrees with the size of the file; every complaint names the file and the field, row or line;
//! a file that is written appears whole or not at all. Formats, byte by byte: `docs/format/`.

mod blocks;
mod check;
mod convert;
mod documents;
mod element;
mod error;
mod exact;
mod file;
mod format;
mod ids;
mod layout;
mod lengths;
mod lines;
mod names;
mod narrowed;
mod npy;
mod output;
mod shape;
mod slice;
mod texts;
mod writer;

pub use blocks::{BLOCK_BYTES, RowBlock, RowBlocks};
pub(crate) use check::inspect_each;
pub use check::{Inspection, RowStatistics, inspect_rows};
pub(crate) use check::{kernels, sound_norms};
pub use convert::{Selection, convert};
pub(crate) use documents::{check_document, check_free, check_kinds};
pub(crate) use element::encode;
pub use error::SourceError;
pub(crate) use exact::keep_exactly;
pub use exact::{exact_element, is_below_two};
pub use file::{OpenAs, VectorFile};
pub(crate) use format::lowercase_extension;
pub use format::{FormatFamily, VectorFormat, bin_extension};
pub use ids::{IdRead, IdSlice, UNIQUE_BYTES_MIN, check_unique, open_ids};
pub(crate) use layout::{read_bin_header, read_first_prefix};
pub(crate) use lengths::Lengths;
pub use lines::{TextLines, without_mark};
pub(crate) use names::NamedRows;
pub use names::visit_names;
pub use narrowed::NarrowedVectors;
pub use npy::NpyProblem;
pub(crate) use output::OutputFile;
pub use shape::legal_shape;
pub(crate) use slice::ResidentSlice;
pub use slice::VectorSlice;
pub use texts::{TextPart, TextRead, TextSlice};
pub use writer::VectorFileWriter;

#[cfg(test)]
pub(crate) mod scratch_folder;
#[cfg(test)]
mod tests;
