//! Bytes divided over parts in proportion to their rows.

use std::ops::Range;

/// The share of the rows `part` in `bytes` for all `rows`. Shares of successive parts add up to the
/// whole.
pub(crate) fn share(bytes: u64, part: Range<u32>, rows: u32) -> u64 {
    let before = |row: u32| u128::from(bytes) * u128::from(row) / u128::from(rows.max(1));
    (before(part.end) - before(part.start)) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_add_up() {
        for (bytes, rows) in [(10, 3), (u64::MAX, 7), (1_000_003, u32::MAX - 1), (0, 4)] {
            let cuts = [0, rows / 3, rows / 2, rows];
            let shares = cuts
                .windows(2)
                .map(|cut| share(bytes, cut[0]..cut[1], rows));
            assert_eq!(shares.sum::<u64>(), bytes);
        }
        assert_eq!(share(77, 0..5, 5), 77, "all of it");
    }
}
