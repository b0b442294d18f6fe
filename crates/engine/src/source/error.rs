//! What can be wrong with a file of vectors or ids. Each sentence names the file, the field or
//! row, and the way out.

use pageway_types::{ElementType, VectorShape};

use super::npy::NpyProblem;
use crate::error::{Error, ErrorKind};

/// A file of vectors or ids that cannot be used, or a wish that the file cannot meet.
#[derive(Clone, PartialEq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SourceError {
    /// The extension names no format.
    #[error("{file}: unknown extension; the known ones are {known}")]
    UnknownExtension {
        /// The file.
        file: String,
        /// The extensions that would do.
        known: String,
    },
    /// `.bin` and `.npy` fit several element types.
    #[error(
        "{file}: a .bin file does not say what its elements are; name f32, f16, bf16, u8, i8 or bit"
    )]
    ElementNeeded {
        /// The file.
        file: String,
    },
    /// The file holds bits, which are not taken as numbers.
    #[error("{file}: holds {stated}, but {asked} was asked for; drop the wish or convert the file")]
    ElementMismatch {
        /// The file.
        file: String,
        /// Element type by header or extension.
        stated: ElementType,
        /// Element type that was asked for.
        asked: ElementType,
    },
    /// A file to be written whose extension stands for another element type.
    #[error("{file}: the extension stands for {stated}, {asked} was asked for; choose another one")]
    ExtensionMismatch {
        /// The file.
        file: String,
        /// Element type of the extension.
        stated: ElementType,
        /// Element type that was asked for.
        asked: ElementType,
    },
    /// `.ibin` and `.ivecs` carry ids, not vectors.
    #[error("{file}: .ibin and .ivecs hold ids or truth, not vectors; vectors come from {known}")]
    HoldsIds {
        /// The file.
        file: String,
        /// The extensions that would do.
        known: String,
    },
    /// The file ends inside its header.
    #[error(
        "{file}: the {field} needs {expected_bytes} bytes, the file has {found_bytes}: it is cut off"
    )]
    HeaderCut {
        /// The file.
        file: String,
        /// The part of the header that is cut.
        field: &'static str,
        /// Bytes up to the end of that part.
        expected_bytes: u64,
        /// Bytes of the file.
        found_bytes: u64,
    },
    /// Header and file size disagree.
    #[error(
        "{file}: the header says {stated}, which takes {expected_bytes} bytes, but the file has \
         {found_bytes}: it is {}",
        if found_bytes < expected_bytes { "truncated" } else { "longer than its header says" }
    )]
    SizeMismatch {
        /// The file.
        file: String,
        /// What the header says, in words.
        stated: String,
        /// Bytes the file should have.
        expected_bytes: u64,
        /// Bytes the file has.
        found_bytes: u64,
    },
    /// Count and dimension multiply to more than any file can hold.
    #[error("{file}: the header says {stated}, which is more than any file can hold")]
    Overflow {
        /// The file.
        file: String,
        /// What the header says, in words.
        stated: String,
    },
    /// Dimension 0, negative or too large.
    #[error(
        "{file}: dimension {found} in the header; it must be 1 to {}",
        VectorShape::MAX_DIMENSION
    )]
    Dimension {
        /// The file.
        file: String,
        /// The dimension in the header.
        found: i64,
    },
    /// Bits that do not fill their last byte.
    #[error(
        "{file}: dimension {dimension} of bits; they come in whole bytes, so that it must be a \
         multiple of 8, such as {}: pad the vectors with zeros",
        dimension.next_multiple_of(8)
    )]
    PartialByte {
        /// The file.
        file: String,
        /// Bits of a vector.
        dimension: u32,
    },
    /// No rows at all.
    #[error("{file}: holds no rows")]
    Empty {
        /// The file.
        file: String,
    },
    /// A row of the vecs family with another dimension than the first.
    #[error("{file}: row {row} has dimension {found}, the rows before it have {expected}")]
    RowDimension {
        /// The file.
        file: String,
        /// The row.
        row: u64,
        /// Dimension of row 0.
        expected: u32,
        /// Dimension of this row.
        found: i32,
    },
    /// A `.npy` file that is damaged or holds an array of the wrong kind.
    #[error("{file}: {problem}")]
    Npy {
        /// The file.
        file: String,
        /// What is wrong, with the way to convert.
        problem: NpyProblem,
    },
    /// Rows or components outside of the set.
    #[error("{name}: {what} {first}..{end} are outside of 0..{count}")]
    Range {
        /// The file or array.
        name: String,
        /// `rows` or `dimensions`.
        what: &'static str,
        /// First wanted.
        first: u64,
        /// One past the last wanted.
        end: u64,
        /// How many there are.
        count: u64,
    },
    /// Bytes that are no whole number of rows.
    #[error("{name}: {bytes} bytes are not a whole number of rows of {row_bytes} bytes")]
    PartialRow {
        /// The file or array.
        name: String,
        /// Bytes given.
        bytes: usize,
        /// Bytes of a row.
        row_bytes: usize,
    },
    /// NaN or infinity.
    #[error("{name}: row {row}, component {component} is {value}: vectors must be finite")]
    NotFinite {
        /// The file or array.
        name: String,
        /// The row.
        row: u64,
        /// The component.
        component: usize,
        /// The value.
        value: f32,
    },
    /// A zero vector has no direction.
    #[error("{name}: row {row} has length zero, so it has no direction and no cosine; remove it")]
    ZeroVector {
        /// The file or array.
        name: String,
        /// The row.
        row: u64,
    },
    /// Squares of this vector lose their digits.
    #[error(
        "{name}: row {row} is so short that f32 loses its direction; scale the vectors up, which \
         changes no cosine"
    )]
    NormUnderflow {
        /// The file or array.
        name: String,
        /// The row.
        row: u64,
    },
    /// Distances to this vector would not fit f32.
    #[error(
        "{name}: row {row} is so long that squared distances to it overflow f32; scale the vectors \
         down"
    )]
    NormOverflow {
        /// The file or array.
        name: String,
        /// The row.
        row: u64,
    },
    /// A value the target element type cannot hold.
    #[error("{name}: row {row}, component {component} is {value}, which {element} cannot hold")]
    NotRepresentable {
        /// The file or array.
        name: String,
        /// The row.
        row: u64,
        /// The component.
        component: usize,
        /// The value.
        value: f32,
        /// The element type of the target.
        element: ElementType,
    },
    /// A number that is too large for the floats of memory.
    #[error("{name}: row {row}, component {component} is {value:e}, which f32 cannot hold")]
    TooLarge {
        /// The file.
        name: String,
        /// The row.
        row: u64,
        /// The component.
        component: usize,
        /// The value.
        value: f64,
    },
    /// The format counts rows in 32 bits.
    #[error(
        "{file}: {rows} rows; this format counts at most {}: write .npy or .fvecs",
        u32::MAX
    )]
    TooManyRows {
        /// The file.
        file: String,
        /// The rows.
        rows: u64,
    },
    /// The disk cannot take the file.
    #[error("{file}: needs {needed_bytes} bytes of disk, {free_bytes} are free")]
    DiskFull {
        /// The file.
        file: String,
        /// Bytes to be written.
        needed_bytes: u64,
        /// Bytes free.
        free_bytes: u64,
    },
    /// An id below zero.
    #[error("{file}: row {row} has id {value}: ids must not be negative")]
    NegativeId {
        /// The file.
        file: String,
        /// The row.
        row: u64,
        /// The id.
        value: i64,
    },
    /// A line that is not one decimal number.
    #[error("{file}: line {line} is not one decimal id between 0 and {}", u64::MAX - 1)]
    BadLine {
        /// The file.
        file: String,
        /// The line, from 1.
        line: u64,
    },
    /// Ids come one per row.
    #[error("{file}: {found} ids per row in the header; a file of ids has one per row")]
    NotOnePerRow {
        /// The file.
        file: String,
        /// What the header says.
        found: u64,
    },
    /// The id that answers hold where fewer than k were found.
    #[error(
        "{name}: row {row} has id {}, which stands for 'none' in answers",
        u64::MAX
    )]
    ReservedId {
        /// The file or array.
        name: String,
        /// The row.
        row: u64,
    },
    /// Two rows with one id.
    #[error("{name}: id {id} appears in row {first_row} and again in row {second_row}")]
    DuplicateId {
        /// The file or array.
        name: String,
        /// The id.
        id: u64,
        /// Row of its first appearance.
        first_row: u64,
        /// Row of its second appearance.
        second_row: u64,
    },
}

impl SourceError {
    /// With `others` among the extensions that would do: those of formats that the caller reads.
    pub fn with_known(mut self, others: &str) -> Self {
        if let Self::UnknownExtension { known, .. } | Self::HoldsIds { known, .. } = &mut self {
            known.push(' ');
            known.push_str(others);
        }
        self
    }
}

impl From<SourceError> for Error {
    fn from(error: SourceError) -> Self {
        let full = matches!(error, SourceError::DiskFull { .. });
        let kind = if full {
            ErrorKind::NoSpace
        } else {
            ErrorKind::InvalidInput
        };
        Self::new(kind, error.to_string())
    }
}
