//! Longer lists for queries unlike those of the calibration. A sample is searched with a list that
//! leaves out hardly anything; other lists grow until the sample misses no more of that than the
//! asked recall allows.

use super::collect::Answer;
use super::watch::Watch;
use super::{Index, Version};
use crate::calibration::Misses;
use crate::error::{ErrorKind, Result};
use crate::execution::driver::Outcomes;
use crate::options::{Answers, Effort, Queries, SearchOptions};

/// Share of the allowed misses that the list to compare with leaves out, by the calibration.
const LEFT_OUT: f32 = 0.05;
/// Shortest list to compare with. Shorter ones leave out more for unlike queries than the
/// calibration says.
const LEAST: u32 = 200;
/// First and largest multiple of the calibrated misses that lists allow for.
const TIMES: (f32, f32) = (1.5, 16.0);
/// Factor from one multiple to the next.
const GROWTH: f32 = 1.4;

/// Answers of a sample, and what threads did for them.
type Searched = (Answers, Vec<Outcomes>);

impl Index {
    /// The misses that lists must allow for so that a sample gets its recall, and the answers of
    /// the sample by the list to compare with, which include the costs of all searches. `found` are
    /// its answers by lists for so many misses. The usual margin is the least, and stays if memory
    /// or the calibration has no longer lists.
    ///
    /// Searches for the sample once, with the usual margin if those lists miss too much, and again
    /// for each lengthening.
    pub(super) fn lengthen(
        &self,
        place: (&Version, &Queries<'_>),
        options: &SearchOptions,
        (shortest, found): (Misses, Searched),
        watch: Watch<'_>,
    ) -> Result<(Misses, Searched)> {
        let Effort::Recall(recall) = options.effort else {
            return Ok((Misses::Unknown, found));
        };
        let with_margin = || self.search_segments(place, (options, Misses::Unknown), watch);
        let Some(longest) = reference(place.0, options, recall) else {
            if shortest == Misses::Unknown {
                return Ok((shortest, found));
            }
            let mut asked = with_margin()?;
            asked.0.add_costs(&found.0);
            return Ok((Misses::Unknown, asked));
        };
        let mut closest =
            self.search_fixed(place, options, (longest as f32, Misses::MEASURED), watch)?;
        closest.0.add_costs(&found.0);
        let allowed = (1.0 - LEFT_OUT) * (1.0 - recall);
        let (mut misses, mut last) = (Misses::Unknown, found.0);
        if shortest != misses && missed(&last, &closest.0) > allowed {
            last = with_margin()?.0;
            closest.0.add_costs(&last);
        }
        let mut times = TIMES.0;
        while missed(&last, &closest.0) > allowed && times <= TIMES.1 {
            let more = Misses::Times(times);
            let longer = match self.search_segments(place, (options, more), watch) {
                // Memory holds no longer ones.
                Err(error) if error.kind() == ErrorKind::InvalidInput => break,
                searched => searched?.0,
            };
            closest.0.add_costs(&longer);
            if longer.settings.list_size > last.settings.list_size {
                (misses, last) = (more, longer);
            } else if misses != Misses::Unknown {
                // The calibration has no longer ones.
                break;
            }
            times *= GROWTH;
        }
        Ok((misses, closest))
    }
}

/// The list to compare with; `None` if memory holds none that is longer than the usual list.
fn reference(version: &Version, options: &SearchOptions, recall: f32) -> Option<u32> {
    let calibration = &version.manifest.calibration;
    let closer = (1.0 - LEFT_OUT * (1.0 - recall)).min(calibration.best(options.k)?);
    let size = |recall| calibration.list_size_by(options.k, recall, Misses::MEASURED);
    let (usual, closer) = (size(recall).ok()?, size(closer).ok()?);
    let fits = |list_size| {
        let sizes = version.sizes_for(options, list_size, None);
        sizes.is_ok_and(|sizes| version.has_room(sizes))
    };
    let longest = crate::memory::largest(1, closer.max(LEAST), fits);
    (longest > usual).then_some(longest)
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
