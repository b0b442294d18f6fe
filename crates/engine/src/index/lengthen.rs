//! Lists for queries unlike those of the calibration. A sample is searched with a list that leaves
//! out hardly anything; other lists grow until the sample misses no more of that than the asked
//! recall allows, and until the list to compare with is clearly longer than they are.

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
/// The list to compare with is at least so many times as long as those that find enough.
const FARTHER: u32 = 2;
/// First and largest multiple of the calibrated misses that lists allow for.
const TIMES: (f32, f32) = (1.5, 16.0);
/// Factor from one multiple to the next, and from one list to the next.
const GROWTH: f32 = 1.4;
/// Standard errors of what a sample misses that are allowed for where lists are shorter than those
/// with the usual margin.
const SURE: f32 = 1.5;

/// The lists of the queries of a call.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum Lists {
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
    /// misses, the least. Lists with less than the usual margin must surely find enough; if memory
    /// has none that do, the longest that were tried stay.
    ///
    /// Searches for the sample with the list to compare with, and again for each lengthening.
    pub(super) fn lengthen(
        &self,
        place: (&Version, &Queries<'_>),
        options: &SearchOptions,
        (shortest, found): (Misses, Searched),
        watch: Watch<'_>,
    ) -> Result<(Lists, Searched)> {
        let usual = Lists::Calibrated(Misses::Unknown);
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
        let compare = |size| self.search_lists(place, (options, Lists::Sized(size)), watch);
        let allowed = (1.0 - LEFT_OUT) * (1.0 - recall);
        let mut closest = compare(size)?;
        closest.0.add_costs(&found.0);
        let (mut lists, mut last) = (Lists::Calibrated(shortest), found.0);
        let mut margins = Margins::new(place, options);
        loop {
            let share = missed(&last, &closest.0);
            let doubt = if margins.is_less(lists) { SURE } else { 0.0 };
            if share.mean + doubt * share.error > allowed {
                let Some(next) = margins.longer((lists, last.settings.list_size)) else {
                    break;
                };
                (lists, last) = (next, self.search_lists(place, (options, next), watch)?.0);
                closest.0.add_costs(&last);
                continue;
            }
            let farther = last.settings.list_size.saturating_mul(FARTHER);
            let farther = longest_list(place.0, options, farther);
            if farther <= size {
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
        (options, lists): (&SearchOptions, Lists),
        watch: Watch<'_>,
    ) -> Result<Searched> {
        match lists {
            Lists::Calibrated(misses) => self.search_segments(place, (options, misses), watch),
            Lists::Sized(size) => {
                self.search_fixed(place, options, (size as f32, Misses::MEASURED), watch)
            }
        }
    }
}

/// Lists from the shortest to the longest.
struct Margins<'m> {
    version: &'m Version,
    queries: &'m Queries<'m>,
    options: &'m SearchOptions,
    /// The next multiple of the calibrated misses.
    times: f32,
    /// Places of the lists with the usual margin; `None` if memory has none.
    usual: Option<f32>,
}

impl<'m> Margins<'m> {
    fn new((version, queries): (&'m Version, &'m Queries<'m>), options: &'m SearchOptions) -> Self {
        let mut own = Self {
            version,
            queries,
            options,
            times: TIMES.0,
            usual: None,
        };
        own.usual = own.places(Misses::Unknown);
        own
    }

    /// Whether lists are shorter than those with the usual margin.
    fn is_less(&self, lists: Lists) -> bool {
        match lists {
            Lists::Calibrated(misses) => self.places(misses) < self.usual,
            Lists::Sized(_) => false,
        }
    }

    /// The next longer lists: those with the usual margin, those of the calibration for more misses,
    /// then of one size; `None` if memory has none.
    fn longer(&mut self, (before, list_size): (Lists, u32)) -> Option<Lists> {
        if let Lists::Calibrated(misses) = before {
            let own = self.places(misses);
            if own < self.usual {
                return Some(Lists::Calibrated(Misses::Unknown));
            }
            while self.times <= TIMES.1 {
                let more = Misses::Times(self.times);
                self.times *= GROWTH;
                if self.places(more) > own {
                    return Some(Lists::Calibrated(more));
                }
            }
        }
        let wished = (list_size as f32 * GROWTH).ceil() as u32;
        let size = longest_list(self.version, self.options, wished);
        (size > list_size).then_some(Lists::Sized(size))
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

/// Part of the closest rows that was not found.
#[derive(Clone, Copy, Default)]
struct Share {
    mean: f32,
    /// Standard error of the mean.
    error: f32,
}

/// The share of the closest rows that was not found, over all queries.
fn missed(found: &Answers, closest: &Answers) -> Share {
    let queries = 0..closest.stats.len();
    let each = queries.filter_map(|query| {
        let closest: Vec<Answer> = closest.of_query(query).collect();
        share_missed(found.of_query(query), &closest)
    });
    let each: Vec<f32> = each.collect();
    let count = each.len().max(1) as f32;
    let mean = each.iter().sum::<f32>() / count;
    let squares = each.iter().map(|own| (own - mean).powi(2));
    let variance = squares.sum::<f32>() / (count - 1.0).max(1.0);
    Share {
        mean,
        error: (variance / count).sqrt(),
    }
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
