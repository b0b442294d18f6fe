//! A trained RaBitQ quantizer: centroids, axes, and the layout of its codes.

use pageway_kernels::KernelSet;
use pageway_types::Guide;

use super::allocation::MAX_BITS;
use super::centroids::Centroids;
use super::factors::Factors;
use super::frame::Frame;
use super::layout::{Layout, Segment};
use super::spec::Rotation;
use crate::normalise;

/// Codes of some bits per axis, around one or many centroids.
///
/// Immutable once trained or read; share it between threads by reference.
#[derive(Clone, PartialEq, Debug)]
pub struct RaBitQuantizer {
    pub(super) metric: Guide,
    pub(super) seed: u64,
    pub(super) frame: Frame,
    pub(super) layout: Layout,
    /// Mean squared length of the sample's residuals, the unit of the factors; above 0.
    pub(super) energy: f32,
    /// The first is the mean of the sample.
    pub(super) centroids: Centroids,
    /// The centroids less the first, rotated; empty for one centroid.
    pub(super) offsets: Vec<f32>,
    /// What `rescale` is multiplied by when the first `p + 1` planes are read only.
    pub(super) prefixes: [f32; MAX_BITS],
    /// Length of errors that is usual in the sample, in units of `rescale`; above 0.
    pub(super) error_unit: f32,
    pub(super) outside: Outside,
}

/// The part of residuals on axes that have no bits, as the sample shows it.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Outside {
    /// Share in the squared errors of codes.
    pub(super) error_share: f32,
    /// Inner product of the parts of near vectors, per squared length.
    pub(super) common: f32,
    /// Mean square by which that inner product differs, per squared lengths.
    pub(super) spread: f32,
}

impl RaBitQuantizer {
    /// Guide that the codes estimate.
    pub fn metric(&self) -> Guide {
        self.metric
    }

    /// Components of a vector.
    pub fn dimension(&self) -> usize {
        self.frame.dimension()
    }

    /// Bytes of a code: those of the spec at most, fewer where no axis can use another bit.
    pub fn code_bytes(&self) -> usize {
        self.layout.code_bytes()
    }

    /// The same codes for another metric and for centres around `origin`: for a quantizer that was
    /// trained on what vectors differ by from centres of the caller, which knows neither. Queries
    /// are rounded in units of their distance from the origin, unless it has several centroids.
    ///
    /// # Panics
    /// When the origin has another dimension.
    #[must_use]
    pub fn around(self, metric: Guide, origin: &[f32]) -> Self {
        assert_eq!(
            origin.len(),
            self.dimension(),
            "an origin of this dimension"
        );
        let centroids = if self.centroids() == 1 {
            Centroids::new(origin.len(), origin.to_vec())
        } else {
            self.centroids
        };
        Self {
            metric,
            centroids,
            ..self
        }
    }

    /// How residuals are turned.
    pub fn rotation(&self) -> Rotation {
        if self.frame.is_principal() {
            Rotation::Principal
        } else {
            Rotation::Hadamard
        }
    }

    /// True when residuals may have a part outside the axes.
    pub(super) fn has_outside(&self) -> bool {
        self.axes() < self.dimension()
    }

    /// Centroids that residuals are taken from.
    pub fn centroids(&self) -> usize {
        self.centroids.count()
    }

    /// Axes that have bits: all components for a random rotation.
    pub fn axes(&self) -> usize {
        self.frame.axes()
    }

    /// Bits of all axes together.
    pub fn bits(&self) -> usize {
        self.layout.bits()
    }

    /// Bytes of memory the quantizer holds.
    pub fn resident_bytes(&self) -> usize {
        let segments = self.layout.segments.capacity() * size_of::<Segment>();
        let offsets = self.offsets.capacity() * size_of::<f32>();
        let centroids = Centroids::bytes(self.dimension(), self.centroids());
        size_of::<Self>() + self.frame.bytes() + centroids + offsets + segments
    }

