//! Rows of floats, rounded to bytes: a quarter of what a scan reads tells which rows can be near
//! for certain, and only their distances are computed.
//!
//! With `x = s * n + e` for integers `n` of 8 bits, `<q, x>` differs from `<q', x'>` of the rounded
//! vectors by `|e_q| |x'| + |q| |e_x|` at most (Cauchy and Schwarz); lengths are known, and so each
//! distance that follows from an inner product has a least value.

use pageway_kernels::{DistanceManyFn, KernelSet, WidenFn};
use pageway_types::{ElementType, Metric, Place, VectorShape};

/// What sums of floats err by, as a share of the lengths that they are of, and least of all.
const SLACK: f32 = 1e-5;
const LEAST_SLACK: f32 = f32::MIN_POSITIVE;

/// The largest integer that a component is rounded to.
const LARGEST: f32 = 127.0;

/// How rows of a shape are rounded, where that is worth it and distances follow from it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rounding {
    dimension: usize,
    row_bytes: usize,
    metric: Metric,
    widen: WidenFn,
    /// The negated inner products of rounded rows.
    negated_products: DistanceManyFn,
}

/// What is known of a row beside its integers; for cosine, of its unit vector.
#[derive(Clone, Copy, Debug)]
struct Facts {
    scale: f32,
    length: f32,
    /// Length of what rounding took away, at most.
    error: f32,
}

impl Facts {
    const UNKNOWN: Self = Self {
        scale: f32::NAN,
        length: f32::NAN,
        error: f32::NAN,
    };
}

/// Rows that are rounded.
#[derive(Debug)]
pub(super) struct RoundedRows {
    dimension: usize,
    integers: Vec<u8>,
    facts: Vec<Facts>,
}

/// A query that is rounded.
#[derive(Debug)]
pub(super) struct RoundedQuery {
    rounding: Rounding,
    rounded: RoundedRows,
}

impl Rounding {
    /// How rows of this shape are rounded; none where they have few bytes as they are, or their
    /// distance follows from no inner product.
    pub(super) fn of(kernels: &KernelSet, shape: VectorShape, metric: Metric) -> Option<Self> {
        let follows = matches!(metric, Metric::L2 | Metric::InnerProduct | Metric::Cosine);
        (follows && shape.element == ElementType::F32).then(|| Self {
            dimension: shape.dimension as usize,
            row_bytes: shape.row_bytes(),
            metric,
            widen: kernels.widen(shape.element),
            negated_products: kernels.distance_many(ElementType::I8, Metric::InnerProduct),
        })
    }

    /// Bytes that a row takes more.
    pub(super) const fn row_bytes(self) -> usize {
        self.dimension + size_of::<Facts>()
    }

    /// Rounds a whole number of rows.
    pub(super) fn round(self, rows: &[u8]) -> RoundedRows {
        let mut row = vec![0.0; self.dimension];
        let mut rounded = RoundedRows {
            dimension: self.dimension,
            integers: Vec::with_capacity(rows.len() / self.row_bytes * self.dimension),
            facts: Vec::with_capacity(rows.len() / self.row_bytes),
        };
        for raw in rows.chunks_exact(self.row_bytes) {
            (self.widen)(raw, &mut row);
            rounded.push(&row, self.metric);
        }
        rounded
    }

    /// Rounds a query.
    pub(super) fn query(self, raw: &[u8]) -> RoundedQuery {
        RoundedQuery {
            rounding: self,
            rounded: self.round(raw),
        }
    }
}

impl RoundedRows {
    fn push(&mut self, row: &[f32], metric: Metric) {
        let largest = row.iter().fold(0.0f32, |most, value| most.max(value.abs()));
        let scale = largest / LARGEST;
        let (mut squares, mut lost) = (0.0f64, 0.0f64);
        for value in row {
            let integer = (value / scale).round().clamp(-LARGEST, LARGEST) as i8;
            let left = f64::from(*value) - f64::from(scale) * f64::from(integer);
            squares += f64::from(*value) * f64::from(*value);
            lost += left * left;
            self.integers.push(integer as u8);
        }
        let length = squares.sqrt();
        let unit = if metric == Metric::Cosine {
            length
        } else {
            1.0
        };
        self.facts.push(Facts {
            scale: (f64::from(scale) / unit) as f32,
            length: (length / unit) as f32,
            error: (lost.sqrt() / unit) as f32,
        });
    }

    /// These rows, and others behind them.
    pub(super) fn with(&self, others: &Self) -> Self {
        Self {
            dimension: self.dimension,
            integers: [&*self.integers, &*others.integers].concat(),
            facts: [&*self.facts, &*others.facts].concat(),
        }
    }
}

