//! The one public error: a kind that says what the caller can do, and a sentence that says what was
//! wrong, where, and what to do about it.

use std::fmt;
use std::io;

use pageway_attributes::AttributeError;
use pageway_graph::GraphError;
use pageway_quant::QuantError;
use pageway_store::StoreError;
use pageway_types::Cancelled;

/// What went wrong, by what the caller can do about it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The request or the input data are wrong: correct them.
    InvalidInput,
    /// The index, file or directory is not there.
    NotFound,
    /// Written by a newer version, or for another purpose.
    Incompatible,
    /// Bytes on disk are not what was written: restore or rebuild.
    Corrupt,
    /// The medium or the operating system failed.
    Io,
    /// The disk or the quota is full.
    NoSpace,
    /// Another process writes this index.
    Busy,
    /// Writing was refused.
    ReadOnly,
    /// Legal, but not with this index or this build.
    Unsupported,
    /// Stopped on request; nothing was published.
    Cancelled,
    /// It took longer than it was given.
    TimedOut,
    /// The system gave less memory than was asked for, within the budget.
    OutOfMemory,
    /// A defect of the engine itself: please report it.
    Internal,
}

impl ErrorKind {
    /// Every kind, in the order of the table below.
    pub const ALL: [Self; 13] = [
        Self::InvalidInput,
        Self::NotFound,
        Self::Incompatible,
        Self::Corrupt,
        Self::Io,
        Self::NoSpace,
        Self::Busy,
        Self::ReadOnly,
        Self::Unsupported,
        Self::Cancelled,
        Self::TimedOut,
        Self::OutOfMemory,
        Self::Internal,
    ];

    /// Name, process exit code and Python exception of each kind: the one table that maps them.
    const fn row(self) -> (&'static str, u8, &'static str) {
        match self {
            Self::InvalidInput => ("invalid input", 2, "InvalidInputError"),
            Self::NotFound => ("not found", 3, "NotFoundError"),
            Self::Incompatible => ("incompatible", 4, "IncompatibleError"),
            Self::Corrupt => ("corrupt", 5, "CorruptError"),
            Self::Io => ("i/o error", 6, "StorageError"),
            Self::NoSpace => ("no space", 7, "NoSpaceError"),
            Self::Busy => ("busy", 8, "BusyError"),
            Self::ReadOnly => ("read only", 9, "ReadOnlyError"),
            Self::Unsupported => ("unsupported", 10, "UnsupportedError"),
            Self::Cancelled => ("cancelled", 130, "CancelledError"),
            Self::TimedOut => ("timed out", 11, "TimedOutError"),
            Self::OutOfMemory => ("out of memory", 12, "OutOfMemoryError"),
            Self::Internal => ("internal error", 70, "InternalError"),
        }
    }

    /// Words for messages.
    pub const fn name(self) -> &'static str {
        self.row().0
    }

    /// Exit code of the command line.
    pub const fn exit_code(self) -> u8 {
        self.row().1
    }

    /// Name of the exception class in the Python package.
    pub const fn python_exception(self) -> &'static str {
        self.row().2
    }
}

/// Memory of an open index that is too small for what was asked.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum MemoryLack {
    /// That which is set aside for searches.
    Searches,
    /// That for updates: the index does not open to be changed with less than so many bytes.
    Updates(u64),
    /// That of rows which wait to be flushed: their attributes do not fit.
    Rows,
}

/// An error of the engine.
#[derive(Debug)]
pub struct Error {
    kind: ErrorKind,
    lack: Option<MemoryLack>,
    context: String,
    source: Option<Box<dyn std::error::Error + Send + Sync>>,
}

/// Result of the public functions.
pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    /// An error of a kind with a sentence that says what, where and what to do.
    pub fn new(kind: ErrorKind, context: impl Into<String>) -> Self {
        Self {
            kind,
            lack: None,
            context: context.into(),
            source: None,
        }
    }

    /// Shorthand for the most common kind.
    pub fn invalid(context: impl Into<String>) -> Self {
        Self::new(ErrorKind::InvalidInput, context)
    }

    /// `InvalidInput` for want of memory.
    pub(crate) fn lacking(lack: MemoryLack, context: impl Into<String>) -> Self {
        Self {
            lack: Some(lack),
            ..Self::invalid(context)
        }
    }

    /// The memory that was too small, where that is what was wrong.
    pub const fn lack(&self) -> Option<MemoryLack> {
        self.lack
    }

    /// The kind.
    pub const fn kind(&self) -> ErrorKind {
        self.kind
    }

    /// The sentence.
    pub fn context(&self) -> &str {
        &self.context
    }

    /// The same error with words in front that say where it happened.
    #[must_use]
    pub fn within(mut self, place: impl fmt::Display) -> Self {
        self.context = format!("{place}: {}", self.context);
        self
    }

    /// The number of bytes that a refusal of too little memory names.
    #[cfg(test)]
    pub(crate) fn least_named(&self) -> u64 {
        let (_, rest) = self.context.split_once("smallest that works is ").unwrap();
        rest.split_once(" B").unwrap().0.parse().unwrap()
    }

    /// The error of writing something at `place`: a refusal is that of the place, not the medium.
    pub(crate) fn of_writing(place: impl fmt::Display, error: io::Error) -> Self {
        let is_refused = error.kind() == io::ErrorKind::PermissionDenied;
        let mut error = Self::from(error).within(place);
        if is_refused {
            error.kind = ErrorKind::ReadOnly;
        }
        error
    }

    /// The error of a lower module, as one of a kind.
    pub(crate) fn caused_by(
        kind: ErrorKind,
        source: impl std::error::Error + Send + Sync + 'static,
    ) -> Self {
        Self {
            kind,
            lack: None,
            context: source.to_string(),
            source: Some(Box::new(source)),
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.kind.name(), self.context)
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.source.as_ref().map(|source| source.as_ref() as _)
    }
}

