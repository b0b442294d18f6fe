//! What is said of a choice, and the figures in it.

use serde::Serialize;

use crate::memory::format_bytes;
use crate::spec::IndexSpec;

/// What a choice means, and what it costs.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Words {
    /// What it means, in whole sentences.
    pub meaning: String,
    /// What it costs, in whole sentences.
    pub cost: String,
}

impl Words {
    pub(in crate::spec) fn new(meaning: impl Into<String>, cost: impl Into<String>) -> Self {
        Self {
            meaning: meaning.into(),
            cost: cost.into(),
        }
    }
}

/// The index that is spoken of.
#[derive(Clone, Copy)]
pub struct Subject<'s> {
    /// What it is.
    pub spec: &'s IndexSpec,
    /// Vectors in it.
    pub nodes: u32,
}

impl Subject<'_> {
    /// Bytes of one for each vector.
    pub(in crate::spec) fn bytes_of_all(&self, each: u32) -> String {
        format_bytes(u64::from(self.nodes) * u64::from(each))
    }
}

/// A number with its thousands apart: `1,234,567`.
pub fn count(number: u64) -> String {
    let digits = number.to_string();
    let mut grouped = String::with_capacity(digits.len() + digits.len() / 3);
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

/// A share as people write it: `30 %`.
pub(in crate::spec) fn percent(share: f32) -> String {
    let digits = format!("{:.1} %", f64::from(share) * 100.0);
    digits.replace(".0 %", " %")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_lose_needless_digits() {
        assert_eq!(percent(0.3), "30 %");
        assert_eq!(percent(0.125), "12.5 %");
    }

    #[test]
    fn thousands_stand_apart() {
        assert_eq!(
            [0, 999, 1_000, 1_234_567].map(count),
            ["0", "999", "1,000", "1,234,567"]
        );
    }
}
