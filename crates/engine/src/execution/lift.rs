//! What makes distances by inner product proportional to squared distances.
//!
//! In the space with one component more, in which all rows are of the length M of the longest
//! ([0005](../../../../docs/decisions/0005-inner-product-augmented.md)), a query scaled to that length has
//! squared distances of 2 M / |q| times `M |q| - <x, q>`: local dimensions are told by those.

/// How much is added to the distances of a query.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Lift {
    /// Length that rows seldom exceed.
    pub(crate) longest: f32,
    /// Squared length of a raw vector.
    pub(crate) squared_norm: fn(&[u8]) -> f32,
}

impl Lift {
    /// What is added to the distances of candidates to this query.
    pub(crate) fn of(&self, query: &[u8]) -> f32 {
        self.longest * (self.squared_norm)(query).sqrt()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn squared_norm(raw: &[u8]) -> f32 {
        raw.iter().map(|own| f32::from(*own).powi(2)).sum()
    }

    #[test]
    fn distances_of_rows_of_one_length_become_halves_of_squared_ones() {
        // Rows of length 65, about a query of that length.
        let query = [33, 56];
        let rows = [[33_u8, 56], [16, 63], [63, 16], [39, 52], [60, 25]];
        let lift = Lift {
            longest: 65.0,
            squared_norm,
        };
        for row in rows {
            let products = row.iter().zip(&query);
            let product: f32 = products
                .map(|(one, other)| f32::from(*one) * f32::from(*other))
                .sum();
            let apart = row.iter().zip(&query);
            let squared: f32 = apart
                .map(|(one, other)| (f32::from(*one) - f32::from(*other)).powi(2))
                .sum();
            assert_eq!(lift.of(&query) - product, squared / 2.0);
        }
    }
}
