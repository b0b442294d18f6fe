//! A matrix in fixed point: a half or a quarter of the memory of `f32` and a third of the time, as
//! memory is what a product of one row waits for.
//!
//! The first columns are *wide*: a value lies in `-1..=1` and is a multiple of 2^-15. Others are
//! *narrow*: a value is one of 255 multiples of a scale of the column. The row that comes is cut to
//! integers of 16 bits by its own length, so that sums of products fit 32 bits where columns are of
//! unit length: exact integers, hence the same on every instruction set. What the row loses is a
//! share of `sqrt(rows) * 10^-5` of its length, in a random direction.
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
//! Wide and narrow columns have tiles of their own. A product reads the lines from the first to the
//! last.

use std::iter::once;
use std::ops::Range;

/// Columns of a line.
pub(crate) const LINE_COLUMNS: usize = 16;

/// Most lines of a pair of rows in a tile.
const TILE_LINES: usize = 8;

/// What stands for 1 in a wide column.
const ONE: f32 = 32_768.0;

/// The largest integer of a wide column.
const LARGEST: f32 = 32_767.0;

/// The largest integer of a narrow one.
const LARGEST_NARROW: f32 = 127.0;

/// Added to a small number, it leaves the nearest integer in the lowest bits.
const TO_BITS: f32 = 12_582_912.0;

/// Values of two rows for some columns.
pub(crate) trait Line: Copy {
    const ZERO: Self;

    fn pairs(&self) -> [[i16; 2]; LINE_COLUMNS];
}

/// A line of wide columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(align(64))]
struct WideLine([[i16; 2]; LINE_COLUMNS]);

/// A line of narrow columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(align(32))]
struct NarrowLine([[i8; 2]; LINE_COLUMNS]);

impl Line for WideLine {
    const ZERO: Self = Self([[0; 2]; LINE_COLUMNS]);

    #[inline(always)]
    fn pairs(&self) -> [[i16; 2]; LINE_COLUMNS] {
        self.0
    }
}

impl Line for NarrowLine {
    const ZERO: Self = Self([[0; 2]; LINE_COLUMNS]);

    #[inline(always)]
    fn pairs(&self) -> [[i16; 2]; LINE_COLUMNS] {
        self.0.map(|pair| pair.map(i16::from))
    }
}

/// A matrix of wide and of narrow columns; see the module.
#[derive(Clone, Debug, PartialEq)]
pub struct FixedMatrix {
    rows: usize,
    columns: usize,
    wide: Vec<WideLine>,
    narrow: Vec<NarrowLine>,
    /// What 1 stands for in each narrow column.
    scales: Vec<f32>,
}

impl FixedMatrix {
    /// Most rows.
    pub const MAX_ROWS: usize = 4096;

    /// Takes `rows` rows of `columns` values, the first `wide` columns as multiples of 2^-15 from
    /// -1 to 1, the others of a 127th of their largest value; each rounded to the nearest.
    ///
    /// # Panics
    /// With more than [`FixedMatrix::MAX_ROWS`] rows, another number of values, or wide columns
    /// before narrow ones that are no multiple of 16.
    pub fn new((rows, columns): (usize, usize), wide: usize, values: &[f32]) -> Self {
        assert_eq!(values.len(), rows * columns, "rows times columns");
        let mut scales = vec![0.0_f32; columns.saturating_sub(wide)];
        for row in values.chunks_exact(columns.max(1)) {
            for (scale, value) in scales.iter_mut().zip(&row[wide.min(columns)..]) {
                *scale = scale.max(value.abs() / LARGEST_NARROW);
            }
        }
        let mut matrix = Self::zero((rows, columns), scales);
        for (at, value) in values.iter().enumerate() {
            let (row, column) = (at / columns, at % columns);
            let (unit, largest) = matrix.unit(column);
            let integer = (value / unit).round().clamp(-largest, largest);
            matrix.set((row, column), integer as i16);
        }
        matrix
    }

    /// Takes the integers of a matrix row by row, with the scales of its narrow columns; those that
    /// a column cannot hold are cut.
    ///
    /// # Panics
    /// With more than [`FixedMatrix::MAX_ROWS`] rows, or wide columns before narrow ones that are
    /// no multiple of 16.
    pub fn from_integers(
        (rows, columns): (usize, usize),
        scales: Vec<f32>,
        integers: impl IntoIterator<Item = i16>,
    ) -> Self {
        let mut matrix = Self::zero((rows, columns), scales);
        let places = (0..rows).flat_map(|row| (0..columns).map(move |column| (row, column)));
        for (place, integer) in places.zip(integers) {
            matrix.set(place, integer);
        }
        matrix
    }

