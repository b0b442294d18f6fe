//! Samples of rows: one random row per stride, so that sorted data does no harm.

use pageway_types::{SplitMix64, VectorRead};

use crate::error::Result;

/// Row numbers of a sample, ascending and distinct: one per stride of `count / size`.
pub(super) fn sample_rows(count: u64, size: u64, seed: u64) -> Vec<u64> {
    let size = size.min(count);
    let bound = |index: u64| (u128::from(count) * u128::from(index) / u128::from(size)) as u64;
    let mut random = SplitMix64::new(seed);
    (0..size)
        .map(|index| {
            let (first, end) = (bound(index), bound(index + 1));
            first + random.next_u64() % (end - first).max(1)
        })
        .collect()
}

/// Reads the given rows one after the other.
pub(super) fn read_rows(vectors: &dyn VectorRead, rows: &[u64]) -> Result<Vec<u8>> {
    let row_bytes = vectors.shape().row_bytes();
    let mut bytes = vec![0; rows.len() * row_bytes];
    for (row, out) in rows.iter().zip(bytes.chunks_exact_mut(row_bytes)) {
        vectors.read(*row, out)?;
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_are_spread_distinct_and_repeatable() {
        for (count, size) in [(1, 1), (10, 10), (10, 3), (1_000_000, 1000), (7, 100)] {
            let rows = sample_rows(count, size, 9);
            assert_eq!(rows.len() as u64, size.min(count));
            assert!(rows.windows(2).all(|pair| pair[0] < pair[1]));
            assert!(rows.iter().all(|row| *row < count));
            assert_eq!(rows, sample_rows(count, size, 9));
        }
        assert_ne!(
            sample_rows(1_000_000, 1000, 1),
            sample_rows(1_000_000, 1000, 2)
        );
    }
}
