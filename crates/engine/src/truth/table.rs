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

fn row<T>(values: &[T], query: usize, k: usize) -> &[T] {
    query
        .checked_mul(k)
        .and_then(|start| values.get(start..start + k))
        .unwrap_or(&[])
}
