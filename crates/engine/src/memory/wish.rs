//! What the user wished: bytes, or a share of the raw vectors.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};

/// A memory wish: bytes, or a share of the raw vectors.
///
/// ```
/// use pageway::MemoryWish;
/// let raw = 128_000_000;
/// assert_eq!("10%".parse::<MemoryWish>().unwrap().resolve(raw), 12_800_000);
/// assert_eq!("200MB".parse::<MemoryWish>().unwrap().resolve(raw), 200_000_000);
/// assert_eq!("1.3x".parse::<MemoryWish>().unwrap().resolve(raw), 166_400_000);
/// assert_eq!("1GiB".parse::<MemoryWish>().unwrap().resolve(raw), 1 << 30);
/// ```
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum MemoryWish {
    /// Bytes.
    Bytes(u64),
    /// Share of the raw vectors (rows times bytes per row), 0.1 for 10 %.
    Share(f64),
}

impl MemoryWish {
    /// Bytes of the wish for a set of `raw_bytes`.
    pub fn resolve(self, raw_bytes: u64) -> u64 {
        match self {
            Self::Bytes(bytes) => bytes,
            Self::Share(share) => (raw_bytes as f64 * share).round() as u64,
        }
    }

    /// The wish as it is typed, to the last digit.
    pub fn typed(self) -> String {
        match self {
            Self::Bytes(bytes) => bytes.to_string(),
            Self::Share(share) => format!("{}%", share * 100.0),
        }
    }
}

const UNITS: [(&str, u64); 13] = [
    ("kib", 1 << 10),
    ("mib", 1 << 20),
    ("gib", 1 << 30),
    ("tib", 1 << 40),
    ("kb", 1_000),
    ("mb", 1_000_000),
    ("gb", 1_000_000_000),
    ("tb", 1_000_000_000_000),
    ("k", 1_000),
    ("m", 1_000_000),
    ("g", 1_000_000_000),
    ("t", 1_000_000_000_000),
    ("b", 1),
];

impl FromStr for MemoryWish {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let refuse = || {
            Error::invalid(format!(
                "'{text}' is not an amount of memory: write bytes (200MB, 1.5GiB, 4096) or a \
                 share of the raw vectors (10%, 1.3x)"
            ))
        };
        let lower = text.trim().to_ascii_lowercase();
        let positive = |number: &str| {
            number
                .trim()
                .parse::<f64>()
                .ok()
                .filter(|n| n.is_finite() && *n > 0.0)
        };
        if let Some(number) = lower.strip_suffix('%') {
            return positive(number)
                .map(|p| Self::Share(p / 100.0))
                .ok_or_else(refuse);
        }
        if let Some(number) = lower.strip_suffix('x') {
            return positive(number).map(Self::Share).ok_or_else(refuse);
        }
        let (number, unit) = UNITS
            .iter()
            .find_map(|(name, bytes)| Some((lower.strip_suffix(name)?, *bytes)))
            .unwrap_or((&lower, 1));
        let bytes = positive(number).ok_or_else(refuse)? * unit as f64;
        if bytes >= u64::MAX as f64 {
            Err(refuse())
        } else {
            Ok(Self::Bytes(bytes as u64))
        }
    }
}

impl fmt::Display for MemoryWish {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bytes(bytes) => f.write_str(&format_bytes(*bytes)),
            Self::Share(share) => write!(f, "{}% of the raw vectors", share * 100.0),
        }
    }
}

/// Bytes for people: `12.8 MB`. Decimal units, as disks and `--memory` use them.
pub fn format_bytes(bytes: u64) -> String {
    let named = [(1e12, "TB"), (1e9, "GB"), (1e6, "MB"), (1e3, "kB")];
    named
        .iter()
        .find(|(unit, _)| bytes as f64 >= *unit)
        .map_or_else(
            || format!("{bytes} B"),
            |(unit, name)| format!("{:.1} {name}", bytes as f64 / unit),
        )
}

/// A budget as people wrote it and to the byte: `12.8 MB (12800001 B)`.
pub(crate) fn format_budget(bytes: u64) -> String {
    if bytes < 1000 {
        return format_bytes(bytes);
    }
    format!("{} ({bytes} B)", format_bytes(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_bytes_are_said_once() {
        assert_eq!(format_budget(20), "20 B");
        assert_eq!(format_budget(1_234_567), "1.2 MB (1234567 B)");
    }

    #[test]
    fn wishes_parse() {
        for (text, bytes) in [
            ("4096", 4096),
            ("1k", 1000),
            ("2 MiB", 2 << 20),
            ("0.5gb", 500_000_000),
        ] {
            assert_eq!(
                text.parse::<MemoryWish>().unwrap().resolve(0),
                bytes,
                "{text}"
            );
        }
        assert_eq!("12.5%".parse::<MemoryWish>().unwrap().resolve(1000), 125);
        for text in [
            "",
            "-1",
            "0",
            "10 %%",
            "MB",
            "nan",
            "inf",
            "1e400",
            "12 parsecs",
        ] {
            assert!(text.parse::<MemoryWish>().is_err(), "{text}");
        }
    }
}
