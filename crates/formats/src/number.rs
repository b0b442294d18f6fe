//! A number of a file as an element of a vector.

use half::{bf16, f16};
use pageway::ElementType;

/// Appends a vector as elements; floats are rounded.
///
/// # Errors
/// The place of the first value that the element cannot hold.
pub(crate) fn put(
    vector: &[f64],
    element: ElementType,
    out: &mut Vec<u8>,
) -> std::result::Result<(), usize> {
    if element == ElementType::Bit {
        return put_bits(vector, out);
    }
    let refused = vector
        .iter()
        .position(|value| !put_one(*value, element, out));
    refused.map_or(Ok(()), Err)
}

/// Appends bits that are packed into bytes, the first in the highest bit.
fn put_bits(vector: &[f64], out: &mut Vec<u8>) -> std::result::Result<(), usize> {
    let is_bit = |value: &f64| *value == 0.0 || *value == 1.0;
    if let Some(place) = vector.iter().position(|value| !is_bit(value)) {
        return Err(place);
    }
    out.extend(vector.chunks(8).map(|bits| {
        let places = bits.iter().zip((0..8).rev());
        places.fold(0, |byte, (bit, place)| byte | (*bit as u8) << place)
    }));
    Ok(())
}

/// Appends `value` as an element that has bytes of its own; false when it cannot hold it.
fn put_one(value: f64, element: ElementType, out: &mut Vec<u8>) -> bool {
    match element {
        ElementType::F32 => out.extend((value as f32).to_le_bytes()),
        ElementType::F16 => out.extend(f16::from_f64(value).to_le_bytes()),
        ElementType::Bf16 => out.extend(bf16::from_f64(value).to_le_bytes()),
        ElementType::U8 if value == f64::from(value as u8) => out.push(value as u8),
        ElementType::I8 if value == f64::from(value as i8) => out.push(value as i8 as u8),
        ElementType::U8 | ElementType::I8 | ElementType::Bit => return false,
    }
    true
}

/// Elements as floats.
pub fn widen(rows: &[u8], element: ElementType) -> Vec<f32> {
    match element {
        ElementType::F32 => {
            let (words, _) = rows.as_chunks::<4>();
            words.iter().map(|word| f32::from_le_bytes(*word)).collect()
        }
        ElementType::F16 => {
            let (words, _) = rows.as_chunks::<2>();
            let halves = words.iter().map(|word| f16::from_le_bytes(*word));
            halves.map(f16::to_f32).collect()
        }
        ElementType::Bf16 => {
            let (words, _) = rows.as_chunks::<2>();
            let halves = words.iter().map(|word| bf16::from_le_bytes(*word));
            halves.map(bf16::to_f32).collect()
        }
        ElementType::U8 => rows.iter().map(|byte| f32::from(*byte)).collect(),
        ElementType::I8 => rows.iter().map(|byte| f32::from(*byte as i8)).collect(),
        ElementType::Bit => {
            let bits = |byte: &u8| {
                (0..8)
                    .rev()
                    .map(|place| f32::from(byte >> place & 1))
                    .collect()
            };
            rows.iter()
                .flat_map(|byte| -> Vec<f32> { bits(byte) })
                .collect()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_take_whole_numbers_in_range_and_floats_take_all() {
        let mut out = Vec::new();
        for value in [0.5, 256.0, -1.0, f64::NAN] {
            assert_eq!(
                put(&[7.0, value], ElementType::U8, &mut out),
                Err(1),
                "{value}"
            );
        }
        out.clear();
        assert!(put(&[128.0], ElementType::I8, &mut out).is_err());
        assert!(put(&[-128.0], ElementType::I8, &mut out).is_ok());
        assert!(put(&[255.0], ElementType::U8, &mut out).is_ok());
        assert_eq!(out, [128, 255]);
        assert!(put(&[0.1], ElementType::F32, &mut out).is_ok());
        assert!(put(&[0.1], ElementType::F16, &mut out).is_ok());
        assert_eq!(out[2..6], 0.1_f32.to_le_bytes());
        assert_eq!(out[6..], f16::from_f32(0.1).to_le_bytes());
        assert_eq!(widen(&out[..2], ElementType::I8), [-128.0, -1.0]);
        assert_eq!(widen(&out[..2], ElementType::U8), [128.0, 255.0]);
        assert_eq!(widen(&out[2..6], ElementType::F32), [0.1]);
        assert_eq!(
            widen(&out[6..], ElementType::F16),
            [f16::from_f32(0.1).to_f32()]
        );
        assert!(put(&[0.1], ElementType::Bf16, &mut out).is_ok());
        assert_eq!(
            widen(&out[8..], ElementType::Bf16),
            [bf16::from_f32(0.1).to_f32()]
        );
    }

    #[test]
    fn bits_are_packed_and_come_back() {
        let mut out = Vec::new();
        let bits = [
            1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0, 1.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0,
        ];
        assert_eq!(put(&bits, ElementType::Bit, &mut out), Ok(()));
        assert_eq!(out, [0b1000_0011, 0b0100_0000]);
        assert_eq!(widen(&out, ElementType::Bit), bits.map(|bit| bit as f32));
        assert_eq!(put(&[1.0, 2.0], ElementType::Bit, &mut out), Err(1));
    }
}
