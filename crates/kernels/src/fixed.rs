//! A matrix in fixed point: half the memory of `f32` and a third of the time, as memory is what a
//! product of one row waits for.
//!
//! A value lies in `-1..=1` and is a multiple of 2^-15. The row that comes is cut to integers of 16
//! bits by its own length, so that sums of products fit 32 bits where columns are of unit length:
//! exact integers, hence the same on every instruction set. What is lost is a share of
//! `sqrt(rows) * 10^-5` of the length of the row, in a random direction.
//!
//! ```text
//! tile 0: columns 0..128        rows 0 and 1   | line 0 | line 1 | ... | line 7 |
//!                               rows 2 and 3   | line 8 | ...
//! tile 1: columns 128..256      rows 0 and 1   | ...
//! ...
//! the last three: 64, 32 and 16 columns or none, as many as there are left
//!
//! line: 16 columns, each with its values of two rows
//! ```
//!
//! A product reads the lines from the first to the last.

/// Columns of a line.
pub(crate) const LINE_COLUMNS: usize = 16;

/// Most lines of a pair of rows in a tile.
const TILE_LINES: usize = 8;

/// What stands for 1.
const ONE: f32 = 32_768.0;

/// The largest integer.
const LARGEST: f32 = 32_767.0;

/// Added to a small number, it leaves the nearest integer in the lowest bits.
const TO_BITS: f32 = 12_582_912.0;

/// Values of two rows for some columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(align(64))]
pub(crate) struct PairLine(pub(crate) [[i16; 2]; LINE_COLUMNS]);

/// A matrix of values from -1 to 1; see the module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FixedMatrix {
    rows: usize,
    columns: usize,
    lines: Vec<PairLine>,
}

impl FixedMatrix {
    /// Most rows.
    pub const MAX_ROWS: usize = 4096;

    /// Takes `rows` rows of `columns` values, each rounded to the nearest that can be held.
    ///
    /// # Panics
    /// With more than [`FixedMatrix::MAX_ROWS`] rows, or another number of values.
    pub fn new(rows: usize, columns: usize, values: &[f32]) -> Self {
        assert!(rows <= Self::MAX_ROWS, "too many rows");
        assert_eq!(values.len(), rows * columns, "rows times columns");
        let lines = columns.div_ceil(LINE_COLUMNS) * rows.div_ceil(2);
        let mut matrix = Self {
            rows,
            columns,
            lines: vec![PairLine([[0; 2]; LINE_COLUMNS]); lines],
        };
        for (at, value) in values.iter().enumerate() {
            let (line, column, half) = matrix.place(at / columns, at % columns);
            let value = (value * ONE).round().clamp(-LARGEST, LARGEST);
            matrix.lines[line].0[column][half] = value as i16;
        }
        matrix
    }

    /// Bytes of memory that [`FixedMatrix::new`] allocates.
    pub const fn bytes(rows: usize, columns: usize) -> usize {
        columns
            .div_ceil(LINE_COLUMNS)
            .saturating_mul(rows.div_ceil(2))
            .saturating_mul(size_of::<PairLine>())
    }

    /// Rows: values of what is multiplied.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Columns: values of a product.
    pub fn columns(&self) -> usize {
        self.columns
    }

    /// A value; panics outside the matrix.
    pub fn value(&self, row: usize, column: usize) -> f32 {
        let (line, column, half) = self.place(row, column);
        f32::from(self.lines[line].0[column][half]) / ONE
    }

    /// For each row the sum of its values, each times that of its column in `values`: the product
    /// with the transposed matrix.
    ///
    /// # Panics
    /// Unless there is a value per column and a place in `out` per row.
    pub fn project_back(&self, values: &[f32], out: &mut [f32]) {
        assert_eq!(values.len(), self.columns, "a value per column");
        assert_eq!(out.len(), self.rows, "a place per row");
        out.fill(0.0);
        let (mut lines, mut values) = (self.lines.as_slice(), values);
        for width in tiles(self.columns) {
            let (tile, other_lines) = lines.split_at(width * self.rows.div_ceil(2));
            let (own, others) = values.split_at(values.len().min(width * LINE_COLUMNS));
            (lines, values) = (other_lines, others);
            let mut columns = [[0.0; LINE_COLUMNS]; TILE_LINES];
            let scaled = own.iter().map(|value| value / ONE);
            let places = columns.as_flattened_mut().iter_mut();
            places.zip(scaled).for_each(|(place, value)| *place = value);
            for (out, pair) in out.chunks_mut(2).zip(tile.chunks_exact(width)) {
                for (half, out) in out.iter_mut().enumerate() {
                    *out += multiply(pair, half, &columns);
                }
            }
        }
    }

