//! Searching a delta: every living row is scored exactly.

use pageway_kernels::DistanceFn;

use super::DeltaView;

/// A row that was found.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Hit {
    /// Its number in the delta.
    pub(crate) row: u32,
    pub(crate) id: u64,
    pub(crate) distance: f32,
}

impl DeltaView {
    /// The `most` nearest living rows that are at most `farthest` away and that `admits` wants,
    /// nearest first; of equally near ones those that came first. Costs a distance for each row.
    pub(crate) fn nearest(
        &self,
        (query, distance): (&[u8], DistanceFn),
        (most, farthest): (usize, f32),
        admits: impl Fn(u32, u64) -> bool,
    ) -> Vec<Hit> {
        let mut found = Vec::new();
        let mut limit = farthest;
        self.each_living(|row, id, vector| {
            let distance = distance(query, vector);
            if distance <= limit && admits(row, id) {
                found.push(Hit { row, id, distance });
            }
            // Twice as many as wanted are looked through at a time.
            if found.len() >= 2 * most.max(32) {
                keep_best(&mut found, most);
                limit = found.last().map_or(limit, |last| last.distance.min(limit));
            }
        });
        keep_best(&mut found, most);
        found
    }
}

fn keep_best(found: &mut Vec<Hit>, most: usize) {
    found.sort_unstable_by(|one, other| {
        let by_distance = one.distance.total_cmp(&other.distance);
        by_distance.then(one.row.cmp(&other.row))
    });
    found.truncate(most);
}
