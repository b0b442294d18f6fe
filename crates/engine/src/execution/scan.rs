//! Candidates without lists: the nodes of the nearest clusters, and what is read for them.
//!
//! ```text
//!  groups --means--> nearest groups --means--> nearest clusters
//!         --codes around the means--> candidate list --bounds--> one batch of reads
//! ```
//! How many clusters a query looks into follows from the size of its candidate list: the one knob,
//! as in a walk. Codes lie as they are scored, 32 at a time: no
//! lookup by node, and what is farther than the whole list is not offered to it.

use pageway_quant::BLOCK_CODES;
use pageway_types::NodeId;

use super::Traversal;
use super::candidates::{CandidateList, key_distance, key_node, sort_key};
use super::parts::CodePart;
use super::query::Goal;
use super::schedule::Among;
use super::scratch::{Scoring, Target};
use crate::layout::PageCodec;
use crate::storage::{ClusterTable, MeanQuery};

/// Means that are compared together.
pub(crate) const PROBE_BLOCK: u32 = 256;

/// Clusters that are looked into for each candidate of the list, at most. What more clusters cost
/// is arithmetic, what more candidates cost is reads.
const PROBES: usize = 4;

/// Clusters that are ranked for each that may be looked into: with fewer groups the nearest of
/// 4,700 clusters were missed, for one in forty of the true neighbours.
const RANKED: usize = 6;

/// Clusters that are ranked for a candidate list of `size`, at most.
pub(super) const fn ranked_for(size: usize) -> usize {
    size.saturating_mul(PROBES).saturating_mul(RANKED)
}

impl<C: PageCodec> Traversal<'_, C> {
    /// Fills the candidate list from the nearest clusters, if it has grown.
    pub(super) fn scan(&mut self, table: &ClusterTable) {
        let size = self.scratch.candidates.capacity();
        if self.scanned < size {
            self.scanned = size;
            self.rank_clusters(table, size);
            self.score_members(table);
        }
    }

    /// Leaves in the keys the clusters that a candidate list of `size` may look into, nearest
    /// first.
    fn rank_clusters(&mut self, table: &ClusterTable, size: usize) {
        let scratch = &mut *self.scratch;
        let query = &mut scratch.entry.probe;
        let (keys, scoring) = (&mut scratch.keys, &mut scratch.scoring);
        table.take(self.query.vector, &scoring.widened, query);
        keys.clear();
        let query = &*query;
        let groups = (0..).map(NodeId).zip(query.groups());
        keys.extend(groups.map(|(group, distance)| sort_key(*distance, group)));
        keys.sort_unstable();
        let groups = keys.len();
        let full = groups + ranked_for(size);
        for at in 0..groups {
            let room = full.saturating_sub(keys.len());
            let Some(group) = keys.get(at).map(|key| key_node(*key).0) else {
                break;
            };
            let all = table.clusters_of(group);
            let clusters = all.start..all.start + room.min(all.len()) as u32;
            let compare =
                |some: &[NodeId], out: &mut [f32]| table.compare((query, group), some, out);
            rank(clusters, compare, scoring, keys);
            if keys.len() >= full {
                break;
            }
        }
        self.stats.approximate_distances += keys.len() as u64;
        keys.drain(..groups);
        let probes = size.saturating_mul(PROBES);
        if probes < keys.len() {
            keys.select_nth_unstable(probes);
            keys.truncate(probes);
        }
        keys.sort_unstable();
    }

    /// Offers the nodes of the clusters in the keys to the candidate list.
    fn score_members(&mut self, table: &ClusterTable) {
        let (parts, admission) = (self.parts, self.query.admission);
        let scratch = &mut *self.scratch;
        let scorer = &mut scratch.scoring.scorer;
        scorer.prepare_blocks();
        let mut estimates = [0.0; BLOCK_CODES];
        let mut patience = Patience::new(self.query.goal, scratch.shape.sizes.results);
        for key in &scratch.keys {
            if patience.ends(&scratch.candidates) {
                break;
            }
            let cluster = key_node(*key).0;
            let centre = table.centre(&scratch.entry.probe, cluster, key_distance(*key));
            let nodes = table.nodes_of(cluster);
            self.stats.hops += 1;
            self.stats.approximate_distances += nodes.len() as u64;
            for part in parts.codes.blocks.parts(nodes.clone()) {
                let limit = scratch.candidates.limit();
                let near = scorer.score_block(centre, part.block, limit, &mut estimates);
                let marks = near & part.marks & admission.mask(part.first);
                for (node, estimate) in marked(part.first, marks, &estimates) {
                    scratch.candidates.insert(node, estimate);
                }
            }
            if let Some(trace) = &mut scratch.trace {
                trace.extend(nodes.map(NodeId));
            }
        }
    }

    /// Leaves in `keys` the candidates whose fine codes may be read.
    pub(super) fn pick_scanned(&mut self, keys: &mut Vec<u64>) {
        while let Some(key) = self.scratch.candidates.pop_unexpanded() {
            keys.push(key);
        }
    }

    /// Asks for the pages of the fine codes of `keys`.
    pub(super) fn request_fine_codes(&mut self, keys: &[u64]) {
        let map = self.parts.codec.map();
        let targets = keys.iter().map(|key| Target {
            page: map.page_of(key_node(*key)),
            key: *key,
        });
        self.scratch.pages.targets.extend(targets);
        self.request_targets(Among::All);
    }
}