impl RoundedQuery {
    /// Puts the least that the distances of some rows can be into `out`, in their order; not a
    /// number where nothing is known.
    ///
    /// # Panics
    /// Unless there are as many places in `out` as rows.
    pub(super) fn least(&self, rows: &RoundedRows, places: &[Place], out: &mut [f32]) {
        let Rounding {
            dimension,
            negated_products,
            ..
        } = self.rounding;
        let own = &self.rounded;
        negated_products(&own.integers, &rows.integers, dimension, places, out);
        let query = own.facts.first().copied().unwrap_or(Facts::UNKNOWN);
        for (place, out) in places.iter().zip(out) {
            let row = rows.facts.get(place.index()).copied();
            *out = self.bound(-*out, query, row.unwrap_or(Facts::UNKNOWN));
        }
    }

    /// The least that the distance of a row can be, with this product of the integers.
    #[inline]
    fn bound(&self, product: f32, query: Facts, row: Facts) -> f32 {
        let lengths = query.length * row.length;
        let off = query.error * (row.length + row.error) + query.length * row.error;
        let most = product * query.scale * row.scale + off + SLACK * lengths + LEAST_SLACK;
        match self.rounding.metric {
            Metric::L2 => {
                let squares = query.length * query.length + row.length * row.length;
                squares - 2.0 * most - SLACK * squares
            }
            Metric::Cosine => 1.0 - most - SLACK,
            Metric::InnerProduct | Metric::L1 | Metric::Hamming | Metric::Jaccard => -most,
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn kernels() -> &'static KernelSet {
        KernelSet::detect().unwrap()
    }

    fn rounding_of(shape: VectorShape, metric: Metric) -> Option<Rounding> {
        Rounding::of(kernels(), shape, metric)
    }

    const fn shape(dimension: u32, element: ElementType) -> VectorShape {
        VectorShape { dimension, element }
    }

    fn raw(row: &[f32]) -> Vec<u8> {
        row.iter().flat_map(|value| value.to_le_bytes()).collect()
    }

    fn rounding(dimension: usize, metric: Metric) -> Rounding {
        rounding_of(shape(dimension as u32, ElementType::F32), metric).unwrap()
    }

    fn least(query: &RoundedQuery, rows: &RoundedRows) -> Vec<f32> {
        let places: Vec<Place> = (0..rows.facts.len() as u32).map(Place).collect();
        let mut out = vec![0.0; places.len()];
        query.least(rows, &places, &mut out);
        out
    }

    #[test]
    fn rows_of_bytes_and_sums_of_differences_are_not_rounded() {
        let bytes = shape(4, ElementType::U8);
        assert!(rounding_of(bytes, Metric::L2).is_none());
        let floats = shape(4, ElementType::F32);
        assert!(rounding_of(floats, Metric::L1).is_none());
    }

    #[test]
    fn most_distances_of_rows_that_are_far_are_not_needed() {
        let mut state = 7u32;
        let mut next = || {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 8) as f32 / 8_388_608.0 - 1.0
        };
        let rows: Vec<f32> = (0..200 * 96).map(|_| next()).collect();
        let query: Vec<f32> = (0..96).map(|_| next()).collect();
        let rounding = rounding(96, Metric::Cosine);
        let rounded = rounding.round(&raw(&rows));
        let asked = rounding.query(&raw(&query));
        let least = least(&asked, &rounded);
        assert!(least.iter().filter(|least| **least > 0.7).count() > 190);
    }

    proptest! {
        #[test]
        fn no_row_that_is_within_is_beyond(
            rows in prop::collection::vec(prop::collection::vec(-1e3f32..1e3, 9), 1..12),
            query in prop::collection::vec(-1e3f32..1e3, 9),
            exponent in -30i32..30,
            one in prop::sample::select(vec![Metric::L2, Metric::InnerProduct, Metric::Cosine]),
        ) {
            let factor = 2f32.powi(exponent);
            let scaled = |row: &[f32]| {
                let scaled: Vec<f32> = row.iter().map(|value| value * factor).collect();
                raw(&scaled)
            };
            let rounding = rounding(9, one);
            let all: Vec<u8> = rows.iter().flat_map(|row| scaled(row)).collect();
            let (head, tail) = all.split_at(all.len() / 36 / 2 * 36);
            let rounded = rounding.round(head).with(&rounding.round(tail));
            let distance = kernels().distance(ElementType::F32, one);
            let query = scaled(&query);
            let asked = rounding.query(&query);
            for (row, least) in all.chunks_exact(36).zip(least(&asked, &rounded)) {
                let own = distance(&query, row);
                prop_assert!(least <= own, "{least} {own}");
            }
        }
    }
}
