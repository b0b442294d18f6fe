//! Eigenvalues and eigenvectors of a symmetric matrix.
//!
//! 1. Householder reflections make the matrix tridiagonal.
//! 2. Implicit QL steps with Wilkinson's shift make it diagonal, by plane rotations.
//! 3. The vectors are the product of all reflections and rotations. Its rows do not depend on each
//!    other: bands of eight rows, interleaved, are what a thread works on, and the compiler turns
//!    each operation on a column of a band into vector instructions.
//!
//! Every sum has a fixed order, so the outcome has the same bits on any number of threads. There is
//! nothing that can fail: the product of reflections and rotations is orthogonal at every moment,
//! and steps are bounded.
//!
//! Source: Golub and Van Loan, "Matrix Computations", 8.3.

#![expect(
    clippy::indexing_slicing,
    reason = "rows and columns of a square matrix"
)]

use pageway_types::{Cancelled, Progress};
use rayon::prelude::*;

/// Rows of a band.
const BAND: usize = 8;

/// Rotations that are collected before the bands are turned by them.
const BATCH: usize = 1 << 16;

/// Most QL steps for one eigenvalue; three are usual.
const STEPS: usize = 60;

/// Eigenvalues in no order, and their vectors: a row for each component, a column for each vector.
pub(super) struct Eigen {
    pub(super) values: Vec<f64>,
    pub(super) vectors: Vec<f64>,
}

/// Bytes that [`decompose`] takes, the matrix it is given included.
pub(super) const fn bytes(order: usize) -> usize {
    let square = order.saturating_mul(order.saturating_add(BAND));
    square
        .saturating_mul(2 * size_of::<f64>())
        .saturating_add(order.saturating_mul(8 * size_of::<f64>()))
        .saturating_add(BATCH * size_of::<PlaneRotation>())
}

/// Units of progress that [`decompose`] reports.
pub(super) const fn steps(order: usize) -> u64 {
    2 * order as u64
}

/// Decomposes a symmetric matrix of `order` rows, on the current pool.
///
/// Costs about `10 * order^3` multiply-adds.
pub(super) fn decompose(
    mut matrix: Vec<f64>,
    order: usize,
    progress: &dyn Progress,
) -> Result<Eigen, Cancelled> {
    let mut tridiagonal = reduce(&mut matrix, order, progress)?;
    let mut bands = Bands::reflected(&matrix, &tridiagonal.scales, order);
    drop(matrix);
    tridiagonal.diagonalise(&mut bands, progress)?;
    Ok(Eigen {
        values: tridiagonal.diagonal,
        vectors: bands.into_rows(),
    })
}

/// A rotation of columns `first` and `first + 1`.
#[derive(Clone, Copy)]
struct PlaneRotation {
    first: usize,
    cosine: f64,
    sine: f64,
}

/// A symmetric tridiagonal matrix, and the reflections that made it.
struct Tridiagonal {
    diagonal: Vec<f64>,
    /// Beside the diagonal; one value more, which is zero.
    off: Vec<f64>,
    /// `2 / |v|^2` of each reflection; 0 where nothing was reflected.
    scales: Vec<f64>,
}

/// Makes a matrix tridiagonal; leaves the vector of reflection `k` in row `k`, behind the diagonal.
fn reduce(
    matrix: &mut [f64],
    order: usize,
    progress: &dyn Progress,
) -> Result<Tridiagonal, Cancelled> {
    let mut result = Tridiagonal {
        diagonal: vec![0.0; order],
        off: vec![0.0; order],
        scales: vec![0.0; order],
    };
    let mut product = vec![0.0; order];
    for pivot in 0..order {
        progress.check()?;
        progress.advance(1);
        let (head, rows) = matrix.split_at_mut((pivot + 1) * order);
        let row = &mut head[pivot * order..];
        result.diagonal[pivot] = row[pivot];
        let vector = &mut row[pivot + 1..];
        if vector.len() < 2 {
            result.off[pivot] = vector.first().copied().unwrap_or(0.0);
            continue;
        }
        let length = dot(vector, vector).sqrt();
        if length == 0.0 {
            continue;
        }
        let scale = 1.0 / (length * (length + vector[0].abs()));
        result.off[pivot] = -length.copysign(vector[0]);
        result.scales[pivot] = scale;
        vector[0] += length.copysign(vector[0]);
        reflect(rows, vector, scale, &mut product[..vector.len()]);
    }
    Ok(result)
}

/// Rows that a thread takes at least.
const THREAD_ROWS: usize = 64;

