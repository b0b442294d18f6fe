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
    /// 0 or 1: eight in a byte, the first in its highest bit, as `numpy.packbits` packs them.
    Bit,
}

impl ElementType {
    /// All element types, for tests and help texts.
    pub const ALL: [Self; 6] = [
        Self::F32,
        Self::F16,
        Self::Bf16,
        Self::U8,
        Self::I8,
        Self::Bit,
    ];

    /// The element types whose components have bytes of their own.
    pub const NUMBERS: [Self; 5] = [Self::F32, Self::F16, Self::Bf16, Self::U8, Self::I8];

    /// Bits of one component.
    pub const fn bits(self) -> usize {
        match self {
            Self::F32 => 32,
            Self::F16 | Self::Bf16 => 16,
            Self::U8 | Self::I8 => 8,
            Self::Bit => 1,
        }
    }

    /// Bytes of `components` that lie one after the other.
    pub const fn bytes_of(self, components: usize) -> usize {
        match self.bits() / 8 {
            0 => components.div_ceil(8 / self.bits()),
            bytes => components * bytes,
        }
    }

    /// Components in so many bytes.
    pub const fn components_in(self, bytes: usize) -> usize {
        match self.bits() / 8 {
            0 => bytes * (8 / self.bits()),
            of_one => bytes / of_one,
        }
    }

    /// True for `F32`, `F16` and `Bf16`, which can hold NaN and infinities.
    pub const fn is_float(self) -> bool {
        matches!(self, Self::F32 | Self::F16 | Self::Bf16)
    }

    /// Bit of the last byte of a float that is 0 in every number below 2 in size: the highest of
    /// its exponent.
    pub const TWO: u8 = 0x40;

    /// Whether all components of some vectors are below 2 in size; false for other types than
    /// floats.
    pub fn are_below_two(self, vectors: &[u8]) -> bool {
        if !self.is_float() {
            return false;
        }
        let bytes = self.bits() / 8;
        let mut bits = [0; 8];
        let last = bits.iter_mut().skip(bytes - 1).step_by(bytes);
        last.for_each(|last| *last = Self::TWO);
        let (words, rest) = vectors.as_chunks::<8>();
        let mut end = [0; 8];
        end.iter_mut().zip(rest).for_each(|(to, from)| *to = *from);
        let words = words.iter().chain([&end]);
        let any = words.fold(0, |any, word| any | u64::from_le_bytes(*word));
        any & u64::from_le_bytes(bits) == 0
    }

    /// Name as written in manifests and on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::F32 => "f32",
            Self::F16 => "f16",
            Self::Bf16 => "bf16",
            Self::U8 => "u8",
            Self::I8 => "i8",
            Self::Bit => "bit",
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
            .ok_or_else(|| {
                format!("unknown element type '{text}': use f32, f16, bf16, u8, i8 or bit")
            })
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
        self.element.bytes_of(self.dimension as usize)
    }

    /// Components of a vector whose bits fit into one of each of the others; 0 of other types than
    /// floats.
    pub const fn foldable(self) -> u32 {
        if !self.element.is_float() {
            return 0;
        }
        self.dimension / (self.element.bits() as u32 + 1)
    }

    /// Whether vectors of this shape can be held: 1 to [`MAX_DIMENSION`](Self::MAX_DIMENSION)
    /// components, and whole bytes of bits.
    pub const fn is_legal(self) -> bool {
        let whole = (self.dimension as usize * self.element.bits()).is_multiple_of(8);
        self.dimension >= 1 && self.dimension <= Self::MAX_DIMENSION && whole
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
                dimension: 24,
                element,
            };
            assert_eq!(shape.row_bytes() * 8, 24 * element.bits());
            assert_eq!(element.components_in(shape.row_bytes()), 24);
            assert!(shape.is_legal());
            let odd = VectorShape {
                dimension: 3,
                element,
            };
            assert_eq!(odd.is_legal(), element != ElementType::Bit);
        }
        assert!("f64".parse::<ElementType>().is_err());
    }

    #[test]
    fn numbers_below_two_are_told_and_no_others() {
        let below = [
            0.0,
            -0.0,
            1.0,
            -1.999_999_9,
            1e-30,
            -f32::MIN_POSITIVE,
            1e-44,
        ];
        let above = [2.0, -2.0, 3.5, 1e30, f32::INFINITY, f32::NAN];
        let told = |value: f32, place: usize| {
            let mut values = [0.25_f32; 19];
            values[place] = value;
            let bytes: Vec<u8> = values.iter().flat_map(|one| one.to_le_bytes()).collect();
            // The upper half of an f32 is a bf16.
            let halves: Vec<u8> = bytes.chunks(4).flat_map(|one| [one[2], one[3]]).collect();
            let float = ElementType::F32.are_below_two(&bytes);
            assert_eq!(ElementType::Bf16.are_below_two(&halves), float, "{value}");
            float
        };
        for place in [0, 1, 17, 18] {
            for value in below {
                assert!(told(value, place), "{value}");
            }
            for value in above {
                assert!(!told(value, place), "{value}");
            }
        }
        let f16 = |bits: u16| ElementType::F16.are_below_two(&bits.to_le_bytes());
        // 2 is 0x4000.
        assert!((0..=u16::MAX).all(|bits| f16(bits) == (bits & 0x7FFF < 0x4000)));
        assert!(!ElementType::U8.are_below_two(&[0; 16]));
    }

    #[test]
    fn the_others_have_room_for_what_is_folded() {
        for (element, per_component) in [(ElementType::F32, 33), (ElementType::F16, 17)] {
            for dimension in [1, 16, 17, 32, 33, 1024, 65_535] {
                let shape = VectorShape { dimension, element };
                assert_eq!(shape.foldable(), dimension / per_component);
            }
        }
        let bytes = VectorShape {
            dimension: 1024,
            element: ElementType::I8,
        };
        assert_eq!(bytes.foldable(), 0);
    }
}
