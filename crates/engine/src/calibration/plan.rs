//! From a recall that is asked for to a list size for each local dimension.

use super::curve::CalibrationCurve;
use super::dimension::DimensionFit;
use super::surface::{Calibration, Misses, margin};
use crate::execution::{ListStep, between};

/// Dimensions that list sizes are given for; between them they lie on lines.
const STEPS: usize = 32;

/// Times the list of a usual query that one may have, and places that it may have in any case.
const LONGEST: f32 = 4.0;
const SHORT_LIST: f32 = 16.0;

/// Times the misses that are allowed on average that a query may have where others have fewer, and
/// halvings that find it.
const MORE_MISSES: f32 = 2.0;
const HALVINGS: usize = 8;

/// Share of the queries of a batch that may lie beyond what was calibrated, and queries that tell.
const UNLIKE: f32 = 0.05;
const TELLING: u64 = 20;

/// What to say of a batch of so many queries of which a share is unlike the data; nothing of few
/// queries, or where the share is small.
pub fn unlike_warning(queries: u64, unlike: f32) -> Option<String> {
    (queries >= TELLING && unlike > UNLIKE).then(|| {
        let which = if unlike < 1.0 {
            format!("{:.0} % of the queries", 100.0 * unlike)
        } else {
            "the queries".to_owned()
        };
        format!(
            "{which} are unlike the data: recall is extrapolated; calibrate with some of them \
             (pageway calibrate --queries)"
        )
    })
}

/// List sizes by local dimension, and what queries are expected to miss with them.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct ListPlan {
    /// List size at which a query learns its dimension.
    pub(crate) first: u32,
    /// By ascending dimension; list sizes do not fall.
    pub(crate) steps: Vec<ListStep>,
    /// Dimension that one in a hundred of the calibrated queries exceeds.
    pub(crate) unusual: f32,
}

impl Calibration {
    /// The list sizes that reach `recall`@`k` on average, none of them above `most`; none where
    /// nothing is known of dimensions.
    pub(crate) fn list_plan(
        &self,
        (k, recall): (u32, f32),
        misses: Misses,
        most: u32,
    ) -> Option<ListPlan> {
        let curve = self.nearest(k)?;
        let fit = curve.dimension.as_ref()?;
        let target = (k, recall, misses);
        let plan = self.plan_by(fit, target, most)?;
        // Most queries need no list as long as that which told their dimensions. Of two plans that
        // find enough the one that promises less is nearer to what is asked.
        let is_short = plan.size_at(fit.usual()) <= fit.first_list as f32;
        let early = curve.early.as_ref().filter(|_| is_short);
        let early = early.and_then(|early| {
            let other = self.plan_by(early, target, most)?;
            (other.promised(early) < plan.promised(fit)).then_some(other)
        });
        Some(early.unwrap_or(plan))
    }

    /// The same by one fit: as many misses are allowed each query as lead to `recall` on average.
    /// Those that need no more than the first list miss fewer.
    pub(crate) fn plan_by(
        &self,
        fit: &DimensionFit,
        (k, recall, misses): (u32, f32, Misses),
        most: u32,
    ) -> Option<ListPlan> {
        let all = (1.0 - recall) / margin((self.held_out, misses), fit);
        let level = fit.level(recall);
        let plan = |times: f32| self.plan_allowing((fit, level), (k, times * all / level), most);
        let is_enough = |plan: &ListPlan| 1.0 - plan.promised(fit) <= all;
        let mut best = plan(1.0)?;
        if !is_enough(&best) {
            return Some(best);
        }
        let (mut low, mut high) = (1.0, MORE_MISSES);
        for _ in 0..HALVINGS {
            let middle = f32::midpoint(low, high);
            let more = plan(middle)?;
            if is_enough(&more) {
                (low, best) = (middle, more);
            } else {
                high = middle;
            }
        }
        Some(best)
    }

    /// Lists with which no query of these dimensions is expected to miss more than is allowed;
    /// queries miss `level` times what the fit says.
    fn plan_allowing(
        &self,
        (fit, level): (&DimensionFit, f32),
        (k, allowed): (u32, f32),
        most: u32,
    ) -> Option<ListPlan> {
        let best = self.best(k)?;
        let size = |dimension: f32| {
            let needed = (1.0 - allowed / fit.risk(dimension).max(f32::MIN_POSITIVE)).max(0.0);
            self.size_at(k, needed.min(best))
        };
        let first = fit.first_list.min(most);
        let longest = (LONGEST * size(fit.usual())?)
            .max(SHORT_LIST)
            .clamp(first as f32, most.max(1) as f32);
        let step = |dimension: f32| {
            let list_size = size(dimension)?.clamp(first as f32, longest);
            let found = self.measured_at(k, list_size)?;
            Some(ListStep {
                dimension,
                list_size,
                misses: (level * (1.0 - found) * fit.risk(dimension)).clamp(0.0, 1.0),
            })
        };
        let mut steps: Vec<ListStep> = fit.steps(STEPS).filter_map(step).collect();
        let mut least = first as f32;
        for step in &mut steps {
            least = least.max(step.list_size);
            step.list_size = least;
        }
        Some(ListPlan {
            first,
            steps,
            unusual: fit.unusual,
        })
    }

