//! What earlier calls tell of the queries to come: calls of too few queries for a sample of their
//! own take their lists from that.
//!
//! Answers tell for nothing whether queries lie as those of the calibration do. If not, each call
//! is searched with a much longer list too, or compared with all vectors where that costs no more,
//! and gets its answers, until it is known how long lists have to be; from then on one query in
//! many is, to see that it stays so.

use std::sync::{Mutex, PoisonError};

use pageway_store::PerProcess;

use super::Version;
use super::lengthen::{Compared, Comparison, Lengthening, SURE, SampledLists, standard_error};
use super::sampled::recall_of;
use crate::calibration::{Likeness, Marks};
use crate::options::{Queries, SearchOptions};

/// Kinds of calls that are told apart: those asked for lately.
const KNOWN_KINDS: usize = 8;
/// Queries that are judged together: at first or where few tell, and later where each tells.
const JUDGED: (usize, usize) = (32, 128);
/// Queries that are compared before lists grow, and before they are told to be long enough.
const COMPARED: (u32, u32) = (32, 96);
/// One query in so many is compared once lists are long enough, and tells how it lies after those
/// that are judged first, where that is not for nothing.
const ONE_IN: u32 = 64;
/// What was told is forgotten once the nodes are more or fewer by one in so many.
const GROWN: u32 = 4;
/// Queries are compared with all vectors where that costs no more than so many of them: a list to
/// compare with costs about as much.
const SCANNED: f64 = 4.0;

/// What calls of one kind have in common: k, the bits of recall and of tolerance, and the beam.
type CallKind = (u32, u32, u32, Option<u32>);

/// What earlier calls tell, by kind, newest last.
#[derive(Default)]
pub(crate) struct EarlierCalls(PerProcess<Mutex<Vec<(CallKind, Earlier)>>>);

/// What earlier calls of one kind tell.
#[derive(Default)]
struct Earlier {
    /// Nodes that there were at first.
    nodes: u32,
    /// Of queries since the last judgement.
    marks: Vec<Marks>,
    /// Whether queries are unlike those of the calibration; `None` before it was judged.
    unlike: Option<bool>,
    /// Lists of unlike queries; `None` if none were, or memory has no longer ones.
    lengthening: Option<Lengthening>,
    /// Whether those lists are long enough.
    is_enough: bool,
    /// Long enough ones, while it is not known whether shorter ones are, too.
    shortened_from: Option<Lengthening>,
    /// Queries that were to tell how they lie.
    told: usize,
    /// Queries since one was to tell, and since one was to be compared.
    since_told: u32,
    since_compared: u32,
    compared: Sums,
}

/// Sums over queries that were compared with the same list.
#[derive(Clone, Copy, Default)]
struct Sums {
    missed: f32,
    squares: f32,
    places: u64,
    walked: f64,
    queries: u32,
}

/// How a call is to be searched.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Advice {
    pub(super) lists: SampledLists,
    /// What the call is to be compared with, if it is.
    pub(super) reference: Option<SampledLists>,
    /// Whether queries are to tell how they lie where that is not for nothing.
    pub(super) tells: bool,
    pub(super) is_unlike: bool,
}

impl Advice {
    /// For queries that nothing is known of.
    pub(super) const NONE: Self = Self {
        lists: SampledLists::USUAL,
        reference: None,
        tells: false,
        is_unlike: false,
    };
}

/// How queries of a call lie from what they found.
pub(super) struct QueryMarks<'t> {
    /// Those of the calibration.
    pub(super) known: &'t Likeness,
    pub(super) marks: &'t [Marks],
    /// Of the answers.
    pub(super) recall: f32,
    /// Whether each query tells, or few do.
    pub(super) by_each: bool,
    /// What a query cost.
    pub(super) walked: f64,
}

