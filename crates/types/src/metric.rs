//! Metrics. In every metric a smaller distance is nearer.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::suggest::did_you_mean;

/// Names that a metric may be meant by.
const NAMES: [&str; 6] = [
    "l2",
    "euclidean",
    "inner_product",
    "ip",
    "cosine",
    "angular",
];

/// How far apart two vectors are; smaller is nearer in each of them.
///
/// | metric | distance |
/// |---|---|
/// | `L2` | squared Euclidean distance, `sum (a_i - b_i)^2` |
/// | `InnerProduct` | negated inner product, `-sum a_i b_i` |
/// | `Cosine` | `1 - <a,b> / (|a| |b|)`; a zero vector has no direction and is refused |
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Metric {
    /// Squared Euclidean distance.
    L2,
    /// Negated inner product.
    InnerProduct,
    /// One minus the cosine of the angle.
    Cosine,
}

impl Metric {
    /// Name as written in manifests and on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::L2 => "l2",
            Self::InnerProduct => "inner_product",
            Self::Cosine => "cosine",
        }
    }
}

impl fmt::Display for Metric {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Metric {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text.to_ascii_lowercase().as_str() {
            "l2" | "euclidean" | "sqeuclidean" => Ok(Self::L2),
            "ip" | "inner_product" | "inner-product" | "dot" | "mips" => Ok(Self::InnerProduct),
            "cosine" | "cos" | "angular" => Ok(Self::Cosine),
            _ => Err(format!(
                "unknown metric '{text}': use l2, inner_product or cosine{}",
                did_you_mean(text, &NAMES)
            )),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_parses_back() {
        for metric in [Metric::L2, Metric::InnerProduct, Metric::Cosine] {
            assert_eq!(metric.name().parse::<Metric>(), Ok(metric));
        }
        assert!("hamming".parse::<Metric>().is_err());
    }
}
