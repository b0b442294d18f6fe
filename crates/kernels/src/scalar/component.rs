//! How one component of a vector is read and summed.

use std::ops::{Add, AddAssign, Mul, Sub};

/// An element type: its bytes, and the number type in which terms are summed.
///
/// Integers are summed in `i32`, exactly: 16,384 components of difference 255 stay below `2^31`.
pub(crate) trait Component {
    /// Bits of one component.
    const BITS: usize;

    /// Number type of terms and sums.
    type Value: Copy
        + Default
        + Into<f64>
        + Add<Output = Self::Value>
        + AddAssign
        + Sub<Output = Self::Value>
        + Mul<Output = Self::Value>;

    /// Reads component `at` of those in `bytes`.
    fn read(bytes: &[u8], at: usize) -> Self::Value;

    /// A value without its sign.
    fn magnitude(value: Self::Value) -> Self::Value;
}

/// Marks IEEE 754 binary16 components.
pub(super) struct Half;
/// Marks components that are upper halves of IEEE 754 binary32.
pub(super) struct UpperHalf;
/// Marks components that are single bits, the first in the highest of a byte.
pub(crate) struct Bit;

impl Component for f32 {
    const BITS: usize = 32;
    type Value = f32;

    #[inline(always)]
    fn read(bytes: &[u8], at: usize) -> f32 {
        let bytes = &bytes[at * 4..][..4];
        Self::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]])
    }

    #[inline(always)]
    fn magnitude(value: f32) -> f32 {
        value.abs()
    }
}

impl Component for Half {
    const BITS: usize = 16;
    type Value = f32;

    #[inline(always)]
    fn read(bytes: &[u8], at: usize) -> f32 {
        let bytes = &bytes[at * 2..][..2];
        half::f16::from_le_bytes([bytes[0], bytes[1]]).to_f32_const()
    }

    #[inline(always)]
    fn magnitude(value: f32) -> f32 {
        value.abs()
    }
}

impl Component for UpperHalf {
    const BITS: usize = 16;
    type Value = f32;

    #[inline(always)]
    fn read(bytes: &[u8], at: usize) -> f32 {
        let bytes = &bytes[at * 2..][..2];
        f32::from_le_bytes([0, 0, bytes[0], bytes[1]])
    }

    #[inline(always)]
    fn magnitude(value: f32) -> f32 {
        value.abs()
    }
}

impl Component for u8 {
    const BITS: usize = 8;
    type Value = i32;

    #[inline(always)]
    fn read(bytes: &[u8], at: usize) -> i32 {
        i32::from(bytes[at])
    }

    #[inline(always)]
    fn magnitude(value: i32) -> i32 {
        value.abs()
    }
}

impl Component for i8 {
    const BITS: usize = 8;
    type Value = i32;

    #[inline(always)]
    fn read(bytes: &[u8], at: usize) -> i32 {
        i32::from(bytes[at].cast_signed())
    }

    #[inline(always)]
    fn magnitude(value: i32) -> i32 {
        value.abs()
    }
}

impl Component for Bit {
    const BITS: usize = 1;
    type Value = i32;

    #[inline(always)]
    fn read(bytes: &[u8], at: usize) -> i32 {
        i32::from(bytes[at / 8] >> (7 - at % 8) & 1)
    }

    #[inline(always)]
    fn magnitude(value: i32) -> i32 {
        value.abs()
    }
}
