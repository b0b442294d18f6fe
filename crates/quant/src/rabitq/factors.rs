//! The three numbers beside the bits of a code, and how they are stored.
//!
//! * *add*: what the estimate begins with, in units of the sample's energy.
//! * *rescale*: `|r|^2 / <g, r>`, never negative.
//! * *error*: how long the part of `rescale * g - r` is that the estimate may err by, in units of
//!   `rescale` and of what is usual in the sample.
//!
//! ```text
//! half     add: f16 | 12 bits of rescale, an f16 without its sign and 3 bits | 4 bits of error
//! single   add: f32 | 28 bits of rescale, an f32 without its last 4 bits     | 4 bits of error
//! ```
//!
//! The units make half precision fit data of any scale. The error is one of 16 levels, rounded up,
//! so that a bound stays one; in these units it differs little from code to code.
//!
//! Measured on photo descriptors (128-d bytes): half precision costs no recall up to 3 bits per
//! axis, and 4 bytes in place of 9 save a seventh of the candidates at 16 bytes.

use std::f32::consts::{FRAC_1_SQRT_2, SQRT_2};

use half::f16;
use pageway_kernels::{half_rescale, half_value, single_rescale};

/// Precision of `add` and `rescale`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FactorWidth {
    Half,
    Single,
}

impl FactorWidth {
    /// Bytes of all three factors, at most.
    pub(super) const MOST_BYTES: usize = 8;

    /// Bytes of all three factors.
    pub(super) const fn bytes(self) -> usize {
        match self {
            Self::Half => 4,
            Self::Single => 8,
        }
    }

    /// By how much its factors are off by rounding.
    pub(super) const fn rounding(self) -> FactorRounding {
        match self {
            Self::Half => FactorRounding {
                add: ROUNDED / 1024.0,
                least_add: ROUNDED / 16_777_216.0,
                rescale: ROUNDED / 128.0,
            },
            Self::Single => FactorRounding {
                add: 0.0,
                least_add: 0.0,
                rescale: ROUNDED / 524_288.0,
            },
        }
    }
}

/// Standard deviation of what is rounded to whole numbers: the root of a twelfth.
const ROUNDED: f64 = 0.288_675;

/// Standard deviations of factors by their rounding.
#[derive(Clone, Copy, Debug)]
pub(super) struct FactorRounding {
    /// Of `add`, per value, and in units of the energy at least.
    pub(super) add: f64,
    pub(super) least_add: f64,
    /// Of `rescale`, per value.
    pub(super) rescale: f64,
}

/// The factors of one code.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Factors {
    pub(super) add: f32,
    pub(super) rescale: f32,
    /// In units of `rescale`.
    pub(super) error: f32,
}

impl Factors {
    /// Reads the factors at the head of a code; zeros where the code is cut short.
    #[inline]
    pub(super) fn read(width: FactorWidth, code: &[u8]) -> Self {
        match width {
            FactorWidth::Half => code.first_chunk().map_or_else(Self::default, |bytes| {
                let [a0, a1, r0, r1] = *bytes;
                let packed = u16::from_le_bytes([r0, r1]);
                Self {
                    add: half_value(u16::from_le_bytes([a0, a1])),
                    rescale: half_rescale(packed),
                    error: error_of(packed as u8),
                }
            }),
            FactorWidth::Single => code.first_chunk().map_or_else(Self::default, |bytes| {
                let [a0, a1, a2, a3, r0, r1, r2, r3] = *bytes;
                let packed = u32::from_le_bytes([r0, r1, r2, r3]);
                Self {
                    add: f32::from_le_bytes([a0, a1, a2, a3]),
                    rescale: single_rescale(packed),
                    error: error_of(packed as u8),
                }
            }),
        }
    }

    /// Writes the factors to the head of a code; `rescale` as [`rounded`] gave it.
    pub(super) fn write(self, width: FactorWidth, code: &mut [u8]) {
        let error = error_code(self.error);
        match width {
            FactorWidth::Half => {
                let rescale = half(self.rescale).to_bits() >> HALF_DROPPED << 4;
                let [a0, a1] = half(self.add).to_le_bytes();
                let [r0, r1] = (rescale | u16::from(error)).to_le_bytes();
                copy(&[a0, a1, r0, r1], code);
            }
            FactorWidth::Single => {
                let rescale = self.rescale.to_bits() & !ERROR_BITS;
                let [a0, a1, a2, a3] = self.add.clamp(f32::MIN, f32::MAX).to_le_bytes();
                let [r0, r1, r2, r3] = (rescale | u32::from(error)).to_le_bytes();
                copy(&[a0, a1, a2, a3, r0, r1, r2, r3], code);
            }
        }
    }
}

