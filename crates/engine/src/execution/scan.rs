//! Candidates without lists: the nodes of the nearest clusters, and what is read for them.
//!
//! ```text
//!  groups --means--> nearest groups --means--> nearest clusters
//!         --codes around the means--> candidate list --bounds--> one batch of reads
//! ```
//! How many clusters a query looks into follows from the size of its candidate list: the one knob,
//! as in a walk. Codes lie as they are scored, 32 at a time: no
//! lookup by node, and what is farther than the whole list is not offered to it.

use std::ops::Range;

use pageway_kernels::lanes;
use pageway_quant::{BLOCK_CODES, Centre};
use pageway_types::{ClusterId, NodeId};

use super::Traversal;
use super::beside::Beside;
use super::candidates::CandidateList;
use super::early::Pause;
use super::entry::EntryScratch;
use super::key::{key_distance, key_node, key_number};
use super::ladder::QueryLadder;
use super::probes::{Probes, ranked_for};
use super::query::{Gathering, Goal};
use super::schedule::Among;
use super::scratch::Target;
use crate::layout::PageCodec;
use crate::storage::ClusterTable;

impl<C: PageCodec> Traversal<'_, C> {
    /// Fills the candidate list from the nearest clusters, if it has grown.
    pub(super) fn scan(&mut self, table: &ClusterTable) {
        let size = self.scratch.candidates.depth();
        if self.scan.probes.is_some() {
            self.score_clusters(table, size);
        } else if self.scan.list_size < size || self.scan.beside.goes_on {
            if self.scan.list_size == 0 {
                let k = self.scratch.shape.sizes.results;
                self.scan.patience = StaleCodes::new(self.query.goal, k);
                let scratch = &mut *self.scratch;
                let (scoring, entry) = (&scratch.scoring, &mut scratch.entry);
                table.take(self.query.vector, &scoring.widened, &mut entry.probe);
                entry.scored.forget(table.cluster_count());
                self.scan.nearby = Nearby::default();
            }
            self.scan.list_size = size;
            self.scan.beside.begin();
            if self.query.lists_admitted {
                self.score_admitted(table);
            } else {
                self.score_clusters(table, size);
            }
        }
    }

    /// Whether it is over once it brings nothing nearer than what other segments hold: a scan for
    /// the nearest of all that live.
    pub(super) fn ends_beside(&self) -> bool {
        self.scratch.shape.index.gathering() == Gathering::Scanning
            && self.query.goal == Goal::Nearest
            && self.query.admission.is_open()
            && self.query.ladder.is_none()
    }

    /// Looks into clusters for what is nearer than `end`, a distance in sortable bits, alone.
    pub(super) fn end_at(&mut self, end: u32) {
        let shape = &self.scratch.shape;
        let nodes = (shape.index.nodes, shape.among.nodes);
        self.scan.beside.end_at(end, nodes);
    }

    /// Forgets what a scan found.
    pub(super) fn begin_scan(&mut self) {
        let candidates = &mut self.scratch.candidates;
        candidates.reset(candidates.capacity(), 0);
        self.scan.list_size = 0;
    }

    /// Offers every node that may be an answer.
    fn score_admitted(&mut self, table: &ClusterTable) {
        let count = self.parts.codec.map().node_count;
        self.scratch.entry.clusters.clear();
        let mut estimates = [0.0; BLOCK_CODES];
        let mut behind = 0;
        for node in self.query.admission.listed(count) {
            // The nodes of a cluster come together.
            if node.0 >= behind {
                let cluster = table.cluster_of(node);
                let nodes = table.nodes_of(cluster);
                behind = nodes.end;
                let centre = table.centre_of(&self.scratch.entry.probe, cluster);
                self.score_cluster(nodes, centre, &mut estimates);
            }
        }
    }

    /// Offers those nodes of a cluster that may be answers; whether there is one. `estimates` is
    /// room for those of a block.
    #[inline]
    fn score_cluster(
        &mut self,
        nodes: Range<u32>,
        centre: Centre,
        estimates: &mut [f32; BLOCK_CODES],
    ) -> bool {
        let (parts, admission) = (self.parts, self.query.admission);
        let scratch = &mut *self.scratch;
        let counts = self.query.among.is_some();
        let mut has_admitted = false;
        self.stats.hops += 1;
        for part in parts.codes.blocks.parts(nodes) {
            let admitted = part.marks & admission.mask(part.first);
            let limit = scratch.candidates.limit();
            has_admitted |= admitted != 0;
            // Without a limit all are near, whatever their codes say.
            if admitted == 0 && !(counts && limit < f32::INFINITY) {
                self.scan.nearby.add(part.marks, 0);
                continue;
            }
            self.stats.approximate_distances += u64::from(part.marks.count_ones());
            let scorer = &scratch.scoring.scorer;
            let near = scorer.score_block(centre, part.block, limit, estimates) & part.marks;
            let marks = near & admitted;
            if counts {
                self.scan.nearby.add(near, marks);
            }
            let nearer = marked(part.first, marks, estimates);
            scratch.candidates.insert_all(nearer);
        }
        has_admitted
    }

    /// Offers the nodes of as many of the nearest clusters as a candidate list of `size` takes.
    fn score_clusters(&mut self, table: &ClusterTable, size: usize) {
        let scratch = &mut *self.scratch;
        let distances = &mut scratch.scoring.estimates;
        let probes = self.scan.probes.take();
        let rung = scratch.told.ladder.rung;
        let mut noted = ScanEnds::new(self.query.ladder, rung, table.cluster_count());
        let size = noted.longest().unwrap_or(size);
        let mut probes =
            probes.unwrap_or_else(|| Probes::new(table, size, &mut scratch.entry, distances));
        let mut estimates = [0.0; BLOCK_CODES];
        // What a shorter list looked into ended when it had been patient for so long.
        let mut had_admitted = false;
        loop {
            let (scan, candidates) = (&mut self.scan, &self.scratch.candidates);
            if scan.patience.ends(candidates, size, had_admitted)
                || scan.beside.ends(candidates, had_admitted)
            {
                break;
            }
            let patience = scan.patience;
            noted.end_rungs(|size| patience.ends_list(size) || probes.has_taken_for(size));
            self.note_ends(&mut noted);
            if self.turns_early(Pause::Choosing) {
                self.scan.probes = Some(probes);
                return;
            }
            let entry = &mut self.scratch.entry;
            let Some(key) = probes.take(entry) else {
                break;
            };
            if let Some(next) = probes.coming(entry) {
                self.parts.codes.blocks.prefetch(table.nodes_of(next));
            }
            let cluster = key_number::<ClusterId>(key);
            // What a shorter list looked into is among the candidates, or was turned away.
            had_admitted = false;
            if entry.scored.insert(cluster) {
                let centre = table.centre(&entry.probe, cluster, key_distance(key));
                let nodes = table.nodes_of(cluster);
                had_admitted = self.score_cluster(nodes.clone(), centre, &mut estimates);
                if let Some(trace) = &mut self.scratch.told.trace {
                    trace.extend(nodes.map(NodeId));
                }
            }
            noted.look(&self.scratch.candidates);
            self.note_ends(&mut noted);
        }
        noted.end_rungs(|_| true);
        self.note_ends(&mut noted);
        self.scratch.told.ladder.rung = noted.last_rung();
        let entry = &mut self.scratch.entry;
        self.stats.approximate_distances += probes.end(entry) as u64;
    }

    /// Notes the lists whose scans end here.
    fn note_ends(&mut self, noted: &mut ScanEnds<'_>) {
        while let Some((rank, rung)) = noted.next() {
            self.note_list(rank, rung);
        }
    }

    /// By how much the estimate of a candidate is off, of which a scan found the code.
    pub(super) fn scanned_error(&self, table: &ClusterTable, key: u64) -> f32 {
        let centre = centre_of(table, &self.scratch.entry, key_node(key));
        self.block_error(centre, key)
    }

    /// The same while the scan is on its way.
    pub(super) fn error_in_scan(&self, table: &ClusterTable, key: u64) -> f32 {
        let cluster = table.cluster_of(key_node(key));
        let centre = table.centre_of(&self.scratch.entry.probe, cluster);
        self.block_error(centre, key)
    }

    fn block_error(&self, centre: Centre, key: u64) -> f32 {
        let (block, number) = self.parts.codes.blocks.place(key_node(key));
        let scorer = &self.scratch.scoring.scorer;
        scorer.block_error(centre, block, number, key_distance(key))
    }

    /// Leaves in `keys` the candidates whose fine codes may be read.
    pub(super) fn pick_scanned(&mut self, keys: &mut Vec<u64>) {
        let candidates = &mut self.scratch.candidates;
        candidates.take_off(usize::MAX);
        keys.extend(std::iter::from_fn(|| candidates.pop_unexpanded()));
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
    marks: u32,
    estimates: &[f32; BLOCK_CODES],
) -> impl Iterator<Item = (NodeId, f32)> {
    let own = move |lane: usize| Some((NodeId(first + lane as u32), *estimates.get(lane)?));
    lanes(marks).filter_map(own)
}