    fn zero((rows, columns): (usize, usize), scales: Vec<f32>) -> Self {
        assert!(rows <= Self::MAX_ROWS, "too many rows");
        let wide = columns - scales.len();
        assert!(
            scales.is_empty() || wide.is_multiple_of(LINE_COLUMNS),
            "narrow columns begin with a line"
        );
        Self {
            rows,
            columns,
            wide: vec![WideLine::ZERO; lines(rows, wide)],
            narrow: vec![NarrowLine::ZERO; lines(rows, scales.len())],
            scales,
        }
    }

    /// Bytes of memory that a matrix with so many wide columns takes.
    pub const fn bytes((rows, columns): (usize, usize), wide: usize) -> usize {
        let narrow = columns.saturating_sub(wide);
        lines(rows, columns - narrow)
            .saturating_mul(size_of::<WideLine>())
            .saturating_add(lines(rows, narrow).saturating_mul(size_of::<NarrowLine>()))
            .saturating_add(narrow.saturating_mul(size_of::<f32>()))
    }

    /// Rows: values of what is multiplied.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Columns: values of a product.
    pub fn columns(&self) -> usize {
        self.columns
    }

    /// Columns that are wide, the first.
    pub fn wide(&self) -> usize {
        self.columns - self.scales.len()
    }

    /// What 1 stands for in each narrow column.
    pub fn scales(&self) -> &[f32] {
        &self.scales
    }

    /// An integer, in units of 2^-15 or of the scale of its column; panics outside the matrix.
    pub fn integer(&self, row: usize, column: usize) -> i16 {
        match column.checked_sub(self.wide()) {
            None => {
                let (line, at, half) = place((row, column), (self.rows, self.wide()));
                self.wide[line].0[at][half]
            }
            Some(column) => {
                let (line, at, half) = place((row, column), (self.rows, self.scales.len()));
                i16::from(self.narrow[line].0[at][half])
            }
        }
    }

    /// A value; panics outside the matrix.
    pub fn value(&self, row: usize, column: usize) -> f32 {
        f32::from(self.integer(row, column)) * self.unit(column).0
    }

    fn set(&mut self, (row, column): (usize, usize), integer: i16) {
        match column.checked_sub(self.wide()) {
            None => {
                let (line, at, half) = place((row, column), (self.rows, self.wide()));
                self.wide[line].0[at][half] = integer.max(-i16::MAX);
            }
            Some(column) => {
                let (line, at, half) = place((row, column), (self.rows, self.scales.len()));
                let most = i16::from(i8::MAX);
                self.narrow[line].0[at][half] = integer.clamp(-most, most) as i8;
            }
        }
    }

    /// What 1 stands for in a column, and its largest integer.
    fn unit(&self, column: usize) -> (f32, f32) {
        match column.checked_sub(self.wide()) {
            None => (ONE.recip(), LARGEST),
            Some(column) => (self.scales[column].max(f32::MIN_POSITIVE), LARGEST_NARROW),
        }
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
        let (wide, narrow) = values.split_at(self.wide());
        project_lines_back(&self.wide, wide.iter().map(|value| value / ONE), out);
        let scaled = narrow.iter().zip(&self.scales);
        let scaled = scaled.map(|(value, scale)| value * scale);
        project_lines_back(&self.narrow, scaled, out);
    }
}

/// Lines of so many rows and columns.
const fn lines(rows: usize, columns: usize) -> usize {
    columns
        .div_ceil(LINE_COLUMNS)
        .saturating_mul(rows.div_ceil(2))
}

/// Line of a value among those of such columns, column in it, and which of its two rows.
fn place((row, column): (usize, usize), (rows, columns): (usize, usize)) -> (usize, usize, usize) {
    let line = column / LINE_COLUMNS;
    let full = lines(1, columns) / TILE_LINES * TILE_LINES;
    let (mut before, mut of_tile, mut width) = (full, line.saturating_sub(full), TILE_LINES);
    if line < full {
        (before, of_tile) = (line / TILE_LINES * TILE_LINES, line % TILE_LINES);
    } else {
        // The last tiles, each half as wide as the one before.
        for own in tiles(columns).skip(full / TILE_LINES) {
            width = own;
            if of_tile < own {
                break;
            }
            (before, of_tile) = (before + own, of_tile - own);
        }
    }
    let line = before * rows.div_ceil(2) + row / 2 * width + of_tile;
    (line, column % LINE_COLUMNS, row % 2)
}

