//! A list size for each query: by how its first candidates lie.
//!
//! Queries whose candidates all lie at nearly one distance, of high local dimension, miss more of
//! their neighbours than others do. A query walks a first list, looks at the distances of its best
//! candidates, and goes on with the list that the rule has for their dimension.
//!
//! Local dimension by the distances of neighbours: Levina and Bickel, "Maximum Likelihood
//! Estimation of Intrinsic Dimension", NIPS 2004.

/// Candidates whose distances tell a local dimension, beside the last.
pub(crate) const LOOKED_AT: usize = 40;

/// Fewer tell none.
const LEAST_LOOKED_AT: usize = 8;

/// Share of the last distance that others count at least: near copies say nothing.
const NEAREST_SHARE: f32 = 0.05;

/// Mean logarithm of ratios that is added: no dimension is infinite.
const FLOOR: f32 = 0.003;

/// List sizes by local dimension.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ListRule<'r> {
    /// List size to begin with.
    pub(crate) first: usize,
    /// Dimensions and list sizes, neither of which falls.
    pub(crate) steps: &'r [ListStep],
    /// Times that a list is longer than the living nodes it should hold.
    pub(crate) times: f32,
}

/// The list of queries of one dimension.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct ListStep {
    pub(crate) dimension: f32,
    pub(crate) list_size: f32,
    /// Share of the neighbours that such a query is expected to miss.
    pub(crate) misses: f32,
}

/// What the rule chose for a query.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct ListChoice {
    /// Local dimension; none where too few candidates were found.
    pub(crate) dimension: Option<f32>,
    /// List size (L) of all segments.
    pub(crate) list_size: usize,
}

impl ListRule<'_> {
    /// The most living nodes that a list should hold.
    pub(crate) fn longest(&self) -> usize {
        let last = self.steps.last();
        last.map_or(self.first, |step| whole(step.list_size, self.first))
    }

    /// The list to begin with, its dead nodes included.
    pub(crate) fn begins_with(&self) -> usize {
        whole(self.times * self.first as f32, self.first)
    }

    /// The list for candidates at these distances, in ascending order; the longest where they tell
    /// nothing.
    pub(crate) fn choose(&self, distances: &[f32]) -> ListChoice {
        let dimension = local_dimension(distances);
        let list_size = dimension.map_or_else(
            || whole(self.times * self.longest() as f32, self.first),
            |own| self.size_at(own, share_of(distances)),
        );
        ListChoice {
            dimension,
            list_size,
        }
    }

    /// The list of a query of this dimension, whose share of all queries is `share`.
    fn size_at(&self, dimension: f32, share: f32) -> usize {
        let size = between(self.steps, dimension, |step| step.list_size);
        rounded(self.times * size.unwrap_or(0.0), share).max(self.begins_with())
    }
}

/// A number from 0 to below 1 that queries have evenly, and each always.
fn share_of(distances: &[f32]) -> f32 {
    share_of_bits(distances.iter().map(|own| own.to_bits().into()))
}

/// The same of a raw row.
pub(super) fn share_of_row(row: &[u8]) -> f32 {
    let (words, rest) = row.as_chunks::<8>();
    let words = words.iter().map(|word| u64::from_le_bytes(*word));
    share_of_bits(words.chain(rest.iter().map(|byte| u64::from(*byte))))
}

fn share_of_bits(words: impl Iterator<Item = u64>) -> f32 {
    let bits = words.fold(0, |bits: u64, own| bits.rotate_left(9) ^ own);
    let mixed = bits.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ bits >> 29;
    (mixed.wrapping_mul(0xbf58_476d_1ce4_e5b9) >> 40) as f32 / (1_u32 << 24) as f32
}

/// A whole number of places: of a size between two, the share of the queries that lies between
/// them takes the longer one, so that on average lists are as long, and find as much, as they
/// should. What is a place more by rounding alone is none.
fn rounded(list_size: f32, share: f32) -> usize {
    let shorter = (list_size + 1e-3).floor();
    shorter as usize + usize::from(list_size - shorter > share.max(1e-3))
}

/// What steps give for a dimension, on the line between the two about it; none of no step.
pub(crate) fn between(
    steps: &[ListStep],
    dimension: f32,
    value: impl Fn(&ListStep) -> f32,
) -> Option<f32> {
    let behind = steps.partition_point(|step| step.dimension < dimension);
    let before = behind.checked_sub(1).and_then(|at| steps.get(at));
    match (before, steps.get(behind)) {
        (Some(low), Some(high)) => {
            let share = (dimension - low.dimension) / (high.dimension - low.dimension);
            Some(value(low) + share * (value(high) - value(low)))
        }
        (Some(end), None) | (None, Some(end)) => Some(value(end)),
        (None, None) => None,
    }
}

/// Distances of the nearest of the candidates shown to it, in ascending order.
#[derive(Debug)]
pub(crate) struct NearestDistances {
    distances: [f32; LOOKED_AT + 1],
    count: usize,
}

impl NearestDistances {
    pub(crate) fn of(candidates: impl Iterator<Item = f32>) -> Self {
        let mut nearest = Self {
            distances: [f32::INFINITY; LOOKED_AT + 1],
            count: 0,
        };
        candidates.for_each(|distance| nearest.add(distance));
        nearest
    }

    fn add(&mut self, distance: f32) {
        let place = self.as_slice().partition_point(|own| *own <= distance);
        if let Some(behind) = self.distances.get_mut(place..) {
            behind.rotate_right(usize::from(!behind.is_empty()));
            if let Some(own) = behind.first_mut() {
                *own = distance;
                self.count = (self.count + 1).min(LOOKED_AT + 1);
            }
        }
    }