/// What a scan that goes on with a longer list knows of what it did before.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct ScanState {
    /// Candidate list size for which clusters were looked into.
    list_size: usize,
    patience: StaleCodes,
    beside: Beside,
    /// Where it goes on, while it lets early reads out.
    probes: Option<Probes>,
    /// What a scan among some nodes came by.
    pub(super) nearby: Nearby,
}

/// Nodes that were nearer than a list's last when they were scored.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct Nearby {
    all: u64,
    admitted: u64,
}

impl Nearby {
    fn add(&mut self, near: u32, admitted: u32) {
        self.all += u64::from(near.count_ones());
        self.admitted += u64::from(admitted.count_ones());
    }

    /// Those of them that may be answers, and all.
    pub(super) fn counts(self) -> (usize, usize) {
        (self.admitted as usize, self.all as usize)
    }
}

/// Whether more clusters are worth it: not when as many as the list is long, of those that hold
/// what may be an answer, have brought nothing nearer than the k-th candidate. On global image
/// descriptors that saves a third of the codes at equal recall, on local ones and on text a tenth.
#[derive(Clone, Copy, Default, Debug)]
struct StaleCodes {
    rank: Option<usize>,
    /// Key of the k-th candidate; the largest while there are fewer.
    kth: u64,
    stale: usize,
}

