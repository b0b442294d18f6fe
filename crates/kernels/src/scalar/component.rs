//! How one component of a vector is read and summed.

use std::ops::{Add, AddAssign, Mul, Sub};

/// An element type: its bytes, and the number type in which terms are summed.
///
/// Integers are summed in `i32`, exactly: 16,384 components of difference 255 stay below `2^31`.
pub(crate) trait Component {
    /// Bytes of one component.
    const BYTES: usize;

    /// Number type of terms and sums.
    type Value: Copy
        + Default
        + Into<f64>
        + Add<Output = Self::Value>
        + AddAssign
        + Sub<Output = Self::Value>
        + Mul<Output = Self::Value>;

    /// Reads the component that `bytes` begins with.
    fn read(bytes: &[u8]) -> Self::Value;

    /// A value without its sign.
    fn magnitude(value: Self::Value) -> Self::Value;
}

/// Marks IEEE 754 binary16 components.
pub(super) struct Half;
/// Marks components that are upper halves of IEEE 754 binary32.
pub(super) struct UpperHalf;

impl Component for f32 {
    const BYTES: usize = 4;
    type Value = f32;

    #[inline(always)]
    fn read(bytes: &[u8]) -> f32 {
        Self::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]])
    }

    #[inline(always)]
    fn magnitude(value: f32) -> f32 {
        value.abs()
    }
}

impl Component for Half {
    const BYTES: usize = 2;
    type Value = f32;

    #[inline(always)]
    fn read(bytes: &[u8]) -> f32 {
        half::f16::from_le_bytes([bytes[0], bytes[1]]).to_f32_const()
    }

    #[inline(always)]
    fn magnitude(value: f32) -> f32 {
        value.abs()
    }
}

impl Component for UpperHalf {
    const BYTES: usize = 2;
    type Value = f32;

    #[inline(always)]
    fn read(bytes: &[u8]) -> f32 {
        f32::from_le_bytes([0, 0, bytes[0], bytes[1]])
    }

    #[inline(always)]
    fn magnitude(value: f32) -> f32 {
        value.abs()
    }
}

impl Component for u8 {
    const BYTES: usize = 1;
    type Value = i32;

    #[inline(always)]
    fn read(bytes: &[u8]) -> i32 {
        i32::from(bytes[0])
    }

    #[inline(always)]
    fn magnitude(value: i32) -> i32 {
        value.abs()
    }
}

impl Component for i8 {
    const BYTES: usize = 1;
    type Value = i32;

    #[inline(always)]
    fn read(bytes: &[u8]) -> i32 {
        i32::from(bytes[0].cast_signed())
    }

    #[inline(always)]
    fn magnitude(value: i32) -> i32 {
        value.abs()
    }
}
