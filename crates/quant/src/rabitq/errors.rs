//! By how much an estimate may be off.
//!
//! A code is scaled so that it sees what lies along the residual `r` of its vector exactly. With
//! `q` the query less the centroid, only the part of `q` across `r` errs: `|q| sin(q, r)`, and the
//! estimate itself tells that angle. Where vectors are near the query it is small, and so are their
//! errors, where the whole of `|q|` would make bounds many times too wide.

use pageway_types::Guide;

use super::RaBitQuantizer;
use super::factors::{FactorRounding, FactorWidth, Factors};
use super::scorer::Centroid;

/// What a scorer knows of the errors of its query's estimates. In double precision: squares of
/// squared distances leave the range of single precision long before distances do.
#[derive(Clone, Copy, Debug)]
pub(super) struct Errors {
    /// How many times an estimate is a squared distance; 0 where it is none.
    per_square: f64,
    /// How many times the squared length of a residual is in the product with a query equal to its
    /// vector, which codes see exactly; 0 where queries are seldom that.
    seen_along: f64,
    /// How many times as far off what lies outside of axes is, squared, of a vector equal to the
    /// query as of others.
    outside_near: f64,
    /// Variance of `<g, q>` by the rounding of weights.
    rounding: f64,
    /// By how much factors are off by their rounding.
    factors: FactorRounding,
    /// Standard errors that a bound is wide.
    epsilon: f64,
}

impl Errors {
    pub(super) const fn new(epsilon: f32, width: FactorWidth) -> Self {
        Self {
            per_square: 0.0,
            seen_along: 0.0,
            outside_near: 0.0,
            rounding: 0.0,
            factors: width.rounding(),
            epsilon: epsilon as f64,
        }
    }

    pub(super) const fn set_epsilon(&mut self, epsilon: f32) {
        self.epsilon = epsilon as f64;
    }

    /// Takes the quantizer of the next query.
    pub(super) fn meet(&mut self, quantizer: &RaBitQuantizer) {
        self.rounding = 0.0;
        (self.per_square, self.seen_along) = match quantizer.metric {
            Guide::L2 => (1.0, 2.0),
            Guide::Cosine => (2.0, 1.0),
            Guide::InnerProduct => (0.0, 0.0),
        };
        let outside = quantizer.outside;
        let gap = 1.0 - f64::from(outside.common);
        self.outside_near = gap * gap / f64::from(outside.spread.max(f32::MIN_POSITIVE));
    }

    /// Takes the unit that weights were rounded to, by a half of it at most; `squares` are those of
    /// twice what each weight is multiplied by, summed. Of several forms of codes the worst counts.
    pub(super) fn round(&mut self, unit: f64, squares: f64) {
        self.rounding = self.rounding.max(unit * unit * squares / 48.0);
    }

    /// The half width of the bound of a code; `energy` is the unit of `add`.
    ///
    /// The share of the query that errs is taken where the distance is an error larger, which makes
    /// a quadratic equation of it: an estimate that is too small would else be sure of itself.
    #[inline]
    pub(super) fn half_width(
        &self,
        factors: Factors,
        energy: f32,
        centroid: Centroid,
        estimate: f32,
    ) -> f32 {
        let [rescale, error, add, energy, met, inside, estimate] = [
            factors.rescale,
            factors.error,
            factors.add,
            energy,
            centroid.error,
            centroid.inside,
            estimate,
        ]
        .map(f64::from);
        let (code, add) = (rescale * error * met, add * energy);
        let (across, slope) = self.across(add, centroid, estimate);
        let inside = code * code * inside;
        let outside = (code * code - inside) * (across + (1.0 - across) * self.outside_near);
        let fixed = outside + rescale * rescale * self.rounding;
        let half = inside * slope / 2.0;
        let code = half + (half * half + inside * across + fixed).sqrt();
        (self.epsilon * code.max(self.rounded((add, rescale, energy), centroid, estimate))) as f32
    }

    /// Standard deviation of an estimate by the rounding of its factors and of sums: far below the
    /// error of a code, but where few axes have many bits, which see nearly all of a residual.
    fn rounded(
        &self,
        (add, rescale, energy): (f64, f64, f64),
        centroid: Centroid,
        estimate: f64,
    ) -> f64 {
        let start = f64::from(centroid.add);
        let product = start + add - estimate;
        let along = if self.seen_along > 0.0 {
            product - self.seen_along * self.residual(add, centroid)
        } else {
            // Codes see a residual exactly, and a query may be of any length beside it.
            product.abs() + rescale * rescale * energy
        };
        // Where the residual is not known, what is not seen along it is not either.
        let rescale = if along.is_nan() {
            0.0
        } else {
            self.factors.rescale * along
        };
        let add_error = self.factors.add * add.abs() + self.factors.least_add * energy;
        let sum = f64::from(f32::EPSILON) * (start.abs() + add.abs());
        (rescale * rescale + add_error * add_error + sum * sum).sqrt()
    }

    /// Squared length of a residual; not a number where that cannot be told.
    fn residual(&self, add: f64, centroid: Centroid) -> f64 {
        self.per_square * add + f64::from(centroid.rest)
    }

    /// Share of the query's squared distance from the centroid that lies across a residual, and how
    /// it grows with the estimate; all of it where that cannot be told.
    fn across(&self, add: f64, centroid: Centroid, estimate: f64) -> (f64, f64) {
        let distance = f64::from(centroid.distance);
        let residual = self.residual(add, centroid);
        let product = (distance + residual - self.per_square * estimate) / 2.0;
        let per_product = product / (distance * residual);
        let share = 1.0 - product * per_product;
        if share < 1.0 {
            (share.max(0.0), (self.per_square * per_product).max(0.0))
        } else {
            (1.0, 0.0)
        }
    }
}