/// Reflects the last columns of all `rows`, from both sides.
fn reflect(rows: &mut [f64], vector: &[f64], scale: f64, product: &mut [f64]) {
    let order = rows.len() / vector.len();
    let first = order - vector.len();
    product
        .par_iter_mut()
        .zip(rows.par_chunks_exact(order))
        .with_min_len(THREAD_ROWS)
        .for_each(|(product, row)| *product = scale * dot(&row[first..], vector));
    let half = scale / 2.0 * dot(product, vector);
    for (product, v) in product.iter_mut().zip(vector) {
        *product -= half * v;
    }
    let product = &*product;
    rows.par_chunks_exact_mut(order)
        .zip(product.par_iter().zip(vector))
        .with_min_len(THREAD_ROWS)
        .for_each(|(row, (p, v))| {
            let columns = product.iter().zip(vector);
            for (value, (column_p, column_v)) in row[first..].iter_mut().zip(columns) {
                *value -= v * column_p + p * column_v;
            }
        });
}

/// Inner product, in eight sums that the compiler may keep in registers.
fn dot(a: &[f64], b: &[f64]) -> f64 {
    let (a_blocks, a_rest) = a.as_chunks::<BAND>();
    let (b_blocks, b_rest) = b.as_chunks::<BAND>();
    let mut sums = [0.0; BAND];
    for (a, b) in a_blocks.iter().zip(b_blocks) {
        for (sum, (a, b)) in sums.iter_mut().zip(a.iter().zip(b)) {
            *sum += a * b;
        }
    }
    let rest: f64 = a_rest.iter().zip(b_rest).map(|(a, b)| a * b).sum();
    sums.iter().sum::<f64>() + rest
}

impl Tridiagonal {
    /// Makes the matrix diagonal and turns the bands along.
    fn diagonalise(&mut self, bands: &mut Bands, progress: &dyn Progress) -> Result<(), Cancelled> {
        let order = self.diagonal.len();
        let sums = self.diagonal.iter().zip(&self.off);
        let largest = sums.fold(0.0_f64, |max, (d, e)| max.max(d.abs() + e.abs()));
        let negligible = f64::EPSILON * largest;
        let mut batch = Vec::with_capacity(BATCH);
        for first in 0..order {
            progress.check()?;
            progress.advance(1);
            for _ in 0..STEPS {
                let off = self.off[first..].iter();
                let end = first + off.take_while(|e| e.abs() > negligible).count();
                if end == first {
                    break;
                }
                self.step(first, end.min(order - 1), &mut batch);
                if batch.len() + order > BATCH {
                    bands.rotate(&batch);
                    batch.clear();
                }
            }
        }
        bands.rotate(&batch);
        Ok(())
    }

    /// One implicit QL step on rows `first..=last`, none of whose neighbours are uncoupled.
    fn step(&mut self, first: usize, last: usize, batch: &mut Vec<PlaneRotation>) {
        let (d, e) = (&mut self.diagonal, &mut self.off);
        let slope = (d[first + 1] - d[first]) / (2.0 * e[first]);
        let root = slope.mul_add(slope, 1.0).sqrt();
        let mut g = d[last] - d[first] + e[first] / (slope + root.copysign(slope));
        let (mut sine, mut cosine, mut shift) = (1.0, 1.0, 0.0);
        for at in (first..last).rev() {
            let (f, b) = (sine * e[at], cosine * e[at]);
            let length = (f * f + g * g).sqrt();
            e[at + 1] = length;
            if length == 0.0 {
                d[at + 1] -= shift;
                e[last] = 0.0;
                return;
            }
            (sine, cosine) = (f / length, g / length);
            g = d[at + 1] - shift;
            let change = (d[at] - g) * sine + 2.0 * cosine * b;
            shift = sine * change;
            d[at + 1] = g + shift;
            g = cosine * change - b;
            batch.push(PlaneRotation {
                first: at,
                cosine,
                sine,
            });
        }
        d[first] -= shift;
        e[first] = g;
        e[last] = 0.0;
    }
}

/// A square matrix in bands of eight rows; a band holds the eight values of each column together.
struct Bands {
    values: Vec<f64>,
    order: usize,
}