    pub(crate) fn as_slice(&self) -> &[f32] {
        self.distances.get(..self.count).unwrap_or_default()
    }
}

/// Places of a list, at least `least`. What is a place more by rounding alone is none.
pub(crate) fn whole(list_size: f32, least: usize) -> usize {
    ((list_size - 1e-3).ceil() as usize).max(least)
}

/// The local dimension about a point with candidates at these squared distances, ascending.
pub(crate) fn local_dimension(distances: &[f32]) -> Option<f32> {
    let (last, nearer) = distances.split_last()?;
    if nearer.len() < LEAST_LOOKED_AT || !last.is_finite() || *last <= 0.0 {
        return None;
    }
    let ratios = nearer
        .iter()
        .map(|distance| (last / distance.max(NEAREST_SHARE * last)).ln());
    let mean = 0.5 * ratios.sum::<f32>() / nearer.len() as f32;
    Some(1.0 / (mean + FLOOR))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Squared distances of points spread evenly in a ball of so many dimensions.
    fn ball(dimension: f32) -> Vec<f32> {
        let radius = |at: usize| (at as f32 / 41.0).powf(1.0 / dimension);
        (1..=41).map(|at| radius(at).powi(2)).collect()
    }

    #[test]
    fn the_dimension_of_a_ball_is_found() {
        for dimension in [4.0, 10.0, 30.0] {
            let found = local_dimension(&ball(dimension)).unwrap();
            let off = (found / dimension - 1.0).abs();
            assert!(off < 0.15, "{dimension}: {found}");
        }
        let scaled: Vec<f32> = ball(10.0).iter().map(|distance| 7.0 * distance).collect();
        let (one, other) = (local_dimension(&ball(10.0)), local_dimension(&scaled));
        assert!((one.unwrap() - other.unwrap()).abs() < 1e-3);
    }

    #[test]
    fn distances_that_tell_nothing_take_the_longest_list() {
        let steps = [(5.0, 2.0), (20.0, 22.0)].map(|(dimension, list_size)| ListStep {
            dimension,
            list_size,
            misses: 0.0,
        });
        let rule = ListRule {
            first: 3,
            steps: &steps,
            times: 1.0,
        };
        for nothing in [
            &[][..],
            &[1.0; 5],
            &[0.0; 41],
            &[f32::INFINITY; 41],
            &[-1.0; 41],
        ] {
            let choice = rule.choose(nothing);
            assert_eq!(
                (choice.dimension, choice.list_size),
                (None, 22),
                "{nothing:?}"
            );
        }
        let alike = rule.choose(&[1.0; 41]);
        assert!(alike.dimension.unwrap() > 300.0);
        let copies = rule.choose(&[&[0.0; 20][..], &[1.0; 21]].concat());
        assert!(copies.dimension.unwrap() > 1.0);
    }

    #[test]
    fn the_nearest_are_kept_in_order() {
        let shown = (0..100).map(|at| ((at * 37) % 100) as f32);
        let nearest = NearestDistances::of(shown);
        let expected: Vec<f32> = (0..=LOOKED_AT as u16).map(f32::from).collect();
        assert_eq!(nearest.as_slice(), expected);
        assert_eq!(
            NearestDistances::of([2.0, 1.0, 2.0].into_iter()).as_slice(),
            [1.0, 2.0, 2.0]
        );
        assert!(
            NearestDistances::of(std::iter::empty())
                .as_slice()
                .is_empty()
        );
    }

    #[test]
    fn lists_grow_along_lines_over_the_dimension() {
        let steps =
            [(5.0, 2.0), (10.0, 12.0), (20.0, 22.0)].map(|(dimension, list_size)| ListStep {
                dimension,
                list_size,
                misses: 0.0,
            });
        let rule = ListRule {
            first: 3,
            steps: &steps,
            times: 1.0,
        };
        let sizes = [1.0, 5.0, 7.5, 10.0, 15.0, 20.0, 90.0].map(|own| rule.size_at(own, 0.5));
        assert_eq!(sizes, [3, 3, 7, 12, 17, 22, 22]);
        assert_eq!(rule.longest(), 22);
        let fixed = ListRule {
            first: 6,
            steps: &[],
            times: 1.0,
        };
        assert_eq!((fixed.longest(), fixed.size_at(9.0, 0.5)), (6, 6));
        let half_died = ListRule { times: 2.0, ..rule };
        let sizes = [5.0, 10.0, 90.0].map(|own| half_died.size_at(own, 0.5));
        assert_eq!((half_died.begins_with(), sizes), (6, [6, 24, 44]));
        assert_eq!(
            (half_died.longest(), half_died.choose(&[]).list_size),
            (22, 44)
        );
    }

    #[test]
    fn lists_between_two_sizes_are_as_long_on_average() {
        let queries = (0..4000).map(|at| share_of(&[1.0 + at as f32 / 100.0, 70.0]));
        let shares: Vec<f32> = queries.collect();
        assert!(shares.iter().all(|share| (0.0..1.0).contains(share)));
        for size in [3.0, 3.2, 3.5, 7.9, 40.25] {
            let sum: usize = shares.iter().map(|share| rounded(size, *share)).sum();
            let mean = sum as f32 / shares.len() as f32;
            assert!((mean - size).abs() < 0.03, "{size}: {mean}");
        }
        assert_eq!(rounded(4.000_2, 0.0), 4);
        assert_eq!(rounded(3.999_9, 0.9), 4);
    }
}
