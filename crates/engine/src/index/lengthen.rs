//! Lists for queries unlike those of the calibration. A sample is compared with all vectors where
//! that costs little beside the call, or searched with a list that leaves out hardly anything;
//! other lists grow until the sample misses no more of that than the asked recall allows, and the
//! list to compare with is clearly longer than they are. Where lists cost more than a scan of all
//! vectors, that is done.

use super::collect::Answer;
use super::sampled::{Whole, recall_of, spread};
use super::sizes::{MAX_LIST_SIZE, mean_list_size};
use super::subset::QuerySubset;
use super::watch::Watch;
use super::{Index, Version};
use crate::calibration::Misses;
use crate::error::Result;
use crate::execution::driver::Outcomes;
use crate::options::{Answers, Effort, Queries, SearchOptions, SearchSettings};

/// Share of the allowed misses that the list to compare with leaves out, at least.
const LEFT_OUT: f32 = 0.05;
/// The same at most, where memory holds no longer one.
const MOST_LEFT_OUT: f32 = 0.5;
/// Misses of a list that calibrations look no further than: longer ones may miss fewer.
const HARDLY_ANY: f32 = 0.004;
/// Shortest list to compare with. Shorter ones leave out more for unlike queries than the
/// calibration says.
const LEAST: u32 = 200;
/// The list to compare with is at least so many times as long as those that find enough, where
/// these are longer than usual.
const FARTHER: u32 = 3;
/// First and largest multiple of the calibrated misses that lists allow for.
const TIMES: (f32, f32) = (1.5, 16.0);
/// Factor from one multiple to the next, and from one list to the next.
const GROWTH: f32 = 1.4;
/// Factor between multiples that are tried for the one of the usual lists.
const STEP: f32 = 1.1;
/// Standard errors that lists which shrink are sure of.
pub(super) const SURE: f32 = 2.0;
/// Lists grow to so many times their usual size, or to so many places, whatever a sample misses:
/// queries that resemble no row would search all of them. A scan of all vectors may cost as many
/// times what the usual lists do.
const LONGEST: (u32, u32) = (16, 4 * LEAST);
/// Share of what a call costs that queries of its sample may be compared with all vectors for, and
/// such queries, at least.
const COMPARED: (f64, usize) = (0.125, 32);

/// The lists of the queries of a call.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum SampledLists {
    /// Those of the calibration, for queries that miss so much.
    Calibrated(Misses),
    /// All of one size, where the calibration has none as long.
    Sized(u32),
    /// None: queries are compared with all vectors.
    Exhaustive,
}

impl SampledLists {
    /// Those of queries that nothing is known of.
    pub(super) const USUAL: Self = Self::Calibrated(Misses::Unknown);
}

/// How far lists have grown, and what they are compared with.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Lengthening {
    pub(super) lists: SampledLists,
    /// What they are compared with.
    pub(super) reference: SampledLists,
    /// Share of the closest rows by that which may be missed.
    pub(super) allowed: f32,
    /// Share of them which that misses itself by the calibration.
    left_out: f32,
    /// The next multiple of the calibrated misses.
    times: f32,
    /// Longest list of one size, and what a query may cost; `None` before the usual ones are known.
    most: Option<(u32, f64)>,
}

/// What a comparison told of lists.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Comparison {
    /// Share of the closest rows that was missed, and its standard error.
    pub(super) missed: f32,
    pub(super) error: f32,
    /// Places of a list, mean.
    pub(super) list_size: u32,
    /// What a query cost, and would by a scan of all vectors.
    pub(super) walked: f64,
    pub(super) scanned: f64,
}

/// What a comparison asks for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Compared {
    /// Another look with lists that are longer.
    Longer,
    /// Another look with a longer list to compare with.
    Farther,
    /// Nothing: lists find enough, or memory has no longer ones.
    Enough,
}

/// Answers of a sample, and what threads did for them.
type Searched = (Answers, Vec<Outcomes>);

impl Lengthening {
    /// The usual lists, compared with all vectors or with a longer list; `None` if memory holds no
    /// such list.
    pub(super) fn begin(version: &Version, options: &SearchOptions, scans: bool) -> Option<Self> {
        let mut own = Self::of(options);
        if !scans {
            own.compare_with(version, options, reference(version, options)?);
        }
        Some(own)
    }

