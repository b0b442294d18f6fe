//! One streaming pass that proves a set of vectors fit for an index: every component finite, every
//! distance within f32, a direction for every vector under cosine.
//!
//! The pass computes one squared norm per row with the kernels of this CPU. NaN and infinity spoil
//! the norm, so the rare bad row is looked at component by component only after it was found.

use std::ops::RangeInclusive;

use pageway_kernels::KernelSet;
use pageway_types::{Metric, Progress, VectorRead, VectorShape};

use super::blocks::RowBlocks;
use super::error::SourceError;
use crate::error::{Error, ErrorKind};

/// Largest squared norm accepted: two such vectors are at most `f32::MAX` apart (squared).
const SQUARED_NORM_MAX: f32 = f32::MAX / 4.0;
/// Smallest squared norm accepted under cosine: squares of components keep their digits.
const SQUARED_NORM_MIN: f32 = 1e-30;

/// The squared norms of vectors that distances are defined for, and fit.
pub(crate) fn sound_norms(metric: Metric) -> RangeInclusive<f32> {
    let least = match metric {
        Metric::Cosine => SQUARED_NORM_MIN,
        Metric::L2 | Metric::InnerProduct | Metric::L1 | Metric::Hamming | Metric::Jaccard => 0.0,
    };
    least..=SQUARED_NORM_MAX
}

/// A set of vectors to be inspected.
#[derive(Clone, Copy)]
pub struct Inspection<'v> {
    /// The vectors.
    pub vectors: &'v dyn VectorRead,
    /// File or array that errors name.
    pub name: &'v str,
    /// Metric of the index.
    pub metric: Metric,
}

/// What the pass learned.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct RowStatistics {
    /// Length of the longest vector.
    pub max_norm: f32,
    /// Length of the shortest vector.
    pub min_norm: f32,
    /// Whether every component of all is below 2 in size; false for other types than floats.
    pub below_two: bool,
}

/// Reads every row once, through a buffer of `block_bytes`.
///
/// # Errors
/// `InvalidInput` with row and component for NaN and infinity, with the row for a zero vector under
/// cosine and for norms whose distances overflow f32, and for a set without rows; what the source
/// reports; `Cancelled`.
pub fn inspect_rows(
    set: Inspection<'_>,
    block_bytes: usize,
    progress: &dyn Progress,
) -> Result<RowStatistics, Error> {
    inspect_each((set, block_bytes), progress, &mut |_| ())
}

/// As [`inspect_rows`], and shows the squared norm of every row.
pub(crate) fn inspect_each(
    (set, block_bytes): (Inspection<'_>, usize),
    progress: &dyn Progress,
    seen: &mut dyn FnMut(f32),
) -> Result<RowStatistics, Error> {
    let (count, shape) = (set.vectors.count(), set.vectors.shape());
    if count == 0 {
        return Err(SourceError::Empty {
            file: set.name.to_owned(),
        }
        .into());
    }
    let squared_norm = kernels()?.squared_norm(shape.element);
    progress.stage("check rows", count);
    let (mut least, mut most, mut below_two) = (f32::INFINITY, 0.0_f32, true);
    let sound = sound_norms(set.metric);
    let mut blocks = RowBlocks::new(set.vectors, 0..count, block_bytes);
    while let Some(block) = blocks.next_block()? {
        progress.check()?;
        for (row, vector) in (block.first..).zip(block.rows.chunks_exact(shape.row_bytes())) {
            let norm = squared_norm(vector);
            if !sound.contains(&norm) {
                return Err(diagnose(set.name, shape, row, vector)?.into());
            }
            seen(norm);
            least = least.min(norm);
            most = most.max(norm);
        }
        below_two &= below_two && shape.element.are_below_two(block.rows);
        progress.advance((block.rows.len() / shape.row_bytes()) as u64);
    }
    Ok(RowStatistics {
        max_norm: most.sqrt(),
        min_norm: least.sqrt(),
        below_two,
    })
}

/// The kernels of this CPU, with the engine's error.
pub(crate) fn kernels() -> Result<&'static KernelSet, Error> {
    KernelSet::detect().map_err(|e| Error::new(ErrorKind::Unsupported, e.to_string()))
}

#[cold]
fn diagnose(name: &str, shape: VectorShape, row: u64, vector: &[u8]) -> Result<SourceError, Error> {
    let mut values = vec![0.0; shape.dimension as usize];
    kernels()?.widen(shape.element)(vector, &mut values);
    let name = name.to_owned();
    let bad = values
        .iter()
        .enumerate()
        .find(|(_, value)| !value.is_finite());
    Ok(match bad {
        Some((component, &value)) => SourceError::NotFinite {
            name,
            row,
            component,
            value,
        },
        None if values.iter().any(|value| value.abs() > 1.0) => {
            SourceError::NormOverflow { name, row }
        }
        None if values.iter().any(|value| *value != 0.0) => {
            SourceError::NormUnderflow { name, row }
        }
        None => SourceError::ZeroVector { name, row },
    })
}

