//! The published systems, one row each. A preset is data: a function from a shape and sizes to an
//! [`IndexSpec`].

mod diskann;

use std::fmt;
use std::str::FromStr;

use crate::error::{Error, Result};
use crate::spec::{IndexSpec, Shape};

/// A named row of the table of designs.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Preset {
    /// DiskANN (Subramanya et al., NeurIPS 2019).
    DiskAnn,
}

/// The numbers a preset leaves open.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Sizes {
    /// Longest adjacency list (R).
    pub max_degree: u32,
    /// Candidate list size while building (L).
    pub build_list: u32,
    /// Slack of the prune rule, on squared distances.
    pub alpha: f32,
    /// Bytes per code.
    pub code_bytes: u32,
    /// Bytes of a page.
    pub page_bytes: u32,
    /// Reads per round (W).
    pub beam: u32,
    /// True when the user gives ids of their own.
    pub user_ids: bool,
    /// Seed of every random choice.
    pub seed: u64,
}

impl Default for Sizes {
    fn default() -> Self {
        Self {
            max_degree: 48,
            build_list: 100,
            alpha: 1.2,
            code_bytes: 16,
            page_bytes: 4096,
            beam: 4,
            user_ids: false,
            seed: 42,
        }
    }
}

impl Preset {
    /// All presets.
    pub const ALL: [Self; 1] = [Self::DiskAnn];

    /// Name on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::DiskAnn => "diskann",
        }
    }

    /// What the design is, in a sentence or two.
    pub const fn summary(self) -> &'static str {
        match self {
            Self::DiskAnn => diskann::SUMMARY,
        }
    }

    /// The row.
    pub fn spec(self, shape: Shape, sizes: &Sizes) -> IndexSpec {
        match self {
            Self::DiskAnn => diskann::spec(shape, sizes),
        }
    }
}

impl fmt::Display for Preset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Preset {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        Self::ALL
            .into_iter()
            .find(|preset| preset.name() == text)
            .ok_or_else(|| {
                let names: Vec<&str> = Self::ALL.iter().map(|preset| preset.name()).collect();
                Error::invalid(format!(
                    "unknown preset '{text}': there is {}",
                    names.join(", ")
                ))
            })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_parse_back() {
        for preset in Preset::ALL {
            assert_eq!(preset.name().parse::<Preset>().unwrap(), preset);
        }
        assert!(
            "hnsw"
                .parse::<Preset>()
                .unwrap_err()
                .context()
                .contains("diskann")
        );
    }
}