impl EarlierCalls {
    /// How to search for so many queries; `alike` are the lists of like ones. What was told of far
    /// fewer or more nodes is forgotten: what a scan of all of them costs goes with them.
    pub(super) fn advise(
        &self,
        version: &Version,
        options: &SearchOptions,
        (count, alike): (usize, SampledLists),
    ) -> Advice {
        self.of_kind(options, |earlier| {
            earlier.turn_to(version.node_count());
            earlier.advise(count, alike)
        })
    }

    /// Notes how queries lay.
    pub(super) fn judge(&self, version: &Version, options: &SearchOptions, told: &QueryMarks<'_>) {
        self.of_kind(options, |earlier| earlier.judge(version, options, told));
    }

    /// Notes what a comparison that was advised told: the share that each query missed, how many
    /// places their lists had on average, and what a query cost.
    pub(super) fn compare(
        &self,
        place: (&Version, &Queries<'_>),
        options: &SearchOptions,
        advice: &Advice,
        (missed, list_size, walked): (impl Iterator<Item = f32>, u32, f64),
    ) {
        self.of_kind(options, |earlier| {
            let is_current = |own: &Lengthening| {
                (own.lists, Some(own.reference)) == (advice.lists, advice.reference)
            };
            if earlier.lengthening.as_ref().is_some_and(is_current) {
                earlier.compare(place, options, (missed, list_size, walked));
            }
        });
    }

    /// Forgets what calls of this kind told.
    pub(super) fn forget(&self, options: &SearchOptions) {
        self.of_kind(options, |earlier| *earlier = Earlier::default());
    }

    /// Acts on what is known of calls of one kind, which becomes the newest.
    fn of_kind<T>(&self, options: &SearchOptions, act: impl FnOnce(&mut Earlier) -> T) -> T {
        let mut kinds = self.0.get().lock().unwrap_or_else(PoisonError::into_inner);
        let kind = kind_of(options);
        let known = kinds.iter().position(|(own, _)| *own == kind);
        let mut earlier = known.map_or_else(Earlier::default, |at| kinds.remove(at).1);
        let told = act(&mut earlier);
        if kinds.len() == KNOWN_KINDS {
            kinds.remove(0);
        }
        kinds.push((kind, earlier));
        told
    }
}

impl Earlier {
    /// Forgets all if there are more or fewer nodes than at first, by a share.
    fn turn_to(&mut self, nodes: u32) {
        if self.nodes.abs_diff(nodes) > self.nodes / GROWN {
            *self = Self {
                nodes,
                ..Self::default()
            };
        }
    }

    /// Advice for a call of so many queries, which it counts.
    fn advise(&mut self, count: usize, alike: SampledLists) -> Advice {
        for since in [&mut self.since_told, &mut self.since_compared] {
            *since = since.saturating_add(count as u32);
        }
        let advice = self.advice(count, alike);
        if advice.tells {
            self.told += count;
            self.since_told = 0;
        }
        if advice.reference.is_some() {
            self.since_compared = 0;
        }
        advice
    }

    fn advice(&self, count: usize, alike: SampledLists) -> Advice {
        let is_due = |since: u32| u64::from(since) >= u64::from(ONE_IN) * count as u64;
        let lengthening = self.lengthening.filter(|_| self.unlike == Some(true));
        let usual = match self.unlike {
            Some(false) => alike,
            Some(true) | None => SampledLists::USUAL,
        };
        let is_compared = !self.is_enough || is_due(self.since_compared);
        let compared =
            lengthening.filter(|own| is_compared && own.lists != SampledLists::Exhaustive);
        Advice {
            lists: lengthening.map_or(usual, |own| own.lists),
            reference: compared.map(|own| own.reference),
            tells: self.told < JUDGED.0 || is_due(self.since_told),
            is_unlike: self.unlike == Some(true),
        }
    }

