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
    /// True neighbours.
    pub(crate) found: u32,
    /// Pages read, and in how many rounds.
    pub(crate) pages: u32,
    pub(crate) rounds: u32,
    /// Local dimension by the candidates; none where they tell nothing.
    pub(crate) dimension: Option<f32>,
}

/// Slots of the filter of true neighbours.
const FILTER_BITS: u32 = 1 << 13;

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
    /// Candidates whose bounds count: estimate, half width, node.
    near: Vec<Near>,
    ends: Vec<f32>,
    pages: Vec<u32>,
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
                let kept = self.kept_by_bounds(&mut own, (list_size, k, eligible), width);
                kept.map(|(found, pages)| (found, pages, u32::from(pages > 0)))
            }
            None => self.scored(&own, (k, eligible)),
        };
        if let Some((found, pages, rounds)) = found {
            own.notes.push(LadderNote {
                rank: rank as u16,
                size: size as u16,
                found: found.min(k),
                pages,
                rounds,
                dimension: self.dimension_now(),
            });
        }
        self.scratch.told.ladder = own;
    }

    /// Of the first true neighbours those that a walk has scored, with the pages and rounds of its
    /// reads. None where it scored fewer than `k`: a search for `k` would go on.
    fn scored(&self, own: &LadderNotes, (k, eligible): (u32, u32)) -> Option<(u32, u32, u32)> {
        let ranking = &self.scratch.ranking;
        if ranking.len() < k as usize {
            return None;
        }
        let places = ranking.iter().filter_map(|one| own.place_of(one.node));
        let found = places.filter(|place| *place < eligible).count();
        let (pages, rounds) = (self.stats.pages, self.stats.rounds);
        Some((found as u32, pages as u32, rounds as u32))
    }

    /// The local dimension that the candidates tell.
    fn dimension_now(&self) -> Option<f32> {
        let keys = self.scratch.candidates.keys().iter();
        let nearest = keys.take(LOOKED_AT + 1);
        let nearest = nearest.map(|key| key_distance(*key) + self.query.lift);
        local_dimension(NearestDistances::of(nearest).as_slice())
    }

    /// Of the first true neighbours those that bounds of so many deviations would leave in a list,
    /// and the pages that would be read for it.
    fn kept_by_bounds(
        &self,
        own: &mut LadderNotes,
        (list_size, k, eligible): (u32, u32, u32),
        width: f32,
    ) -> Option<(u32, u32)> {
        let limit = self.bound_listed(own, (list_size, k), width)?;
        let is_exact = self
            .query
            .ladder
            .is_some_and(|own| k <= own.ladder.exact_up_to);
        let sure = if is_exact {
            f32::NEG_INFINITY
        } else {
            own.nth_end(k as usize, |one| one.estimate - one.half)
        };
        let map = self.parts.codec.map();
        let mut pages = std::mem::take(&mut own.pages);
        let mut kept = std::mem::take(&mut own.kept);
        pages.clear();
        kept.clear();
        let far = (FAR_DEVIATIONS / width).max(1.0);
        for one in &own.near {
            let half = if one.is_cached {
                far * one.half
            } else {
                one.half
            };
            if one.estimate - half > limit {
                continue;
            }
            let place = own.place_of(one.node).filter(|place| *place < eligible);
            kept.extend(place);
            if !one.is_cached && one.estimate + half > sure {
                pages.push(map.vector_page_of(one.node).0);
            }
        }
        pages.sort_unstable();
        pages.dedup();
        let mut found = kept.len();
        if self.parts.execution.harvest.is_all() {
            kept.sort_unstable();
            let others = own.truth.iter().filter(|(node, place)| {
                let page = map.vector_page_of(*node);
                *place < eligible
                    && map.holds_vectors_alone(page)
                    && pages.binary_search(&page.0).is_ok()
                    && kept.binary_search(place).is_err()
            });
            found += others.count();
        }
        let count = pages.len() as u32;
        (own.pages, own.kept) = (pages, kept);
        Some((found as u32, count))
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
            let error = match self.parts.entry.clusters() {
                Some(table) => self.scanned_error(table, *key),
                None => self.gathered_error(*key),
            };
            let half = width * error;
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

/// Times that an interval is hardly ever wider than the widest of nearer candidates.
const MOST_WIDER: f32 = 1.5;