    /// The usual lists, compared with all vectors.
    pub(super) fn of(options: &SearchOptions) -> Self {
        Self {
            lists: SampledLists::USUAL,
            reference: SampledLists::Exhaustive,
            allowed: allowed(recall_of(options), 0.0),
            left_out: 0.0,
            times: TIMES.0,
            most: None,
        }
    }

    /// Compares with a list of this size from now on.
    fn compare_with(&mut self, version: &Version, options: &SearchOptions, list_size: u32) {
        self.reference = SampledLists::Sized(list_size);
        let missed = calibrated_misses(version, options, list_size);
        self.left_out = missed.filter(|own| *own > HARDLY_ANY).unwrap_or(0.0);
        self.allowed = allowed(recall_of(options), self.left_out);
    }

    /// Takes off what may be missed what the list to compare with misses itself. Lists of so many
    /// places missed some times what the calibration says; longer ones differ less from it, by the
    /// root of that.
    pub(super) fn allow(
        &mut self,
        version: &Version,
        options: &SearchOptions,
        (missed, list_size): (f32, u32),
    ) {
        if self.left_out > 0.0
            && let Some(calibrated) = calibrated_misses(version, options, list_size)
            && let Some(times) = times_missed(missed, calibrated - self.left_out)
        {
            self.allowed = allowed(recall_of(options), times.sqrt() * self.left_out);
        }
    }

    /// Whether a sample misses too much. Of lists that grow on the same sample the first that seem
    /// to do are lucky ones, so those have to be sure.
    fn misses_too_much(&self, told: &Comparison) -> bool {
        let luck = if self.has_grown() { told.error } else { 0.0 };
        told.missed + luck > self.allowed
    }