/// `rescale` as it will be read back, so that other factors can make up for its rounding.
pub(super) fn rounded(width: FactorWidth, rescale: f32) -> f32 {
    match width {
        FactorWidth::Half => {
            let nearest = half(rescale).to_bits() + (1 << HALF_DROPPED >> 1);
            let kept = nearest.min(f16::MAX.to_bits()) >> HALF_DROPPED << HALF_DROPPED;
            half_value(kept)
        }
        FactorWidth::Single => {
            let nearest = rescale.min(f32::MAX).to_bits() + (1 << 3);
            f32::from_bits(nearest.min(f32::MAX.to_bits()) & !ERROR_BITS)
        }
    }
}

/// Bits of a half-precision `rescale` that are not kept.
const HALF_DROPPED: u32 = 3;

/// Bits of a single-precision `rescale` that hold the error.
const ERROR_BITS: u32 = 0xf;

/// Nearest half-precision number; the largest one in place of infinity.
fn half(value: f32) -> f16 {
    f16::from_f32(value.clamp(f16::MIN.to_f32(), f16::MAX.to_f32()))
}

fn copy(bytes: &[u8], code: &mut [u8]) {
    for (out, byte) in code.iter_mut().zip(bytes) {
        *out = *byte;
    }
}

/// The errors that can be stored: zero, then steps of a quarter of an octave.
const ERRORS: [f32; 16] = [
    0.0,
    0.297_302,
    0.353_554,
    0.420_449,
    0.5,
    0.594_604,
    FRAC_1_SQRT_2,
    0.840_897,
    1.0,
    1.189_208,
    SQRT_2,
    1.681_793,
    2.0,
    2.378_415,
    2.828_428,
    3.363_586,
];

/// The least level not below `error`; the greatest for errors above all of them.
fn error_code(error: f32) -> u8 {
    let below = ERRORS.iter().filter(|level| **level < error).count();
    below.min(ERRORS.len() - 1) as u8
}

/// The error of the level in the last four bits.
#[inline]
fn error_of(code: u8) -> f32 {
    let [.., last] = ERRORS;
    ERRORS.get(usize::from(code & 0xf)).copied().unwrap_or(last)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_are_rounded_up_by_a_quarter_octave_at_most() {
        assert_eq!(
            (error_of(error_code(0.0)), error_of(error_code(1e-9))),
            (0.0, 0.297_302)
        );
        assert_eq!(error_of(error_code(f32::INFINITY)), 3.363_586);
        for step in 0..480 {
            let error = 0.3 * 1.005_f32.powi(step);
            let kept = error_of(error_code(error));
            assert!(kept >= error && kept <= 1.19 * error, "{error}: {kept}");
        }
    }

    #[test]
    fn factors_read_back_as_rounded() {
        for (width, limit) in [(FactorWidth::Half, 4e-3), (FactorWidth::Single, 1e-6)] {
            for add in [0.0, -1.0 / 3.0, 7e4, -1e30, f32::INFINITY] {
                for rescale in [0.0, 0.799, 1.0, 1.999, 123.4, 65_500.0, 1e30] {
                    let factors = Factors {
                        add,
                        rescale: rounded(width, rescale),
                        error: 0.5,
                    };
                    let mut code = vec![0xff; width.bytes()];
                    factors.write(width, &mut code);
                    let back = Factors::read(width, &code);
                    assert!(back.add.is_finite());
                    assert_eq!((back.rescale, back.error), (factors.rescale, 0.5));
                    let kept = rescale.min(if limit > 1e-3 { 65_280.0 } else { f32::MAX });
                    assert!((back.rescale - kept).abs() <= limit * kept, "{rescale}");
                    assert_eq!(Factors::read(width, &code[1..]), Factors::default());
                }
            }
        }
    }
}
