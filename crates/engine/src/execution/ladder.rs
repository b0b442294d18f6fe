//! What lists of many sizes find, noted by one query on its way to the longest.
//!
//! ```text
//!  list size        3    6         14                 32
//!  walk         ----|----|----------|------------------|   a shorter one is how a longer begins
//!  scans        ----|
//!               ---------|                                 each ranks clusters for its length
//!               --------------------|
//!                 note note       note               note  of the true neighbours, which would be
//!                                                          answers, for each k
//! ```
//! Nothing is read for answers: the truth is known, so candidates in memory and their bounds tell
//! which of it a refinement would keep, and on which pages it would look.
//!
//! A walk that reads has scored what it would answer. Its last rounds are not full, so that a
//! longer one does not begin with it: each list is a ladder of its own.

use pageway_types::NodeId;

use super::Traversal;
use super::key::{key_distance, key_node};
use super::lift::Lift;
use super::list_rule::{LOOKED_AT, NearestDistances, local_dimension};
use super::refine::FAR_DEVIATIONS;
use crate::layout::PageCodec;

/// List sizes and numbers of neighbours that queries note.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ladder<'l> {
    /// List sizes, ascending.
    pub(crate) sizes: &'l [u32],
    /// Numbers of neighbours, ascending.
    pub(crate) ranks: &'l [u32],
    /// True neighbours, nearest first: `each` of one query after the other, of which those of the
    /// call are at `places`.
    pub(crate) truth: &'l [u32],
    pub(crate) each: usize,
    pub(crate) places: &'l [usize],
    /// Of each query and rank, how many of them are as near as that rank.
    pub(crate) eligible: &'l [u32],
    /// Numbers of neighbours up to which every distance is to be exact.
    pub(crate) exact_up_to: u32,
    /// What is added to distances that tell local dimensions.
    pub(crate) lift: Option<Lift>,
}

/// What a list would have found.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct LadderNote {
    /// Places of k and list size in the ladder.
    pub(crate) rank: u16,
    pub(crate) size: u16,
    /// True neighbours among exact answers.
    pub(crate) found: u32,
    /// The same where what bounds are sure of is answered by its code.
    pub(crate) found_by_codes: u32,
    /// Pages read, and in how many rounds.
    pub(crate) pages: u32,
    pub(crate) rounds: u32,
    /// Local dimension by the candidates; none where they tell nothing.
    pub(crate) dimension: Option<f32>,
}

/// Slots of the filter of true neighbours.
const FILTER_BITS: u32 = 1 << 13;

/// Candidates whose errors are remembered: many lists and numbers of neighbours ask for the same.
const ERROR_SLOTS: usize = 1 << 12;

/// The notes of a query, and the truth that they are about.
#[derive(Debug, Default)]
pub(super) struct LadderNotes {
    pub(super) notes: Vec<LadderNote>,
    /// Place of the list size that is walked.
    pub(super) rung: usize,
    /// True neighbours by number, and their places.
    truth: Vec<(NodeId, u32)>,
    /// Slots that hold one.
    filter: Vec<u64>,
    /// Errors of estimates, by the last bits of their nodes.
    errors: Vec<(NodeId, f32)>,
    /// Candidates whose bounds count: estimate, half width, node.
    near: Vec<Near>,
    ends: Vec<f32>,
    /// Pages of vectors, and of fine codes, that would be read.
    pages: Vec<u32>,
    coded: Vec<u32>,
    /// Places of true neighbours that bounds leave.
    kept: Vec<u32>,
}

#[derive(Clone, Copy, Debug)]
struct Near {
    estimate: f32,
    half: f32,
    node: NodeId,
    is_cached: bool,
}

impl Near {
    /// Whether bounds are sure that this is an answer, where those below `sure` are.
    fn is_sure(&self, sure: f32) -> bool {
        self.estimate + self.half <= sure
    }

    /// Whether its code answers for it: nothing is read, and memory holds no vector.
    fn is_passed(&self, sure: f32) -> bool {
        self.is_sure(sure) && !self.is_cached
    }
}

/// What the answers of a list would cost.
#[derive(Clone, Copy)]
struct ListCost {
    pages: u32,
    rounds: u32,
}

/// The ladder of one query of a call.
#[derive(Clone, Copy, Debug)]
pub(crate) struct QueryLadder<'l> {
    pub(super) ladder: &'l Ladder<'l>,
    /// Place of the query in the call.
    pub(super) query: usize,
}