    /// Takes in what a comparison told, with lists that are too short or not.
    pub(super) fn compare(
        &mut self,
        (version, queries): (&Version, &Queries<'_>),
        options: &SearchOptions,
        (told, is_short): (&Comparison, bool),
    ) -> Compared {
        let least = if is_short { GROWTH } else { 1.0 };
        if told.scanned <= told.walked * f64::from(least) {
            self.lists = SampledLists::Exhaustive;
        }
        if self.lists == SampledLists::Exhaustive {
            return Compared::Enough;
        }
        if is_short {
            let next = self.longer((version, queries), options, told);
            self.lists = next.unwrap_or(self.lists);
            return match next {
                None | Some(SampledLists::Exhaustive) => Compared::Enough,
                Some(_) => Compared::Longer,
            };
        }
        let SampledLists::Sized(reference) = self.reference else {
            return Compared::Enough;
        };
        let farther = told.list_size.saturating_mul(FARTHER);
        let farther = longest_list(version, options, farther);
        if self.lists == SampledLists::USUAL || farther <= reference {
            return Compared::Enough;
        }
        self.compare_with(version, options, farther);
        Compared::Farther
    }

    /// Takes lists of the calibration for fewer misses, where queries missed so much less than they
    /// may of what is compared with. Misses of all rows go with the lists as those of the
    /// calibration do.
    pub(super) fn shorten(
        &mut self,
        place: (&Version, &Queries<'_>),
        options: &SearchOptions,
        missed: f32,
    ) {
        let SampledLists::Calibrated(misses) = self.lists else {
            return;
        };
        let places = |times| calibrated_places(place, (options, Misses::Times(times)));
        let Some(own) = calibrated_places(place, (options, misses)) else {
            return;
        };
        let least = Misses::ALIKE.known().unwrap_or(TIMES.0);
        let tried = std::iter::successors(Some(least), |times| Some(times * STEP));
        let mut tried = tried.take_while(|times| *times <= TIMES.1);
        let as_long = || tried.find(|times| places(*times).is_none_or(|longer| longer >= own));
        let times = misses.known().or_else(as_long).unwrap_or(TIMES.1);
        let fewer = fewer_times(times, missed, (recall_of(options), self.allowed)).max(least);
        if fewer < times && places(fewer).is_some_and(|shorter| shorter < own) {
            self.lists = SampledLists::Calibrated(Misses::Times(fewer));
            self.times = fewer * GROWTH;
        }
    }

    /// Whether lists are others than the usual ones.
    fn has_grown(&self) -> bool {
        self.lists != SampledLists::USUAL
    }

    /// The next lists: those of the calibration for more misses, then of one size, then none;
    /// `None` if memory has no longer ones, and a scan of all vectors costs too much.
    fn longer(
        &mut self,
        place: (&Version, &Queries<'_>),
        options: &SearchOptions,
        told: &Comparison,
    ) -> Option<SampledLists> {
        let (times, places) = LONGEST;
        let most = told.list_size.saturating_mul(times).max(places);
        let (most, cost) = *self
            .most
            .get_or_insert((most, told.walked * f64::from(times)));
        if let SampledLists::Calibrated(misses) = self.lists {
            let own = calibrated_places(place, (options, misses));
            while self.times <= TIMES.1 {
                let more = Misses::Times(self.times);
                self.times *= GROWTH;
                if calibrated_places(place, (options, more)) > own {
                    return Some(SampledLists::Calibrated(more));
                }
            }
        }
        let wished = (told.list_size as f32 * GROWTH).ceil() as u32;
        let size = longest_list(place.0, options, wished.min(most));
        if size > told.list_size {
            return Some(SampledLists::Sized(size));
        }
        (told.scanned <= cost).then_some(SampledLists::Exhaustive)
    }
}

/// The share that may be missed of what is compared with, where this misses so much itself.
fn allowed(recall: f32, left_out: f32) -> f32 {
    let may = 1.0 - recall;
    may - left_out.clamp(LEFT_OUT * may, MOST_LEFT_OUT * may)
}

/// How many times as much was missed as the calibration says; `None` where it says nothing.
fn times_missed(missed: f32, calibrated: f32) -> Option<f32> {
    (calibrated > 0.0).then(|| (missed / calibrated).clamp(1.0, TIMES.1))
}

/// Multiple of the calibrated misses that is enough, where so many times left out so much of what
/// is compared with. What this misses itself stays out. No fewer where nothing may be missed.
fn fewer_times(times: f32, missed: f32, (recall, allowed_now): (f32, f32)) -> f32 {
    let may = allowed(recall, 0.0);
    if may <= 0.0 {
        return times;
    }
    times * (missed + may - allowed_now) / may
}

/// The share of the closest rows that lists of so many places miss by the calibration.
fn calibrated_misses(version: &Version, options: &SearchOptions, list_size: u32) -> Option<f32> {
    let calibration = version.calibration_of(options);
    let found = calibration.expected_by(options.k, list_size as f32, Misses::MEASURED)?;
    Some(1.0 - found)
}

impl Index {
    /// The lists with which a sample of a call of so many queries gets its recall, and its answers
    /// with the costs of all searches. `found` are its answers by lists for so many misses.
    ///
    /// If the call costs less by a scan of all vectors there are none. Else as many of the sample
    /// as a small part of the call pays for are compared with all vectors; if that is too few, all
    /// of it is compared with a longer list.
    pub(super) fn lengthen(
        &self,
        place: (&Version, &Queries<'_>),
        options: &SearchOptions,
        (shortest, found): (Misses, Searched),
        (count, watch): (usize, Watch<'_>),
    ) -> Result<(SampledLists, Searched)> {
        let (version, queries) = place;
        let sample = found.0.stats.len();
        let walked = version.walk_cost(&found.0);
        if version.scan_cost(options, count) <= walked {
            let lists = SampledLists::Exhaustive;
            let mut scanned = self.search_lists(place, (options, lists), watch)?;
            scanned.0.add_costs(&found.0);
            return Ok((lists, scanned));
        }
        let few = compared_with_all(version, options, (walked, count)).min(sample);
        if few == 0 || few == sample {
            let sampled = (shortest, found);
            return self.lengthen_by(place, options, (sampled, few > 0), (count, watch));
        }
        let (few, others) = spread(sample, few);
        let mut whole = Whole::of(sample, version.places(options));
        let subset = QuerySubset::of(queries, &few);
        let place = (version, &subset.queries(queries));
        let usual = self.search_lists(place, (options, SampledLists::USUAL), watch)?;
        let usual = (Misses::Unknown, usual);
        let (lists, answered) = self.lengthen_by(place, options, (usual, true), (count, watch))?;
        whole.take(&subset, answered);
        let subset = QuerySubset::of(queries, &others);
        let place = (version, &subset.queries(queries));
        whole.take(&subset, self.search_lists(place, (options, lists), watch)?);
        let (mut answers, outcomes) = whole.finish();
        answers.add_costs(&found.0);
        Ok((lists, (answers, outcomes)))
    }

    /// The same, by comparing all of a sample with all vectors or with a longer list, which gives
    /// its answers. If memory has no lists that find enough, the longest that were tried stay,
    /// unless a scan of all vectors is worth it; where the sample misses less than it may for sure,
    /// lists with the usual margin shrink.
    ///
    /// Searches for the sample with what it is compared with, with the usual margin if those lists
    /// miss too much, and again for each lengthening.
    fn lengthen_by(
        &self,
        place: (&Version, &Queries<'_>),
        options: &SearchOptions,
        ((shortest, found), scans): ((Misses, Searched), bool),
        (count, watch): (usize, Watch<'_>),
    ) -> Result<(SampledLists, Searched)> {
        let version = place.0;
        let search = |lists| self.search_lists(place, (options, lists), watch);
        let is_usual = shortest == Misses::Unknown;
        let scanned = version.scan_cost(options, count);
        let Some(mut own) = Lengthening::begin(version, options, scans) else {
            if is_usual {
                return Ok((SampledLists::USUAL, found));
            }
            let mut asked = search(SampledLists::USUAL)?;
            asked.0.add_costs(&found.0);
            return Ok((SampledLists::USUAL, asked));
        };
        let mut closest = search(own.reference)?;
        closest.0.add_costs(&found.0);
        let mut last = found.0;
        let (missed, _) = mean_missed(&last, &closest.0);
        own.allow(version, options, (missed, last.settings.list_size));
        if !is_usual && missed > own.allowed {
            last = search(own.lists)?.0;
            closest.0.add_costs(&last);
        }
        loop {
            let (missed, error) = mean_missed(&last, &closest.0);
            let told = Comparison {
                missed,
                error,
                list_size: last.settings.list_size,
                walked: version.walk_cost(&last),
                scanned,
            };
            own.allow(version, options, (missed, told.list_size));
            let is_short = own.misses_too_much(&told);
            match own.compare(place, options, (&told, is_short)) {
                Compared::Longer => {
                    last = search(own.lists)?.0;
                    closest.0.add_costs(&last);
                }
                Compared::Farther => {
                    let mut other = search(own.reference)?;
                    other.0.add_costs(&closest.0);
                    closest = other;
                }
                Compared::Enough => {
                    let lists = self.shortened(place, options, (own, told), (&mut closest, watch));
                    return Ok((lists?, closest));
                }
            }
        }
    }

    /// Lists as short as a sample that was told this surely allows. Those that have grown stay: the
    /// ones before them missed too much. Where the sample was compared with all vectors they are
    /// tried on it; what is left is half of the way, since a list to compare with misses some
    /// itself.
    fn shortened(
        &self,
        place: (&Version, &Queries<'_>),
        options: &SearchOptions,
        (mut own, told): (Lengthening, Comparison),
        (closest, watch): (&mut Searched, Watch<'_>),
    ) -> Result<SampledLists> {
        if own.has_grown() {
            return Ok(own.lists);
        }
        let (may, surely) = (own.allowed, told.missed + SURE * told.error);
        if own.reference == SampledLists::Exhaustive {
            let mut shorter = own;
            shorter.shorten(place, options, surely);
            if shorter.lists != own.lists {
                let found = self.search_lists(place, (options, shorter.lists), watch)?;
                closest.0.add_costs(&found.0);
                let (missed, error) = mean_missed(&found.0, &closest.0);
                if missed + error <= may {
                    return Ok(shorter.lists);
                }
            }
        }
        own.shorten(place, options, (surely * may).sqrt());
        Ok(own.lists)
    }

    /// Searches segments with these lists.
    pub(super) fn search_lists(
        &self,
        place: (&Version, &Queries<'_>),
        (options, lists): (&SearchOptions, SampledLists),
        watch: Watch<'_>,
    ) -> Result<Searched> {
        match lists {
            SampledLists::Calibrated(misses) => {
                self.search_segments(place, (options, misses), watch)
            }
            SampledLists::Sized(size) => {
                let list_size = (size as f32, Misses::MEASURED);
                let mut found = self.search_fixed(place, options, list_size, watch)?;
                if let Effort::Recall(recall) = options.effort {
                    // The sample tells of such queries, not the calibration.
                    found.0.expected_recall = found.0.expected_recall.map(|own| own.min(recall));
                }
                Ok(found)
            }
            SampledLists::Exhaustive => {
                let mut found = self.scan_segments(place, options, watch)?;
                found.expected_recall = options.radius.is_none().then_some(1.0);
                found.settings = SearchSettings {
                    list_size: place.0.node_count(),
                    threads: self.threads_of(options),
                    interleave: 1,
                    ..SearchSettings::default()
                };
                Ok((found, Vec::new()))
            }
        }
    }
}

/// How many of a sample are compared with all vectors: as many as cost little beside a call of so
/// many queries, of which each costs so much.
fn compared_with_all(
    version: &Version,
    options: &SearchOptions,
    (walked, count): (f64, usize),
) -> usize {
    let (share, least) = COMPARED;
    let each = version.scan_cost(options, least);
    let paid = (share * walked * count as f64 / each) as usize;
    if paid < least { 0 } else { paid }
}

/// Places of the lists of the calibration for queries that miss so much: of all sizes that queries
/// choose from, or of the one; `None` if memory or the calibration has none.
fn calibrated_places(
    (version, queries): (&Version, &Queries<'_>),
    (options, misses): (&SearchOptions, Misses),
) -> Option<f32> {
    if let Some(plan) = version.list_plan(queries, (options, misses)) {
        return Some(plan.steps.iter().map(|step| step.list_size).sum());
    }
    let size = mean_list_size(version, options, misses).ok()?;
    let sizes = version.sizes_for(options, size.ceil() as u32, queries.admitted);
    let fits = sizes.is_ok_and(|sizes| version.has_room(sizes));
    fits.then_some(size)
}

/// The list to compare with; `None` if memory holds none that is longer than the usual list.
fn reference(version: &Version, options: &SearchOptions) -> Option<u32> {
    let recall = recall_of(options);
    let calibration = &version.manifest.calibration;
    let closer = (1.0 - LEFT_OUT * (1.0 - recall)).min(calibration.best(options.k)?);
    let size = |recall| calibration.list_size_by(options.k, recall, Misses::MEASURED);
    let (usual, closer) = (size(recall).ok()?, size(closer).ok()?);
    let longest = longest_list(version, options, closer.max(LEAST));
    (longest > usual).then_some(longest)
}

/// The longest list up to `most` that memory holds, and that is of use.
fn longest_list(version: &Version, options: &SearchOptions, most: u32) -> u32 {
    let fits = |list_size| {
        let sizes = version.sizes_for(options, list_size, None);
        sizes.is_ok_and(|sizes| version.has_room(sizes))
    };
    let most = most.min(version.node_count()).min(MAX_LIST_SIZE);
    crate::memory::largest(1, most.max(1), fits)
}

/// The mean share of the closest rows that was not found, and its standard error.
fn mean_missed(found: &Answers, closest: &Answers) -> (f32, f32) {
    let [count, sum, squares] = missed(found, closest)
        .fold([0.0; 3], |[count, sum, squares], own| {
            [count + 1.0, sum + own, squares + own * own]
        });
    let mean = sum / f32::max(count, 1.0);
    (mean, standard_error(mean, (squares, count)))
}

/// The standard error of a mean of so many values, of which the sum of squares is known.
pub(super) fn standard_error(mean: f32, (squares, count): (f32, f32)) -> f32 {
    let count = count.max(1.0);
    let variance = (squares / count - mean * mean).max(0.0);
    (variance / count).sqrt()
}

/// The share of the closest rows that was not found, of each query that has any.
pub(super) fn missed<'a>(
    found: &'a Answers,
    closest: &'a Answers,
) -> impl Iterator<Item = f32> + 'a {
    (0..closest.stats.len()).filter_map(|query| {
        let closest: Vec<Answer> = closest.of_query(query).collect();
        share_missed(found.of_query(query), &closest)
    })
}

/// The share of the `closest` that was not found; a row that is equally near stands for one of
/// them.
fn share_missed(found: impl Iterator<Item = Answer>, closest: &[Answer]) -> Option<f32> {
    let farthest = closest.last()?.distance;
    let is_one = |own: &Answer| {
        own.distance <= farthest || closest.iter().any(|other| other.node == own.node)
    };
    let ones = found.filter(is_one).count();
    Some((1.0 - ones as f32 / closest.len() as f32).max(0.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answers(found: &[(u32, f32)]) -> Vec<Answer> {
        let answer = |(node, distance): &(u32, f32)| Answer {
            id: u64::from(*node),
            row: *node,
            node: *node,
            distance: *distance,
            error: 0.0,
        };
        found.iter().map(answer).collect()
    }

    #[test]
    fn what_a_list_to_compare_with_misses_may_not_be_missed_again() {
        let close = |own: f32, wanted: f32| (own - wanted).abs() < 1e-6;
        assert!(close(allowed(0.9, 0.0), 0.095) && close(allowed(0.9, 0.003), 0.095));
        assert!(close(allowed(0.95, 0.015), 0.035));
        assert!(close(allowed(0.99, 0.015), 0.005), "half of it is left");
        assert_eq!(allowed(1.0, 0.015), 0.0);
    }

    #[test]
    fn lists_shrink_by_what_they_and_what_is_compared_with_miss() {
        let close = |own: f32, wanted: f32| (own - wanted).abs() < 1e-5;
        assert!(close(fewer_times(3.0, 0.0475, (0.9, 0.095)), 1.5));
        assert!(close(fewer_times(3.0, 0.0325, (0.9, 0.08)), 1.5));
        assert_eq!(fewer_times(3.0, 0.0, (1.0, 0.0)), 3.0);
        let times = [(0.06, 0.03), (0.01, 0.03), (9.0, 0.03)];
        let times = times.map(|(missed, calibrated)| times_missed(missed, calibrated));
        assert_eq!(times, [Some(2.0), Some(1.0), Some(TIMES.1)]);
        assert_eq!(times_missed(0.06, 0.0), None);
    }

    #[test]
    fn what_is_not_found_is_missed_unless_it_is_equally_near() {
        let closest = answers(&[(1, 0.5), (2, 1.0), (3, 1.0), (4, 2.0)]);
        let share = |found: &[(u32, f32)]| share_missed(answers(found).into_iter(), &closest);
        assert_eq!(share(&[(1, 0.5), (2, 1.0), (3, 1.0), (4, 2.0)]), Some(0.0));
        assert_eq!(share(&[(1, 0.5), (2, 1.0), (3, 1.0), (5, 2.0)]), Some(0.0));
        assert_eq!(share(&[(1, 0.5), (3, 1.0), (5, 2.1), (6, 3.0)]), Some(0.5));
        assert_eq!(share(&[]), Some(1.0));
        // Estimates of one row may differ.
        assert_eq!(share(&[(1, 0.5), (2, 1.0), (3, 1.0), (4, 2.1)]), Some(0.0));
        assert_eq!(share_missed(closest.into_iter(), &[]), None);
    }

    #[test]
    fn lists_that_have_grown_have_to_be_sure_to_find_enough() {
        let asked = SearchOptions::nearest(10).with_effort(Effort::Recall(0.9));
        let mut own = Lengthening::of(&asked);
        let told = |missed| Comparison {
            missed,
            error: 0.02,
            list_size: 20,
            walked: 1.0,
            scanned: 100.0,
        };
        let short =
            |own: Lengthening| [0.07, 0.08, 0.11].map(|all| own.misses_too_much(&told(all)));
        assert_eq!(short(own), [false, false, true]);
        own.lists = SampledLists::Calibrated(Misses::Times(2.0));
        assert_eq!(short(own), [false, true, true]);
    }
}