    /// Line, column in it, and which of its two rows.
    fn place(&self, row: usize, column: usize) -> (usize, usize, usize) {
        let (mut before, mut of_tile) = (0, column / LINE_COLUMNS);
        let own = tiles(self.columns).find(|lines| {
            let is_within = of_tile < *lines;
            if !is_within {
                (before, of_tile) = (before + lines, of_tile - lines);
            }
            is_within
        });
        let pairs = self.rows.div_ceil(2);
        let line = before * pairs + row / 2 * own.unwrap_or(0) + of_tile;
        (line, column % LINE_COLUMNS, row % 2)
    }
}

/// The values of one row of a pair, each times that of its column.
#[inline]
fn multiply(pair: &[PairLine], half: usize, columns: &[[f32; LINE_COLUMNS]]) -> f32 {
    let mut sums = [0.0; LINE_COLUMNS];
    for (line, columns) in pair.iter().zip(columns) {
        for ((sum, values), column) in sums.iter_mut().zip(&line.0).zip(columns) {
            *sum += f32::from(values[half]) * column;
        }
    }
    sums.iter().sum()
}

/// Lines per pair of the tiles that so many columns make.
fn tiles(columns: usize) -> impl Iterator<Item = usize> {
    let lines = columns.div_ceil(LINE_COLUMNS);
    let last = [4, 2, 1]
        .into_iter()
        .filter(move |width| lines & width != 0);
    std::iter::repeat_n(TILE_LINES, lines / TILE_LINES).chain(last)
}

/// Sums of the columns of a tile.
pub(crate) type TileSums<const LINES: usize> = [[i32; LINE_COLUMNS]; LINES];

/// How an instruction set multiplies a row by a tile.
///
/// # Safety
/// `sums` needs the CPU features of the instruction set; there are `LINES` lines per pair, 1, 2, 4
/// or 8.
pub(crate) trait Tile {
    unsafe fn sums<const LINES: usize>(lines: &[PairLine], pairs: &[[i16; 2]]) -> TileSums<LINES>;

    /// The same of several rows.
    #[inline(always)]
    unsafe fn sums_of<const LINES: usize, const ROWS: usize>(
        lines: &[PairLine],
        pairs: [&[[i16; 2]]; ROWS],
    ) -> [TileSums<LINES>; ROWS] {
        // SAFETY: that of the caller.
        pairs.map(|pairs| unsafe { Self::sums::<LINES>(lines, pairs) })
    }
}

/// Rows that are multiplied together: the matrix comes from far away once for all of them.
const TOGETHER: usize = 8;

/// Rows whose sums are kept in registers at once.
const ABREAST: usize = 2;

/// A row in integers, by pairs, and what one of a sum of products stands for.
struct FixedRow {
    pairs: [[i16; 2]; FixedMatrix::MAX_ROWS / 2],
    unit: f32,
}

impl FixedRow {
    const ZERO: Self = Self {
        pairs: [[0; 2]; FixedMatrix::MAX_ROWS / 2],
        unit: 0.0,
    };

    /// Takes the values of a row, which are no more than of those before it.
    #[inline(always)]
    fn set(&mut self, row: &[f32]) {
        let length = length(row);
        let scale = if length > 0.0 {
            (f64::from(ONE) / length) as f32
        } else {
            0.0
        };
        for (integer, value) in self.pairs.as_flattened_mut().iter_mut().zip(row) {
            let scaled = (value * scale).clamp(-LARGEST, LARGEST);
            *integer = (scaled + TO_BITS).to_bits() as i16;
        }
        self.unit = (length / f64::from(ONE * ONE)) as f32;
    }
}

/// See [`crate::ProjectFixedFn`].
///
/// # Safety
/// The CPU has the features of `T`.
#[inline(always)]
pub(crate) unsafe fn project<T: Tile>(matrix: &FixedMatrix, rows: &[f32], out: &mut [f32]) {
    let count = match matrix.columns {
        0 => rows.len() / matrix.rows.max(1),
        columns => out.len() / columns,
    };
    assert_eq!(rows.len(), count * matrix.rows, "a value per row");
    assert_eq!(out.len(), count * matrix.columns, "a value per column");
    // SAFETY: the caller vouches for the features.
    unsafe {
        if count == 1 {
            return project_some::<T, 1>(matrix, (rows, 1), out);
        }
        for first in (0..count).step_by(TOGETHER) {
            let last = count.min(first + TOGETHER);
            let some = (&rows[first * matrix.rows..last * matrix.rows], last - first);
            let own = &mut out[first * matrix.columns..last * matrix.columns];
            project_some::<T, TOGETHER>(matrix, some, own);
        }
    }
}