impl<'l> QueryLadder<'l> {
    /// True neighbours, nearest first: as many as the last rank, or fewer.
    fn truth(self) -> &'l [u32] {
        let Ladder {
            truth,
            each,
            places,
            ranks,
            ..
        } = self.ladder;
        let most = ranks.last().map_or(0, |last| *last as usize);
        let first = places.get(self.query).map(|place| place * each);
        let own = first.and_then(|first| truth.get(first..first + most.min(*each)));
        own.unwrap_or_default()
    }

    /// How many of them are as near as the rank at a place.
    fn eligible(self, rank: usize) -> Option<u32> {
        let Ladder {
            eligible, ranks, ..
        } = self.ladder;
        eligible.get(self.query * ranks.len() + rank).copied()
    }
}

impl LadderNotes {
    /// Forgets the query before.
    pub(super) fn reset(&mut self, ladder: Option<QueryLadder<'_>>) {
        self.notes.clear();
        self.rung = 0;
        self.truth.clear();
        let Some(ladder) = ladder else {
            return;
        };
        self.errors.clear();
        self.errors.resize(ERROR_SLOTS, (NodeId(u32::MAX), 0.0));
        self.filter.clear();
        self.filter.resize(FILTER_BITS as usize / 64, 0);
        for (place, node) in (0..).zip(ladder.truth()) {
            self.truth.push((NodeId(*node), place));
            let slot = node % FILTER_BITS;
            if let Some(word) = self.filter.get_mut(slot as usize / 64) {
                *word |= 1 << (slot % 64);
            }
        }
        self.truth.sort_unstable();
    }

    /// Place of a node among the true neighbours.
    fn place_of(&self, node: NodeId) -> Option<u32> {
        let slot = node.0 % FILTER_BITS;
        let word = self.filter.get(slot as usize / 64)?;
        if word >> (slot % 64) & 1 == 0 {
            return None;
        }
        let at = self
            .truth
            .binary_search_by_key(&node, |(own, _)| *own)
            .ok()?;
        self.truth.get(at).map(|(_, place)| *place)
    }

    /// By how much the estimate of a candidate is off: for one query always the same.
    fn error_of(&mut self, node: NodeId, find: impl FnOnce() -> f32) -> f32 {
        let Some(slot) = self.errors.get_mut(node.index() % ERROR_SLOTS) else {
            return find();
        };
        if slot.0 != node {
            *slot = (node, find());
        }
        slot.1
    }

    /// Leaves in `near` the candidates that begin up to a limit, and in `kept` the true neighbours
    /// among them. Those in memory are kept where intervals so many times as wide are.
    fn keep_up_to(&mut self, limit: f32, (far, eligible): (f32, u32)) {
        self.near.retain(|one| {
            let times = if one.is_cached { far } else { 1.0 };
            let is_out = one.estimate - times * one.half > limit;
            !is_out
        });
        let mut kept = std::mem::take(&mut self.kept);
        kept.clear();
        let places = self.near.iter().filter_map(|one| self.place_of(one.node));
        kept.extend(places.filter(|place| *place < eligible));
        self.kept = kept;
    }

    /// The `nth` smallest end of the intervals, from 0; infinite where there are fewer.
    fn nth_end(&mut self, nth: usize, end: impl Fn(&Near) -> f32) -> f32 {
        self.ends.clear();
        self.ends.extend(self.near.iter().map(end));
        if nth >= self.ends.len() {
            return f32::INFINITY;
        }
        *self.ends.select_nth_unstable_by(nth, f32::total_cmp).1
    }
}