#[cfg(test)]
mod tests {
    use half::f16;
    use pageway_types::{ElementType, NoProgress};

    use super::super::VectorSlice;
    use super::*;

    fn inspect(element: ElementType, metric: Metric, bytes: &[u8]) -> Result<RowStatistics, Error> {
        let vectors = VectorSlice::new(
            bytes,
            VectorShape {
                dimension: 20,
                element,
            },
        )?;
        inspect_rows(
            Inspection {
                vectors: &vectors,
                name: "set",
                metric,
            },
            200,
            &NoProgress,
        )
    }

    fn rows(count: usize) -> Vec<f32> {
        (0..count * 20).map(|i| (i % 7) as f32 - 2.5).collect()
    }

    fn f32s(values: &[f32]) -> Vec<u8> {
        values.iter().flat_map(|v| v.to_le_bytes()).collect()
    }

    fn f16s(values: &[f32]) -> Vec<u8> {
        values
            .iter()
            .flat_map(|v| f16::from_f32(*v).to_le_bytes())
            .collect()
    }

    #[test]
    fn statistics_are_the_extreme_lengths() {
        let mut values = vec![0.0; 60];
        values[3] = 3.0;
        values[4] = 4.0;
        values[25] = 12.0;
        values[47] = 1.0;
        for (element, bytes) in [
            (ElementType::F32, f32s(&values)),
            (ElementType::F16, f16s(&values)),
            (ElementType::U8, values.iter().map(|v| *v as u8).collect()),
            (
                ElementType::I8,
                values.iter().map(|v| -*v as i8 as u8).collect(),
            ),
        ] {
            let found = inspect(element, Metric::Cosine, &bytes).unwrap();
            assert_eq!(
                found,
                RowStatistics {
                    max_norm: 12.0,
                    min_norm: 1.0,
                    below_two: false
                },
                "{element}"
            );
        }
    }

    #[test]
    fn every_position_of_a_bad_value_is_named() {
        for position in [0, 19, 20, 57, 99] {
            for bad in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
                let mut values = rows(5);
                values[position] = bad;
                let wanted = format!("row {}, component {} is", position / 20, position % 20);
                for (element, bytes) in [
                    (ElementType::F32, f32s(&values)),
                    (ElementType::F16, f16s(&values)),
                ] {
                    let error = inspect(element, Metric::L2, &bytes).unwrap_err();
                    assert_eq!(error.kind(), ErrorKind::InvalidInput);
                    assert!(error.context().contains(&wanted), "{error}");
                }
            }
        }
    }

    #[test]
    fn zero_vectors_are_refused_under_cosine_only() {
        let mut values = rows(4);
        values[40..60].fill(0.0);
        for (element, bytes) in [
            (ElementType::F32, f32s(&values)),
            (ElementType::F16, f16s(&values)),
            (
                ElementType::I8,
                values.iter().map(|v| (2.0 * v) as i8 as u8).collect(),
            ),
        ] {
            let error = inspect(element, Metric::Cosine, &bytes).unwrap_err();
            assert!(error.context().contains("row 2 has length zero"), "{error}");
            assert_eq!(inspect(element, Metric::L2, &bytes).unwrap().min_norm, 0.0);
        }
    }

    #[test]
    fn overflowing_norms_are_refused_and_the_largest_legal_one_is_not() {
        let mut values = rows(3);
        values[45] = 3e38;
        let error = inspect(ElementType::F32, Metric::L2, &f32s(&values)).unwrap_err();
        assert!(error.context().contains("row 2 is so long"), "{error}");
        values[45] = 9.2e18;
        assert!(inspect(ElementType::F32, Metric::L2, &f32s(&values)).is_ok());
    }

    #[test]
    fn vectors_too_short_for_a_direction_are_refused_under_cosine_only() {
        let mut values = rows(3);
        values[40..60].fill(1e-20);
        let error = inspect(ElementType::F32, Metric::Cosine, &f32s(&values)).unwrap_err();
        assert!(error.context().contains("row 2 is so short"), "{error}");
        assert!(inspect(ElementType::F32, Metric::L2, &f32s(&values)).is_ok());
        values[40..60].fill(1e-14);
        assert!(inspect(ElementType::F32, Metric::Cosine, &f32s(&values)).is_ok());
    }

    #[test]
    fn a_set_without_rows_is_refused() {
        assert!(inspect(ElementType::U8, Metric::L2, &[]).is_err());
    }
}
