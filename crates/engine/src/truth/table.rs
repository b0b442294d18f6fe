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
    /// Leaves out neighbours of queries; keeps as many as all have then, `most` at most.
    pub(crate) fn leave_out(&mut self, most: usize, is_out: impl Fn(usize, u32) -> bool) {
        let wide = self.k.max(1);
        let ids = &self.ids;
        let lost = ids.chunks(wide).enumerate().map(|(query, ids)| {
            let out = ids.iter().filter(|id| is_out(query, **id));
            out.count()
        });
        self.k = self.k.saturating_sub(lost.max().unwrap_or(0)).min(most);
        let shape = (wide, self.k);
        let id_at = |at: usize| ids.get(at).copied().unwrap_or(u32::MAX);
        keep(&mut self.distances, shape, |at, _| {
            !is_out(at / wide, id_at(at))
        });
        keep(&mut self.ids, shape, |at, id| !is_out(at / wide, *id));
    }
}

/// Of each `wide` the first `k` that stay.
fn keep<T>(values: &mut Vec<T>, (wide, k): (usize, usize), stays: impl Fn(usize, &T) -> bool) {
    let (mut at, mut kept) = (0, 0);
    values.retain(|value| {
        if at % wide == 0 {
            kept = 0;
        }
        let is_kept = kept < k && stays(at, value);
        (at, kept) = (at + 1, kept + usize::from(is_kept));
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
    fn what_is_left_out_makes_room_for_the_next() {
        let mut truth = Truth {
            k: 4,
            ids: (0..12).collect(),
            distances: (0u8..12).map(f32::from).collect(),
        };
        truth.leave_out(9, |query, id| query == 0 && id == 1);
        assert_eq!((truth.k, truth.query_count()), (3, 3));
        let found = [truth.ids_of(0), truth.ids_of(1), truth.ids_of(2)];
        assert_eq!(found, [[0, 2, 3], [4, 5, 6], [8, 9, 10]]);
        assert_eq!(truth.distances_of(0), [0.0, 2.0, 3.0]);
        truth.leave_out(2, |_, _| false);
        assert_eq!(truth.ids, [0, 2, 4, 5, 8, 9]);
    }
}