impl StaleCodes {
    fn new(goal: Goal, k: usize) -> Self {
        Self {
            rank: (goal == Goal::Nearest).then_some(k.saturating_sub(1)),
            kth: u64::MAX,
            stale: 0,
        }
    }

    /// Looks at the list after a cluster, if that had what may be an answer.
    fn ends(&mut self, candidates: &CandidateList, size: usize, had_admitted: bool) -> bool {
        if had_admitted {
            self.look(candidates);
        }
        self.ends_list(size)
    }

    fn look(&mut self, candidates: &CandidateList) {
        let Some(rank) = self.rank else {
            return;
        };
        let kth = candidates.keys().get(rank).copied().unwrap_or(u64::MAX);
        self.stale = if kth < self.kth { 0 } else { self.stale + 1 };
        self.kth = kth;
    }

    /// Whether a scan with a list of this size would end.
    fn ends_list(&self, size: usize) -> bool {
        self.kth < u64::MAX && self.stale > size
    }
}

/// Where scans with lists of a ladder end for each k, on the way of that for the largest: with one
/// list, or with all from one on that rank every cluster, as a longer one goes on where a shorter
/// one ends then.
struct ScanEnds<'l> {
    /// Number of the first list.
    first: usize,
    sizes: &'l [u32],
    /// Lists whose scans have ended for every k.
    ended: usize,
    /// Of each k its patience, and for how many of the lists it has ended.
    ranks: Vec<(StaleCodes, usize)>,
}

impl<'l> ScanEnds<'l> {
    /// From the list number `first` of a ladder on, over so many clusters.
    fn new(own: Option<QueryLadder<'l>>, first: usize, clusters: u32) -> Self {
        let ladder = own.map(|own| own.ladder);
        let ranks = ladder.map_or(&[][..], |ladder| ladder.ranks).iter();
        let patience = |k: &u32| (StaleCodes::new(Goal::Nearest, *k as usize), 0);
        let rest = ladder.and_then(|ladder| ladder.sizes.get(first..));
        let rest = rest.unwrap_or_default();
        let ranks_all = |size: &u32| ranked_for(*size as usize) >= clusters as usize;
        let count = if rest.first().is_some_and(ranks_all) {
            rest.len()
        } else {
            1
        };
        Self {
            first,
            sizes: rest.get(..count).unwrap_or_default(),
            ended: 0,
            ranks: ranks.map(patience).collect(),
        }
    }

