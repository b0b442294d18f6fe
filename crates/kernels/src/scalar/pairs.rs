//! Products of rows of bytes with numbers in two bytes: what every instruction set must give.

use crate::pairs::{self, PairProduct, PairSums};

/// Products added one after the other.
struct Portable;

impl PairProduct for Portable {
    #[inline(always)]
    unsafe fn excess(_halves: [&[u8]; 2]) -> PairSums {
        [0; 2]
    }

    #[inline(always)]
    unsafe fn products<const ROWS: usize>(
        halves: [&[u8]; 2],
        rows: [&[u8]; ROWS],
        _excess: PairSums,
    ) -> [PairSums; ROWS] {
        let mut out = [[0; 2]; ROWS];
        pairs::add_rest(halves, rows, 0, &mut out);
        out
    }
}

pub(crate) fn pair_products(halves: [&[u8]; 2], rows: &[u8], out: &mut [PairSums]) {
    // SAFETY: portable code needs no features.
    unsafe { pairs::pair_products::<Portable>(halves, rows, out) }
}
