//! Vectors in fewer bytes, so that more of them fit a page: the last components lie in a bit of the
//! others that is 0 in every number below 2 in size.
//!
//! ```text
//! f32                   f16                bf16
//! s e|eeeeeee m..m      s e|eeee m..m      s e|eeeeeee m..m      e|: the free bit
//! ```
//!
//! The free bit is bit 6 of the last byte of a component, whatever its type. Bit b of byte y of the
//! folded components lies in that of component 8 y + b. Nothing is lost: [`Fold::unfold`] gives the
//! bytes that were folded.

use pageway_types::{ElementType, VectorShape};

use crate::error::{Error, ErrorKind, Result};

/// The free bit in the last byte of a component.
const FREE: u8 = ElementType::TWO;
/// Components that hold a byte.
const HOLDERS: usize = 8;

/// A vector that was folded, as it was.
pub(crate) type UnfoldedVector = Vec<u8>;

/// How the vectors of some pages are folded.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Fold {
    element_bytes: usize,
    /// Bytes of the components that lie in others.
    folded: usize,
}

impl Fold {
    /// Vectors as they are.
    pub(crate) const NONE: Self = Self {
        element_bytes: 1,
        folded: 0,
    };

    /// The last `components` of vectors of a shape in the others.
    pub(crate) const fn new(shape: VectorShape, components: u32) -> Self {
        let element_bytes = shape.element.bits() / 8;
        Self {
            element_bytes,
            folded: components as usize * element_bytes,
        }
    }

    /// Bytes that a vector takes less.
    #[inline]
    pub(crate) const fn saved_bytes(self) -> usize {
        self.folded
    }

    /// Appends a vector.
    ///
    /// # Errors
    /// `Internal` for one with a component of 2 or more.
    pub(crate) fn append(self, vector: &[u8], payload: &mut Vec<u8>) -> Result<()> {
        let start = payload.len();
        let (kept, folded) = vector.split_at(vector.len().saturating_sub(self.folded));
        payload.extend_from_slice(kept);
        if folded.is_empty() {
            return Ok(());
        }
        let holders = payload.get_mut(start..).unwrap_or_default();
        for (byte, held) in self.holders(holders).zip(folded) {
            for (bit, last) in byte.enumerate() {
                if *last & FREE != 0 {
                    return Err(too_large());
                }
                *last |= (held >> bit & 1) * FREE;
            }
        }
        Ok(())
    }

    /// The vector that was folded to `stored`, in `room` where it was.
    #[inline]
    pub(crate) fn unfold<'v>(self, stored: &'v [u8], room: &'v mut UnfoldedVector) -> &'v [u8] {
        if self.folded == 0 {
            return stored;
        }
        room.clear();
        room.extend_from_slice(stored);
        room.resize(stored.len() + self.folded, 0);
        let (kept, folded) = room.split_at_mut(stored.len());
        for (byte, held) in self.holders(kept).zip(folded) {
            for (bit, last) in byte.enumerate() {
                *held |= ((*last & FREE) / FREE) << bit;
                *last &= !FREE;
            }
        }
        room
    }

    /// The last bytes of the components that hold a byte, for each byte.
    fn holders(self, kept: &mut [u8]) -> impl Iterator<Item = impl Iterator<Item = &mut u8>> {
        let bytes = self.element_bytes;
        kept.chunks_exact_mut(HOLDERS * bytes)
            .map(move |eight| eight.iter_mut().skip(bytes - 1).step_by(bytes))
    }
}

#[cold]
fn too_large() -> Error {
    let words = "a component of 2 or more in a page of folded vectors";
    Error::new(ErrorKind::Internal, words)
}

#[cfg(test)]
mod tests {
    use pageway_types::SplitMix64;
    use proptest::prelude::*;

    use super::*;

    /// A vector of components below 2 in size: any sign, exponent and mantissa.
    fn vector(shape: VectorShape, seed: u64) -> Vec<u8> {
        let mut random = SplitMix64::new(seed);
        let mut bytes: Vec<u8> = (0..shape.row_bytes())
            .map(|_| random.next_u64() as u8)
            .collect();
        let size = shape.element.bits() / 8;
        let last = bytes.iter_mut().skip(size - 1).step_by(size);
        last.for_each(|last| *last &= !FREE);
        bytes
    }

    proptest! {
        #[test]
        fn what_is_folded_is_unfolded_to_the_same_bytes(
            dimension in 1_u32..600,
            element in prop::sample::select(&ElementType::NUMBERS[..3]),
            share in 0_u32..=8,
            seed in any::<u64>(),
        ) {
            let shape = VectorShape { dimension, element };
            let fold = Fold::new(shape, shape.foldable() * share / 8);
            let vector = vector(shape, seed);
            prop_assert!(element.are_below_two(&vector));
            let mut payload = vec![7; 5];
            fold.append(&vector, &mut payload).unwrap();
            prop_assert_eq!(payload.len(), 5 + vector.len() - fold.saved_bytes());
            let mut room = vec![9; 3];
            prop_assert_eq!(fold.unfold(&payload[5..], &mut room), vector);
        }
    }

    #[test]
    fn bits_lie_where_the_format_says() {
        let shape = VectorShape {
            dimension: 33,
            element: ElementType::F32,
        };
        let mut values = [0.25_f32; 33];
        values[32] = 0.5;
        let vector: Vec<u8> = values.iter().flat_map(|one| one.to_le_bytes()).collect();
        let mut stored = Vec::new();
        Fold::new(shape, 1).append(&vector, &mut stored).unwrap();
        for (component, bytes) in stored.chunks(4).enumerate() {
            let last = if (24..30).contains(&component) {
                0x7E
            } else {
                0x3E
            };
            assert_eq!(bytes, [0, 0, 0x80, last], "{component}");
        }
    }

    #[test]
    fn a_vector_that_has_no_free_bits_is_refused() {
        let shape = VectorShape {
            dimension: 40,
            element: ElementType::F32,
        };
        let mut vector = vector(shape, 3);
        vector[4 * 5 + 3] |= FREE;
        let error = Fold::new(shape, 1).append(&vector, &mut Vec::new());
        assert_eq!(error.unwrap_err().kind(), ErrorKind::Internal);
    }
}
