//! The largest size that fits, by halving.

/// The largest value in `low ..= high` that fits; `low` where none does.
pub(crate) fn largest(low: u32, high: u32, fits: impl Fn(u32) -> bool) -> u32 {
    let (mut low, mut high) = (low, high);
    while low < high {
        let middle = low + (high - low).div_ceil(2);
        if fits(middle) {
            low = middle;
        } else {
            high = middle - 1;
        }
    }
    low
}
