//! Numbers of records.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The number of a record in the log of an index. The first is 1; 0 stands for none.
#[derive(
    Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Lsn(pub u64);

impl Lsn {
    /// Before the first record.
    pub const NONE: Self = Self(0);

    /// The number of the record that comes `records` later.
    #[must_use]
    pub const fn plus(self, records: u64) -> Self {
        Self(self.0.saturating_add(records))
    }

    /// The number of the next record.
    #[must_use]
    pub const fn next(self) -> Self {
        self.plus(1)
    }

    /// The number of the record that came `records` before, or none.
    #[must_use]
    pub const fn before_by(self, records: u64) -> Self {
        Self(self.0.saturating_sub(records))
    }

    /// The number of the record before, or none.
    #[must_use]
    pub const fn before(self) -> Self {
        self.before_by(1)
    }
}

impl fmt::Display for Lsn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
