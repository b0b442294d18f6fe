//! What can go wrong when a quantizer is trained or read back.

use pageway_types::Cancelled;

/// Why a quantizer could not be trained or read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum QuantError {
    /// The dimension is outside what an index accepts.
    #[error("dimension {found} is outside 1 to {limit}")]
    Dimension {
        /// Dimension asked for, or found in a codebook.
        found: usize,
        /// Largest dimension accepted.
        limit: usize,
    },
    /// More code bytes than components, or none.
    #[error(
        "a code of {code_bytes} bytes does not fit {dimension} components: use 1 to {dimension}"
    )]
    CodeBytes {
        /// Code bytes asked for, or found in a codebook.
        code_bytes: usize,
        /// Components of a vector.
        dimension: usize,
    },
    /// Too few code bytes for the factors and the least bits, or more than bits can fill.
    #[error("a code of {code_bytes} bytes cannot be made: use {smallest} to {largest}")]
    CodeLength {
        /// Code bytes asked for, or found in a codebook.
        code_bytes: usize,
        /// Least bytes of such a code.
        smallest: usize,
        /// Most bytes of such a code.
        largest: usize,
    },
    /// No centroids, or too many.
    #[error("{found} centroids are outside 1 to {limit}")]
    Centroids {
        /// Centroids asked for, or found in a codebook.
        found: u32,
        /// Most centroids.
        limit: u32,
    },
    /// The training sample is empty or not a whole number of rows.
    #[error(
        "a sample of {values} values is not a positive number of rows of {dimension} components"
    )]
    SampleLength {
        /// Values in the sample.
        values: usize,
        /// Components of a row.
        dimension: usize,
    },
    /// A squared distance within the sample is NaN or exceeds the range of `f32`.
    #[error("the sample holds NaN, infinity, or values too large to square in f32")]
    SampleRange,
    /// Training was stopped on request.
    #[error(transparent)]
    Cancelled(#[from] Cancelled),
    /// A codebook has another length than its header demands.
    #[error("codebook of {found} bytes, {expected} expected")]
    CodebookLength {
        /// Bytes the header demands; the header itself when that is cut short.
        expected: usize,
        /// Bytes found.
        found: usize,
    },
    /// A field of the codebook header holds a value this version cannot read.
    #[error("codebook field {field} holds {found}")]
    CodebookField {
        /// Name of the field, as in the format document.
        field: &'static str,
        /// Value found.
        found: u32,
    },
    /// A value of the codebook is NaN or infinite.
    #[error("codebook value {index} is not finite")]
    CodebookValue {
        /// Position counted in values behind the header: means first, then centroids.
        index: usize,
    },
}
