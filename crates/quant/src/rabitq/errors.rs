//! By how much an estimate may be off.
//!
//! A code is scaled so that it sees what lies along the residual `r` of its vector exactly. With
//! `q` the query less the centroid, only the part of `q` across `r` errs: `|q| sin(q, r)`, and the
//! estimate itself tells that angle. Where vectors are near the query it is small, and so are their
//! errors, where the whole of `|q|` would make bounds many times too wide.

use pageway_types::Guide;

use super::RaBitQuantizer;
use super::factors::Factors;
use super::scorer::Centroid;

/// What a scorer knows of the errors of its query's estimates.
#[derive(Clone, Copy, Debug)]
pub(super) struct Errors {
    /// How many times an estimate is a squared distance; 0 where it is none.
    per_square: f32,
    /// How many times as far off what lies outside of axes is, squared, of a vector equal to the
    /// query as of others.
    outside_near: f32,
    /// Variance of `<g, q>` by the rounding of weights.
    rounding: f32,
    /// Standard errors that a bound is wide.
    epsilon: f32,
}

impl Errors {
    pub(super) const fn new(epsilon: f32) -> Self {
        Self {
            per_square: 0.0,
            outside_near: 0.0,
            rounding: 0.0,
            epsilon,
        }
    }

    pub(super) const fn set_epsilon(&mut self, epsilon: f32) {
        self.epsilon = epsilon;
    }

    /// Takes the quantizer of the next query.
    pub(super) fn meet(&mut self, quantizer: &RaBitQuantizer) {
        self.rounding = 0.0;
        self.per_square = match quantizer.metric {
            Guide::L2 => 1.0,
            Guide::Cosine => 2.0,
            Guide::InnerProduct => 0.0,
        };
        let outside = quantizer.outside;
        let gap = 1.0 - outside.common;
        self.outside_near = gap * gap / outside.spread.max(f32::MIN_POSITIVE);
    }

    /// Takes the unit that weights were rounded to, by a half of it at most; `squares` are those of
    /// twice what each weight is multiplied by, summed. Of several forms of codes the worst counts.
    pub(super) fn round(&mut self, unit: f64, squares: f64) {
        let rounding = (unit * unit * squares / 48.0) as f32;
        self.rounding = self.rounding.max(rounding);
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
        let code = factors.rescale * factors.error * centroid.error;
        let add = factors.add * energy;
        let (across, slope) = self.across(add, centroid, estimate);
        let inside = code * code * centroid.inside;
        let outside = (code * code - inside) * (across + (1.0 - across) * self.outside_near);
        let fixed = outside + factors.rescale * factors.rescale * self.rounding;
        let half = inside * slope / 2.0;
        self.epsilon * (half + (half * half + inside * across + fixed).sqrt())
    }

    /// Share of the query's squared distance from the centroid that lies across a residual, and how
    /// it grows with the estimate; all of it where that cannot be told.
    fn across(&self, add: f32, centroid: Centroid, estimate: f32) -> (f32, f32) {
        let residual = self.per_square * add + centroid.rest;
        let product = (centroid.distance + residual - self.per_square * estimate) / 2.0;
        let per_product = product / (centroid.distance * residual);
        let share = 1.0 - product * per_product;
        if share < 1.0 {
            (share.max(0.0), (self.per_square * per_product).max(0.0))
        } else {
            (1.0, 0.0)
        }
    }
}
