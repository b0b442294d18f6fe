//! What a user chooses: bytes, rotation, centroids.

use pageway_types::VectorShape;

use super::allocation::MAX_BITS;
use super::factors::FactorWidth;
use super::frame::Frame;
use crate::QuantError;

/// Bytes of a matrix from which on several queries are turned at once.
const LARGE_MATRIX: usize = 1 << 18;

/// How residuals are turned before they are coded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Rotation {
    /// A random rotation; every axis gets the same number of bits, give or take one. Nothing to
    /// train, 24 bytes of memory per component.
    #[default]
    Hadamard,
    /// The principal axes of the sample; each gets bits by its variance, and axes without bits are
    /// left out. Better where variances differ, at one or two bytes of memory per component and
    /// axis kept.
    Principal,
}

/// Size and kind of a code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RaBitQSpec {
    /// Most bytes of a code. The bits follow from it.
    pub code_bytes: u32,
    /// How residuals are turned.
    pub rotation: Rotation,
    /// Centroids that residuals are taken from: 1 is the mean of the sample.
    pub centroids: u32,
    /// Seed of rotations and of k-means.
    pub seed: u64,
}

impl RaBitQSpec {
    /// Largest dimension of [`Rotation::Principal`]: its training is cubic in the dimension.
    pub const MAX_PRINCIPAL_DIMENSION: usize = 4096;

    /// Most centroids: two bytes of a code.
    pub const MAX_CENTROIDS: u32 = 1 << 16;

    /// Codes of `code_bytes` around the mean, randomly rotated.
    pub const fn new(code_bytes: u32) -> Self {
        Self {
            code_bytes,
            rotation: Rotation::Hadamard,
            centroids: 1,
            seed: 0,
        }
    }

    /// The least bytes of a code for this rotation and these centroids: a bit for every axis of a
    /// random rotation, a byte of bits on principal axes.
    pub fn smallest(&self, dimension: usize) -> usize {
        let bits = match self.rotation {
            Rotation::Hadamard => dimension,
            Rotation::Principal => 1,
        };
        FactorWidth::Half.bytes() + self.centroid_bytes() + bits.div_ceil(8)
    }

    /// The bytes beyond which a code holds nothing more: eight bits for every axis.
    pub fn largest(&self, dimension: usize) -> usize {
        FactorWidth::Single.bytes() + self.centroid_bytes() + dimension * MAX_BITS / 8
    }

    /// Checks the spec for vectors of `dimension`.
    ///
    /// # Errors
    /// A dimension out of range, fewer bytes than [`RaBitQSpec::smallest`] or more than
    /// [`RaBitQSpec::largest`], no centroid or too many.
    pub fn validate(&self, dimension: usize) -> Result<(), QuantError> {
        let limit = match self.rotation {
            Rotation::Hadamard => VectorShape::MAX_DIMENSION as usize,
            Rotation::Principal => Self::MAX_PRINCIPAL_DIMENSION,
        };
        if !(1..=limit).contains(&dimension) {
            return Err(QuantError::Dimension {
                found: dimension,
                limit,
            });
        }
        if !(1..=Self::MAX_CENTROIDS).contains(&self.centroids) {
            return Err(QuantError::Centroids {
                found: self.centroids,
                limit: Self::MAX_CENTROIDS,
            });
        }
        let (smallest, largest) = (self.smallest(dimension), self.largest(dimension));
        if !(smallest..=largest).contains(&(self.code_bytes as usize)) {
            return Err(QuantError::CodeLength {
                code_bytes: self.code_bytes as usize,
                smallest,
                largest,
            });
        }
        Ok(())
    }

    /// Bytes of a code that name its centroid.
    pub(super) fn centroid_bytes(&self) -> usize {
        match self.centroids {
            0..=1 => 0,
            2..=256 => 1,
            _ => 2,
        }
    }

    /// Values of a query before and after it is turned by a matrix, at most; none where there is no
    /// matrix, or so small a one that it stays in a cache anyway.
    pub(crate) fn turned_values(&self, dimension: usize) -> usize {
        let axes = dimension.min(self.budget(dimension).1);
        let is_large = Frame::matrix_bytes(dimension, axes) >= LARGE_MATRIX;
        match self.rotation {
            Rotation::Principal if is_large => dimension + axes,
            Rotation::Principal | Rotation::Hadamard => 0,
        }
    }

    /// How factors are stored, and the bits that are left for the axes: factors are of single
    /// precision where they leave three bits for an axis on average, for it then errs less.
    pub(super) fn budget(&self, dimension: usize) -> (FactorWidth, usize) {
        let bits_beside = |factors: FactorWidth| {
            let rest = factors.bytes() + self.centroid_bytes();
            (self.code_bytes as usize).saturating_sub(rest) * 8
        };
        let singles = bits_beside(FactorWidth::Single);
        if singles >= 3 * dimension {
            (FactorWidth::Single, singles)
        } else {
            (FactorWidth::Half, bits_beside(FactorWidth::Half))
        }
    }
}