    /// The curve of the measured k that is next to `k`.
    fn nearest(&self, k: u32) -> Option<&CalibrationCurve> {
        let (low, high) = self.around(k)?;
        Some(
            if u64::from(k) * u64::from(k) > u64::from(low.k) * u64::from(high.k) {
                high
            } else {
                low
            },
        )
    }
}

impl ListPlan {
    /// The list of a query of this dimension.
    pub(crate) fn size_at(&self, dimension: f32) -> f32 {
        between(&self.steps, dimension, |step| step.list_size).unwrap_or(0.0)
    }

    /// The longest list.
    pub(crate) fn longest(&self) -> u32 {
        let last = self.steps.last();
        last.map_or(self.first, |step| step.list_size.ceil() as u32)
    }

    /// Mean recall expected of queries of these dimensions, without a margin; none of no query.
    pub(crate) fn expected_recall(
        &self,
        dimensions: &[Option<f32>],
        misses: Misses,
    ) -> Option<f32> {
        let each = dimensions.iter().map(|own| f64::from(self.misses(*own)));
        let mean = each.sum::<f64>() / dimensions.len().max(1) as f64;
        let times = misses.times(|| 1.0);
        (!dimensions.is_empty()).then_some((1.0 - mean * f64::from(times)).max(0.0) as f32)
    }

    /// Mean recall expected of the queries of the calibration.
    fn promised(&self, fit: &DimensionFit) -> f32 {
        let usual: Vec<Option<f32>> = fit.quantiles.iter().copied().map(Some).collect();
        let expected = self.expected_recall(&usual, Misses::MEASURED);
        expected.unwrap_or_default()
    }

    /// Share of queries of these dimensions that are beyond what was calibrated.
    pub(crate) fn unlike(&self, dimensions: &[Option<f32>]) -> f32 {
        let beyond = |own: &&Option<f32>| own.is_some_and(|own| own > self.unusual);
        dimensions.iter().filter(beyond).count() as f32 / dimensions.len().max(1) as f32
    }