impl From<Cancelled> for Error {
    fn from(_: Cancelled) -> Self {
        Self::new(
            ErrorKind::Cancelled,
            "stopped on request; nothing was published",
        )
    }
}

#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "any other kind is the medium's failure"
)]
impl From<io::Error> for Error {
    /// Vector sources speak `io::Error`; one that carries an engine error gives it back whole.
    fn from(error: io::Error) -> Self {
        match error.downcast::<Self>() {
            Ok(inner) => inner,
            Err(error) => {
                let kind = match error.kind() {
                    io::ErrorKind::NotFound => ErrorKind::NotFound,
                    io::ErrorKind::StorageFull
                    | io::ErrorKind::QuotaExceeded
                    | io::ErrorKind::FileTooLarge => ErrorKind::NoSpace,
                    io::ErrorKind::InvalidInput => ErrorKind::InvalidInput,
                    io::ErrorKind::ReadOnlyFilesystem => ErrorKind::ReadOnly,
                    io::ErrorKind::OutOfMemory => ErrorKind::OutOfMemory,
                    _ => ErrorKind::Io,
                };
                Self::caused_by(kind, error)
            }
        }
    }
}

impl From<StoreError> for Error {
    fn from(error: StoreError) -> Self {
        let kind = match &error {
            StoreError::Io { source, .. } if source.kind() == io::ErrorKind::OutOfMemory => {
                ErrorKind::OutOfMemory
            }
            StoreError::Io { source, .. } if source.kind() == io::ErrorKind::NotADirectory => {
                ErrorKind::InvalidInput
            }
            StoreError::Io { .. } => ErrorKind::Io,
            StoreError::ReadOnly { .. } | StoreError::Poisoned { .. } => ErrorKind::ReadOnly,
            StoreError::Corrupt { .. } => ErrorKind::Corrupt,
            StoreError::Incompatible { .. } => ErrorKind::Incompatible,
            StoreError::NoSpace { .. } => ErrorKind::NoSpace,
            StoreError::Busy { .. } => ErrorKind::Busy,
            StoreError::NotFound { .. } => ErrorKind::NotFound,
            StoreError::Invalid { .. } => ErrorKind::InvalidInput,
        };
        Self::caused_by(kind, error)
    }
}

#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "all others are about the input"
)]
impl From<AttributeError> for Error {
    fn from(error: AttributeError) -> Self {
        match error {
            AttributeError::Store(error) => error.into(),
            AttributeError::Corrupt(_) => Self::caused_by(ErrorKind::Corrupt, error),
            _ => Self::caused_by(ErrorKind::InvalidInput, error),
        }
    }
}

#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "all others are about the input"
)]
impl From<GraphError> for Error {
    fn from(error: GraphError) -> Self {
        match error {
            GraphError::Cancelled(stop) => stop.into(),
            GraphError::Read { source, .. } => source.into(),
            other => Self::caused_by(ErrorKind::InvalidInput, other),
        }
    }
}

#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "all others are about the input"
)]
impl From<QuantError> for Error {
    fn from(error: QuantError) -> Self {
        match error {
            QuantError::Cancelled(stop) => stop.into(),
            other => Self::caused_by(ErrorKind::InvalidInput, other),
        }
    }
}

impl From<Error> for io::Error {
    fn from(error: Error) -> Self {
        Self::other(error)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exit_codes_are_distinct_and_never_zero() {
        let mut codes: Vec<u8> = ErrorKind::ALL.iter().map(|kind| kind.exit_code()).collect();
        codes.sort_unstable();
        codes.dedup();
        assert_eq!(codes.len(), ErrorKind::ALL.len());
        assert!(!codes.contains(&0));
    }

    #[test]
    fn an_engine_error_survives_the_trip_through_io() {
        let there: io::Error = Error::new(ErrorKind::Corrupt, "row 7").into();
        let back = Error::from(there);
        assert_eq!((back.kind(), back.context()), (ErrorKind::Corrupt, "row 7"));
    }
}
