//! Metrics, and what codes and graphs know of them. In every metric a smaller distance is nearer.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::element::ElementType;
use crate::suggest::did_you_mean;

/// Names that a metric may be meant by.
const NAMES: [&str; 11] = [
    "l2",
    "euclidean",
    "inner_product",
    "ip",
    "cosine",
    "angular",
    "l1",
    "manhattan",
    "hamming",
    "jaccard",
    "tanimoto",
];

/// How far apart two vectors are; smaller is nearer in each of them.
///
/// | metric | distance |
/// |---|---|
/// | `L2` | squared Euclidean distance, `sum (a_i - b_i)^2` |
/// | `InnerProduct` | negated inner product, `-sum a_i b_i` |
/// | `Cosine` | `1 - <a,b> / (|a| |b|)`; a zero vector has no direction and is refused |
/// | `L1` | Manhattan distance, `sum |a_i - b_i|` |
/// | `Hamming` | how many bits differ; of bits alone |
/// | `Jaccard` | `1 - both / either`, by bits set; 0 where none is; of bits alone |
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Metric {
    /// Squared Euclidean distance.
    L2,
    /// Negated inner product.
    InnerProduct,
    /// One minus the cosine of the angle.
    Cosine,
    /// Manhattan distance.
    L1,
    /// Number of bits that differ.
    Hamming,
    /// One minus the share of the bits set in both vectors among those set in either.
    Jaccard,
}

/// A metric that codes estimate and graphs are built by.
///
/// Vectors are found by the guide of a metric, and put in order by the metric itself.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Guide {
    /// Squared Euclidean distance.
    L2,
    /// Negated inner product.
    InnerProduct,
    /// One minus the cosine of the angle.
    Cosine,
}

impl Guide {
    /// The guide as a metric of its own.
    pub const fn metric(self) -> Metric {
        match self {
            Self::L2 => Metric::L2,
            Self::InnerProduct => Metric::InnerProduct,
            Self::Cosine => Metric::Cosine,
        }
    }
}

impl fmt::Display for Guide {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.metric().fmt(f)
    }
}

impl Metric {
    /// All metrics, for tests and help texts.
    pub const ALL: [Self; 6] = [
        Self::L2,
        Self::InnerProduct,
        Self::Cosine,
        Self::L1,
        Self::Hamming,
        Self::Jaccard,
    ];

    /// The metrics that compare vectors of `element`.
    pub fn all_of(element: ElementType) -> impl Iterator<Item = Self> {
        Self::ALL
            .into_iter()
            .filter(move |metric| metric.compares(element))
    }

    /// Whether vectors of `element` have distances by this metric.
    pub const fn compares(self, element: ElementType) -> bool {
        match self {
            Self::Hamming | Self::Jaccard => matches!(element, ElementType::Bit),
            Self::L2 | Self::InnerProduct | Self::Cosine | Self::L1 => true,
        }
    }

    /// The metric that codes and graphs know in place of this one.
    pub const fn guide(self) -> Guide {
        match self {
            Self::L2 | Self::L1 | Self::Hamming | Self::Jaccard => Guide::L2,
            Self::InnerProduct => Guide::InnerProduct,
            Self::Cosine => Guide::Cosine,
        }
    }

    /// Whether the guide gives the very distances of the metric, as L2 does of bits that differ:
    /// only then estimates by codes, and their error bounds, say who is an answer.
    pub const fn is_guide(self) -> bool {
        match self {
            Self::L2 | Self::InnerProduct | Self::Cosine | Self::Hamming => true,
            Self::L1 | Self::Jaccard => false,
        }
    }

    /// Name as written in manifests and on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::L2 => "l2",
            Self::InnerProduct => "inner_product",
            Self::Cosine => "cosine",
            Self::L1 => "l1",
            Self::Hamming => "hamming",
            Self::Jaccard => "jaccard",
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
            "l1" | "manhattan" | "cityblock" => Ok(Self::L1),
            "hamming" => Ok(Self::Hamming),
            "jaccard" | "tanimoto" => Ok(Self::Jaccard),
            _ => Err(format!(
                "unknown metric '{text}': use l2, inner_product, cosine, l1, or of bits hamming or \
                 jaccard{}",
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
        for metric in Metric::ALL {
            assert_eq!(metric.name().parse::<Metric>(), Ok(metric));
            assert!(metric.is_guide() || metric.guide().metric() != metric);
        }
        assert!("minkowski".parse::<Metric>().is_err());
    }
}