    fn judge(&mut self, version: &Version, options: &SearchOptions, told: &QueryMarks<'_>) {
        self.marks.extend_from_slice(told.marks);
        let (least, more) = JUDGED;
        let is_later = told.by_each && self.unlike.is_some();
        if self.marks.len() < if is_later { more } else { least } {
            return;
        }
        let is_unlike = !told.known.includes(&self.marks, told.recall);
        self.marks.clear();
        if is_unlike && self.lengthening.is_none() {
            let scans = version.scan_cost(options, 1) <= SCANNED * told.walked;
            self.lengthening = Lengthening::begin(version, options, scans);
        }
        self.unlike = Some(is_unlike);
    }

    /// Lists grow if they miss too much. If they miss less than they may, shorter ones are
    /// compared, and stay if they find enough.
    fn compare(
        &mut self,
        place: (&Version, &Queries<'_>),
        options: &SearchOptions,
        (missed, list_size, walked): (impl Iterator<Item = f32>, u32, f64),
    ) {
        missed.for_each(|own| self.compared.add(own, (list_size, walked)));
        let Some(own) = self.lengthening.as_mut() else {
            return;
        };
        let scanned = place.0.scan_cost(options, 1);
        let told = self.compared.means(scanned);
        own.allow(place.0, options, (told.missed, told.list_size));
        let is_short = told.missed > own.allowed;
        if !self.compared.tell(is_short) {
            return;
        }
        self.compared = Sums::default();
        let surely = told.missed + SURE * told.error;
        self.settle(
            is_short,
            |own| own.compare(place, options, (&told, is_short)),
            |own| own.shorten(place, options, surely),
        );
    }

    /// Lists that find enough are shortened, unless they just were. Shortened ones that miss too
    /// much are again what they were.
    fn settle(
        &mut self,
        is_short: bool,
        compare: impl FnOnce(&mut Lengthening) -> Compared,
        shorten: impl FnOnce(&mut Lengthening),
    ) {
        let longer = self.shortened_from.take();
        let Some(own) = self.lengthening.as_mut() else {
            return;
        };
        if let Some(longer) = longer.filter(|_| is_short) {
            *own = longer;
            self.is_enough = true;
            return;
        }
        self.is_enough = compare(own) == Compared::Enough;
        if self.is_enough && longer.is_none() {
            let before = *own;
            shorten(own);
            self.shortened_from = (own.lists != before.lists).then_some(before);
            self.is_enough = self.shortened_from.is_none();
        }
    }
}

impl Sums {
    /// Adds what a query missed with a list of so many places, and what it cost.
    fn add(&mut self, missed: f32, (list_size, walked): (u32, f64)) {
        self.missed += missed;
        self.squares += missed * missed;
        self.places += u64::from(list_size);
        self.walked += walked;
        self.queries += 1;
    }

    /// Whether they are of enough queries to act on them: of fewer where these missed too much.
    const fn tell(&self, is_short: bool) -> bool {
        let (short, enough) = COMPARED;
        self.queries >= if is_short { short } else { enough }
    }

