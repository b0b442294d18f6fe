//! The nearest neighbours of a set of queries.

/// The `k` nearest neighbours of each query, nearest first.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Truth {
    /// Neighbours per query.
    pub k: usize,
    /// Row numbers of the base, `k` per query.
    pub ids: Vec<u32>,
    /// Distances in step with `ids`; empty when they are not known.
    pub distances: Vec<f32>,
}

impl Truth {
    /// Number of queries.
    pub fn query_count(&self) -> usize {
        self.ids.len().checked_div(self.k).unwrap_or(0)
    }

    /// Ids of one query; empty behind the last one.
    pub fn ids_of(&self, query: usize) -> &[u32] {
        row(&self.ids, query, self.k)
    }

    /// Distances of one query; empty when they are not known.
    pub fn distances_of(&self, query: usize) -> &[f32] {
        row(&self.distances, query, self.k)
    }
}

impl Truth {
    /// Leaves out of each query the neighbours at some places, ascending, and queries without such
    /// a list; keeps as many neighbours as all have then, `most` at most.
    pub(crate) fn narrow(&mut self, left_out: &[Option<Vec<usize>>], most: usize) {
        let lost = left_out.iter().flatten().map(Vec::len).max().unwrap_or(0);
        let (wide, k) = (self.k, self.k.saturating_sub(lost).min(most));
        keep(&mut self.ids, (wide, k), left_out);
        keep(&mut self.distances, (wide, k), left_out);
        self.k = k;
    }
}

fn keep<T>(values: &mut Vec<T>, (wide, k): (usize, usize), left_out: &[Option<Vec<usize>>]) {
    let (mut at, mut kept) = (0, 0);
    values.retain(|_| {
        let (query, place) = (at / wide, at % wide);
        at += 1;
        if place == 0 {
            kept = 0;
        }
        let own = left_out.get(query).and_then(Option::as_ref);
        let is_kept = kept < k && own.is_some_and(|own| own.binary_search(&place).is_err());
        kept += usize::from(is_kept);
        is_kept
    });
}

fn row<T>(values: &[T], query: usize, k: usize) -> &[T] {
    query
        .checked_mul(k)
        .and_then(|start| values.get(start..start + k))
        .unwrap_or(&[])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_narrow_truth_has_the_nearest_of_those_that_stay() {
        let mut truth = Truth {
            k: 4,
            ids: (0..12).collect(),
            distances: (0u8..12).map(f32::from).collect(),
        };
        truth.narrow(&[Some(vec![0]), None, Some(Vec::new())], 9);
        assert_eq!((truth.k, truth.query_count()), (3, 2));
        assert_eq!(
            (truth.ids_of(0), truth.ids_of(1)),
            (&[1, 2, 3][..], &[8, 9, 10][..])
        );
        assert_eq!(truth.distances_of(1), [8.0, 9.0, 10.0]);
        truth.narrow(&[Some(vec![1]), Some(vec![0, 2])], 9);
        assert_eq!(truth.ids, [1, 9]);
    }
}
