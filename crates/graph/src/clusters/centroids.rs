//! Centroids in groups.
#![expect(
    clippy::indexing_slicing,
    reason = "rows are cut by the dimension they were made with; a slip must stop"
)]

/// Rows of `dimension` values, one after the other.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Centroids {
    pub(super) dimension: usize,
    pub(super) values: Vec<f32>,
}

impl Centroids {
    pub(super) fn count(&self) -> usize {
        self.values.len() / self.dimension
    }

    pub(super) fn row(&self, at: usize) -> &[f32] {
        &self.values[at * self.dimension..][..self.dimension]
    }

    /// The rows of some numbers, in their order.
    pub(super) fn picked(&self, numbers: impl Iterator<Item = u32>) -> Self {
        let values = numbers.flat_map(|at| self.row(at as usize)).copied();
        Self {
            dimension: self.dimension,
            values: values.collect(),
        }
    }

    /// As many rows of these as wanted, evenly spread.
    pub(super) fn spread(&self, count: usize) -> Self {
        let every = |at: usize| (at * self.count() / count) as u32;
        self.picked((0..count).map(every))
    }

    /// The mean of the rows.
    pub(super) fn mean(&self) -> Vec<f32> {
        mean(self.dimension, self.values.chunks_exact(self.dimension))
    }
}

/// The mean of some rows; zero of none.
pub(super) fn mean<'r>(dimension: usize, rows: impl Iterator<Item = &'r [f32]>) -> Vec<f32> {
    let (mut sums, mut count) = (vec![0.0_f64; dimension], 0_u32);
    for row in rows {
        count += 1;
        for (sum, value) in sums.iter_mut().zip(row) {
            *sum += f64::from(*value);
        }
    }
    let share = 1.0 / f64::from(count.max(1));
    sums.iter().map(|sum| (sum * share) as f32).collect()
}

/// Things sorted by what they belong to: `order` has the things, those of owner `i` from
/// `starts[i]` to before `starts[i + 1]`, in their own order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Sorted {
    pub(super) order: Vec<u32>,
    pub(super) starts: Vec<u32>,
}

impl Sorted {
    /// Sorts things by `owners`, one for each, all below `count`.
    pub(super) fn new(owners: &[u32], count: usize) -> Self {
        let mut starts = vec![0_u32; count + 1];
        for owner in owners {
            starts[*owner as usize + 1] += 1;
        }
        for at in 0..count {
            starts[at + 1] += starts[at];
        }
        let mut next = starts.clone();
        let mut order = vec![0; owners.len()];
        for (thing, owner) in (0..).zip(owners) {
            let place = &mut next[*owner as usize];
            order[*place as usize] = thing;
            *place += 1;
        }
        Self { order, starts }
    }

    /// Everything that belongs to one owner.
    pub(super) fn everything(count: usize) -> Self {
        Self {
            order: (0..count as u32).collect(),
            starts: vec![0, count as u32],
        }
    }

    /// Number of owners.
    pub(super) fn owners(&self) -> usize {
        self.starts.len() - 1
    }

    /// Things of an owner.
    pub(super) fn of(&self, owner: usize) -> &[u32] {
        &self.order[self.starts[owner] as usize..self.starts[owner + 1] as usize]
    }
}
