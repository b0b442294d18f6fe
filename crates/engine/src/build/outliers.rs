//! Outliers: rows so long that they alone would decide the codes and clusters of all others.
//!
//! One row of length 1e18 among rows of length 1 moves every mean and makes up all of the variance.
//! Outliers are shortened where codes are trained and clusters found; vectors, exact distances and
//! graphs stay as given.

use std::borrow::Cow;

use pageway_types::{Metric, VectorShape};

use crate::error::Result;
use crate::resolve;
use crate::source::{Lengths, encode};

/// A row is an outlier if it is so many times as long as the median row.
const FAR: f32 = 100.0;

/// If the median squared norm is below this, squares of differences are about to leave the range in
/// which an f32 has seven digits.
const FAINT: f32 = 1e-30;

/// Rows whose lengths stand for those of all.
const COMPARED: usize = 1 << 16;

/// What a build reports about the lengths of its rows.
#[derive(Clone, Copy, Default, Debug, PartialEq, Eq)]
pub(super) struct RowLengths {
    /// Rows far out, about.
    pub(super) tamed: u64,
    /// Whether half of the rows are so short that squares of them lose digits.
    pub(super) faint: bool,
}

impl RowLengths {
    /// From the lengths of rows; under cosine lengths do not matter.
    pub(super) fn of(lengths: &Lengths, metric: Metric) -> Self {
        let median = lengths.median();
        if metric == Metric::Cosine || median <= 0.0 {
            return Self::default();
        }
        Self {
            tamed: lengths.beyond(FAR * FAR * median),
            faint: median < FAINT,
        }
    }

    /// Adds rows of another segment.
    pub(super) fn add(&mut self, other: Self) {
        self.tamed += other.tamed;
        self.faint |= other.faint;
    }

    /// What the user should know.
    pub(super) fn warnings(self) -> Vec<String> {
        let mut warnings = Vec::new();
        if self.tamed > 0 {
            warnings.push(format!(
                "{} rows are over {FAR} times as long as half of the rows: codes were trained as if \
                 they were shorter, so that they do not spoil the rest; their own distances are exact",
                self.tamed
            ));
        }
        if self.faint {
            warnings.push(
                "half of the vectors are shorter than 1e-15: squares of such numbers lose digits in \
                 32 bits, and recall suffers; multiply all vectors and queries by one constant, \
                 which changes no order"
                    .to_owned(),
            );
        }
        warnings
    }
}

/// Shortens outliers to the median length; returns how many.
pub(super) fn tame(values: &mut [f32], dimension: usize) -> usize {
    let lengths: Vec<f32> = values.chunks_exact(dimension).map(length).collect();
    let Some(middle) = median(lengths.iter().copied(), lengths.len()) else {
        return 0;
    };
    let mut far = 0;
    for (row, length) in values.chunks_exact_mut(dimension).zip(lengths) {
        if length > FAR * middle {
            let scale = f64::from(middle) / f64::from(length);
            scale_row(row, scale);
            far += 1;
        }
    }
    far
}

/// Raw rows with outliers shortened to the limit; also the length of the longest then, if there are
/// outliers.
///
/// # Errors
/// When the kernels are not to be had.
pub(super) fn clip(
    rows: Cow<'_, [u8]>,
    shape: VectorShape,
) -> Result<(Cow<'_, [u8]>, Option<f32>)> {
    let kernels = resolve::kernels()?;
    let (squared_norm, widen) = (
        kernels.squared_norm(shape.element),
        kernels.widen(shape.element),
    );
    let length = |row: &[u8]| squared_norm(row).sqrt();
    let count = rows.len() / shape.row_bytes();
    let Some(middle) = median(rows.chunks_exact(shape.row_bytes()).map(length), count) else {
        return Ok((rows, None));
    };
    let longest = FAR * middle;
    let is_far = |row: &[u8]| length(row) > longest;
    if !rows.chunks_exact(shape.row_bytes()).any(is_far) {
        return Ok((rows, None));
    }
    let mut clipped = rows.into_owned();
    let (mut values, mut narrow) = (vec![0.0; shape.dimension as usize], Vec::new());
    for row in clipped.chunks_exact_mut(shape.row_bytes()) {
        if !is_far(row) {
            continue;
        }
        widen(row, &mut values);
        scale_row(&mut values, f64::from(longest) / f64::from(length(row)));
        // A shorter row has no value that its type does not hold, but one of whole numbers.
        if encode(shape.element, &values, &mut narrow).is_ok() {
            row.copy_from_slice(&narrow);
        }
    }
    Ok((Cow::Owned(clipped), Some(longest)))
}

