//! What can be wrong with attributes and predicates.

use pageway_store::StoreError;

/// An error of this crate.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AttributeError {
    /// A predicate or a document that cannot be: where, and what.
    #[error("{place}: {what}")]
    Invalid {
        /// The place in the tree, the column of the text, or the row.
        place: String,
        /// A sentence.
        what: String,
    },
    /// Bytes on disk that were never written so.
    #[error("{0}")]
    Corrupt(String),
    /// Files.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Result of this crate.
pub type Result<T> = std::result::Result<T, AttributeError>;

/// An [`AttributeError::Invalid`].
pub(crate) fn invalid(place: impl Into<String>, what: impl Into<String>) -> AttributeError {
    AttributeError::Invalid {
        place: place.into(),
        what: what.into(),
    }
}
