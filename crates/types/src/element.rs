//! Element types and the shape of a set of vectors.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// Type of one component of a vector, little-endian wherever it is stored.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ElementType {
    /// IEEE 754 binary32.
    F32,
    /// IEEE 754 binary16.
    F16,
    /// The upper half of an IEEE 754 binary32.
    Bf16,
    /// Unsigned byte.
    U8,
    /// Signed byte.
    I8,
}

impl ElementType {
    /// All element types, for tests and help texts.
    pub const ALL: [Self; 5] = [Self::F32, Self::F16, Self::Bf16, Self::U8, Self::I8];

    /// Bytes of one component.
    pub const fn bytes(self) -> usize {
        match self {
            Self::F32 => 4,
            Self::F16 | Self::Bf16 => 2,
            Self::U8 | Self::I8 => 1,
        }
    }

    /// True for `F32`, `F16` and `Bf16`, which can hold NaN and infinities.
    pub const fn is_float(self) -> bool {
        matches!(self, Self::F32 | Self::F16 | Self::Bf16)
    }

    /// Name as written in manifests and on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::F32 => "f32",
            Self::F16 => "f16",
            Self::Bf16 => "bf16",
            Self::U8 => "u8",
            Self::I8 => "i8",
        }
    }
}

impl fmt::Display for ElementType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for ElementType {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::ALL
            .into_iter()
            .find(|element| element.name() == text)
            .ok_or_else(|| format!("unknown element type '{text}': use f32, f16, bf16, u8 or i8"))
    }
}

/// Dimension and element type: what two sets of vectors must share to be compared.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct VectorShape {
    /// Components per vector.
    pub dimension: u32,
    /// Type of a component.
    pub element: ElementType,
}

impl VectorShape {
    /// Largest dimension an index accepts.
    pub const MAX_DIMENSION: u32 = 16_384;

    /// Bytes of one vector.
    pub const fn row_bytes(self) -> usize {
        self.dimension as usize * self.element.bytes()
    }
}

impl fmt::Display for VectorShape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-d {}", self.dimension, self.element)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_parse_back_and_bytes_add_up() {
        for element in ElementType::ALL {
            assert_eq!(element.name().parse::<ElementType>(), Ok(element));
            let shape = VectorShape {
                dimension: 3,
                element,
            };
            assert_eq!(shape.row_bytes(), 3 * element.bytes());
        }
        assert!("f64".parse::<ElementType>().is_err());
    }
}
