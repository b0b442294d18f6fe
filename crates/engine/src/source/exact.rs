//! Whether every value of a set of vectors is kept by a narrower float type, or is below 2.

use half::f16;
use pageway_types::{ElementType, NoProgress, Progress, VectorRead, VectorShape};

use super::blocks::{BLOCK_BYTES, RowBlocks};
use super::slice::VectorSlice;
use crate::error::Error;

/// The element type that keeps every value of `vectors` in the fewest bytes: `F16` for `F32` rows
/// that f16 holds exactly, and else their own.
///
/// Reads rows until one is not kept, so all of a set whose values are. Holds 1 MiB.
///
/// # Errors
/// What the source reports; `Cancelled`.
pub fn exact_element(
    vectors: &dyn VectorRead,
    progress: &dyn Progress,
) -> Result<ElementType, Error> {
    let own = vectors.shape().element;
    if own != ElementType::F32 {
        return Ok(own);
    }
    let mut blocks = RowBlocks::new(vectors, 0..vectors.count(), BLOCK_BYTES);
    while let Some(block) = blocks.next_block()? {
        progress.check()?;
        let (values, _) = block.rows.as_chunks();
        if !values
            .iter()
            .all(|value| is_half(f32::from_le_bytes(*value)))
        {
            return Ok(own);
        }
    }
    Ok(ElementType::F16)
}

/// Whether every component of `vectors` is below 2 in size, so that vectors may be folded; false
/// for other types than floats.
///
/// Reads rows until one is not, so all of a set whose components are. Holds 1 MiB.
///
/// # Errors
/// What the source reports; `Cancelled`.
pub fn is_below_two(vectors: &dyn VectorRead, progress: &dyn Progress) -> Result<bool, Error> {
    let element = vectors.shape().element;
    if !element.is_float() {
        return Ok(false);
    }
    let mut blocks = RowBlocks::new(vectors, 0..vectors.count(), BLOCK_BYTES);
    while let Some(block) = blocks.next_block()? {
        progress.check()?;
        if !element.are_below_two(block.rows) {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Rows in memory in the element type that keeps them in the fewest bytes, as [`exact_element`]
/// tells it, in the room that they have.
///
/// # Errors
/// As that.
pub(crate) fn keep_exactly(
    mut rows: Vec<u8>,
    mut shape: VectorShape,
) -> Result<(Vec<u8>, VectorShape), Error> {
    let element = exact_element(&VectorSlice::new(&rows, shape)?, &NoProgress)?;
    if element == shape.element {
        return Ok((rows, shape));
    }
    shape.element = element;
    let count = rows.len() / size_of::<f32>();
    for at in 0..count {
        if let Some(value) = rows.get(4 * at..).and_then(|rest| rest.first_chunk()) {
            let half = f16::from_f32(f32::from_le_bytes(*value)).to_le_bytes();
            if let Some(slot) = rows.get_mut(2 * at..2 * at + 2) {
                slot.copy_from_slice(&half);
            }
        }
    }
    rows.truncate(2 * count);
    rows.shrink_to_fit();
    Ok((rows, shape))
}

/// Whether a number is one of f16, a finite one.
fn is_half(value: f32) -> bool {
    let half = f16::from_f32(value);
    half.is_finite() && half.to_f32().to_bits() == value.to_bits()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn element(values: &[f32]) -> ElementType {
        let bytes: Vec<u8> = values.iter().flat_map(|v| v.to_le_bytes()).collect();
        let shape = VectorShape {
            dimension: 1,
            element: ElementType::F32,
        };
        exact_element(&VectorSlice::new(&bytes, shape).unwrap(), &NoProgress).unwrap()
    }

    #[test]
    fn every_half_is_kept_and_its_neighbours_among_floats_are_not() {
        let halves = (0..=u16::MAX)
            .map(f16::from_bits)
            .filter(|half| half.is_finite());
        let floats: Vec<f32> = halves.map(f16::to_f32).collect();
        assert_eq!(element(&floats), ElementType::F16);
        for value in floats {
            let next = f32::from_bits(value.to_bits() + 1);
            assert!(!is_half(next), "{next}");
        }
    }

    #[test]
    fn rows_in_memory_are_narrowed_where_they_are_exact() {
        let shape = VectorShape {
            dimension: 3,
            element: ElementType::F32,
        };
        let bytes = |values: [f32; 3]| values.map(f32::to_le_bytes).concat();
        let (rows, kept) = keep_exactly(bytes([1.0, -0.5, 0.0]), shape).unwrap();
        assert_eq!(rows, [0, 0x3c, 0, 0xb8, 0, 0]);
        assert_eq!(kept.element, ElementType::F16);
        let others = bytes([1.0, 0.1, 0.0]);
        assert_eq!(
            keep_exactly(others.clone(), shape).unwrap(),
            (others, shape)
        );
    }

    #[test]
    fn one_value_that_is_not_kept_decides() {
        let mut values = vec![0.5; 600_000];
        assert_eq!(element(&values), ElementType::F16);
        for other in [0.1, 65_520.0, 1e-9, f32::NAN, f32::INFINITY] {
            values[599_999] = other;
            assert_eq!(element(&values), ElementType::F32, "{other}");
        }
    }
}