    /// Misses of one query: as few as any where its candidates told nothing, since its list is the
    /// longest.
    pub(crate) fn misses(&self, dimension: Option<f32>) -> f32 {
        let least = || {
            self.steps
                .iter()
                .map(|step| step.misses)
                .fold(1.0, f32::min)
        };
        dimension.map_or_else(least, |own| {
            between(&self.steps, own, |step| step.misses).unwrap_or(1.0)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::CalibrationRow;
    use super::*;

    /// A curve whose misses fall in proportion as lists grow, of queries of dimension 8 to 32.
    fn calibration(held_out: bool, exponent: f32) -> Calibration {
        let row = |list_size: u32| CalibrationRow {
            list_size,
            queries: 500,
            recall: 1.0 - 1.0 / list_size as f32,
            ..CalibrationRow::default()
        };
        let fit = DimensionFit {
            first_list: 4,
            exponent,
            true_exponent: None,
            levels: Vec::new(),
            unusual: 32.0,
            quantiles: (0..20).map(|at| 8.0 + 1.2 * at as f32).collect(),
        };
        let mut curve = CalibrationCurve::of(10, (2..400).map(row).collect());
        curve.dimension = Some(fit);
        Calibration {
            queries: 500,
            held_out,
            apart: false,
            beam: 4,
            curves: vec![curve],
            longest: None,
        }
    }

    #[test]
    fn queries_of_more_dimensions_take_longer_lists() {
        let plan = calibration(false, 2.0)
            .list_plan((10, 0.95), Misses::Unknown, 1000)
            .unwrap();
        assert_eq!(plan.first, 4);
        let sizes: Vec<f32> = plan.steps.iter().map(|step| step.list_size).collect();
        assert!(sizes.is_sorted() && sizes[31] > 3.0 * sizes[0], "{sizes:?}");
        // None misses much more than is allowed, up to the longest list: as much as those with the
        // first list miss less.
        let inside = |step: &&ListStep| step.list_size < sizes[31] - 0.1;
        for step in plan.steps.iter().filter(inside) {
            assert!(step.misses < 0.053, "{step:?}");
        }
        let flat = calibration(false, 0.0)
            .list_plan((10, 0.95), Misses::Unknown, 1000)
            .unwrap();
        assert!(
            flat.steps
                .iter()
                .all(|step| (step.list_size - 20.0).abs() < 0.1)
        );
    }

    #[test]
    fn what_the_first_list_finds_too_much_others_need_not_find() {
        let surface = calibration(false, 2.0);
        let fit = surface.curves[0].dimension.as_ref().unwrap();
        for recall in [0.8, 0.85, 0.95] {
            let plan = surface.list_plan((10, recall), Misses::Unknown, 1000);
            let promised = plan.unwrap().promised(fit);
            assert!(
                (0.0..0.002).contains(&(promised - recall)),
                "{promised} for {recall}"
            );
        }
        let least = surface.list_plan((10, 0.5), Misses::Unknown, 1000);
        assert_eq!(least.unwrap().size_at(fit.usual()), 4.0);
    }

    #[test]
    fn where_dimensions_tell_nothing_the_margin_is_that_of_one_list() {
        let surface = calibration(true, 0.0);
        let plan = surface
            .list_plan((10, 0.95), Misses::Unknown, 1000)
            .unwrap();
        let one = surface.list_size_for(10, 0.95).unwrap() as f32;
        assert!((plan.steps[0].list_size - one).abs() < 1.0, "{plan:?}");
        let mut known = calibration(true, 0.0);
        if let Some(fit) = &mut known.curves[0].dimension {
            fit.true_exponent = Some(0.0);
        }
        let alike = known.list_plan((10, 0.95), Misses::Unknown, 1000).unwrap();
        assert!(
            alike.steps[0].list_size < 0.8 * one,
            "no query misses more for its dimension: {alike:?}"
        );
        let steep = calibration(true, 2.0)
            .list_plan((10, 0.95), Misses::Unknown, 1000)
            .unwrap();
        let usual = steep.steps.iter().find(|step| step.dimension > 19.0);
        assert!(usual.unwrap().list_size < 0.6 * one, "{steep:?}");
    }

    #[test]
    fn short_lists_are_chosen_by_what_the_least_one_finds() {
        let mut surface = calibration(false, 1.0);
        let early = DimensionFit {
            first_list: 1,
            ..surface.curves[0].dimension.clone().unwrap()
        };
        surface.curves[0].early = Some(early);
        let first = |recall: f32| {
            surface
                .list_plan((10, recall), Misses::Unknown, 1000)
                .unwrap()
                .first
        };
        assert_eq!([0.6, 0.9, 0.99].map(first), [1, 4, 4]);
        // Where that promises more it is not.
        surface.curves[0].early.as_mut().unwrap().first_list = 8;
        let plan = surface.list_plan((10, 0.6), Misses::Unknown, 1000);
        assert_eq!(plan.unwrap().first, 4);
    }

    #[test]
    fn no_list_is_longer_than_it_may_be() {
        let surface = calibration(true, 4.0);
        let plan = surface.list_plan((10, 0.99), Misses::Unknown, 60).unwrap();
        assert!(plan.steps.iter().all(|step| step.list_size <= 60.0));
        let plan = surface
            .list_plan((10, 0.99), Misses::Unknown, 100_000)
            .unwrap();
        assert!(plan.steps.iter().all(|step| step.list_size <= 399.0));
        let least = surface.list_plan((10, 0.99), Misses::Unknown, 1).unwrap();
        assert!(least.steps.iter().all(|step| step.list_size <= 1.0));
    }

    #[test]
    fn queries_unlike_those_that_were_calibrated_are_told() {
        let plan = calibration(true, 1.5)
            .list_plan((10, 0.95), Misses::Unknown, 1000)
            .unwrap();
        let usual = vec![Some(19.0); 95];
        assert_eq!(plan.unlike(&usual), 0.0);
        let mixed = [usual.clone(), vec![Some(40.0); 5]].concat();
        assert!((plan.unlike(&mixed) - 0.05).abs() < 1e-6);
        let (one, other) = (
            plan.expected_recall(&usual, Misses::Unknown),
            plan.expected_recall(&mixed, Misses::Unknown),
        );
        assert!(one.unwrap() > 0.95 && other.unwrap() <= one.unwrap() + 1e-3);
        assert!(plan.expected_recall(&[None], Misses::Unknown).unwrap() > 0.94);
        let twice = plan.expected_recall(&usual, Misses::Times(2.0)).unwrap();
        assert!((1.0 - twice - 2.0 * (1.0 - one.unwrap())).abs() < 1e-5);
        assert_eq!(plan.expected_recall(&[], Misses::Unknown), None);
        assert_eq!(unlike_warning(100, 0.05), None);
        assert_eq!(unlike_warning(19, 1.0), None);
        let warning = unlike_warning(100, 0.06).unwrap();
        assert!(warning.starts_with("6 % of the queries"), "{warning}");
        assert_eq!(
            Calibration::default().list_plan((10, 0.9), Misses::Unknown, 100),
            None
        );
    }
}
