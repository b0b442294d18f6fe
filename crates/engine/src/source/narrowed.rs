//! Vectors that are rounded while they are read: `f32` rows of a caller, stored as `f16` or `bf16`.

use std::io;
use std::sync::atomic::{AtomicU32, Ordering};

use pageway_kernels::WidenFn;
use pageway_types::{ElementType, VectorRead, VectorShape};

use super::check::kernels;
use super::element::encode;
use super::error::SourceError;
use super::file::check_rows;
use crate::error::Error;

/// Bytes of rows of the source that are held while they are rounded; one row at least.
const HELD_BYTES: usize = 64 << 10;

/// Vectors of floats in another float type, rounded to nearest whenever they are read.
///
/// Each read costs one of the source, and 256 KiB of memory while it lasts, or some rows.
pub struct NarrowedVectors<'v> {
    vectors: Box<dyn VectorRead + 'v>,
    name: String,
    element: ElementType,
    widen: [WidenFn; 2],
    /// Bits of the worst relative error; as integers they are in the order of their values.
    worst: AtomicU32,
}

impl<'v> NarrowedVectors<'v> {
    /// Looks at `vectors`, which errors call `name`, as rows of `element`.
    ///
    /// # Errors
    /// `InvalidInput` unless both types are floats.
    pub fn new(
        vectors: Box<dyn VectorRead + 'v>,
        name: &str,
        element: ElementType,
    ) -> Result<Self, Error> {
        let own = vectors.shape().element;
        if !(own.is_float() && element.is_float()) {
            return Err(Error::invalid(format!(
                "{name}: vectors of {own} are not stored as {element}: only floats are rounded, to \
                 f32, f16 or bf16"
            )));
        }
        let kernels = kernels()?;
        Ok(Self {
            vectors,
            name: name.to_owned(),
            element,
            widen: [kernels.widen(own), kernels.widen(element)],
            worst: AtomicU32::new(0),
        })
    }

    /// How far rounding moved a vector at most, as a share of its length: 0 where every value read
    /// so far is exact.
    pub fn worst_error(&self) -> f32 {
        f32::from_bits(self.worst.load(Ordering::Relaxed))
    }

    /// Rounds whole rows that begin with row `first`.
    fn round(&self, first: u64, rows: &[u8], out: &mut [u8]) -> Result<(), Error> {
        let [from, back] = self.widen;
        let own = self.vectors.shape();
        let mut values = vec![0.0; own.element.components_in(rows.len())];
        from(rows, &mut values);
        let mut encoded = Vec::with_capacity(out.len());
        encode(self.element, &values, &mut encoded).map_err(|position| {
            let dimension = own.dimension as usize;
            SourceError::NotRepresentable {
                name: self.name.clone(),
                row: first + (position / dimension) as u64,
                component: position % dimension,
                value: values.get(position).copied().unwrap_or(f32::NAN),
                element: self.element,
            }
        })?;
        out.copy_from_slice(&encoded);
        let mut rounded = vec![0.0; values.len()];
        back(&encoded, &mut rounded);
        let dimension = own.dimension as usize;
        let rows = values.chunks(dimension).zip(rounded.chunks(dimension));
        let worst = rows.map(|(given, kept)| relative_error(given, kept));
        let worst = worst.fold(0.0, f32::max);
        self.worst.fetch_max(worst.to_bits(), Ordering::Relaxed);
        Ok(())
    }
}

impl VectorRead for NarrowedVectors<'_> {
    fn count(&self) -> u64 {
        self.vectors.count()
    }

    fn shape(&self) -> VectorShape {
        VectorShape {
            element: self.element,
            ..self.vectors.shape()
        }
    }

    fn read(&self, first: u64, out: &mut [u8]) -> io::Result<()> {
        let (own, given) = (self.shape().row_bytes(), self.vectors.shape().row_bytes());
        check_rows(&self.name, self.count(), own, first, out.len()).map_err(Error::from)?;
        let held = (HELD_BYTES / given).max(1);
        let mut rows = vec![0; held.min(out.len() / own) * given];
        let mut first = first;
        for part in out.chunks_mut(held * own) {
            let count = part.len() / own;
            let (rows, _) = rows.split_at_mut(count * given);
            self.vectors.read(first, rows)?;
            self.round(first, rows, part)?;
            first += count as u64;
        }
        Ok(())
    }
}

