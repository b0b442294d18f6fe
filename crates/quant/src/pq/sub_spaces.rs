//! How the components of a vector are shared out among the bytes of its code.
//!
//! Sub-spaces are as even as possible: the first `d mod m` hold one component more. Which ones they
//! hold is the order; that and two numbers fix the split, so nothing else is stored.
//!
//! ```text
//! component           0 1 2 3 4 5 6 7 8 9        d = 10, m = 3
//! sub-space, natural  0 0 0 0 1 1 1 2 2 2
//! sub-space, strided  0 1 2 0 1 2 0 1 2 0        sorted: 0 3 6 9  1 4 7  2 5 8
//! ```
//!
//! Rows are *sorted* on their way in: components of one sub-space lie together, in rising order.
//! Beyond that door everything works on runs.
#![expect(clippy::indexing_slicing, reason = "components lie within their row")]

use std::iter::StepBy;
use std::ops::Range;

use pageway_types::VectorShape;

use crate::QuantError;

/// Which components share a byte of the code.
///
/// Two quantizers of different order err more independently on one set of rows than two of one
/// order and different seeds, so that one can look again at what the other found; the data decide
/// by how much. A single code of twice the bytes is a better estimate than the mean of both.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ComponentOrder {
    /// Runs of neighbouring components. Where neighbours are alike, as in image descriptors, the
    /// better choice for a quantizer that stands alone.
    #[default]
    Natural,
    /// Component `i` belongs to byte `i mod m`. The same as `Natural` for one byte, and for a byte
    /// per component.
    Strided,
}

/// Numbers of the components of one sub-space, rising.
pub(super) type Components = StepBy<Range<usize>>;

/// One sub-space.
#[derive(Clone, Debug)]
pub(super) struct SubSpace {
    pub(super) components: Components,
    /// Where these lie in a sorted row.
    pub(super) run: Range<usize>,
}

/// `count` sub-spaces that share out `0..dimension`.
///
/// Invariant: `1 <= count <= dimension <= MAX_DIMENSION`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SubSpaces {
    dimension: usize,
    count: usize,
    order: ComponentOrder,
}

impl SubSpaces {
    pub(super) fn new(
        dimension: usize,
        code_bytes: usize,
        order: ComponentOrder,
    ) -> Result<Self, QuantError> {
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
            order,
        })
    }

    pub(super) const fn dimension(self) -> usize {
        self.dimension
    }

    pub(super) const fn count(self) -> usize {
        self.count
    }

    pub(super) const fn order(self) -> ComponentOrder {
        self.order
    }

    /// The sub-spaces; their runs follow each other without gaps.
    pub(super) fn iter(self) -> impl Iterator<Item = SubSpace> {
        let (width, wider) = (self.dimension / self.count, self.dimension % self.count);
        (0..self.count).map(move |index| {
            let start = index * width + index.min(wider);
            let run = start..start + width + usize::from(index < wider);
            let components = match self.order {
                ComponentOrder::Natural => run.clone().step_by(1),
                ComponentOrder::Strided => (index..self.dimension).step_by(self.count),
            };
            SubSpace { components, run }
        })
    }

    /// Copies a row with its components sorted by sub-space.
    pub(super) fn sort(self, row: &[f32], sorted: &mut [f32]) {
        match self.order {
            ComponentOrder::Natural => sorted.copy_from_slice(row),
            ComponentOrder::Strided => {
                let components = self.iter().flat_map(|sub_space| sub_space.components);
                for (value, component) in sorted.iter_mut().zip(components) {
                    *value = row[component];
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ORDERS: [ComponentOrder; 2] = [ComponentOrder::Natural, ComponentOrder::Strided];

    #[test]
    fn sub_spaces_share_out_the_components_evenly() {
        for (dimension, count) in [(1, 1), (10, 3), (128, 32), (100, 99), (17, 17), (9, 1)] {
            for order in ORDERS {
                let split = SubSpaces::new(dimension, count, order).unwrap();
                let runs: Vec<_> = split.iter().map(|sub_space| sub_space.run).collect();
                assert_eq!(runs.len(), count);
                assert_eq!((runs[0].start, runs[count - 1].end), (0, dimension));
                assert!(runs.windows(2).all(|pair| pair[0].end == pair[1].start));
                let widths: Vec<_> = runs.iter().map(Range::len).collect();
                assert!(widths.is_sorted_by(|a, b| a >= b) && widths[0] - widths[count - 1] <= 1);
                let mut met = Vec::new();
                for (index, sub_space) in split.iter().enumerate() {
                    assert_eq!(sub_space.components.len(), sub_space.run.len());
                    let own = |component: usize| match order {
                        ComponentOrder::Natural => sub_space.run.contains(&component),
                        ComponentOrder::Strided => component % count == index,
                    };
                    assert!(sub_space.components.clone().all(own));
                    met.extend(sub_space.components);
                }
                met.sort_unstable();
                assert!(met.into_iter().eq(0..dimension));
            }
        }
    }

    #[test]
    fn rows_are_sorted_as_drawn() {
        let row = [0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0];
        let sorted = ORDERS.map(|order| {
            let mut sorted = [f32::NAN; 10];
            SubSpaces::new(10, 3, order)
                .unwrap()
                .sort(&row, &mut sorted);
            sorted
        });
        let strided = [0.0, 3.0, 6.0, 9.0, 1.0, 4.0, 7.0, 2.0, 5.0, 8.0];
        assert_eq!(sorted, [row, strided]);
    }

    #[test]
    fn refuses_impossible_splits() {
        let refused = |dimension, code_bytes| {
            SubSpaces::new(dimension, code_bytes, ComponentOrder::Natural).unwrap_err()
        };
        for found in [0, 16_385] {
            let limit = 16_384;
            assert_eq!(refused(found, 1), QuantError::Dimension { found, limit });
        }
        for code_bytes in [0, 9] {
            let dimension = 8;
            let error = QuantError::CodeBytes {
                code_bytes,
                dimension,
            };
            assert_eq!(refused(8, code_bytes), error);
        }
    }
}
