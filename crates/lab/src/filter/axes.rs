//! The two axes of the suite.

use std::fmt;

use serde::{Serialize, Serializer};

/// How many rows match.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Selectivity {
    /// A share of all rows.
    Share(f64),
    /// So many, or all where there are fewer.
    Rows(u64),
}

impl Selectivity {
    /// Those that are measured, all rows first.
    pub const ALL: [Self; 9] = [
        Self::Share(1.0),
        Self::Share(0.5),
        Self::Share(0.1),
        Self::Share(0.05),
        Self::Share(0.01),
        Self::Share(0.001),
        Self::Rows(10),
        Self::Rows(1),
        Self::Rows(0),
    ];

    /// Rows that match, of `rows`.
    pub fn of(self, rows: u64) -> u64 {
        match self {
            Self::Share(share) => (rows as f64 * share) as u64,
            Self::Rows(count) => count.min(rows),
        }
    }
}

impl fmt::Display for Selectivity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Share(share) => write!(f, "{share}"),
            Self::Rows(1) => f.write_str("1 row"),
            Self::Rows(count) => write!(f, "{count} rows"),
        }
    }
}

impl Serialize for Selectivity {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// How the rows that match lie to the queries.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Correlation {
    /// Around the queries.
    Positive,
    /// Anywhere.
    None,
    /// Around a query far from those that are asked.
    Negative,
}

impl Correlation {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Positive, Self::None, Self::Negative];

    /// Its word.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Positive => "positive",
            Self::None => "none",
            Self::Negative => "negative",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_many_rows_match_as_are_said_and_no_more_than_there_are() {
        let counts = |rows: u64| Selectivity::ALL.map(|one| one.of(rows));
        assert_eq!(counts(80_000)[..6], [80_000, 40_000, 8000, 4000, 800, 80]);
        assert_eq!(counts(80_000)[6..], [10, 1, 0]);
        assert_eq!(counts(7), [7, 3, 0, 0, 0, 0, 7, 1, 0]);
        let names = Selectivity::ALL.map(|one| one.to_string());
        assert_eq!(
            names.join(", "),
            "1, 0.5, 0.1, 0.05, 0.01, 0.001, 10 rows, 1 row, 0 rows"
        );
    }
}