/// The distance of two vectors, as a share of the length of the first; 0 of a zero.
fn relative_error(given: &[f32], kept: &[f32]) -> f32 {
    let squared = |value: f64| value * value;
    let length: f64 = given.iter().map(|value| squared((*value).into())).sum();
    let pairs = given.iter().zip(kept);
    let moved: f64 = pairs
        .map(|(a, b)| squared(f64::from(*a) - f64::from(*b)))
        .sum();
    if moved > 0.0 {
        (moved / length).sqrt() as f32
    } else {
        0.0
    }
}

#[cfg(test)]
mod tests {
    use super::super::slice::VectorSlice;
    use super::*;

    fn rows(values: &[f32]) -> Vec<u8> {
        values
            .iter()
            .flat_map(|value| value.to_le_bytes())
            .collect()
    }

    fn read(values: &[f32], dimension: u32, element: ElementType) -> (io::Result<Vec<u8>>, f32) {
        let bytes = rows(values);
        let shape = VectorShape {
            dimension,
            element: ElementType::F32,
        };
        let slice = VectorSlice::new(&bytes, shape).unwrap();
        let narrowed = NarrowedVectors::new(Box::new(slice), "rows", element).unwrap();
        let mut out = vec![0; element.bytes_of(bytes.len() / 4)];
        let done = narrowed.read(0, &mut out).map(|()| out);
        (done, narrowed.worst_error())
    }

    #[test]
    fn rows_are_rounded_to_nearest_over_many_blocks_and_the_worst_error_is_told() {
        let values: Vec<f32> = (0..30_000).map(|i| (i as f32 * 0.7).sin()).collect();
        let f16 = |v: &f32| half::f16::from_f32(*v).to_le_bytes();
        let wanted: Vec<u8> = values.iter().flat_map(f16).collect();
        let (got, worst) = read(&values, 3, ElementType::F16);
        assert_eq!(got.unwrap(), wanted);
        assert!(worst > 0.0 && worst <= 0.5_f32.powi(11), "{worst}");
        let bf16 = |v: &f32| half::bf16::from_f32(*v).to_le_bytes();
        let wanted: Vec<u8> = values.iter().flat_map(bf16).collect();
        let (got, worst) = read(&values, 3, ElementType::Bf16);
        assert_eq!(got.unwrap(), wanted);
        assert!(
            worst > 0.5_f32.powi(11) && worst <= 0.5_f32.powi(8),
            "{worst}"
        );
    }

    #[test]
    fn what_is_exact_has_no_error() {
        for element in [ElementType::F16, ElementType::Bf16, ElementType::F32] {
            assert_eq!(
                read(&[0.0, 0.0, 1.5, -0.25], 2, element).1,
                0.0,
                "{element}"
            );
        }
    }

    #[test]
    fn a_value_that_does_not_fit_is_named() {
        let error = read(&[1.0, 2.0, 3.0, 70000.0], 2, ElementType::F16)
            .0
            .unwrap_err();
        let text = error.to_string();
        assert!(text.contains("row 1") && text.contains("70000"), "{text}");
    }

    #[test]
    fn whole_numbers_are_not_rounded() {
        let bytes = [1, 2];
        let shape = VectorShape {
            dimension: 2,
            element: ElementType::U8,
        };
        let slice = VectorSlice::new(&bytes, shape).unwrap();
        let error = NarrowedVectors::new(Box::new(slice), "rows", ElementType::Bf16);
        let error = error.err().unwrap();
        assert!(error.to_string().contains("u8"), "{error}");
    }
}
