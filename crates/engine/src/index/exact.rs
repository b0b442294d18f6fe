//! Exact search by the vectors of all rows or of some; each vector is read once for many queries.

use std::ops::Range;

use pageway_store::clock;
use pageway_types::NodeId;

use super::collect::Answer;
use super::pool::Lease;
use super::watch::Watch;
use super::{Index, Version};
use crate::error::Result;
use crate::execution::driver::Outcomes;
use crate::execution::{Neighbor, QueryStats, Segment};
use crate::options::{Answers, Queries, SearchOptions};
use crate::source::kernels;
use crate::threads::each_at_once;

/// Results that are kept beyond the wanted ones before the worst are dropped: a share of those, and
/// at least.
const KEPT_BEYOND: (usize, usize) = (4, 8);
/// Vectors of a block, in bytes and at most.
const BLOCK_BYTES: usize = 16 << 10;
const MOST_OF_BLOCK: usize = 64;
/// Distances for which a thread is started, at least.
const LEAST_OF_THREAD: usize = 1 << 16;
/// Bytes that a thread reads at a time: a share of the memory of searches for all threads, at most.
const TRANSFER_SHARE: u64 = 8;
const MOST_TRANSFER: u64 = 256 << 10;

impl Index {
    /// Compares every row that may be an answer, and the deltas.
    pub(super) fn search_exactly(
        &self,
        (version, queries): (&Version, &Queries<'_>),
        options: &SearchOptions,
        watch: Watch<'_>,
    ) -> Result<(Answers, Vec<Outcomes>)> {
        let mut answers = self.scan_segments((version, queries), options, watch)?;
        self.add_deltas(version, (queries, options), (&mut answers, &[]));
        Ok((answers, Vec::new()))
    }

    /// Compares every row of segments that may be an answer.
    pub(super) fn scan_segments(
        &self,
        (version, queries): (&Version, &Queries<'_>),
        options: &SearchOptions,
        watch: Watch<'_>,
    ) -> Result<Answers> {
        let all: Vec<usize> = (0..queries.rows.len() / self.shape().row_bytes()).collect();
        let mut answers = Answers::none(all.len(), version.places(options));
        self.scan_vectors((version, queries), options, (&all, watch), &mut answers)?;
        Ok(answers)
    }

    /// Answers `chosen` of the queries by the vectors of all rows of segments that may be answers.
    /// Holds k results and some more in each thread for each of as many queries at a time as the
    /// memory of searches has room for now, one at least.
    pub(super) fn scan_vectors(
        &self,
        (version, queries): (&Version, &Queries<'_>),
        options: &SearchOptions,
        (chosen, watch): (&[usize], Watch<'_>),
        answers: &mut Answers,
    ) -> Result<()> {
        let sizes = ScanSizes::new(version, (options.k, chosen.len()), self.threads_of(options));
        let (fixed, each) = (sizes.fixed_bytes(), sizes.query_bytes);
        let most = each.saturating_mul(chosen.len() as u64);
        let asked = (fixed + each, fixed.saturating_add(most));
        let budget = (version.for_searches(), watch.patience());
        let room = self.pool.room(asked, budget)?;
        let results = room.as_ref().map_or(0, Lease::bytes).saturating_sub(fixed);
        let at_once = (results / each).max(1);
        for chosen in chosen.chunks(at_once as usize) {
            let scan = VectorScan {
                version,
                queries,
                options,
                chosen,
                row_bytes: self.shape().row_bytes(),
                transfer_bytes: sizes.transfer_bytes as usize,
            };
            scan.run((sizes.threads, watch), answers)?;
        }
        Ok(())
    }
}

/// Results that are kept where so many are wanted.
fn kept(k: u32) -> usize {
    let (share, least) = KEPT_BEYOND;
    k as usize + (k as usize / share).max(least)
}

/// The threads of a scan, and what they hold.
struct ScanSizes {
    threads: usize,
    /// Bytes that a thread reads at a time.
    transfer_bytes: u64,
    /// Bytes of the results of a query, in all threads.
    query_bytes: u64,
}

impl ScanSizes {
    /// Of the k nearest of so many queries, on so many threads at most.
    fn new(version: &Version, (k, queries): (u32, usize), threads: usize) -> Self {
        let nodes = version.node_count();
        let worth = (nodes as usize).saturating_mul(queries) / LEAST_OF_THREAD;
        let threads = threads.clamp(1, worth.max(1));
        let share = version.for_searches() / TRANSFER_SHARE / threads as u64;
        let results = kept(k.min(nodes)) * size_of::<Answer>();
        Self {
            threads,
            transfer_bytes: share.min(MOST_TRANSFER),
            query_bytes: ((results + size_of::<ScanList<'_>>()) * threads) as u64,
        }
    }

    /// Bytes beside results.
    fn fixed_bytes(&self) -> u64 {
        (self.transfer_bytes + BLOCK_BYTES as u64) * self.threads as u64
    }
}

impl Version {
    /// Queries that one thread compares with all vectors at once, where no other search is under
    /// way.
    pub(super) fn scanned_at_once(&self, k: u32) -> usize {
        let sizes = ScanSizes::new(self, (k, 1), 1);
        let results = self.for_searches().saturating_sub(sizes.fixed_bytes());
        (results / sizes.query_bytes).max(1) as usize
    }
}

/// One pass over the vectors, for some queries.
struct VectorScan<'s> {
    version: &'s Version,
    queries: &'s Queries<'s>,
    options: &'s SearchOptions,
    chosen: &'s [usize],
    row_bytes: usize,
    /// Bytes that a thread reads at a time.
    transfer_bytes: usize,
}

/// What a thread finds: the best of its nodes for each query, and what that cost.
struct Scanned {
    lists: Vec<Vec<Answer>>,
    spent: Spent,
}

/// The best that were found for a query so far.
struct ScanList<'q> {
    /// Place of the query in the call.
    place: usize,
    query: &'q [u8],
    found: Vec<Answer>,
    /// What is farther is no answer: there are enough that are nearer.
    farthest: f32,
}

/// Vectors that each query is compared with while they are in the cache.
struct VectorBlock {
    row_bytes: usize,
    most: usize,
    rows: Vec<u8>,
    nodes: Vec<Neighbor>,
}

impl VectorBlock {
    fn new(row_bytes: usize) -> Self {
        let most = (BLOCK_BYTES / row_bytes.max(1)).clamp(1, MOST_OF_BLOCK);
        Self {
            row_bytes: row_bytes.max(1),
            most,
            rows: Vec::with_capacity(most * row_bytes),
            nodes: Vec::with_capacity(most),
        }
    }

    fn push(&mut self, vector: &[u8], own: Neighbor) {
        self.rows.extend_from_slice(vector);
        self.nodes.push(own);
    }

    fn is_full(&self) -> bool {
        self.nodes.len() >= self.most
    }

    /// Vectors, and which they are.
    fn vectors(&self) -> impl Iterator<Item = (&[u8], &Neighbor)> {
        self.rows.chunks_exact(self.row_bytes).zip(&self.nodes)
    }

    fn clear(&mut self) {
        self.rows.clear();
        self.nodes.clear();
    }
}

impl VectorScan<'_> {
    /// Each of several threads looks at a stretch of the nodes.
    fn run(&self, (threads, watch): (usize, Watch<'_>), answers: &mut Answers) -> Result<()> {
        let begun = clock::now();
        let stretches = stretches(self.version.node_count(), threads);
        let scan = |nodes: &Range<u32>| self.scan(nodes.clone(), watch);
        let outcomes = each_at_once(threads, &stretches, &scan);
        let mut whole = Scanned {
            lists: vec![Vec::new(); self.chosen.len()],
            spent: Spent::default(),
        };
        for found in outcomes {
            let found = found?;
            whole.spent.add(&found.spent);
            for (own, more) in whole.lists.iter_mut().zip(found.lists) {
                if own.is_empty() {
                    *own = more;
                } else {
                    own.extend(more);
                }
            }
        }
        whole.spent.ns = clock::now().saturating_duration_since(begun).as_nanos() as u64;
        self.answer(whole, answers);
        Ok(())
    }

    /// The best of the nodes of a stretch, numbered over all segments.
    fn scan(&self, nodes: Range<u32>, watch: Watch<'_>) -> Result<Scanned> {
        let mut lists = self.lists(nodes.len());
        let mut spent = Spent::default();
        let mut block = VectorBlock::new(self.row_bytes);
        for segment in &self.version.segments {
            let admits = |node: u32| self.admits(segment, node);
            let page_of = |node: u32| segment.vector_place(node).0;
            let own = |node: u32| node.saturating_sub(segment.base).min(segment.node_count());
            for run in runs(own(nodes.start)..own(nodes.end), admits, page_of) {
                spent.read(segment, &run);
                segment.visit_vectors((run, self.transfer_bytes), &mut |node, vector| {
                    if !admits(node.0) {
                        return Ok(());
                    }
                    spent.scored += 1;
                    let own = Neighbor {
                        node,
                        row: vector.row,
                        user_id: vector.user_id,
                        distance: 0.0,
                        error: 0.0,
                    };
                    block.push(vector.bytes, own);
                    if block.is_full() {
                        watch.check()?;
                        self.compare(segment, &mut block, &mut lists)?;
                    }
                    Ok(())
                })?;
            }
            self.compare(segment, &mut block, &mut lists)?;
        }
        let best = |list: ScanList<'_>| {
            let mut found = list.found;
            keep_best(&mut found, self.options.k as usize);
            found
        };
        Ok(Scanned {
            lists: lists.into_iter().map(best).collect(),
            spent,
        })
    }

    /// Empty lists, one for each query, for the best of so many nodes.
    fn lists(&self, nodes: usize) -> Vec<ScanList<'_>> {
        let list = |own: &usize| {
            Some(ScanList {
                place: *own,
                query: self.row(*own)?,
                found: Vec::with_capacity(kept(self.options.k).min(nodes)),
                farthest: self.options.radius.unwrap_or(f32::INFINITY),
            })
        };
        self.chosen.iter().filter_map(list).collect()
    }

    /// Compares the vectors of a block of a segment with each query, and empties it.
    fn compare(
        &self,
        segment: &Segment,
        block: &mut VectorBlock,
        lists: &mut [ScanList<'_>],
    ) -> Result<()> {
        let shape = self.version.manifest.spec.shape;
        let distance = kernels()?.distance(shape.vectors().element, shape.metric);
        let (most, kept) = (self.options.k as usize, kept(self.options.k));
        for list in lists {
            for (vector, own) in block.vectors() {
                let distance = distance(list.query, vector);
                if distance > list.farthest
                    || self.is_held_out(list.place, segment.base + own.node.0)
                {
                    continue;
                }
                let own = Neighbor { distance, ..*own };
                list.found.push(Answer::from(&segment.neighbor(own)?));
                if list.found.len() >= kept {
                    keep_best(&mut list.found, most);
                    let last = list.found.last();
                    list.farthest = last.map_or(list.farthest, |last| last.distance);
                }
            }
        }
        block.clear();
        Ok(())
    }

    /// Puts what was found into the answers.
    fn answer(&self, found: Scanned, answers: &mut Answers) {
        let Scanned { lists, spent } = found;
        let page_bytes = u64::from(self.version.manifest.spec.layout.page_bytes);
        let most = self.options.k as usize;
        let fills = self.options.radius.is_none();
        for (number, (query, mut found)) in (0u64..).zip(self.chosen.iter().zip(lists)) {
            answers.truncated +=
                usize::from(!fills && found.len() >= most && spent.scored > most as u64);
            keep_best(&mut found, most);
            answers.replace(*query, &found, fills);
            if let Some(stats) = answers.stats.get_mut(*query) {
                spent.charge(stats, (number, self.chosen.len() as u64), page_bytes);
            }
        }
    }

    fn row(&self, query: usize) -> Option<&[u8]> {
        let start = query * self.row_bytes;
        self.queries.rows.get(start..start + self.row_bytes)
    }

    /// Whether a node of a segment lives and may be an answer.
    fn admits(&self, segment: &Segment, node: u32) -> bool {
        let among = self.queries.admitted;
        let dead = segment.dead.as_ref();
        among.is_none_or(|set| set.contains(NodeId(segment.base + node)))
            && dead.is_none_or(|dead| !dead.contains(NodeId(node)))
    }

    fn is_held_out(&self, query: usize, node: u32) -> bool {
        let own = self.queries.held_out.and_then(|nodes| nodes.get(query));
        own.is_some_and(|own| own.contains(NodeId(node)))
    }
}

/// The cost of a scan of vectors for some queries.
#[derive(Default)]
struct Spent {
    scored: u64,
    reads: u64,
    pages: u64,
    /// Nanoseconds from start to end.
    ns: u64,
}

impl Spent {
    fn add(&mut self, other: &Self) {
        self.scored += other.scored;
        self.reads += other.reads;
        self.pages += other.pages;
    }

    /// Counts the pages of a run of nodes.
    fn read(&mut self, segment: &Segment, run: &Range<u32>) {
        let (first, span) = segment.vector_place(run.start);
        let (last, _) = segment.vector_place(run.end.saturating_sub(1));
        self.reads += last + 1 - first;
        self.pages += (last + 1 - first) * u64::from(span);
    }

    /// Charges the query `number` of `count`: with its distances, with its share of the reads and
    /// of the time, which serve all queries, and with all of the time as its latency.
    fn charge(&self, stats: &mut QueryStats, (number, count): (u64, u64), page_bytes: u64) {
        let share = |all: u64| all / count.max(1) + u64::from(number < all % count.max(1));
        stats.exact_distances += self.scored;
        stats.reads += share(self.reads);
        stats.pages += share(self.pages);
        stats.bytes_read += share(self.pages) * page_bytes;
        stats.compute_ns += share(self.ns);
        stats.latency_ns += self.ns;
    }
}

fn keep_best(found: &mut Vec<Answer>, most: usize) {
    found.sort_unstable_by_key(Answer::order);
    found.truncate(most);
}

/// So many stretches of the nodes, about equally long.
fn stretches(nodes: u32, count: usize) -> Vec<Range<u32>> {
    let cut = |at: usize| (u64::from(nodes) * at as u64 / count.max(1) as u64) as u32;
    (0..count.max(1)).map(|at| cut(at)..cut(at + 1)).collect()
}

/// Runs of nodes on adjacent pages that hold all matching nodes.
fn runs(
    nodes: Range<u32>,
    matches: impl Fn(u32) -> bool,
    page_of: impl Fn(u32) -> u64,
) -> impl Iterator<Item = Range<u32>> {
    let (mut next, end) = (nodes.start, nodes.end);
    std::iter::from_fn(move || {
        let first = (next..end).find(|node| matches(*node))?;
        let (mut last, mut at) = (first, first + 1);
        while at < end && page_of(at) <= page_of(last) + 1 {
            if matches(at) {
                last = at;
            }
            at += 1;
        }
        next = last + 1;
        Some(first..last + 1)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stretches_have_all_nodes() {
        assert_eq!(stretches(10, 3), [0..3, 3..6, 6..10]);
        assert_eq!(stretches(1, 2), [0..0, 0..1]);
        assert_eq!(
            stretches(u32::MAX, 2).last(),
            Some(&(u32::MAX / 2..u32::MAX))
        );
    }

    #[test]
    fn runs_hold_all_that_matches() {
        let matches = [3u32, 4, 17, 40, 999];
        let page_of = |node| u64::from(node / 10);
        let found: Vec<_> = runs(0..1000, |node| matches.contains(&node), page_of).collect();
        assert_eq!(found, [3..18, 40..41, 999..1000]);
        let part: Vec<_> = runs(5..41, |node| matches.contains(&node), page_of).collect();
        assert_eq!(part, [17..18, 40..41]);
        assert_eq!(runs(0..10, |_| false, page_of).count(), 0);
    }
}
