//! How vectors are compressed.

use serde::{Deserialize, Serialize};

use super::VectorStorage;
use crate::spec::Sizes;
use crate::spec::policy::{Choice, Subject, Words};
use crate::spec::range::within;
use crate::spec::validate::{Checked, refuse_if};

/// How vectors are compressed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
#[non_exhaustive]
pub enum QuantizerSpec {
    /// Product quantization, one byte per sub-space.
    Pq {
        /// Bytes per code, which is the number of sub-spaces.
        code_bytes: u32,
    },
    /// Extended `RaBitQ`: some bits per component, an unbiased estimate, and bounds of its error.
    #[serde(rename = "rabitq")]
    RaBitQ {
        /// Bytes per code.
        code_bytes: u32,
        /// What is done to vectors before.
        rotation: RotationSpec,
    },
}

/// What is done to vectors before they are coded bit by bit.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum RotationSpec {
    /// A random rotation: every component gets the same number of bits.
    Hadamard,
    /// Rotation to the principal axes of the data: bits go where the variance is.
    Principal,
}

/// How vectors are compressed; bytes per code follow from memory.
pub const QUANTIZERS: [QuantizerSpec; 2] = [
    QuantizerSpec::Pq { code_bytes: 0 },
    QuantizerSpec::RaBitQ {
        code_bytes: 0,
        rotation: RotationSpec::Principal,
    },
];

/// Bytes of the factors of a code, at most.
const FACTOR_BYTES: u32 = 16;

/// Largest dimension whose principal axes are looked for: the time for it grows with its cube.
pub(crate) const MAX_PRINCIPAL_DIMENSION: u32 = 4096;

impl QuantizerSpec {
    /// Bytes per code.
    pub const fn code_bytes(self) -> u32 {
        match self {
            Self::Pq { code_bytes } | Self::RaBitQ { code_bytes, .. } => code_bytes,
        }
    }

    /// The same kind of code at another length.
    #[must_use]
    pub const fn with_code_bytes(self, code_bytes: u32) -> Self {
        match self {
            Self::Pq { .. } => Self::Pq { code_bytes },
            Self::RaBitQ { rotation, .. } => Self::RaBitQ {
                code_bytes,
                rotation,
            },
        }
    }

    /// Whether a code says by how much its estimates may be off.
    pub const fn has_bounds(self) -> bool {
        matches!(self, Self::RaBitQ { .. })
    }

    /// The second code of so many bytes for vectors that live there: a fine one, with error bounds,
    /// where records hold it. None of no bytes.
    pub fn second(vectors: Option<VectorStorage>, code_bytes: u32) -> Option<Self> {
        let fine = Self::RaBitQ {
            code_bytes,
            rotation: RotationSpec::Principal,
        };
        let is_coded = vectors.is_some_and(VectorStorage::is_coded);
        let second = if is_coded {
            fine
        } else {
            Self::Pq { code_bytes }
        };
        (code_bytes > 0).then_some(second)
    }

    /// The same code without axes that vectors have to show.
    pub(super) const fn rotated_at_random(self) -> Self {
        match self {
            Self::Pq { .. } => self,
            Self::RaBitQ { code_bytes, .. } => Self::RaBitQ {
                code_bytes,
                rotation: RotationSpec::Hadamard,
            },
        }
    }

    pub(in crate::spec) fn validate(self, field: &'static str, dimension: u32) -> Checked {
        let principal = matches!(
            self,
            Self::RaBitQ {
                rotation: RotationSpec::Principal,
                ..
            }
        );
        refuse_if(
            principal && dimension > MAX_PRINCIPAL_DIMENSION,
            "rotation",
            "principal",
            "finding the axes of more than 4096 components takes too long; choose rotation hadamard",
        )?;
        let most = match self {
            Self::Pq { .. } => dimension,
            // Eight bits per component.
            Self::RaBitQ { .. } => dimension.next_multiple_of(64) + FACTOR_BYTES,
        };
        within(field, self.code_bytes(), 1, most)
    }
}

impl Choice for QuantizerSpec {
    const ABOUT: &str = "How vectors are compressed: pq, or rabitq[:rotation=principal|hadamard] \
                         with error bounds";

    fn known(_: &Sizes) -> Vec<Self> {
        QUANTIZERS.to_vec()
    }

    fn words(self, of: &Subject<'_>) -> Words {
        let dimension = of.spec.shape.dimension;
        match self {
            Self::Pq { code_bytes } => Words::new(
                format!(
                    "Product quantization: the {dimension} components are cut into {code_bytes} \
                     parts, and each part becomes one byte. Codes say which neighbours are worth a \
                     read; they never decide an answer."
                ),
                "A codebook in memory: 1 KiB per component.",
            ),
            Self::RaBitQ {
                code_bytes,
                rotation,
            } => Words::new(
                format!(
                    "Extended RaBitQ: the {dimension} components are {}, {code_bytes} bytes in \
                     all. A code estimates a distance without bias, and says by how much it may be \
                     off.",
                    rotation.words()
                ),
                "In memory the axes that have bits: 4 bytes per component and axis.",
            ),
        }
    }
}

impl RotationSpec {
    const fn words(self) -> &'static str {
        match self {
            Self::Hadamard => "rotated at random, and each component gets equal bits",
            Self::Principal => {
                "rotated to the principal axes of the data, and bits go where the variance is"
            }
        }
    }
}

/// What is said of the length of a code.
pub(in crate::spec) fn length_words(_: u32, _: &Subject<'_>) -> Words {
    Words::new(
        "Unless it is given, as long as the memory budget allows.",
        "A shorter code misleads more often: more reads for the same recall.",
    )
}

/// What is said of a second code.
pub(in crate::spec) fn second_words(second: QuantizerSpec, of: &Subject<'_>) -> Words {
    let bytes = second.code_bytes();
    Words::new(
        "A second code cuts the components differently, so that it errs differently: both together \
         choose what is read in the end.",
        format!(
            "{bytes} bytes of memory per vector, {} in all.",
            of.bytes_of_all(bytes)
        ),
    )
}