impl<C: PageCodec> Traversal<'_, C> {
    /// Notes what the list that was walked would find, and goes on to the next; false where it was
    /// the last.
    pub(super) fn climb(&mut self) -> bool {
        let Some(QueryLadder { ladder, .. }) = self.query.ladder else {
            return false;
        };
        let rung = self.scratch.told.ladder.rung;
        // A scan has noted where it would end for each k.
        let is_scan = self.parts.entry.clusters().is_some();
        if !is_scan {
            for rank in 0..ladder.ranks.len() {
                self.note_list(rank, rung);
            }
        }
        let Some(next) = ladder.sizes.get(rung + 1) else {
            return false;
        };
        self.scratch.told.ladder.rung = rung + 1;
        if is_scan {
            // Clusters are ranked by the list: a longer scan begins anew.
            self.begin_scan();
        }
        self.walk_to(self.query.sizes.with_list(*next as usize));
        true
    }

    /// Notes what the list of a size, as it is now, would find for a number of neighbours; nothing
    /// where there are fewer candidates.
    pub(super) fn note_list(&mut self, rank: usize, size: usize) {
        let Some(own) = self.query.ladder else {
            return;
        };
        let (Some(k), Some(list_size), Some(eligible)) = (
            own.ladder.ranks.get(rank).copied(),
            own.ladder.sizes.get(size).copied(),
            own.eligible(rank),
        ) else {
            return;
        };
        let mut own = std::mem::take(&mut self.scratch.told.ladder);
        let found = match self.parts.execution.refine.deviations() {
            Some(deviations) => {
                let width = Self::widened(deviations, (list_size, k));
                self.kept_by_bounds(&mut own, (list_size, k, eligible), width)
            }
            None => self.scored(&own, (k, eligible)),
        };
        if let Some((found, found_by_codes, cost)) = found {
            own.notes.push(LadderNote {
                rank: rank as u16,
                size: size as u16,
                found: found.min(k),
                found_by_codes: found_by_codes.min(found).min(k),
                pages: cost.pages,
                rounds: cost.rounds,
                dimension: self.dimension_now(),
            });
        }
        self.scratch.told.ladder = own;
    }

    /// Of the first true neighbours those that a walk has scored, all exactly, with what its
    /// reads cost. None where it scored fewer than `k`: a search for `k` would go on.
    fn scored(&self, own: &LadderNotes, (k, eligible): (u32, u32)) -> Option<(u32, u32, ListCost)> {
        let ranking = &self.scratch.ranking;
        if ranking.len() < k as usize {
            return None;
        }
        let places = ranking.iter().filter_map(|one| own.place_of(one.node));
        let found = places.filter(|place| *place < eligible).count() as u32;
        let cost = ListCost {
            pages: self.stats.pages as u32,
            rounds: self.stats.rounds as u32,
        };
        Some((found, found, cost))
    }

    /// The local dimension that the candidates tell.
    fn dimension_now(&self) -> Option<f32> {
        let keys = self.scratch.candidates.keys().iter();
        let nearest = keys.take(LOOKED_AT + 1);
        let nearest = nearest.map(|key| key_distance(*key) + self.query.lift);
        local_dimension(NearestDistances::of(nearest).as_slice())
    }

    /// Of the first true neighbours those that bounds of so many deviations would leave among exact
    /// answers, and among answers by codes, with what would be read for the ones that the ladder
    /// counts the cost of.
    fn kept_by_bounds(
        &self,
        own: &mut LadderNotes,
        (list_size, k, eligible): (u32, u32, u32),
        width: f32,
    ) -> Option<(u32, u32, ListCost)> {
        let limit = self.bound_listed(own, (list_size, k), width)?;
        let sure = own.nth_end(k as usize, |one| one.estimate - one.half);
        let far = (FAR_DEVIATIONS / width).max(1.0);
        own.keep_up_to(limit, (far, eligible));
        let exact = self.note_reads(own, sure, (k, eligible, true));
        let found = (own.kept.len() + self.found_beside(own, eligible)) as u32;
        let by_codes = self.note_reads(own, sure, (k, eligible, false));
        let found_by_codes = if self.parts.identities.is_some() {
            self.found_by_codes(own, sure, (k, eligible))
        } else {
            // What codes are sure of is read to know who it is.
            found
        };
        let exact_up_to = self.query.ladder.map_or(0, |own| own.ladder.exact_up_to);
        let cost = if k <= exact_up_to { exact } else { by_codes };
        Some((found, found_by_codes, cost))
    }

    /// Leaves in `pages` and `coded` what answers would read, and tells what that costs.
    fn note_reads(
        &self,
        own: &mut LadderNotes,
        sure: f32,
        (k, eligible, is_exact): (u32, u32, bool),
    ) -> ListCost {
        own.coded.clear();
        if self.reads_fine_codes() {
            self.note_fine_reads(own, sure, (k, eligible, is_exact));
        } else {
            self.note_vectors(own, |_, one| is_exact || !one.is_sure(sure));
        }
        let reads = own.pages.len() + own.coded.len();
        ListCost {
            pages: reads as u32 * self.parts.codec.map().geometry.span(),
            rounds: u32::from(!own.pages.is_empty()) + u32::from(!own.coded.is_empty()),
        }
    }

    /// Of the first true neighbours those that are among `k` answers where what codes are sure of
    /// comes first, and then what was read, by its distance.
    fn found_by_codes(&self, own: &mut LadderNotes, sure: f32, (k, eligible): (u32, u32)) -> u32 {
        let (mut passed, mut found) = (0, 0);
        for one in own.near.iter().filter(|one| one.is_passed(sure)) {
            passed += 1;
            found += usize::from(own.place_of(one.node).is_some_and(|at| at < eligible));
        }
        let scored = own.kept.len() - found + self.found_beside(own, eligible);
        (found + scored.min((k as usize).saturating_sub(passed))) as u32
    }

    /// Leaves in `pages` those of the vectors of some of the candidates that are kept.
    fn note_vectors(&self, own: &mut LadderNotes, are: impl Fn(&LadderNotes, &Near) -> bool) {
        let map = self.parts.codec.map();
        let mut pages = std::mem::take(&mut own.pages);
        pages.clear();
        let read = own.near.iter().filter(|one| !one.is_cached);
        let read = read.filter(|one| are(own, one));
        pages.extend(read.map(|one| map.vector_page_of(one.node).0));
        sort_once(&mut pages);
        own.pages = pages;
    }

    /// Leaves in `coded` the pages of fine codes that would be read, and in `pages` those of the
    /// vectors after that: of what is undecided, and of answers that are to be exact. Next to codes
    /// in memory fine ones hardly err, so they are taken to leave the true neighbours alone.
    fn note_fine_reads(
        &self,
        own: &mut LadderNotes,
        sure: f32,
        (k, eligible, is_exact): (u32, u32, bool),
    ) {
        let map = self.parts.codec.map();
        let is_sure = |one: &Near| one.is_sure(sure);
        // What is sure has its fine code read to know who it is, where nothing else tells.
        let passes_sure = is_exact || self.parts.identities.is_some();
        let read = own.near.iter().filter(|one| !(passes_sure && is_sure(one)));
        own.coded.extend(read.map(|one| map.page_of(one.node).0));
        sort_once(&mut own.coded);
        if !is_exact {
            own.pages.clear();
            return;
        }
        self.note_vectors(own, |_, one| !is_sure(one));
        let sure_count = own.near.iter().filter(|one| is_sure(one)).count();
        let open_count = own.near.len() - sure_count;
        let answers = (k as usize).saturating_sub(sure_count).min(open_count);
        if own.coded.len() + answers >= own.pages.len() {
            own.coded.clear();
            self.note_vectors(own, |_, _| true);
        } else {
            let is_true =
                |own: &LadderNotes, node| own.place_of(node).is_some_and(|at| at < eligible);
            self.note_vectors(own, |own, one| is_sure(one) || is_true(own, one.node));
        }
    }

    /// True neighbours beside those that are kept: on pages that are used whole.
    fn found_beside(&self, own: &mut LadderNotes, eligible: u32) -> usize {
        let Some(ladder) = self.query.ladder else {
            return 0;
        };
        if !self.parts.execution.harvest.is_all() {
            return 0;
        }
        let map = self.parts.codec.map();
        let is_read = |own: &LadderNotes, node: NodeId| {
            let page = map.vector_page_of(node);
            (map.holds_vectors_alone(page) && own.pages.binary_search(&page.0).is_ok())
                || own.coded.binary_search(&map.page_of(node).0).is_ok()
        };
        own.kept.sort_unstable();
        let (mut kept, mut found) = (own.kept.iter().peekable(), 0);
        for (place, node) in (0..eligible).zip(ladder.truth()) {
            let is_kept = kept.next_if_eq(&&place).is_some();
            found += usize::from(!is_kept && is_read(own, NodeId(*node)));
        }
        found
    }

    /// By how much the estimate of a candidate is off, while it is gathered.
    fn noted_error(&self, key: u64) -> f32 {
        match self.parts.entry.clusters() {
            Some(table) => self.error_in_scan(table, key),
            None => self.gathered_error(key),
        }
    }

    /// Leaves the candidates of a list that bounds may keep in `near`; the upper bound that
    /// decides. None where there are too few candidates.
    fn bound_listed(
        &self,
        own: &mut LadderNotes,
        (list_size, k): (u32, u32),
        width: f32,
    ) -> Option<f32> {
        let keys = self.scratch.candidates.keys();
        let keys = keys.get(..(list_size.max(k) as usize).min(keys.len()))?;
        let k = k as usize;
        if keys.len() < k {
            return None;
        }
        own.near.clear();
        let (mut reach, mut widest) = (f32::INFINITY, 0.0_f32);
        // A walk may begin at the row that is its own query.
        let admission = self.query.admission;
        let admitted = keys.iter().filter(|key| admission.admits(key_node(**key)));
        for (at, key) in admitted.enumerate() {
            let (node, estimate) = (key_node(*key), key_distance(*key));
            if at >= k && estimate > reach {
                break;
            }
            let half = width * own.error_of(node, || self.noted_error(*key));
            widest = widest.max(half);
            own.near.push(Near {
                estimate,
                half,
                node,
                is_cached: self.parts.cache.vectors.contains(node),
            });
            if at + 1 == k {
                // No candidate that begins farther can be the one that decides.
                let ends = own.near.iter().map(|one| one.estimate + one.half);
                let limit = ends.fold(f32::NEG_INFINITY, f32::max);
                let far = (FAR_DEVIATIONS / width).max(1.0);
                reach = limit + MOST_WIDER * far * widest;
            }
        }
        let last = k.min(own.near.len()).checked_sub(1)?;
        Some(own.nth_end(last, |one| one.estimate + one.half))
    }
}

fn sort_once(pages: &mut Vec<u32>) {
    pages.sort_unstable();
    pages.dedup();
}

/// Times that an interval is hardly ever wider than the widest of nearer candidates.
const MOST_WIDER: f32 = 1.5;
