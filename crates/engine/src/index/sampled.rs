//! Searches for a recall: a sample of the queries tells whether the others are like those of the
//! calibration, which need no margin, or unlike, which may need longer lists. Of few queries those
//! of earlier calls tell.
//!
//! ```text
//!  sample -- as far from what it finds as calibrated queries are?
//!     yes    the others have lists for the misses of the calibration, as the sample had
//!     no     all have lists with the margin, or longer ones if the sample misses too much; the
//!            call says that they are unlike
//! ```
//! Of few neighbours the sample is asked for more than is wanted: the nearest one tells little.

use super::collect::ResultPlaces;
use super::earlier::{Advice, QueryMarks};
use super::lengthen::{SampledLists, missed};
use super::sizes::mean_list_size;
use super::subset::QuerySubset;
use super::watch::{Notes, Watch};
use super::{Index, Version};
use crate::calibration::{Likeness, Marks, Misses, marks};
use crate::error::{Error, ErrorKind, Result};
use crate::execution::driver::Outcomes;
use crate::execution::{Gathering, Tolerance};
use crate::options::{Answers, Effort, Queries, SearchOptions};

/// Queries of a call of which a sample is taken, at least.
const LEAST_QUERIES: usize = 256;
/// One query in so many is in the sample, within the bounds of `SAMPLE`.
const ONE_IN: usize = 16;
const SAMPLE: (usize, usize) = (32, 256);
/// Neighbours that tell that queries miss no more than those of the calibration, at least. With
/// fewer the nearest one tells only whether queries are unlike.
const LEAST_NEIGHBORS: u32 = 8;
/// Neighbours that a sample is asked for where fewer are wanted: one of the calibrated ranks.
const ASKED_OF_SAMPLE: u32 = 10;
/// Neighbours that are found of more than few, at least.
const LEAST_FOUND: u32 = 5;
/// What distances that tell how queries lie may be off.
const LOOSE: f32 = 0.05;
/// Queries that tell whether a call is unlike the calibration, at least: copies of rows tell
/// nothing.
const LEAST_TELLING: usize = 16;
/// Bytes of queries that are copied at a time.
const COPIED_BYTES: usize = 4 << 20;