    /// The longest list; none where nothing is noted.
    fn longest(&self) -> Option<usize> {
        self.sizes.last().map(|size| *size as usize)
    }

    /// Its number.
    fn last_rung(&self) -> usize {
        self.first + self.sizes.len().saturating_sub(1)
    }

    /// Looks at the candidates after a cluster.
    fn look(&mut self, candidates: &CandidateList) {
        for (patience, _) in &mut self.ranks {
            patience.look(candidates);
        }
    }

    /// Ends the lists of sizes that have ended for every k.
    fn end_rungs(&mut self, ends: impl Fn(usize) -> bool) {
        let rest = self.sizes.get(self.ended..).unwrap_or_default();
        self.ended += rest.iter().take_while(|size| ends(**size as usize)).count();
    }

    /// The place of a k, and the number of a list whose scan ends here for it.
    fn next(&mut self) -> Option<(usize, usize)> {
        let (sizes, ended, first) = (self.sizes, self.ended, self.first);
        let mut ranks = self.ranks.iter_mut().enumerate();
        ranks.find_map(|(rank, (patience, at))| {
            let size = sizes.get(*at)?;
            let ends = *at < ended || patience.ends_list(*size as usize);
            ends.then(|| {
                *at += 1;
                (rank, first + *at - 1)
            })
        })
    }
}

/// What a query knows of the mean of the cluster of a node: as it is ranked by, where it was looked
/// into for the list as it is now.
fn centre_of(table: &ClusterTable, entry: &EntryScratch, node: NodeId) -> Centre {
    let cluster = |key: u64| key_number::<ClusterId>(key);
    let nodes = |key: u64| table.nodes_of(cluster(key));
    let scanned = &entry.clusters;
    let behind = scanned.partition_point(|key| nodes(*key).start <= node.0);
    let own = behind.checked_sub(1).and_then(|at| scanned.get(at));
    match own.filter(|key| nodes(**key).contains(&node.0)) {
        Some(key) => table.centre(&entry.probe, cluster(*key), key_distance(*key)),
        None => table.centre_of(&entry.probe, table.cluster_of(node)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::execution::Ladder;

    fn ends_of(own: QueryLadder<'_>, first: usize) -> ScanEnds<'_> {
        ScanEnds::new(Some(own), first, ranked_for(4) as u32)
    }

    fn all(ends: &mut ScanEnds<'_>) -> Vec<(usize, usize)> {
        std::iter::from_fn(|| ends.next()).collect()
    }

    #[test]
    fn lists_that_rank_every_cluster_end_on_the_way_of_the_longest() {
        let ladder = Ladder {
            sizes: &[2, 3, 4, 6, 9],
            ranks: &[1, 10],
            truth: &[],
            each: 0,
            places: &[],
            eligible: &[],
            exact_up_to: 10,
            lift: None,
        };
        let own = QueryLadder {
            ladder: &ladder,
            query: 0,
        };
        let mut short = ends_of(own, 1);
        assert_eq!((short.longest(), short.last_rung()), (Some(3), 1));
        short.end_rungs(|_| true);
        assert_eq!(all(&mut short), [(0, 1), (1, 1)]);
        let mut long = ends_of(own, 2);
        assert_eq!((long.longest(), long.last_rung()), (Some(9), 4));
        assert!(all(&mut long).is_empty());
        long.end_rungs(|size| size <= 6);
        assert_eq!(all(&mut long), [(0, 2), (0, 3), (1, 2), (1, 3)]);
        long.end_rungs(|size| size <= 6);
        assert!(all(&mut long).is_empty());
        long.end_rungs(|_| true);
        assert_eq!(all(&mut long), [(0, 4), (1, 4)]);
        assert_eq!(ScanEnds::new(None, 0, 1).longest(), None);
    }

    #[test]
    fn a_list_ends_where_as_many_clusters_brought_nothing_nearer() {
        let mut patience = StaleCodes::new(Goal::Nearest, 1);
        let mut candidates = CandidateList::default();
        candidates.reset(4, 0);
        candidates.insert(NodeId(7), 1.0);
        for stale in 0..4 {
            patience.look(&candidates);
            let ends = [1, 2, 3].map(|size| patience.ends_list(size));
            assert_eq!(ends, [stale > 1, stale > 2, stale > 3]);
        }
    }
}