/// Adds to each row the values of its columns, each times that of `scaled`.
fn project_lines_back<L: Line>(
    lines: &[L],
    scaled: impl ExactSizeIterator<Item = f32>,
    out: &mut [f32],
) {
    let (mut lines, mut scaled) = (lines, scaled);
    for width in tiles(scaled.len()) {
        let (tile, other_lines) = lines.split_at(width * out.len().div_ceil(2));
        lines = other_lines;
        let mut columns = [[0.0; LINE_COLUMNS]; TILE_LINES];
        let own = columns.as_flattened_mut().iter_mut();
        for (place, value) in own.take(width * LINE_COLUMNS).zip(&mut scaled) {
            *place = value;
        }
        for (out, pair) in out.chunks_mut(2).zip(tile.chunks_exact(width)) {
            for (out, sum) in out.iter_mut().zip(multiply(pair, &columns)) {
                *out += sum;
            }
        }
    }
}

/// The values of either row of a pair, each times that of its column.
#[inline]
fn multiply<L: Line>(pair: &[L], columns: &[[f32; LINE_COLUMNS]]) -> [f32; 2] {
    let mut sums = [[0.0; LINE_COLUMNS]; 2];
    for (line, columns) in pair.iter().zip(columns) {
        let pairs = line.pairs();
        for (half, sums) in sums.iter_mut().enumerate() {
            for ((sum, values), column) in sums.iter_mut().zip(&pairs).zip(columns) {
                *sum += f32::from(values[half]) * column;
            }
        }
    }
    sums.map(|own| own.iter().sum())
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

/// How an instruction set multiplies rows by a tile.
///
/// # Safety
/// `sums` needs the CPU features of the instruction set; there are `LINES` lines per pair, 1, 2, 4
/// or 8, and a pair of each row for every pair of the tile.
pub(crate) trait Tile {
    unsafe fn sums<L: Line, const LINES: usize, const ROWS: usize>(
        lines: &[L],
        pairs: [&[[i16; 2]]; ROWS],
    ) -> [TileSums<LINES>; ROWS];
}

/// The integers of a pair in one word, the first in its lower half.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
pub(crate) fn word([x, y]: [i16; 2]) -> i32 {
    let word = u32::from(x.cast_unsigned()) | u32::from(y.cast_unsigned()) << 16;
    word.cast_signed()
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
    let (integers, columns) = ((&integers[..count], matrix.rows), matrix.columns);
    let wide = matrix.wide();
    // SAFETY: the caller vouches for the features; each kind has the lines of its columns.
    unsafe {
        project_lines::<T, _>(&matrix.wide, integers, 0..wide, (out, columns));
        project_lines::<T, _>(&matrix.narrow, integers, wide..columns, (out, columns));
    }
    for out in out.chunks_exact_mut(matrix.columns.max(1)) {
        let scales = matrix.scales.iter().map(|scale| scale * ONE);
        for (out, scale) in out[wide..].iter_mut().zip(scales) {
            *out *= scale;
        }
    }
}

/// The same for the columns of some lines, those of the range in `out`.
///
/// # Safety
/// The CPU has the features of `T`.
#[inline(always)]
unsafe fn project_lines<T: Tile, L: Line>(
    lines: &[L],
    (integers, rows): (&[FixedRow], usize),
    range: Range<usize>,
    (out, columns): (&mut [f32], usize),
) {
    let pairs = rows.div_ceil(2);
    let (mut lines, mut first) = (lines, range.start);
    for width in tiles(range.len()) {
        let (own, other_lines) = lines.split_at(width * pairs);
        let last = range.end.min(first + width * LINE_COLUMNS);
        let outs = out.chunks_mut(columns * ABREAST);
        for (rows, outs) in integers.chunks(ABREAST).zip(outs) {
            let outs = outs.chunks_mut(columns);
            let outs = outs.map(|out| &mut out[first..last]);
            // SAFETY: the caller vouches for the features; a tile has its lines for each pair.
            unsafe {
                if let (TILE_LINES, [one, next]) = (width, rows) {
                    let both = ([one, next], pairs);
                    project_tile::<T, L, TILE_LINES, ABREAST>(own, both, outs);
                    continue;
                }
                for (row, out) in rows.iter().zip(outs) {
                    let (row, out) = (([row], pairs), once(out));
                    match width {
                        TILE_LINES => project_tile::<T, L, TILE_LINES, 1>(own, row, out),
                        4 => project_tile::<T, L, 4, 1>(own, row, out),
                        2 => project_tile::<T, L, 2, 1>(own, row, out),
                        _ => project_tile::<T, L, 1, 1>(own, row, out),
                    }
                }
            }
        }
        (lines, first) = (other_lines, last);
    }
}

/// Multiplies some rows, of so many pairs, by a tile.
///
/// # Safety
/// The CPU has the features of `T`, and the tile `LINES` lines for each pair.
#[inline(always)]
unsafe fn project_tile<'o, T: Tile, L: Line, const LINES: usize, const ROWS: usize>(
    lines: &[L],
    (rows, pairs): ([&FixedRow; ROWS], usize),
    outs: impl Iterator<Item = &'o mut [f32]>,
) {
    let integers = rows.map(|row| &row.pairs[..pairs]);
    // SAFETY: that of the caller.
    let sums = unsafe { T::sums::<L, LINES, ROWS>(lines, integers) };
    for ((row, sums), out) in rows.iter().zip(sums).zip(outs) {
        keep(sums, row.unit, out);
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
        let matrix = FixedMatrix::new((3, 3), 3, &values);
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
        assert_eq!(FixedMatrix::bytes((3, 129), 129), 2 * 9 * 64);
        assert_eq!(FixedMatrix::bytes((3, 129), 128), 2 * (8 * 64 + 32) + 4);
    }

    #[test]
    fn narrow_values_are_the_nearest_of_the_grid_of_their_column() {
        let random = |at: usize| ((at * 7919 % 2003) as f32 - 1000.0) / 1001.0;
        let (rows, columns, wide) = (5, 40, 16);
        let scale = |column: usize| 10.0_f32.powi(column as i32 % 7 - 3);
        let place = |at: usize| (at / columns, at % columns);
        let values = (0..rows * columns).map(|at| random(at) * scale(place(at).1));
        let values: Vec<f32> = values.collect();
        let matrix = FixedMatrix::new((rows, columns), wide, &values);
        assert_eq!((matrix.wide(), matrix.scales().len()), (16, 24));
        for (at, value) in values.iter().enumerate() {
            let (row, column) = place(at);
            if column >= wide {
                let unit = matrix.scales()[column - wide];
                let error = (matrix.value(row, column) - value).abs();
                assert!(error <= 0.501 * unit, "{row} {column}: {error} {unit}");
            }
        }
        let integers = (0..rows * columns).map(|at| matrix.integer(place(at).0, place(at).1));
        let scales = matrix.scales().to_vec();
        let twin = FixedMatrix::from_integers((rows, columns), scales, integers);
        assert_eq!(twin, matrix);
        let empty = FixedMatrix::new((2, 17), 16, &[0.0; 34]);
        assert_eq!((empty.value(1, 16), empty.scales()), (0.0, &[0.0][..]));
        let cut = FixedMatrix::from_integers((1, 17), vec![1.0], [i16::MIN; 17]);
        assert_eq!((cut.integer(0, 0), cut.integer(0, 16)), (-i16::MAX, -127));
    }

    #[test]
    fn the_product_with_the_transposed_is_that_of_its_values() {
        let shapes = [(1, 1), (3, 17), (8, 128), (5, 131), (7, 384), (33, 250)];
        for ((rows, columns), wide) in shapes
            .into_iter()
            .flat_map(|it| [(it, it.1), (it, 0), (it, 16)])
        {
            let values: Vec<f32> = (0..rows * columns)
                .map(|at| ((at * 7919 % 2003) as f32 - 1000.0) / 1001.0)
                .collect();
            let row: Vec<f32> = (0..columns).map(|at| (at % 13) as f32 - 6.0).collect();
            let matrix = FixedMatrix::new((rows, columns), wide, &values);
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
                    "{rows} x {columns}, {wide}"
                );
            }
        }
    }
}
