//! How the components of a vector are shared out among the bytes of its code.
//!
//! Sub-spaces are runs of neighbouring components, as even as possible: the first `d mod m` hold
//! one component more. The split follows from two numbers and is never stored.

use std::ops::Range;

use pageway_types::VectorShape;

use crate::QuantError;

/// `count` runs that cover `0..dimension`. Invariant: `1 <= count <= dimension <= MAX_DIMENSION`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SubSpaces {
    dimension: usize,
    count: usize,
}

impl SubSpaces {
    pub(super) fn new(dimension: usize, code_bytes: usize) -> Result<Self, QuantError> {
        let limit = VectorShape::MAX_DIMENSION as usize;
        if !(1..=limit).contains(&dimension) {
            return Err(QuantError::Dimension {
                found: dimension,
                limit,
            });
        }
        if !(1..=dimension).contains(&code_bytes) {
            return Err(QuantError::CodeBytes {
                code_bytes,
                dimension,
            });
        }
        Ok(Self {
            dimension,
            count: code_bytes,
        })
    }

    pub(super) const fn dimension(self) -> usize {
        self.dimension
    }

    pub(super) const fn count(self) -> usize {
        self.count
    }

    /// Components of the sub-spaces, in order and without gaps.
    pub(super) fn ranges(self) -> impl Iterator<Item = Range<usize>> {
        let (width, wider) = (self.dimension / self.count, self.dimension % self.count);
        (0..self.count).map(move |sub_space| {
            let start = sub_space * width + sub_space.min(wider);
            start..start + width + usize::from(sub_space < wider)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_cover_the_dimension_evenly() {
        for (dimension, count) in [(1, 1), (10, 3), (128, 32), (100, 99), (17, 17)] {
            let ranges: Vec<_> = SubSpaces::new(dimension, count).unwrap().ranges().collect();
            assert_eq!(ranges.len(), count);
            assert_eq!(ranges[0].start, 0);
            assert_eq!(ranges[count - 1].end, dimension);
            assert!(ranges.windows(2).all(|pair| pair[0].end == pair[1].start));
            let widths: Vec<_> = ranges.iter().map(Range::len).collect();
            assert!(widths.is_sorted_by(|a, b| a >= b) && widths[0] - widths[count - 1] <= 1);
        }
    }

    #[test]
    fn refuses_impossible_splits() {
        assert!(matches!(
            SubSpaces::new(0, 1),
            Err(QuantError::Dimension { .. })
        ));
        assert!(matches!(
            SubSpaces::new(16_385, 1),
            Err(QuantError::Dimension { .. })
        ));
        assert!(matches!(
            SubSpaces::new(8, 0),
            Err(QuantError::CodeBytes { .. })
        ));
        assert!(matches!(
            SubSpaces::new(8, 9),
            Err(QuantError::CodeBytes { .. })
        ));
    }
}
