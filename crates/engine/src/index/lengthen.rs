//! Lists for queries unlike those of the calibration. A sample is searched with a list that leaves
//! out hardly anything; other lists grow until the sample misses no more of that than the asked
//! recall allows, and the list to compare with is clearly longer than they are.

use super::collect::Answer;
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

/// Answers of a sample, and what threads did for them.
type Searched = (Answers, Vec<Outcomes>);

impl Index {
    /// The lists with which a sample gets its recall, and its answers by the list to compare with,
    /// which include the costs of all searches. `found` are its answers by lists for so many
    /// misses. The usual margin is the least; if memory has no lists that find enough, the longest
    /// that were tried stay.
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
        let usual = SampledLists::Calibrated(Misses::Unknown);
        let Effort::Recall(recall) = options.effort else {
            return Ok((usual, found));
        };
        let Some(mut size) = reference(place.0, options, recall) else {
            if shortest == Misses::Unknown {
                return Ok((usual, found));
            }
            let mut asked = self.search_lists(place, (options, usual), watch)?;
            asked.0.add_costs(&found.0);
            return Ok((usual, asked));
        };
        let compare = |size| self.search_lists(place, (options, SampledLists::Sized(size)), watch);
        let allowed = (1.0 - LEFT_OUT) * (1.0 - recall);
        let mut closest = compare(size)?;
        closest.0.add_costs(&found.0);
        let (mut lists, mut last) = (usual, found.0);
        if shortest != Misses::Unknown && missed(&last, &closest.0) > allowed {
            last = self.search_lists(place, (options, usual), watch)?.0;
            closest.0.add_costs(&last);
        }
        let mut longer = Longer::new(place, options, last.settings.list_size);
        loop {
            if missed(&last, &closest.0) > allowed {
                let Some(next) = longer.next((lists, last.settings.list_size)) else {
                    break;
                };
                (lists, last) = (next, self.search_lists(place, (options, next), watch)?.0);
                closest.0.add_costs(&last);
                continue;
            }
            let farther = last.settings.list_size.saturating_mul(FARTHER);
            let farther = longest_list(place.0, options, farther);
            if lists == usual || farther <= size {
                break;
            }
            let mut other = compare(farther)?;
            other.0.add_costs(&closest.0);
            (size, closest) = (farther, other);
        }
        Ok((lists, closest))
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

/// Lists that are longer than the usual ones, one after the other.
struct Longer<'l> {
    version: &'l Version,
    queries: &'l Queries<'l>,
    options: &'l SearchOptions,
    /// The next multiple of the calibrated misses.
    times: f32,
    /// Longest list of one size.
    most: u32,
}

impl<'l> Longer<'l> {
    /// Those that follow lists of a usual size.
    fn new(
        (version, queries): (&'l Version, &'l Queries<'l>),
        options: &'l SearchOptions,
        usual: u32,
    ) -> Self {
        let (times, places) = LONGEST;
        Self {
            version,
            queries,
            options,
            times: TIMES.0,
            most: usual.saturating_mul(times).max(places),
        }
    }

    /// The next ones: those of the calibration for more misses, then of one size; `None` if memory
    /// has none.
    fn next(&mut self, (before, list_size): (SampledLists, u32)) -> Option<SampledLists> {
        if let SampledLists::Calibrated(misses) = before {
            let own = self.places(misses);
            while self.times <= TIMES.1 {
                let more = Misses::Times(self.times);
                self.times *= GROWTH;
                if self.places(more) > own {
                    return Some(SampledLists::Calibrated(more));
                }
            }
        }
        let wished = (list_size as f32 * GROWTH).ceil() as u32;
        let size = longest_list(self.version, self.options, wished.min(self.most));
        (size > list_size).then_some(SampledLists::Sized(size))
    }

    /// Places of the lists of the calibration for queries that miss so much: of all sizes that
    /// queries choose from, or of the one; `None` if memory or the calibration has none.
    fn places(&self, misses: Misses) -> Option<f32> {
        let (version, options) = (self.version, self.options);
        if let Some(plan) = version.list_plan(self.queries, (options, misses)) {
            return Some(plan.steps.iter().map(|step| step.list_size).sum());
        }
        let size = mean_list_size(version, options, misses).ok()?;
        let sizes = version.sizes_for(options, size.ceil() as u32, self.queries.admitted);
        let fits = sizes.is_ok_and(|sizes| version.has_room(sizes));
        fits.then_some(size)
    }
}

/// The list to compare with; `None` if memory holds none that is longer than the usual list.
fn reference(version: &Version, options: &SearchOptions, recall: f32) -> Option<u32> {
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

/// The mean share of the closest rows that was not found.
fn missed(found: &Answers, closest: &Answers) -> f32 {
    let queries = 0..closest.stats.len();
    let each = queries.filter_map(|query| {
        let closest: Vec<Answer> = closest.of_query(query).collect();
        share_missed(found.of_query(query), &closest)
    });
    let (sum, count) = each.fold((0.0, 0.0), |(sum, count), own| (sum + own, count + 1.0));
    sum / f32::max(count, 1.0)
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