    /// Writes the vector that a code stands for, the nearest to the original that its bits can say:
    /// near the original one for L2 and the inner product, near its unit vector for cosine.
    ///
    /// Costs a rotation and allocates two vectors.
    ///
    /// # Panics
    /// Unless `code` has `code_bytes` bytes and `out` has `dimension` values.
    pub fn decode(&self, kernels: &KernelSet, code: &[u8], out: &mut [f32]) {
        self.decode_around(kernels, code, out);
        let centroid = self.centroid(self.layout.centroid(code));
        for (out, centroid) in out.iter_mut().zip(centroid) {
            *out += centroid;
        }
    }

    /// Writes the difference from its centre that a code stands for.
    ///
    /// # Panics
    /// As [`RaBitQuantizer::decode`].
    pub fn decode_around(&self, kernels: &KernelSet, code: &[u8], out: &mut [f32]) {
        assert_eq!(code.len(), self.code_bytes(), "one code");
        assert_eq!(out.len(), self.dimension(), "one vector");
        let mut numbers = vec![0; self.axes()];
        let mut values = vec![0.0; self.axes()];
        self.layout.unpack(code, self.layout.planes(), &mut numbers);
        self.layout.values(&numbers, &mut values);
        let factors = Factors::read(self.layout.factors, code);
        let scale = self.decoding_scale(factors, &values);
        self.frame.undo(kernels, &mut values, out);
        for out in out.iter_mut() {
            *out *= scale;
        }
    }

    /// The centroid of a number.
    pub(super) fn centroid(&self, number: usize) -> &[f32] {
        self.centroids.get(number)
    }

    /// The rotated difference of a centroid from the first; empty for one centroid.
    pub(super) fn offset(&self, number: usize) -> &[f32] {
        self.offsets
            .chunks_exact(self.axes())
            .nth(number)
            .unwrap_or(&[])
    }

    /// Rotates the differences of all centroids from the first.
    pub(super) fn place_centroids(&mut self, kernels: &KernelSet) {
        self.offsets.clear();
        if self.centroids() == 1 {
            return;
        }
        let (mut difference, mut offset) = (vec![0.0; self.dimension()], vec![0.0; self.axes()]);
        self.offsets.reserve_exact(self.centroids() * self.axes());
        for number in 0..self.centroids() {
            let values = self.centroid(number).iter().zip(self.centroid(0));
            for (difference, (own, first)) in difference.iter_mut().zip(values) {
                *difference = own - first;
            }
            self.frame.rotate(kernels, &difference, &mut offset);
            self.offsets.extend(&offset);
        }
    }

    /// What the grid vector `g` is multiplied by to be nearest to the residual: `rescale` times the
    /// squared cosine of the two, which follows from the length of the error.
    fn decoding_scale(&self, factors: Factors, grid: &[f32]) -> f32 {
        let inside = 1.0 - self.outside.error_share;
        let error = factors.error * self.error_unit;
        let norm: f32 = grid.iter().map(|g| g * g).sum();
        factors.rescale * (1.0 - inside * error * error / norm).max(0.0)
    }

    /// Brings a row or query into the space that is coded: unit length for cosine.
    pub(super) fn normalise(&self, row: &mut [f32]) {
        if self.metric == Guide::Cosine {
            normalise(row);
        }
    }

    /// Turns queries to the axes of codes all at once, for
    /// [`RaBitQScorer::prepare_turned`](super::RaBitQScorer::prepare_turned): `dimension` values of
    /// each, which are changed, to [`RaBitQuantizer::axes`] of each.
    ///
    /// # Panics
    /// Unless both are of one number of queries.
    pub fn turn(&self, kernels: &KernelSet, queries: &mut [f32], out: &mut [f32]) {
        for query in queries.chunks_exact_mut(self.dimension()) {
            self.normalise(query);
            self.centre(query);
        }
        self.rotate(kernels, queries, out);
    }

    /// What a query differs by from the first centroid.
    pub(super) fn centre(&self, query: &mut [f32]) {
        for (value, centroid) in query.iter_mut().zip(self.centroid(0)) {
            *value -= centroid;
        }
    }

    /// Rotates vectors less a centroid.
    pub(super) fn rotate(&self, kernels: &KernelSet, residual: &[f32], out: &mut [f32]) {
        self.frame.rotate(kernels, residual, out);
    }
}
