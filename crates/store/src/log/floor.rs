//! From where on a log is read.

use super::Lsn;

/// The last record that files other than the log hold, as the manifest says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LogFloor {
    /// Its number.
    pub lsn: Lsn,
    /// Checksum of the last group up to it, as [`LogWriter::chain`](super::LogWriter::chain) told
    /// when the log was rotated there; where it is not known, not compared.
    pub chain: Option<u32>,
}

impl From<Lsn> for LogFloor {
    fn from(lsn: Lsn) -> Self {
        Self { lsn, chain: None }
    }
}