    /// Means, where a scan of all vectors costs so much.
    fn means(&self, scanned: f64) -> Comparison {
        let queries = self.queries.max(1);
        let missed = self.missed / queries as f32;
        Comparison {
            missed,
            error: standard_error(missed, (self.squares, queries as f32)),
            list_size: (self.places / u64::from(queries)) as u32,
            walked: self.walked / f64::from(queries),
            scanned,
        }
    }
}

/// Calls that want the same.
fn kind_of(options: &SearchOptions) -> CallKind {
    let (recall, tolerance) = (recall_of(options), options.tolerance.share());
    (
        options.k,
        recall.to_bits(),
        tolerance.to_bits(),
        options.beam,
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::Effort;

    const ALIKE: SampledLists = SampledLists::Sized(7);

    fn told(unlike: Option<bool>) -> Earlier {
        Earlier {
            unlike,
            told: JUDGED.0,
            ..Earlier::default()
        }
    }

    #[test]
    fn lists_are_those_of_what_was_told() {
        let of = |unlike| told(unlike).advise(1, ALIKE);
        let lists = [None, Some(true), Some(false)].map(|unlike| of(unlike).lists);
        assert_eq!(lists, [SampledLists::USUAL, SampledLists::USUAL, ALIKE]);
        assert!(of(Some(true)).is_unlike && !of(Some(false)).is_unlike);
    }

    #[test]
    fn what_far_fewer_nodes_told_is_forgotten() {
        let mut earlier = Earlier {
            nodes: 1000,
            ..told(Some(true))
        };
        for nodes in [1250, 750] {
            earlier.turn_to(nodes);
            assert_eq!(earlier.unlike, Some(true), "{nodes}");
        }
        earlier.turn_to(1251);
        assert_eq!((earlier.unlike, earlier.nodes), (None, 1251));
    }

    #[test]
    fn the_first_queries_tell_and_one_in_many_of_others() {
        let mut earlier = Earlier::default();
        let told = |earlier: &mut Earlier, calls: usize, count| {
            let all = (0..calls).filter(|_| earlier.advise(count, ALIKE).tells);
            all.count()
        };
        assert_eq!(told(&mut earlier, 32, 1), 32);
        assert_eq!(told(&mut earlier, 6400, 1), 100);
        assert_eq!(told(&mut earlier, 640, 10), 10);
    }

    #[test]
    fn what_queries_missed_and_cost_is_told_as_means() {
        let mut sums = Sums::default();
        for missed in [0.0, 0.5, 1.0, 0.5] {
            sums.add(missed, (50, 700.0));
        }
        let told = sums.means(9000.0);
        let wanted = Comparison {
            missed: 0.5,
            error: (0.125_f32 / 4.0).sqrt(),
            list_size: 50,
            walked: 700.0,
            scanned: 9000.0,
        };
        assert_eq!(told, wanted);
    }

    #[test]
    fn many_that_miss_little_are_compared_and_fewer_that_miss_much() {
        let tell = |queries, is_short| {
            let sums = Sums {
                queries,
                ..Sums::default()
            };
            sums.tell(is_short)
        };
        assert_eq!([31, 32].map(|own| tell(own, true)), [false, true]);
        assert_eq!([95, 96].map(|own| tell(own, false)), [false, true]);
    }

    #[test]
    fn shortened_lists_are_compared_again_and_stay_or_are_what_they_were() {
        let sized = SampledLists::Sized;
        let options = SearchOptions::nearest(10).with_effort(Effort::Recall(0.9));
        let shorten = |own: &mut Lengthening| own.lists = sized(50);
        let told = |earlier: &mut Earlier, missed_much, found| {
            earlier.settle(missed_much, |_| found, shorten);
            let own = earlier.lengthening.unwrap();
            (own.lists, earlier.is_enough)
        };
        for (is_short, wanted) in [(false, 50), (true, 80)] {
            let mut earlier = Earlier {
                lengthening: Some(Lengthening::of(&options)),
                ..Earlier::default()
            };
            earlier.lengthening.as_mut().unwrap().lists = sized(80);
            let first = told(&mut earlier, true, Compared::Longer);
            assert_eq!(first, (sized(80), false));
            let second = told(&mut earlier, false, Compared::Enough);
            assert_eq!(second, (sized(50), false), "nobody has seen what they find");
            let third = told(&mut earlier, is_short, Compared::Enough);
            assert_eq!(third, (sized(wanted), true));
        }
    }

    #[test]
    fn the_kinds_asked_for_last_are_known() {
        let calls = EarlierCalls::default();
        let options = |k| SearchOptions::nearest(k).with_effort(Effort::Recall(0.9));
        for k in 1..=10 {
            calls.of_kind(&options(k), |earlier| earlier.unlike = Some(false));
        }
        let is_known = |k| calls.of_kind(&options(k), |earlier| earlier.unlike.is_some());
        let known = [10, 9, 4, 3, 1].map(is_known);
        assert_eq!(known, [true, true, true, true, false]);
        calls.forget(&options(10));
        assert!(!is_known(10));
    }
}
