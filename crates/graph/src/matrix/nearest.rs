//! The few nearest of many, from inner products.
#![expect(
    clippy::indexing_slicing,
    reason = "positions are bounded by the list itself; a slip must stop"
)]

use pageway_kernels::{NearFn, PANEL_ROWS, lanes};

use crate::error::{GraphError, try_filled};

/// Nobody yet: farther than anybody.
pub(crate) const NOBODY: (f32, u32) = (f32::INFINITY, u32::MAX);

/// A sorted list of the nearest so far.
pub(crate) struct Nearest {
    found: Vec<(f32, u32)>,
}

impl Nearest {
    pub(crate) fn new(limit: usize) -> Result<Self, GraphError> {
        let found = try_filled(limit, NOBODY, "nearest")?;
        Ok(Self { found })
    }

    /// Bytes that `new` with the same argument takes.
    pub(crate) const fn bytes(limit: usize) -> u64 {
        (limit * size_of::<(f32, u32)>()) as u64
    }

    /// The `limit` nearest of the rows whose norms are given, by their products with one row; of
    /// equal ones the first. Distances lack the squared norm of that row.
    pub(crate) fn among(
        &mut self,
        near: NearFn,
        products: &mut [f32],
        norms: &[[f32; PANEL_ROWS]],
        limit: usize,
    ) -> &[(f32, u32)] {
        let found = &mut self.found[..limit];
        found.fill(NOBODY);
        let panels = products.as_chunks_mut().0.iter_mut().zip(norms);
        for (panel, (products, norms)) in panels.enumerate() {
            let row = (0.0, found[limit - 1].0);
            let marks = near(products, row, norms, &[f32::NEG_INFINITY; PANEL_ROWS]);
            for lane in lanes(marks) {
                insert(found, products[lane], (panel * PANEL_ROWS + lane) as u32);
            }
        }
        found
    }
}

/// Puts a row into a sorted list that is full, if it is nearer than the last.
#[inline]
pub(crate) fn insert(found: &mut [(f32, u32)], distance: f32, row: u32) {
    let mut place = found.len() - 1;
    if distance >= found[place].0 {
        return;
    }
    while place > 0 && distance < found[place - 1].0 {
        found[place] = found[place - 1];
        place -= 1;
    }
    found[place] = (distance, row);
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn insertion_keeps_the_nearest_in_order(
            distances in prop::collection::vec(-5_i8..5, 0..40),
            limit in 1_usize..9,
        ) {
            let mut found = vec![NOBODY; limit];
            let mut all: Vec<(f32, u32)> = Vec::new();
            for (row, distance) in (0..).zip(distances) {
                insert(&mut found, distance.into(), row);
                all.push((distance.into(), row));
            }
            all.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
            all.resize(limit, NOBODY);
            prop_assert_eq!(found, all);
        }
    }
}
