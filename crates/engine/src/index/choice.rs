//! Searches for a recall in which each query chooses its list size.

use std::sync::{Arc, Mutex, PoisonError};

use pageway_store::PerProcess;
use pageway_types::Progress;

use super::by_codes::is_by_codes;
use super::watch::Watch;
use super::{Index, Version};
use crate::calibration::{ListPlan, Misses};
use crate::error::Result;
use crate::execution::driver::Outcomes;
use crate::execution::{CallLists, LOOKED_AT, Lift, ListRule, QuerySizes};
use crate::options::{Answers, Effort, Queries, SearchOptions};
use crate::resolve;

/// Plans that are kept for further searches with the same options.
const KNOWN_PLANS: usize = 8;

/// The key of a plan of one version: k, the bits of the recall and of the misses, the beam, and
/// whether codes answer.
type PlanKey = (u32, u32, Option<u32>, Option<u32>, bool);

/// A plan, if queries choose lists.
type KnownPlan = Option<Arc<ListPlan>>;

/// The plans of a version that searches asked for lately, newest last.
#[derive(Default)]
pub(crate) struct KnownPlans(PerProcess<Mutex<Vec<(PlanKey, KnownPlan)>>>);

impl KnownPlans {
    /// The plan of `key`; makes it if it is not known.
    fn get_or_make(&self, key: PlanKey, make: impl FnOnce() -> Option<ListPlan>) -> KnownPlan {
        let mut known = self.0.get().lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, plan)) = known.iter().find(|(own, _)| *own == key) {
            return plan.clone();
        }
        let plan = make().map(Arc::new);
        if known.len() == KNOWN_PLANS {
            known.remove(0);
        }
        known.push((key, plan.clone()));
        plan
    }
}

impl Version {
    /// The lists that queries choose from; `None` if they do not: they do in searches for the
    /// nearest among all rows, in designs whose error bounds decide what is read.
    pub(super) fn list_plan(
        &self,
        queries: &Queries<'_>,
        (options, misses): (&SearchOptions, Misses),
    ) -> KnownPlan {
        let Effort::Recall(recall) = options.effort else {
            return None;
        };
        let among_all = queries.filter.is_none() && queries.admitted.is_none();
        let applies = among_all && options.radius.is_none();
        if !applies || self.segments.is_empty() {
            return None;
        }
        let times = match misses {
            Misses::Unknown => None,
            Misses::Times(times) => Some(times.to_bits()),
        };
        let by_codes = is_by_codes(options);
        let key = (options.k, recall.to_bits(), times, options.beam, by_codes);
        self.plans
            .get_or_make(key, || self.make_plan(options, recall, misses))
    }

    /// The lift of distances for local dimensions, as calibrated.
    pub(super) fn lift(&self) -> Result<Option<Lift>> {
        let Some(longest) = self.manifest.calibration.longest else {
            return Ok(None);
        };
        let element = self.manifest.spec.shape.element;
        let squared_norm = resolve::kernels()?.squared_norm(element);
        Ok(Some(Lift {
            longest,
            squared_norm,
        }))
    }

    /// The lists for a recall, none of them longer than memory holds.
    fn make_plan(&self, options: &SearchOptions, recall: f32, misses: Misses) -> Option<ListPlan> {
        let calibration = self.calibration_of(options);
        let plan = |most| calibration.list_plan((options.k, recall), misses, most);
        let unbounded = plan(u32::MAX)?;
        let longest = unbounded.longest();
        let fits = |most: u32| {
            let sizes = self.chosen_sizes(options, most);
            sizes.is_ok_and(|sizes| self.has_room(sizes))
        };
        if fits(longest) {
            return Some(unbounded);
        }
        plan(crate::memory::largest(1, longest, fits))
    }

    /// Sizes that memory is laid out for, with lists of at most `longest` living nodes.
    pub(super) fn chosen_sizes(&self, options: &SearchOptions, longest: u32) -> Result<QuerySizes> {
        let sizes = self.sizes_for(options, longest, None)?;
        let looked_at = (LOOKED_AT + 1) as f64 * self.nodes_per_living();
        Ok(sizes.holding(looked_at.ceil() as usize))
    }
}

impl Index {
    /// Searches segments with a list for each query.
    pub(super) fn search_planned(
        &self,
        (version, queries): (&Version, &Queries<'_>),
        (options, misses): (&SearchOptions, Misses),
        plan: &ListPlan,
        watch: Watch<'_>,
    ) -> Result<(Answers, Vec<Outcomes>)> {
        let rule = ListRule {
            first: plan.first as usize,
            steps: &plan.steps,
            times: version.nodes_per_living() as f32,
        };
        let place = (version, queries);
        let lift = version.lift()?;
        let found = self.search_ruled(place, options, (rule, lift), watch)?;
        let (mut answers, outcomes) = found;
        let dimensions = dimensions_of(&outcomes);
        answers.expected_recall = plan.expected_recall(&dimensions, misses);
        answers.unlike = plan.unlike(&dimensions);
        Ok((answers, outcomes))
    }

    /// Whether queries may choose their lists in this design: candidates cost no reads, and their
    /// estimates tell a local dimension.
    pub(crate) fn chooses_lists(&self) -> bool {
        let version = self.version();
        version.manifest.spec.execution.refine.is_bounded()
    }

    /// Local dimensions of queries, as told by a list of this size; `None` if it found too few.
    pub(crate) fn dimensions(
        &self,
        queries: &Queries<'_>,
        options: &SearchOptions,
        (first, lift): (u32, Option<Lift>),
        progress: &dyn Progress,
    ) -> Result<Vec<Option<f32>>> {
        let version = self.version();
        let rule = ListRule {
            first: first as usize,
            steps: &[],
            times: version.nodes_per_living() as f32,
        };
        let place = (&*version, queries);
        let (_, outcomes) =
            self.search_ruled(place, options, (rule, lift), Watch::new(options, progress))?;
        Ok(dimensions_of(&outcomes))
    }

    fn search_ruled(
        &self,
        (version, queries): (&Version, &Queries<'_>),
        options: &SearchOptions,
        (rule, lift): (ListRule<'_>, Option<Lift>),
        watch: Watch<'_>,
    ) -> Result<(Answers, Vec<Outcomes>)> {
        let lists = CallLists {
            rule: Some(rule),
            lift,
            ..CallLists::fixed(version.chosen_sizes(options, rule.longest() as u32)?)
        };
        let found = self.search_sized((version, queries), options, lists, watch)?;
        let (mut answers, outcomes) = found;
        let all = outcomes.iter().flat_map(|outcomes| &outcomes.queries);
        let chosen = all.filter_map(|(_, finished)| Some(finished.choice?.list_size));
        let (sum, count) = chosen.fold((0, 0), |(sum, count), own| (sum + own, count + 1));
        answers.settings.list_size = sum.div_ceil(count.max(1)) as u32;
        Ok((answers, outcomes))
    }
}

/// In the order of the queries.
fn dimensions_of(outcomes: &[Outcomes]) -> Vec<Option<f32>> {
    let all = outcomes.iter().flat_map(|outcomes| &outcomes.queries);
    let mut numbered: Vec<(usize, Option<f32>)> = all
        .map(|(query, finished)| (*query, finished.choice.and_then(|own| own.dimension)))
        .collect();
    numbered.sort_unstable_by_key(|(query, _)| *query);
    numbered.into_iter().map(|(_, own)| own).collect()
}
