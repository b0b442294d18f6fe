//! The clusters that a scan looks into, nearest first: sorted only as far as it goes.
//!
//! ```text
//! keys   | groups, nearest first | taken | sorted | ranked, in any order |
//! ```

use std::ops::Range;

use pageway_types::{ClusterId, GroupId};

use super::entry::EntryScratch;
use super::key::{key_number, sort_key};
use crate::storage::ClusterTable;

/// Means that are compared together.
pub(crate) const PROBE_BLOCK: u32 = 256;

/// Clusters that are looked into for each candidate of the list, at most. What more clusters cost
/// is arithmetic, what more candidates cost is reads.
const PROBES: usize = 4;

/// Clusters that are ranked for each that may be looked into: with fewer groups the nearest of
/// 4,700 clusters were missed, for one in forty of the true neighbours. Ranking a third of them
/// first, and the others once twice as many as the list is long were looked into, cost half a
/// percent of recall on local image descriptors.
const RANKED: usize = 6;

/// Clusters that are ranked for a candidate list of `size`, at most.
pub(super) const fn ranked_for(size: usize) -> usize {
    size.saturating_mul(PROBES).saturating_mul(RANKED)
}

/// How far a scan is.
#[derive(Clone, Copy, Debug)]
pub(super) struct Probes {
    /// Candidate list size that clusters are looked into for.
    size: usize,
    groups: usize,
    /// Keys in front of what is to be taken next, and in front of what is not sorted.
    next: usize,
    sorted: usize,
}

impl Probes {
    /// Ranks clusters for a candidate list of `size` and the query that `entry` took. `distances`
    /// is room for those of some means.
    pub(super) fn new(
        table: &ClusterTable,
        size: usize,
        entry: &mut EntryScratch,
        distances: &mut Vec<f32>,
    ) -> Self {
        let keys = &mut entry.clusters;
        keys.clear();
        let groups = (0..).map(GroupId).zip(entry.probe.groups());
        keys.extend(groups.map(|(group, distance)| sort_key(*distance, group)));
        keys.sort_unstable();
        let groups = keys.len();
        let full = groups + ranked_for(size);
        for at in 0..groups {
            let room = full.saturating_sub(keys.len());
            let Some(group) = keys.get(at).map(|key| key_number::<GroupId>(*key)) else {
                break;
            };
            let all = table.clusters_of(group);
            let clusters = all.start..all.start + room.min(all.len()) as u32;
            let query = (&entry.probe, group);
            rank(
                clusters,
                |first, out| table.compare(query, first, out),
                distances,
                keys,
            );
            if keys.len() >= full {
                break;
            }
        }
        Self {
            size,
            groups,
            next: groups,
            sorted: groups,
        }
    }

    /// The key of the next cluster.
    pub(super) fn take(&mut self, entry: &mut EntryScratch) -> Option<u64> {
        if self.has_taken_for(self.size) {
            return None;
        }
        if self.next >= self.sorted {
            self.sort(&mut entry.clusters);
        }
        let key = entry.clusters.get(self.next)?;
        self.next += 1;
        Some(*key)
    }

    /// Whether as many clusters were taken as a list of `size` looks into.
    pub(super) fn has_taken_for(&self, size: usize) -> bool {
        self.next - self.groups >= size.saturating_mul(PROBES)
    }

    /// The one after it, where that is known yet.
    pub(super) fn coming(&self, entry: &EntryScratch) -> Option<ClusterId> {
        let sorted = entry.clusters.get(..self.sorted)?;
        sorted.get(self.next).map(|key| key_number(*key))
    }

    /// Leaves the keys of the clusters that were taken, by number. Returns how many means were
    /// compared.
    pub(super) fn end(self, entry: &mut EntryScratch) -> usize {
        let keys = &mut entry.clusters;
        let compared = keys.len();
        keys.truncate(self.next);
        keys.drain(..self.groups);
        keys.sort_unstable_by_key(|key| *key as u32);
        compared
    }

    /// Sorts as many as a scan looks into at least, before it may end.
    fn sort(&mut self, keys: &mut [u64]) {
        let (_, rest) = keys.split_at_mut(self.sorted.min(keys.len()));
        let count = self.size.max(1).min(rest.len());
        if count < rest.len() {
            rest.select_nth_unstable(count);
        }
        let (nearest, _) = rest.split_at_mut(count);
        nearest.sort_unstable();
        self.sorted += count;
    }
}

/// Appends a key for each of some clusters, by blocks.
fn rank(
    clusters: Range<u32>,
    compare: impl Fn(ClusterId, &mut [f32]),
    distances: &mut Vec<f32>,
    keys: &mut Vec<u64>,
) {
    for first in clusters.clone().step_by(PROBE_BLOCK as usize) {
        let block = first..clusters.end.min(first + PROBE_BLOCK);
        distances.clear();
        distances.resize(block.len(), 0.0);
        compare(ClusterId(first), distances);
        let pairs = block.map(ClusterId).zip(distances.iter());
        keys.extend(pairs.map(|(cluster, distance)| sort_key(*distance, cluster)));
    }
}