/// The median of `count` lengths, estimated from some; `None` if it is 0.
fn median(lengths: impl Iterator<Item = f32>, count: usize) -> Option<f32> {
    let step = count.div_ceil(COMPARED).max(1);
    let mut some: Vec<f32> = lengths.step_by(step).collect();
    let middle = some.len() / 2;
    if middle >= some.len() {
        return None;
    }
    let (_, median, _) = some.select_nth_unstable_by(middle, f32::total_cmp);
    Some(*median).filter(|median| *median > 0.0 && median.is_finite())
}

fn length(row: &[f32]) -> f32 {
    let square = |value: &f32| f64::from(*value) * f64::from(*value);
    row.iter().map(square).sum::<f64>().sqrt() as f32
}

fn scale_row(row: &mut [f32], scale: f64) {
    for value in row {
        *value = (f64::from(*value) * scale) as f32;
    }
}

#[cfg(test)]
mod tests {
    use pageway_types::ElementType;

    use super::*;

    fn rows() -> Vec<f32> {
        let mut rows: Vec<f32> = (0..80).map(|at| 1.0 + (at % 7) as f32 / 10.0).collect();
        rows[8..12].fill(1e18);
        rows
    }

    #[test]
    fn what_is_far_out_is_shortened_and_nothing_else_is_touched() {
        let given = rows();
        let mut tamed = given.clone();
        assert_eq!(tame(&mut tamed, 4), 1);
        assert_eq!((&tamed[..8], &tamed[12..]), (&given[..8], &given[12..]));
        assert!(length(&tamed[8..12]) < 4.0, "{:?}", &tamed[8..12]);
        assert_eq!(tame(&mut tamed, 4), 0);
        assert_eq!(tame(&mut [0.0; 8], 4), 0);
        assert_eq!(tame(&mut [], 4), 0);
    }

    #[test]
    fn a_build_tells_how_many_rows_were_tamed_and_whether_all_are_faint() {
        let told = |norms: &[f32], metric| {
            let mut lengths = Lengths::new();
            for norm in norms {
                lengths.count(norm * norm);
            }
            RowLengths::of(&lengths, metric)
        };
        let far = [1.0, 1.1, 1.2, 1.3, 90.0, 1e18];
        let told_far = told(&far, Metric::L2);
        assert_eq!((told_far.tamed, told_far.faint), (1, false));
        assert_eq!(told_far.warnings().len(), 1);
        assert_eq!(told(&far, Metric::Cosine), RowLengths::default());
        assert!(told(&[1e-17; 9], Metric::L2).faint);
        assert_eq!(told(&[0.0; 9], Metric::L2), RowLengths::default());
        assert!(told(&[1e-14; 9], Metric::L2).warnings().is_empty());
    }

    #[test]
    fn raw_rows_are_clipped_to_the_longest_that_is_not_far_out() {
        let bytes: Vec<u8> = rows()
            .iter()
            .flat_map(|value| value.to_le_bytes())
            .collect();
        let shape = VectorShape {
            dimension: 4,
            element: ElementType::F32,
        };
        let (clipped, longest) = clip(Cow::Borrowed(&bytes), shape).unwrap();
        let longest = longest.unwrap();
        assert_eq!(
            (&clipped[..32], &clipped[48..]),
            (&bytes[..32], &bytes[48..])
        );
        let value = f32::from_le_bytes(clipped[32..36].try_into().unwrap());
        assert!(
            (value * 2.0 / longest - 1.0).abs() < 1e-5,
            "{value} {longest}"
        );
        let again = clip(Cow::Borrowed(&bytes[48..]), shape).unwrap();
        assert!(again.1.is_none() && matches!(again.0, Cow::Borrowed(_)));
    }
}