/// The same of some rows, `MOST` at most: a tile is multiplied by all of them before the next one
/// is looked at.
///
/// # Safety
/// The CPU has the features of `T`.
#[inline(always)]
unsafe fn project_some<T: Tile, const MOST: usize>(
    matrix: &FixedMatrix,
    (rows, count): (&[f32], usize),
    out: &mut [f32],
) {
    let mut integers = [const { FixedRow::ZERO }; MOST];
    for (at, own) in integers[..count].iter_mut().enumerate() {
        own.set(&rows[at * matrix.rows..][..matrix.rows]);
    }
    let pairs = matrix.rows.div_ceil(2);
    let (mut lines, mut first) = (matrix.lines.as_slice(), 0);
    for width in tiles(matrix.columns) {
        let (own, other_lines) = lines.split_at(width * pairs);
        let last = matrix.columns.min(first + width * LINE_COLUMNS);
        let outs = out.chunks_mut(matrix.columns * ABREAST);
        for (rows, outs) in integers[..count].chunks(ABREAST).zip(outs) {
            let outs = outs.chunks_mut(matrix.columns);
            let outs = outs.map(|out| &mut out[first..last]);
            // SAFETY: the caller vouches for the features; a tile has its lines for each pair.
            unsafe {
                match (width, rows) {
                    (TILE_LINES, [one, next]) => {
                        let both = [one, next].map(|row| &row.pairs[..pairs]);
                        let sums = T::sums_of::<TILE_LINES, ABREAST>(own, both);
                        for ((row, sums), out) in rows.iter().zip(sums).zip(outs) {
                            keep(sums, row.unit, out);
                        }
                    }
                    _ => {
                        for (row, out) in rows.iter().zip(outs) {
                            project_tile::<T>((own, width), (&row.pairs[..pairs], row.unit), out);
                        }
                    }
                }
            }
        }
        (lines, first) = (other_lines, last);
    }
}

/// Multiplies one row by a tile of so many lines for each pair.
///
/// # Safety
/// The CPU has the features of `T`, and the tile its lines for each pair.
#[inline(always)]
unsafe fn project_tile<T: Tile>(
    (lines, width): (&[PairLine], usize),
    (pairs, unit): (&[[i16; 2]], f32),
    out: &mut [f32],
) {
    // SAFETY: that of the caller.
    unsafe {
        match width {
            TILE_LINES => keep(T::sums::<TILE_LINES>(lines, pairs), unit, out),
            4 => keep(T::sums::<4>(lines, pairs), unit, out),
            2 => keep(T::sums::<2>(lines, pairs), unit, out),
            _ => keep(T::sums::<1>(lines, pairs), unit, out),
        }
    }
}

/// Writes sums in units of `unit`.
#[inline(always)]
fn keep<const LINES: usize>(sums: TileSums<LINES>, unit: f32, out: &mut [f32]) {
    for (out, sum) in out.iter_mut().zip(sums.as_flattened()) {
        *out = *sum as f32 * unit;
    }
}

/// Euclidean length, summed in an order that does not depend on the instruction set.
#[inline(always)]
fn length(row: &[f32]) -> f64 {
    let mut sums = [0.0_f64; 8];
    let (blocks, rest) = row.as_chunks::<8>();
    for block in blocks {
        for (sum, value) in sums.iter_mut().zip(block) {
            *sum += f64::from(*value) * f64::from(*value);
        }
    }
    for (sum, value) in sums.iter_mut().zip(rest) {
        *sum += f64::from(*value) * f64::from(*value);
    }
    sums.iter().sum::<f64>().sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_the_nearest_of_their_grid() {
        let values = [0.25, -0.5, 1.0, -1.0, 1e-9, 0.123_456, 7.0, -7.0, f32::NAN];
        let matrix = FixedMatrix::new(3, 3, &values);
        let largest = LARGEST / ONE;
        let wanted = [
            0.25,
            -0.5,
            largest,
            -largest,
            0.0,
            4045.0 / ONE,
            largest,
            -largest,
            0.0,
        ];
        for (at, wanted) in wanted.into_iter().enumerate() {
            assert_eq!(matrix.value(at / 3, at % 3), wanted, "{at}");
        }
        assert_eq!((matrix.rows(), matrix.columns()), (3, 3));
        assert_eq!(FixedMatrix::bytes(3, 129), 2 * 9 * 64);
    }

    #[test]
    fn the_product_with_the_transposed_is_that_of_its_values() {
        for (rows, columns) in [(1, 1), (3, 17), (8, 128), (5, 131), (7, 384), (33, 250)] {
            let values: Vec<f32> = (0..rows * columns)
                .map(|at| ((at * 7919 % 2003) as f32 - 1000.0) / 1001.0)
                .collect();
            let row: Vec<f32> = (0..columns).map(|at| (at % 13) as f32 - 6.0).collect();
            let matrix = FixedMatrix::new(rows, columns, &values);
            let mut out = vec![f32::NAN; rows];
            matrix.project_back(&row, &mut out);
            for (number, out) in out.iter().enumerate() {
                let products = (0..columns)
                    .map(|column| f64::from(matrix.value(number, column) * row[column]));
                let (wanted, size) = products.fold((0.0, 1.0), |(sum, size), product| {
                    (sum + product, size + product.abs())
                });
                assert!(
                    (f64::from(*out) - wanted).abs() <= 1e-5 * size,
                    "{rows} x {columns}"
                );
            }
        }
    }
}
