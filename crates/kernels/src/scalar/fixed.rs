//! Products of a row and a matrix in fixed point.

use crate::fixed::{self, FixedMatrix, LINE_COLUMNS, Line, Tile, TileSums};

/// Products added one after the other.
struct Portable;

impl Tile for Portable {
    /// The sums that every instruction set must give; those that do not fit wrap.
    #[inline(always)]
    unsafe fn sums<L: Line, const LINES: usize, const ROWS: usize>(
        lines: &[L],
        pairs: [&[[i16; 2]]; ROWS],
    ) -> [TileSums<LINES>; ROWS] {
        pairs.map(|pairs| {
            let mut sums = [[0_i32; LINE_COLUMNS]; LINES];
            for (lines, [x, y]) in lines.chunks_exact(LINES).zip(pairs) {
                let columns = lines.iter().flat_map(L::pairs);
                for (sum, [a, b]) in sums.as_flattened_mut().iter_mut().zip(columns) {
                    let products = i32::from(a) * i32::from(*x) + i32::from(b) * i32::from(*y);
                    *sum = sum.wrapping_add(products);
                }
            }
            sums
        })
    }
}

pub(crate) fn project_fixed(matrix: &FixedMatrix, rows: &[f32], out: &mut [f32]) {
    // SAFETY: portable code needs no features.
    unsafe { fixed::project::<Portable>(matrix, rows, out) }
}
