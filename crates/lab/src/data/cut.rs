//! A part of a data set: its first rows, its first dimensions.

use serde::{Deserialize, Serialize};

/// A part of a data set.
#[derive(
    Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default, Serialize, Deserialize,
)]
pub struct Cut {
    /// First rows; all when absent.
    pub rows: Option<u64>,
    /// First dimensions; all when absent.
    pub dimensions: Option<u32>,
}

impl Cut {
    /// The part that both leave: of each, the smaller.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self {
            rows: smaller(self.rows, other.rows),
            dimensions: smaller(self.dimensions, other.dimensions),
        }
    }

    /// How the cut is written behind the name of a set: nothing, `@300000`, `@300000x64d`, `@x64d`.
    pub(super) fn suffix(self) -> String {
        let rows = self.rows.map(|rows| rows.to_string());
        let dimensions = self.dimensions.map(|dimensions| format!("x{dimensions}d"));
        match (rows, dimensions) {
            (None, None) => String::new(),
            (rows, dimensions) => format!(
                "@{}{}",
                rows.unwrap_or_default(),
                dimensions.unwrap_or_default()
            ),
        }
    }

    /// Parses the end of a name: `300k`, `1m`, `2b`, `5000`.
    pub(super) fn of_suffix(text: &str) -> Option<Self> {
        let (digits, unit) = match text.as_bytes().last()? {
            b'k' => (text.strip_suffix('k')?, 1_000),
            b'm' => (text.strip_suffix('m')?, 1_000_000),
            b'b' => (text.strip_suffix('b')?, 1_000_000_000),
            _ => (text, 1),
        };
        if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
            return None;
        }
        let rows = digits.parse::<u64>().ok()?.checked_mul(unit)?;
        (rows > 0).then_some(Self {
            rows: Some(rows),
            dimensions: None,
        })
    }
}

fn smaller<T: Ord>(a: Option<T>, b: Option<T>) -> Option<T> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a.min(b)),
        (a, b) => a.or(b),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(rows: u64) -> Cut {
        Cut {
            rows: Some(rows),
            dimensions: None,
        }
    }

    #[test]
    fn suffixes_count_rows() {
        assert_eq!(Cut::of_suffix("300k"), Some(rows(300_000)));
        assert_eq!(Cut::of_suffix("1m"), Some(rows(1_000_000)));
        assert_eq!(Cut::of_suffix("2b"), Some(rows(2_000_000_000)));
        assert_eq!(Cut::of_suffix("5000"), Some(rows(5000)));
        for wrong in ["", "k", "0k", "1.5m", "+3k", "10g", "99999999999999999999k"] {
            assert_eq!(Cut::of_suffix(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn two_cuts_leave_the_smaller_part() {
        let both = Cut {
            rows: Some(5),
            dimensions: Some(64),
        };
        assert_eq!(rows(9).and(both), both);
        assert_eq!(both.and(rows(2)).suffix(), "@2x64d");
        assert_eq!(Cut::default().and(Cut::default()).suffix(), "");
        assert_eq!(rows(7).suffix(), "@7");
    }
}
