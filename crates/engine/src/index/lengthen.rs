//! Lists for queries unlike those of the calibration. A sample is searched with a list that leaves
//! out hardly anything; other lists grow until the sample misses no more of that than the asked
//! recall allows, and the list to compare with is clearly longer than they are.

use super::collect::Answer;
use super::sampled::recall_of;
use super::sizes::{MAX_LIST_SIZE, mean_list_size};
use super::watch::Watch;
use super::{Index, Version};
use crate::calibration::Misses;
use crate::error::Result;
use crate::execution::driver::Outcomes;
use crate::options::{Answers, Effort, Queries, SearchOptions};

/// Share of the allowed misses that the list to compare with leaves out, by the calibration.
const LEFT_OUT: f32 = 0.05;
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
/// queries that resemble no row would search all of them.
const LONGEST: (u32, u32) = (16, 4 * LEAST);

/// The lists of the queries of a call.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum SampledLists {
    /// Those of the calibration, for queries that miss so much.
    Calibrated(Misses),
    /// All of one size, where the calibration has none as long.
    Sized(u32),
}

impl SampledLists {
    /// Those of queries that nothing is known of.
    pub(super) const USUAL: Self = Self::Calibrated(Misses::Unknown);
}

/// How far lists have grown, and what they are compared with.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Lengthening {
    pub(super) lists: SampledLists,
    /// Size of the list to compare with.
    pub(super) reference: u32,
    /// The next multiple of the calibrated misses.
    times: f32,
    /// Longest list of one size; `None` before the usual one is known.
    most: Option<u32>,
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
    /// The usual lists; `None` if memory holds none to compare with that is longer.
    pub(super) fn begin(version: &Version, options: &SearchOptions) -> Option<Self> {
        Some(Self {
            lists: SampledLists::USUAL,
            reference: reference(version, options)?,
            times: TIMES.0,
            most: None,
        })
    }

    /// Takes in what share of the closest rows lists missed that had so many places on average.
    pub(super) fn compare(
        &mut self,
        (version, queries): (&Version, &Queries<'_>),
        options: &SearchOptions,
        (missed, list_size): (f32, u32),
    ) -> Compared {
        if missed > allowed(options) {
            let next = self.longer((version, queries), options, list_size);
            self.lists = next.unwrap_or(self.lists);
            return next.map_or(Compared::Enough, |_| Compared::Longer);
        }
        let farther = list_size.saturating_mul(FARTHER);
        let farther = longest_list(version, options, farther);
        if self.lists == SampledLists::USUAL || farther <= self.reference {
            return Compared::Enough;
        }
        self.reference = farther;
        Compared::Farther
    }

    /// Takes lists of the calibration for fewer misses, where queries missed so much less than they
    /// may. Misses go with the lists as those of the calibration do.
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
        let fewer = (times * missed / allowed(options)).max(least);
        if fewer < times && places(fewer).is_some_and(|shorter| shorter < own) {
            self.lists = SampledLists::Calibrated(Misses::Times(fewer));
            self.times = fewer * GROWTH;
        }
    }

    /// The next lists: those of the calibration for more misses, then of one size; `None` if memory
    /// has none.
    fn longer(
        &mut self,
        place: (&Version, &Queries<'_>),
        options: &SearchOptions,
        list_size: u32,
    ) -> Option<SampledLists> {
        let (times, places) = LONGEST;
        let most = list_size.saturating_mul(times).max(places);
        let most = *self.most.get_or_insert(most);
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
        let wished = (list_size as f32 * GROWTH).ceil() as u32;
        let size = longest_list(place.0, options, wished.min(most));
        (size > list_size).then_some(SampledLists::Sized(size))
    }
}

/// The share of the closest rows that may be missed.
pub(super) fn allowed(options: &SearchOptions) -> f32 {
    (1.0 - LEFT_OUT) * (1.0 - recall_of(options))
}

impl Index {
    /// The lists with which a sample gets its recall, and its answers by the list to compare with,
    /// which include the costs of all searches. `found` are its answers by lists for so many
    /// misses. If memory has no lists that find enough, the longest that were tried stay; where the
    /// sample misses less than it may for sure, lists with the usual margin shrink by half of
    /// that, since the list to compare with misses some itself.
    ///
    /// Searches for the sample with the list to compare with, with the usual margin if those lists
    /// miss too much, and again for each lengthening.
    pub(super) fn lengthen(
        &self,
        place: (&Version, &Queries<'_>),
        options: &SearchOptions,
        (shortest, found): (Misses, Searched),
        watch: Watch<'_>,
    ) -> Result<(SampledLists, Searched)> {
        let search = |lists| self.search_lists(place, (options, lists), watch);
        let is_usual = shortest == Misses::Unknown;
        let Some(mut own) = Lengthening::begin(place.0, options) else {
            if is_usual {
                return Ok((SampledLists::USUAL, found));
            }
            let mut asked = search(SampledLists::USUAL)?;
            asked.0.add_costs(&found.0);
            return Ok((SampledLists::USUAL, asked));
        };
        let mut closest = search(SampledLists::Sized(own.reference))?;
        closest.0.add_costs(&found.0);
        let mut last = found.0;
        if !is_usual && mean_missed(&last, &closest.0).0 > allowed(options) {
            last = search(own.lists)?.0;
            closest.0.add_costs(&last);
        }
        loop {
            let (missed, error) = mean_missed(&last, &closest.0);
            match own.compare(place, options, (missed, last.settings.list_size)) {
                Compared::Longer => {
                    last = search(own.lists)?.0;
                    closest.0.add_costs(&last);
                }
                Compared::Farther => {
                    let mut other = search(SampledLists::Sized(own.reference))?;
                    other.0.add_costs(&closest.0);
                    closest = other;
                }
                Compared::Enough => {
                    let surely = missed + SURE * error;
                    own.shorten(place, options, (surely * allowed(options)).sqrt());
                    return Ok((own.lists, closest));
                }
            }
        }
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
        }
    }
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
}