/// The nodes of a block that are marked, and their estimates.
fn marked(
    first: u32,
    mut marks: u32,
    estimates: &[f32; BLOCK_CODES],
) -> impl Iterator<Item = (NodeId, f32)> {
    std::iter::from_fn(move || {
        let at = marks.trailing_zeros();
        let estimate = estimates.get(at as usize)?;
        marks &= marks - 1;
        Some((NodeId(first + at), *estimate))
    })
}

/// Appends a key for each of `numbers`, by blocks.
fn rank(
    numbers: std::ops::Range<u32>,
    compare: impl Fn(&[NodeId], &mut [f32]),
    scoring: &mut Scoring,
    keys: &mut Vec<u64>,
) {
    let Scoring {
        places, estimates, ..
    } = scoring;
    let mut first = numbers.start;
    while first < numbers.end {
        let end = numbers.end.min(first + PROBE_BLOCK);
        places.clear();
        places.extend((first..end).map(NodeId));
        estimates.clear();
        estimates.resize(places.len(), 0.0);
        compare(places, estimates);
        let pairs = places.iter().zip(estimates.iter());
        keys.extend(pairs.map(|(place, distance)| sort_key(*distance, *place)));
        first = end;
    }
}

/// Whether more clusters are worth it: not when as many as the list is long have brought nothing
/// nearer than the k-th candidate. On global image descriptors that saves a third of the codes at
/// equal recall, on local ones and on text a tenth.
struct Patience {
    rank: Option<usize>,
    kth: u64,
    stale: usize,
}

impl Patience {
    fn new(goal: Goal, k: usize) -> Self {
        Self {
            rank: (goal == Goal::Nearest).then_some(k.saturating_sub(1)),
            kth: u64::MAX,
            stale: 0,
        }
    }

    /// Looks at the list after a cluster.
    fn ends(&mut self, candidates: &CandidateList) -> bool {
        let Some(rank) = self.rank else {
            return false;
        };
        let kth = candidates.keys().get(rank).copied().unwrap_or(u64::MAX);
        self.stale = if kth < self.kth { 0 } else { self.stale + 1 };
        self.kth = kth;
        kth < u64::MAX && self.stale > candidates.capacity()
    }
}

impl Scoring {
    /// Scores the codes of the nodes in `places` again, each around its mean, with their errors.
    pub(super) fn score_around(
        &mut self,
        (table, codes): (&ClusterTable, &CodePart),
        query: &MeanQuery,
    ) {
        let (estimate, error) = (&mut self.fine.0, &mut self.fine.1);
        self.estimates.clear();
        self.errors.clear();
        for node in &self.places {
            let centre = table.centre_of(query, table.cluster_of(*node));
            codes.blocks.code(*node, &codes.quantizer, &mut self.code);
            self.scorer
                .score_around_with_errors(centre, &self.code, estimate, error);
            self.estimates.extend_from_slice(estimate);
            self.errors.extend_from_slice(error);
        }
    }
}
