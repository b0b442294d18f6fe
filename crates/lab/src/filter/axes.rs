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
    /// From one share of all rows to another, which is not of it.
    Band(f64, f64),
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

    /// Those that filters which come with data fall into; of the last, no row matches.
    pub const BANDS: [Self; 5] = [
        Self::Band(0.1, 1.1),
        Self::Band(0.01, 0.1),
        Self::Band(0.001, 0.01),
        Self::Band(f64::MIN_POSITIVE, 0.001),
        Self::Band(0.0, f64::MIN_POSITIVE),
    ];

    /// Rows that match, of `rows`: at least, of a band.
    pub fn of(self, rows: u64) -> u64 {
        match self {
            Self::Share(share) | Self::Band(share, _) => (rows as f64 * share) as u64,
            Self::Rows(count) => count.min(rows),
        }
    }

    /// Whether so many of `rows` are of a band.
    pub fn holds(self, matches: u64, rows: u64) -> bool {
        let share = matches as f64 / rows.max(1) as f64;
        matches!(self, Self::Band(least, end) if (least..end).contains(&share))
    }
}

impl fmt::Display for Selectivity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Share(share) => write!(f, "{share}"),
            Self::Rows(1) => f.write_str("1 row"),
            Self::Rows(count) => write!(f, "{count} rows"),
            Self::Band(least, _) if *least <= 0.0 => f.write_str("0 rows"),
            Self::Band(least, end) if *least < 1e-9 => write!(f, "below {end}"),
            Self::Band(least, end) if *end > 1.0 => write!(f, "from {least}"),
            Self::Band(least, end) => write!(f, "{least} to {end}"),
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
    /// As they do in data that come with filters.
    Given,
}

impl Correlation {
    /// Those that are made.
    pub const ALL: [Self; 3] = [Self::Positive, Self::None, Self::Negative];

    /// Its word.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Positive => "positive",
            Self::None => "none",
            Self::Negative => "negative",
            Self::Given => "given",
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

    #[test]
    fn every_count_is_of_one_band() {
        for matches in [0, 1, 9, 10, 99, 100, 999, 1000, 9999, 10_000] {
            let own = Selectivity::BANDS.iter();
            let own = own.filter(|band| band.holds(matches, 10_000));
            assert_eq!(own.count(), 1, "{matches}");
        }
        let names = Selectivity::BANDS.map(|one| one.to_string());
        assert_eq!(
            names.join(", "),
            "from 0.1, 0.01 to 0.1, 0.001 to 0.01, below 0.001, 0 rows"
        );
        assert!(!Selectivity::Share(1.0).holds(5, 5));
    }
}
