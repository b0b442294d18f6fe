//! The three numbers beside the bits of a code, and how they are stored.
//!
//! * *add*: what the estimate begins with, in units of the sample's energy.
//! * *rescale*: `|r|^2 / <g, r>`.
//! * *error*: length of `rescale * g - r`, in units of the root of the energy: what the estimate
//!   may err by, for it is the inner product of this vector and the query.
//!
//! The units make half precision fit data of any scale. The error takes one byte: 5 bits of
//! exponent and 3 of mantissa, rounded up, so that a bound stays one.

use half::f16;

/// Precision of `add` and `rescale`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FactorWidth {
    Half,
    Single,
}

impl FactorWidth {
    /// Bytes of all three factors.
    pub(super) const fn bytes(self) -> usize {
        match self {
            Self::Half => 2 + 2 + 1,
            Self::Single => 4 + 4 + 1,
        }
    }
}

/// The factors of one code.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Factors {
    pub(super) add: f32,
    pub(super) rescale: f32,
    pub(super) error: f32,
}

impl Factors {
    /// Reads the factors at the head of a code; zeros where the code is cut short.
    #[inline]
    pub(super) fn read(width: FactorWidth, code: &[u8]) -> Self {
        match width {
            FactorWidth::Half => code.first_chunk().map_or_else(Self::default, |bytes| {
                let [a0, a1, r0, r1, error] = *bytes;
                Self {
                    add: f16::from_le_bytes([a0, a1]).to_f32(),
                    rescale: f16::from_le_bytes([r0, r1]).to_f32(),
                    error: error_of(error),
                }
            }),
            FactorWidth::Single => code.first_chunk().map_or_else(Self::default, |bytes| {
                let [a0, a1, a2, a3, r0, r1, r2, r3, error] = *bytes;
                Self {
                    add: f32::from_le_bytes([a0, a1, a2, a3]),
                    rescale: f32::from_le_bytes([r0, r1, r2, r3]),
                    error: error_of(error),
                }
            }),
        }
    }

    /// Writes the factors to the head of a code.
    pub(super) fn write(self, width: FactorWidth, code: &mut [u8]) {
        let bytes = self.add_bytes(width).into_iter();
        let bytes = bytes.chain(number_bytes(width, self.rescale));
        let bytes = bytes.chain([error_code(self.error)]);
        for (out, byte) in code.iter_mut().zip(bytes) {
            *out = byte;
        }
    }

    fn add_bytes(self, width: FactorWidth) -> impl IntoIterator<Item = u8> {
        number_bytes(width, self.add)
    }
}

/// A factor as it will be read back, so that other factors can make up for its rounding.
pub(super) fn rounded(width: FactorWidth, value: f32) -> f32 {
    match width {
        FactorWidth::Half => half(value).to_f32(),
        FactorWidth::Single => value.clamp(f32::MIN, f32::MAX),
    }
}

/// Nearest half-precision number; the largest one in place of infinity.
fn half(value: f32) -> f16 {
    f16::from_f32(value.clamp(f16::MIN.to_f32(), f16::MAX.to_f32()))
}

fn number_bytes(width: FactorWidth, value: f32) -> impl Iterator<Item = u8> {
    let (bytes, length) = match width {
        FactorWidth::Half => {
            let [low, high] = half(value).to_le_bytes();
            ([low, high, 0, 0], 2)
        }
        FactorWidth::Single => (rounded(width, value).to_le_bytes(), 4),
    };
    bytes.into_iter().take(length)
}

/// Bits of an `f32` that an error drops: all but three of the mantissa.
const DROPPED_BITS: u32 = 20;

/// What is subtracted from the upper bits of an `f32`: byte 1 is 2^-24, byte 255 is 224.
const ERROR_BIAS: u32 = ((127 - 24) << 3) - 1;

/// The least byte whose error is not below `error`; the greatest for errors above all of them.
fn error_code(error: f32) -> u8 {
    if error <= 0.0 {
        return 0;
    }
    let upper = (error.to_bits() + ((1 << DROPPED_BITS) - 1)) >> DROPPED_BITS;
    upper.saturating_sub(ERROR_BIAS).clamp(1, 255) as u8
}

/// The error that a byte stands for.
#[inline]
fn error_of(code: u8) -> f32 {
    if code == 0 {
        return 0.0;
    }
    f32::from_bits((u32::from(code) + ERROR_BIAS) << DROPPED_BITS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_are_rounded_up_by_an_eighth_at_most() {
        assert_eq!(error_code(0.0), 0);
        assert_eq!(error_of(1), 2.0_f32.powi(-24));
        assert_eq!((error_of(255), error_code(f32::INFINITY)), (224.0, 255));
        for exponent in -230..70 {
            let error = 1.07_f32.powi(exponent);
            let kept = error_of(error_code(error));
            assert!(kept >= error && kept <= 1.126 * error, "{error}: {kept}");
        }
    }

    #[test]
    fn factors_read_back_as_rounded() {
        for width in [FactorWidth::Half, FactorWidth::Single] {
            for add in [0.0, -1.0 / 3.0, 7e4, -1e30, f32::INFINITY] {
                let factors = Factors {
                    add,
                    rescale: 0.8,
                    error: 0.25,
                };
                let mut code = vec![0xff; width.bytes()];
                factors.write(width, &mut code);
                let back = Factors::read(width, &code);
                assert_eq!(back.add, rounded(width, add));
                assert!(back.add.is_finite() && (back.rescale - 0.8).abs() < 1e-3);
                assert_eq!(back.error, 0.25);
                assert_eq!(Factors::read(width, &code[1..]), Factors::default());
            }
        }
    }
}
