//! A number of a file as an element of a vector.

use half::{bf16, f16};
use pageway::ElementType;

/// Appends `value` as an element; false when the element cannot hold it. Floats are rounded.
pub(crate) fn put(value: f64, element: ElementType, out: &mut Vec<u8>) -> bool {
    match element {
        ElementType::F32 => out.extend((value as f32).to_le_bytes()),
        ElementType::F16 => out.extend(f16::from_f64(value).to_le_bytes()),
        ElementType::Bf16 => out.extend(bf16::from_f64(value).to_le_bytes()),
        ElementType::U8 if value == f64::from(value as u8) => out.push(value as u8),
        ElementType::I8 if value == f64::from(value as i8) => out.push(value as i8 as u8),
        ElementType::U8 | ElementType::I8 => return false,
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
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_take_whole_numbers_in_range_and_floats_take_all() {
        let mut out = Vec::new();
        for value in [0.5, 256.0, -1.0, f64::NAN] {
            assert!(!put(value, ElementType::U8, &mut out), "{value}");
        }
        assert!(!put(128.0, ElementType::I8, &mut out));
        assert!(put(-128.0, ElementType::I8, &mut out));
        assert!(put(255.0, ElementType::U8, &mut out));
        assert_eq!(out, [128, 255]);
        assert!(put(0.1, ElementType::F32, &mut out));
        assert!(put(0.1, ElementType::F16, &mut out));
        assert_eq!(out[2..6], 0.1_f32.to_le_bytes());
        assert_eq!(out[6..], f16::from_f32(0.1).to_le_bytes());
        assert_eq!(widen(&out[..2], ElementType::I8), [-128.0, -1.0]);
        assert_eq!(widen(&out[..2], ElementType::U8), [128.0, 255.0]);
        assert_eq!(widen(&out[2..6], ElementType::F32), [0.1]);
        assert_eq!(
            widen(&out[6..], ElementType::F16),
            [f16::from_f32(0.1).to_f32()]
        );
        assert!(put(0.1, ElementType::Bf16, &mut out));
        assert_eq!(
            widen(&out[8..], ElementType::Bf16),
            [bf16::from_f32(0.1).to_f32()]
        );
    }
}