impl Index {
    /// Searches for a recall.
    pub(super) fn search_for_recall(
        &self,
        (version, queries): (&Version, &Queries<'_>),
        options: &SearchOptions,
        watch: Watch<'_>,
    ) -> Result<(Answers, Vec<Outcomes>)> {
        let place = (version, queries);
        let count = queries.rows.len() / queries.shape.row_bytes();
        // A calibration with queries of the user has no margin to save. Rows that stand in for
        // queries miss less than queries if pages are nodes and were grouped around them.
        let spec = &version.manifest.spec;
        let are_pages = spec.layout.codec.is_page_node();
        let calibration = &version.manifest.calibration;
        let has_margin = calibration.held_out && (calibration.apart || !are_pages);
        let known = |k| known_likeness(version, queries, &options.with_k(k));
        let tells = has_margin && watch.notes == Notes::default();
        let telling = known(asked_of_sample(options.k)).filter(|_| tells);
        let (mut answers, outcomes) = match telling {
            Some(known) if count >= LEAST_QUERIES => {
                self.search_sampled(place, options, &known, watch)?
            }
            // Rows that are held out are no queries that come again.
            Some(known) if queries.held_out.is_none() => {
                self.search_few(place, options, &known, watch)?
            }
            _ => self.search_segments(place, (options, Misses::Unknown), watch)?,
        };
        if let Some(known) = known(options.k).filter(|_| count >= SAMPLE.0)
            && !is_like(&known, place, options, &answers)?
        {
            answers.unlike = 1.0;
        }
        self.add_deltas(version, (queries, options), (&mut answers, &outcomes));
        Ok((answers, outcomes))
    }

    /// Searches segments for a recall, with lists for queries that miss so much.
    pub(super) fn search_segments(
        &self,
        (version, queries): (&Version, &Queries<'_>),
        (options, misses): (&SearchOptions, Misses),
        watch: Watch<'_>,
    ) -> Result<(Answers, Vec<Outcomes>)> {
        let place = (version, queries);
        if let Some(plan) = version.list_plan(queries, (options, misses)) {
            return self.search_planned(place, (options, misses), &plan, watch);
        }
        let list_size = mean_list_size(version, options, misses)?;
        self.search_fixed(place, options, (list_size, misses), watch)
    }

    /// Searches for too few queries for a sample, as earlier calls tell. A call that is compared
    /// gets the answers of the list that it is compared with.
    fn search_few(
        &self,
        place: (&Version, &Queries<'_>),
        options: &SearchOptions,
        known: &Likeness,
        watch: Watch<'_>,
    ) -> Result<(Answers, Vec<Outcomes>)> {
        let (version, queries) = place;
        let earlier = &version.earlier;
        let count = queries.rows.len() / queries.shape.row_bytes();
        let mut advice = earlier.advise(version, options, (count, says_like(options).lists));
        let search = |lists| self.search_lists(place, (options, lists), watch);
        let mut found = match search(advice.lists) {
            // Memory may hold other lists than it did.
            Err(error) if advice.lists != SampledLists::USUAL && is_out_of_reach(&error) => {
                earlier.forget(options);
                advice = Advice::NONE;
                search(advice.lists)?
            }
            searched => searched?,
        };
        let marks = self.marks_of_few(place, (options, advice.tells), &mut found.0, watch)?;
        let told = QueryMarks {
            known,
            marks: &marks,
            recall: recall_of(options),
            by_each: options.k >= LEAST_NEIGHBORS,
            walked: version.walk_cost(&found.0),
        };
        earlier.judge(version, options, &told);
        if let Some(reference) = advice.reference {
            match search(reference) {
                Ok(mut closest) => {
                    let told = missed(&found.0, &closest.0);
                    let list_size = found.0.settings.list_size;
                    let walked = version.walk_cost(&found.0);
                    earlier.compare(place, options, &advice, (told, list_size, walked));
                    closest.0.add_costs(&found.0);
                    found = closest;
                }
                Err(error) if is_out_of_reach(&error) => earlier.forget(options),
                // What was found stands.
                Err(error) if error.kind() == ErrorKind::TimedOut => (),
                Err(error) => return Err(error),
            }
        }
        if advice.is_unlike {
            found.0.unlike = 1.0;
        }
        Ok(found)
    }

    /// How queries lie by what they found, or by more neighbours where that is few and they are to
    /// tell; `found` has the costs.
    fn marks_of_few(
        &self,
        place: (&Version, &Queries<'_>),
        (options, tells): (&SearchOptions, bool),
        found: &mut Answers,
        watch: Watch<'_>,
    ) -> Result<Vec<Marks>> {
        if options.k >= LEAST_NEIGHBORS {
            return marks_of(place, options, found);
        }
        if !tells {
            return Ok(Vec::new());
        }
        let wide = self.widened(place.0, options)?;
        match self.search_segments(place, (&wide, Misses::ALIKE), watch) {
            Ok((more, _)) => {
                found.add_costs(&more);
                marks_of(place, &wide, &more)
            }
            Err(error) if is_out_of_reach(&error) || error.kind() == ErrorKind::TimedOut => {
                Ok(Vec::new())
            }
            Err(error) => Err(error),
        }
    }

    /// Searches for a sample of the queries, then for the others.
    fn search_sampled(
        &self,
        (version, queries): (&Version, &Queries<'_>),
        options: &SearchOptions,
        known: &Likeness,
        watch: Watch<'_>,
    ) -> Result<(Answers, Vec<Outcomes>)> {
        let count = queries.rows.len() / queries.shape.row_bytes();
        let (sample, others) = parted(count);
        let mut whole = Whole::of(count, version.places(options));
        let sample = QuerySubset::of(queries, &sample);
        let place = (version, &sample.queries(queries));
        let (told, found) = self.search_sample(place, options, known, (count, watch))?;
        whole.take(&sample, found);
        let copied = (COPIED_BYTES / queries.shape.row_bytes()).max(LEAST_QUERIES);
        for others in others.chunks(copied) {
            let others = QuerySubset::of(queries, others);
            let place = (version, &others.queries(queries));
            whole.take(
                &others,
                self.search_lists(place, (options, told.lists), watch)?,
            );
        }
        let (mut answers, outcomes) = whole.finish();
        if told.is_unlike && options.k < LEAST_NEIGHBORS {
            answers.unlike = 1.0;
        }
        Ok((answers, outcomes))
    }

    /// What so many queries are told to be of which these are a sample, and the answers of the
    /// sample, or of more neighbours than are wanted. `known` says how queries for so many lay.
    fn search_sample(
        &self,
        place: (&Version, &Queries<'_>),
        options: &SearchOptions,
        known: &Likeness,
        (count, watch): (usize, Watch<'_>),
    ) -> Result<(SampleSays, (Answers, Vec<Outcomes>))> {
        let few = options.k < LEAST_NEIGHBORS;
        let wide = if few {
            self.widened(place.0, options)?
        } else {
            *options
        };
        // Queries like those of the calibration need no margin to be told.
        let mut misses = Misses::ALIKE;
        let mut found = match self.search_segments(place, (&wide, misses), watch) {
            Err(error) if few && is_out_of_reach(&error) => {
                let found = self.search_segments(place, (options, Misses::Unknown), watch)?;
                return Ok((SampleSays::NOTHING, found));
            }
            searched => searched?,
        };
        let told = if is_like(known, place, &wide, &found.0)? {
            says_like(options)
        } else {
            SampleSays::UNLIKE
        };
        // Answers that serve to tell alone are not those that were asked for.
        if wide.tolerance != options.tolerance || (few && told.is_unlike) {
            misses = Misses::Unknown;
            let mut asked = self.search_lists(place, (options, told.lists), watch)?;
            asked.0.add_costs(&found.0);
            found = asked;
        }
        if !told.is_unlike {
            return Ok((told, found));
        }
        let (lists, found) = self.lengthen(place, options, (misses, found), (count, watch))?;
        Ok((SampleSays { lists, ..told }, found))
    }

    /// What a sample is asked of which few neighbours are wanted: more of them, by codes where
    /// walks in memory find them, so that nothing is read for more.
    fn widened(&self, version: &Version, options: &SearchOptions) -> Result<SearchOptions> {
        let mut segments = version.segments.iter();
        let in_memory = segments.all(|one| one.shape.gathering() == Gathering::InMemory);
        let by_codes = in_memory && self.chooses_lists() && self.metric().is_guide();
        let loose = Tolerance::new(LOOSE.max(options.tolerance.share()))?;
        Ok(version.within_reach(&SearchOptions {
            k: ASKED_OF_SAMPLE,
            tolerance: if by_codes { loose } else { options.tolerance },
            ..*options
        }))
    }
}

/// What a sample tells of queries.
#[derive(Clone, Copy)]
struct SampleSays {
    lists: SampledLists,
    is_unlike: bool,
}

impl SampleSays {
    const LIKE: Self = Self {
        lists: SampledLists::Calibrated(Misses::ALIKE),
        is_unlike: false,
    };
    const LIKE_BY_FEW: Self = Self {
        lists: SampledLists::Calibrated(Misses::ALIKE_BY_FEW),
        is_unlike: false,
    };
    const UNLIKE: Self = Self {
        lists: SampledLists::USUAL,
        is_unlike: true,
    };
    const NOTHING: Self = Self {
        lists: SampledLists::USUAL,
        is_unlike: false,
    };
}

/// What queries are told to be that are like those of the calibration.
const fn says_like(options: &SearchOptions) -> SampleSays {
    if options.k < LEAST_NEIGHBORS {
        SampleSays::LIKE_BY_FEW
    } else {
        SampleSays::LIKE
    }
}

/// Whether memory or the calibration has no list for what was asked.
fn is_out_of_reach(error: &Error) -> bool {
    matches!(
        error.kind(),
        ErrorKind::InvalidInput | ErrorKind::Unsupported
    )
}

/// How many neighbours a sample is asked for where `k` are wanted.
const fn asked_of_sample(k: u32) -> u32 {
    if k < LEAST_NEIGHBORS {
        ASKED_OF_SAMPLE
    } else {
        k
    }
}

/// How far the queries of the calibration lay from the neighbours that tell; `None` if not known.
fn known_likeness(
    version: &Version,
    queries: &Queries<'_>,
    options: &SearchOptions,
) -> Option<Likeness> {
    let known = version.manifest.calibration.likeness(telling(options))?;
    (queries.admitted.is_none() && !version.segments.is_empty()).then_some(known)
}

/// How many neighbours tell how a query lies: of few the nearest, of more those that the recall
/// stands for. Lists may have no more places, and what is farther is then no neighbour.
fn telling(options: &SearchOptions) -> u32 {
    if options.k < LEAST_NEIGHBORS {
        return 1;
    }
    let found = (options.k as f32 * recall_of(options)) as u32;
    found.clamp(LEAST_FOUND, options.k)
}

/// The recall that is asked for.
pub(super) fn recall_of(options: &SearchOptions) -> f32 {
    match options.effort {
        Effort::Recall(recall) => recall,
        Effort::ListSize(_) => 1.0,
    }
}

/// Places of a sample, and of all others.
fn parted(count: usize) -> (Vec<usize>, Vec<usize>) {
    let (least, most) = SAMPLE;
    spread(count, (count / ONE_IN).clamp(least, most))
}

/// So many places of the wanted, spread evenly, and all others.
pub(super) fn spread(count: usize, wanted: usize) -> (Vec<usize>, Vec<usize>) {
    let sample: Vec<usize> = (0..wanted).map(|at| at * count / wanted).collect();
    let is_other = |query: &usize| sample.binary_search(query).is_err();
    let others = (0..count).filter(is_other).collect();
    (sample, others)
}

/// Whether queries that found this are like those of the calibration.
fn is_like(
    known: &Likeness,
    place: (&Version, &Queries<'_>),
    options: &SearchOptions,
    found: &Answers,
) -> Result<bool> {
    let all = marks_of(place, options, found)?;
    Ok(all.len() < LEAST_TELLING || known.includes(&all, recall_of(options)))
}

/// How queries lie that found this, where it tells.
fn marks_of(
    (version, queries): (&Version, &Queries<'_>),
    options: &SearchOptions,
    found: &Answers,
) -> Result<Vec<Marks>> {
    let lift = version.lift()?;
    let telling = telling(options) as usize;
    let rows = queries.rows.chunks_exact(queries.shape.row_bytes());
    let own = |(query, row): (usize, &[u8])| {
        let lift = lift.map_or(0.0, |lift| lift.of(row));
        let near = found.of_query(query).map(|own| own.distance + lift);
        let near: Vec<f32> = near.take(telling).collect();
        (near.len() == telling).then(|| marks(&near))?
    };
    Ok(rows.enumerate().filter_map(own).collect())
}

/// Collects the answers of all queries, part by part.
#[derive(Default)]
pub(super) struct Whole {
    answers: Answers,
    outcomes: Vec<Outcomes>,
    /// Sums over queries.
    list_sizes: u64,
    expected: f64,
    unlike: f64,
}

impl Whole {
    /// Of so many queries.
    pub(super) fn of(count: usize, places: ResultPlaces) -> Self {
        Self {
            answers: Answers::none(count, places),
            ..Self::default()
        }
    }

    /// Takes what was found for some queries.
    pub(super) fn take(
        &mut self,
        subset: &QuerySubset<'_>,
        (found, outcomes): (Answers, Vec<Outcomes>),
    ) {
        subset.put_into(&mut self.answers, &found);
        let queries = found.stats.len() as u32;
        self.list_sizes += u64::from(found.settings.list_size) * u64::from(queries);
        self.expected += f64::from(found.expected_recall.unwrap_or(0.0)) * f64::from(queries);
        self.unlike += f64::from(found.unlike) * f64::from(queries);
        self.answers.settings = found.settings;
        self.outcomes.extend(subset.numbered(outcomes));
    }

    pub(super) fn finish(mut self) -> (Answers, Vec<Outcomes>) {
        let queries = self.answers.stats.len().max(1) as u64;
        self.answers.settings.list_size = self.list_sizes.div_ceil(queries) as u32;
        self.answers.expected_recall = Some((self.expected / queries as f64) as f32);
        self.answers.unlike = (self.unlike / queries as f64) as f32;
        (self.answers, self.outcomes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_many_tell_as_are_found() {
        let of = |(k, recall)| {
            let options = SearchOptions::nearest(k);
            telling(&options.with_effort(Effort::Recall(recall)))
        };
        let asked = [
            (1, 0.9),
            (7, 0.9),
            (8, 0.5),
            (10, 0.8),
            (10, 0.99),
            (100, 0.9),
        ];
        assert_eq!(asked.map(of), [1, 1, 5, 8, 9, 90]);
        let listed = SearchOptions::nearest(10).with_effort(Effort::ListSize(20));
        assert_eq!(telling(&listed), 10);
    }

    #[test]
    fn a_sample_is_spread_evenly_and_no_query_is_lost() {
        for count in [256, 257, 1000, 4096, 10_001] {
            let (sample, others) = parted(count);
            assert!(sample.len() <= count / 8 && sample.len() <= 256, "{count}");
            let mut all = [sample.as_slice(), others.as_slice()].concat();
            all.sort_unstable();
            assert!(all.into_iter().eq(0..count));
            let widest = sample.windows(2).map(|pair| pair[1] - pair[0]).max();
            assert!(widest.unwrap() <= count / sample.len() + 1);
        }
    }
}
