//! Conversion of elements, a block at a time, through f32, which holds every value of the
//! element types exactly. Widening is a kernel; this file narrows.

use half::{bf16, f16};
use pageway_types::ElementType;

/// Encodes `values` into `out`, which is cleared first. Narrowing to f16 and bf16 rounds to
/// nearest; integers must be exact.
///
/// # Errors
/// The position of the first value that `element` cannot hold: not an integer or out of range for
/// u8 and i8, neither 0 nor 1 for bits, beyond 65,504 for f16, beyond 3.39e38 for bf16, or not
/// finite for either.
pub(crate) fn encode(element: ElementType, values: &[f32], out: &mut Vec<u8>) -> Result<(), usize> {
    out.clear();
    if let Some(position) = values.iter().position(|value| !fits(element, *value)) {
        return Err(position);
    }
    match element {
        ElementType::F32 => out.extend(values.iter().flat_map(|v| v.to_le_bytes())),
        ElementType::F16 => {
            out.extend(values.iter().flat_map(|v| f16::from_f32(*v).to_le_bytes()));
        }
        ElementType::Bf16 => {
            out.extend(values.iter().flat_map(|v| bf16::from_f32(*v).to_le_bytes()));
        }
        ElementType::U8 => out.extend(values.iter().map(|v| *v as u8)),
        ElementType::I8 => out.extend(values.iter().map(|v| *v as i8 as u8)),
        ElementType::Bit => out.extend(values.chunks(8).map(packed)),
    }
    Ok(())
}

/// Up to eight bits as a byte, the first the highest.
fn packed(bits: &[f32]) -> u8 {
    let places = bits.iter().zip((0..8).rev());
    places.fold(0, |byte, (bit, place)| byte | (*bit as u8) << place)
}

fn fits(element: ElementType, value: f32) -> bool {
    match element {
        ElementType::F32 => true,
        ElementType::F16 => f16::from_f32(value).is_finite(),
        ElementType::Bf16 => bf16::from_f32(value).is_finite(),
        ElementType::U8 => f32::from(value as u8) == value,
        ElementType::I8 => f32::from(value as i8) == value,
        ElementType::Bit => value == 0.0 || value == 1.0,
    }
}

#[cfg(test)]
mod tests {
    use pageway_kernels::KernelSet;

    use super::*;

    fn cast(from: ElementType, to: ElementType, bytes: &[u8]) -> Result<Vec<u8>, usize> {
        let (mut values, mut out) = (vec![0.0; from.components_in(bytes.len())], Vec::new());
        KernelSet::detect().unwrap().widen(from)(bytes, &mut values);
        encode(to, &values, &mut out).map(|()| out)
    }

    #[test]
    fn every_byte_survives_every_wider_type() {
        let all: Vec<u8> = (0..=255).collect();
        for narrow in [ElementType::U8, ElementType::I8] {
            for wide in [ElementType::F16, ElementType::Bf16, ElementType::F32] {
                let widened = cast(narrow, wide, &all).unwrap();
                assert_eq!(
                    cast(wide, narrow, &widened).unwrap(),
                    all,
                    "{narrow} {wide}"
                );
            }
        }
    }

    #[test]
    fn every_byte_of_bits_survives_every_other_type() {
        let all: Vec<u8> = (0..=255).collect();
        for wide in ElementType::ALL {
            let widened = cast(ElementType::Bit, wide, &all).unwrap();
            assert_eq!(
                cast(wide, ElementType::Bit, &widened).unwrap(),
                all,
                "{wide}"
            );
        }
        let first = cast(ElementType::Bit, ElementType::U8, &[0b1000_0001]).unwrap();
        assert_eq!(first, [1, 0, 0, 0, 0, 0, 0, 1]);
    }

    #[test]
    fn halves_survive_f32() {
        for (half, end) in [(ElementType::F16, 0x7c00_u16), (ElementType::Bf16, 0x7f80)] {
            let all: Vec<u8> = (0..end).flat_map(u16::to_le_bytes).collect();
            let widened = cast(half, ElementType::F32, &all).unwrap();
            assert_eq!(
                cast(ElementType::F32, half, &widened).unwrap(),
                all,
                "{half}"
            );
        }
    }

    #[test]
    fn what_does_not_fit_is_named_by_position() {
        let cases = [
            (ElementType::U8, vec![0.0, 255.0, 255.5], 2),
            (ElementType::U8, vec![-1.0], 0),
            (ElementType::U8, vec![7.0, f32::NAN], 1),
            (ElementType::I8, vec![-128.0, 127.0, 128.0], 2),
            (ElementType::F16, vec![65504.0, 65520.0], 1),
            (ElementType::F16, vec![f32::NEG_INFINITY], 0),
            (ElementType::Bf16, vec![1e38, 3.4e38], 1),
            (ElementType::Bf16, vec![f32::NAN], 0),
            (ElementType::Bit, vec![0.0, 1.0, -1.0], 2),
            (ElementType::Bit, vec![f32::NAN], 0),
        ];
        for (to, values, position) in cases {
            assert_eq!(
                encode(to, &values, &mut Vec::new()),
                Err(position),
                "{values:?}"
            );
        }
    }
}
