//! Inner products of rows of bytes with numbers in two bytes: both halves of the numbers in one
//! pass over the rows, and the sums of some rows reduced together.

/// Rows whose sums are reduced together.
pub(crate) const TOGETHER: usize = 4;

/// A sum for the higher and one for the lower halves of numbers.
pub(crate) type PairSums = [i32; 2];

/// How an instruction set multiplies, modulo 2^32.
///
/// # Safety
/// The functions need the CPU features of the instruction set. All slices are of one length.
pub(crate) trait PairProduct {
    /// What products are too large by: the same for all rows.
    unsafe fn excess(halves: [&[u8]; 2]) -> PairSums;

    /// Products with some rows, [`TOGETHER`] or one.
    unsafe fn products<const ROWS: usize>(
        halves: [&[u8]; 2],
        rows: [&[u8]; ROWS],
        excess: PairSums,
    ) -> [PairSums; ROWS];
}

/// See [`crate::PairProductsFn`].
///
/// # Safety
/// The CPU has the features of `P`.
#[inline(always)]
pub(crate) unsafe fn pair_products<P: PairProduct>(
    halves: [&[u8]; 2],
    rows: &[u8],
    out: &mut [PairSums],
) {
    let [high, low] = halves;
    let length = high.len();
    assert_eq!(low.len(), length, "halves of as many numbers");
    assert_eq!(rows.len(), out.len() * length, "a row per sum");
    let row = |index: usize| &rows[index * length..][..length];
    let (groups, rest) = out.as_chunks_mut::<TOGETHER>();
    let grouped = TOGETHER * groups.len();
    // SAFETY: the caller vouches for the features; all slices are as long as `high`.
    unsafe {
        let excess = P::excess(halves);
        for (group, out) in groups.iter_mut().enumerate() {
            let rows = std::array::from_fn(|one| row(TOGETHER * group + one));
            *out = P::products::<TOGETHER>(halves, rows, excess);
        }
        for (index, out) in rest.iter_mut().enumerate() {
            [*out] = P::products::<1>(halves, [row(grouped + index)], excess);
        }
    }
}

/// Adds the products of what is left over behind whole registers.
#[inline(always)]
pub(crate) fn add_rest<const ROWS: usize>(
    halves: [&[u8]; 2],
    rows: [&[u8]; ROWS],
    from: usize,
    out: &mut [PairSums; ROWS],
) {
    for (row, out) in rows.into_iter().zip(out) {
        for (half, out) in halves.into_iter().zip(out) {
            let pairs = half[from..].iter().zip(&row[from..]);
            let products = pairs.map(|(a, b)| i32::from(*a as i8) * i32::from(*b as i8));
            *out = products.fold(*out, i32::wrapping_add);
        }
    }
}
