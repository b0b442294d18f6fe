//! The published systems and our own design, one row each. A preset is data: a function from a
//! shape and sizes to an [`IndexSpec`], or several, of which the first that memory holds is taken.
//! `choices` has what can take the place of a preset's own, policy by policy.

mod aisaq;
pub mod choices;
mod dgai;
mod diskann;
mod freshdiskann;
mod gorgeous;
mod ipdiskann;
mod odinann;
mod pageann;
mod pageway;
mod pipeann;
mod starling;

use std::fmt;
use std::str::FromStr;

use pageway_types::did_you_mean;

use crate::error::{Error, Result};
use crate::spec::{
    CodeStorage, IdStorage, IndexSpec, QuantizerSpec, Shape, StorageSpec, VectorStorage,
};

pub use crate::spec::Sizes;

/// A named row of the table of designs.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
#[non_exhaustive]
pub enum Preset {
    /// DiskANN (Subramanya et al., NeurIPS 2019).
    DiskAnn,
    /// AiSAQ (Tatsuno et al., 2024).
    AiSaq,
    /// Starling (Wang et al., SIGMOD 2024).
    Starling,
    /// Gorgeous (Yin et al., 2025).
    Gorgeous,
    /// PageANN (Kang et al., 2025), codes in memory as far as the budget goes.
    PageAnn,
    /// PageANN with every code in its pages.
    PageAnnDisk,
    /// PipeANN (Guo and Lu, OSDI 2025).
    PipeAnn,
    /// DGAI (Lou et al., 2025).
    Dgai,
    /// FreshDiskANN (Singh et al., 2021).
    FreshDiskAnn,
    /// OdinANN (Guo and Lu, FAST 2026).
    OdinAnn,
    /// IP-DiskANN (Xu et al., 2025).
    IpDiskAnn,
    /// Our own, and what is built unless another is named: what can be decided in memory is, and
    /// the rest is read in one round.
    #[default]
    Pageway,
}

impl Sizes {
    fn storage(&self, vectors: VectorStorage, codes: CodeStorage) -> StorageSpec {
        StorageSpec {
            vectors,
            codes,
            quantizer: QuantizerSpec::Pq {
                code_bytes: self.code_bytes,
            },
            second_quantizer: None,
            ids: if self.user_ids {
                IdStorage::InRecord
            } else {
                IdStorage::RowNumber
            },
            ids_in_memory: false,
        }
    }
}

/// What a preset is: its name, a sentence, its row.
struct Row {
    name: &'static str,
    summary: &'static str,
    form: Form,
    /// For memory that does not hold `form`: the first that it does hold is taken.
    smaller: &'static [Form],
}

/// A design, and what decides between it and the next.
#[derive(Clone, Copy)]
pub(crate) struct Form {
    /// What it is called; of several with one name the first that memory holds is taken. Empty
    /// where a preset has one form.
    pub(crate) name: &'static str,
    /// The design.
    pub(crate) spec: fn(Shape, &Sizes) -> IndexSpec,
    /// Whether adjacency lists come before longer codes when memory is divided.
    pub(crate) lists_first: bool,
    /// Shortest code that this form is good with, in bits per component.
    pub(crate) least_bits: f32,
}

impl Form {
    /// A form that takes whatever memory there is for its codes.
    const fn new(spec: fn(Shape, &Sizes) -> IndexSpec) -> Self {
        Self {
            name: "",
            spec,
            lists_first: false,
            least_bits: 0.0,
        }
    }
}

impl Preset {
    /// All presets.
    pub const ALL: [Self; 12] = [
        Self::DiskAnn,
        Self::AiSaq,
        Self::Starling,
        Self::Gorgeous,
        Self::PageAnn,
        Self::PageAnnDisk,
        Self::PipeAnn,
        Self::Dgai,
        Self::FreshDiskAnn,
        Self::OdinAnn,
        Self::IpDiskAnn,
        Self::Pageway,
    ];

    const fn row(self) -> &'static Row {
        match self {
            Self::DiskAnn => &diskann::ROW,
            Self::AiSaq => &aisaq::ROW,
            Self::Starling => &starling::ROW,
            Self::Gorgeous => &gorgeous::ROW,
            Self::PageAnn => &pageann::ROW,
            Self::PageAnnDisk => &pageann::DISK_ROW,
            Self::PipeAnn => &pipeann::ROW,
            Self::Dgai => &dgai::ROW,
            Self::FreshDiskAnn => &freshdiskann::ROW,
            Self::OdinAnn => &odinann::ROW,
            Self::IpDiskAnn => &ipdiskann::ROW,
            Self::Pageway => &pageway::ROW,
        }
    }

    /// Name on the command line.
    pub const fn name(self) -> &'static str {
        self.row().name
    }

    /// What the design is, in a sentence or two.
    pub const fn summary(self) -> &'static str {
        self.row().summary
    }

    /// The design, for as much memory as it likes best.
    pub fn spec(self, shape: Shape, sizes: &Sizes) -> IndexSpec {
        (self.row().form.spec)(shape, sizes)
    }

    /// The least that a form of that name can be, where there is one.
    pub fn spec_of(self, form: &str, shape: Shape, sizes: &Sizes) -> Option<IndexSpec> {
        let named = self.forms().filter(|one| one.name == form);
        named.last().map(|form| (form.spec)(shape, sizes))
    }

    /// Its forms, that for most memory first.
    pub(crate) fn forms(self) -> impl Iterator<Item = &'static Form> {
        let row = self.row();
        std::iter::once(&row.form).chain(row.smaller)
    }

    /// Names of its forms, that for most memory first; none where it has one form.
    pub fn form_names(self) -> Vec<&'static str> {
        let mut names: Vec<&str> = Vec::new();
        for form in self.forms() {
            if !form.name.is_empty() && !names.contains(&form.name) {
                names.push(form.name);
            }
        }
        names
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
                    "unknown preset '{text}': there is {}{}",
                    names.join(", "),
                    did_you_mean(text, &names)
                ))
            })
    }
}

#[cfg(test)]
mod tests {
    use pageway_types::{ElementType, Metric};

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

    #[test]
    fn lists_are_kept_where_the_design_says_so_and_they_can_be() {
        let shape = Shape {
            dimension: 16,
            element: ElementType::F32,
            metric: Metric::L2,
        };
        for preset in Preset::ALL {
            let mut spec = preset.spec(shape, &Sizes::default());
            let overwrites = [Preset::Dgai, Preset::IpDiskAnn].contains(&preset);
            let keeps = [Preset::FreshDiskAnn, Preset::OdinAnn, Preset::IpDiskAnn];
            assert_eq!(spec.keeps_lists(), keeps.contains(&preset));
            let patches = overwrites || preset == Preset::OdinAnn;
            assert_eq!(spec.patches_pages(), patches);
            assert_eq!(spec.overwrites_pages(), overwrites);
            spec.layout.placement = crate::spec::PlacementSpec::Clustered;
            assert!(!spec.keeps_lists());
        }
    }

    #[test]
    fn every_row_is_legal_for_every_shape() {
        for preset in Preset::ALL {
            for element in ElementType::ALL {
                for metric in Metric::all_of(element) {
                    for dimension in [8, 16, 128, 960, 3072] {
                        let shape = Shape {
                            dimension,
                            element,
                            metric,
                        };
                        let sizes = Sizes {
                            code_bytes: 1,
                            ..Sizes::default()
                        };
                        assert_eq!(preset.spec(shape, &sizes).validate(), Ok(()), "{preset}");
                    }
                }
            }
        }
    }
}