impl Bands {
    /// The product of all reflections.
    fn reflected(matrix: &[f64], scales: &[f64], order: usize) -> Self {
        let mut values = vec![0.0; order.next_multiple_of(BAND) * order];
        let bands = values.par_chunks_exact_mut((BAND * order).max(1));
        bands.enumerate().for_each(|(band, values)| {
            let (columns, _) = values.as_chunks_mut::<BAND>();
            let rows = (band * BAND..order).take(BAND);
            for (lane, row) in rows.enumerate() {
                columns[row][lane] = 1.0;
            }
            for (pivot, scale) in scales.iter().enumerate().filter(|(_, s)| **s != 0.0) {
                let vector = &matrix[pivot * order..][pivot + 1..order];
                reflect_band(&mut columns[pivot + 1..], vector, *scale);
            }
        });
        Self { values, order }
    }

    fn rotate(&mut self, batch: &[PlaneRotation]) {
        let bands = self.values.par_chunks_exact_mut((BAND * self.order).max(1));
        bands.for_each(|values| {
            let (columns, _) = values.as_chunks_mut::<BAND>();
            for rotation in batch {
                let (left, right) = columns.split_at_mut(rotation.first + 1);
                let pair = left[rotation.first].iter_mut().zip(&mut right[0]);
                for (a, b) in pair {
                    let (old_a, old_b) = (*a, *b);
                    *a = rotation.cosine * old_a - rotation.sine * old_b;
                    *b = rotation.sine * old_a + rotation.cosine * old_b;
                }
            }
        });
    }

    fn into_rows(self) -> Vec<f64> {
        let mut rows = vec![0.0; self.order * self.order];
        for (number, row) in rows.chunks_exact_mut(self.order.max(1)).enumerate() {
            let band = &self.values[number / BAND * BAND * self.order..];
            let values = band.iter().skip(number % BAND).step_by(BAND);
            for (out, value) in row.iter_mut().zip(values) {
                *out = *value;
            }
        }
        rows
    }
}

/// Reflects the rows of a band.
fn reflect_band(columns: &mut [[f64; BAND]], vector: &[f64], scale: f64) {
    let mut products = [0.0; BAND];
    for (column, v) in columns.iter().zip(vector) {
        for (product, value) in products.iter_mut().zip(column) {
            *product += v * value;
        }
    }
    for (column, v) in columns.iter_mut().zip(vector) {
        for (value, product) in column.iter_mut().zip(&products) {
            *value -= scale * v * product;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pageway_types::{NoProgress, SplitMix64};

    fn check(matrix: &[f64], order: usize) -> Vec<f64> {
        let eigen = decompose(matrix.to_vec(), order, &NoProgress).unwrap();
        let largest = matrix.iter().fold(1e-300_f64, |max, v| max.max(v.abs()));
        let at = |row: usize, column: usize| eigen.vectors[row * order + column];
        for column in 0..order {
            for row in 0..order {
                let product: f64 = (0..order)
                    .map(|k| matrix[row * order + k] * at(k, column))
                    .sum();
                let gap = (product - eigen.values[column] * at(row, column)).abs();
                assert!(gap < 1e-12 * largest * order as f64, "{order}: {gap}");
                let unit: f64 = (0..order).map(|k| at(k, row) * at(k, column)).sum();
                let wanted = f64::from(u8::from(row == column));
                assert!((unit - wanted).abs() < 1e-12 * order as f64, "{order}");
            }
        }
        let mut values = eigen.values;
        values.sort_by(f64::total_cmp);
        values
    }

    #[test]
    fn vectors_are_orthogonal_and_only_scaled_by_the_matrix() {
        let mut random = SplitMix64::new(1);
        for order in (1..=20).chain([33, 64, 100]) {
            let mut matrix = vec![0.0; order * order];
            for row in 0..order {
                for column in 0..=row {
                    let value = random.unit() * 1e6 - 5e5;
                    matrix[row * order + column] = value;
                    matrix[column * order + row] = value;
                }
            }
            check(&matrix, order);
        }
    }

    #[test]
    fn special_matrices_are_decomposed() {
        assert_eq!(check(&[0.0; 25], 5), [0.0; 5]);
        let diagonal: Vec<f64> = (0..36)
            .map(|i| if i % 7 == 0 { i as f64 } else { 0.0 })
            .collect();
        assert_eq!(check(&diagonal, 6), [0.0, 7.0, 14.0, 21.0, 28.0, 35.0]);
        let values = check(&[3.0; 49], 7);
        assert!((values[6] - 21.0).abs() < 1e-12 && values[5].abs() < 1e-12);
        let scaled = check(&[2e-60, 1e-60, 1e-60, 2e-60], 2);
        assert!((scaled[0] - 1e-60).abs() < 1e-72 && (scaled[1] - 3e-60).abs() < 1e-72);
    }
}
