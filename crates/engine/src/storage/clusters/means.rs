//! Means as rows in an element type.

use pageway_kernels::{DistanceManyFn, KernelSet, WidenFn};
use pageway_types::{ElementType, Metric, NodeId, VectorShape};

use super::query::{MeanQuery, bounded_f16};
use crate::spec::Shape;

/// Largest component of a mean as `f16`: sums and differences with queries stay in range.
const LARGEST: f32 = 16_384.0;

/// How whole means are written and compared.
#[derive(Clone, Copy)]
pub(super) struct Form {
    vectors: VectorShape,
    /// What their components are multiplied by.
    scale: f32,
    many: DistanceManyFn,
    widen: WidenFn,
}

impl Form {
    /// The element type of whole means.
    pub(super) const fn element(shape: Shape) -> ElementType {
        match (shape.metric, shape.element) {
            (Metric::L2 | Metric::InnerProduct, ElementType::U8 | ElementType::I8) => shape.element,
            (Metric::Cosine, _) | (_, ElementType::F32 | ElementType::F16) => ElementType::F16,
        }
    }

    /// Their shape.
    pub(super) const fn vectors(shape: Shape) -> VectorShape {
        VectorShape {
            dimension: shape.dimension,
            element: Self::element(shape),
        }
    }

    pub(super) fn new(shape: Shape, scale: f32, kernels: &KernelSet) -> Self {
        let vectors = Self::vectors(shape);
        // What is nearest by L2 is nearest by cosine, among unit vectors.
        let ranked = match shape.metric {
            Metric::L2 | Metric::Cosine => Metric::L2,
            Metric::InnerProduct => Metric::InnerProduct,
        };
        Self {
            vectors,
            scale,
            many: kernels.distance_many(vectors.element, ranked),
            widen: kernels.widen(vectors.element),
        }
    }

    /// The scale that makes use of the range of `f16`; 1 for means of bytes.
    pub(super) fn scale_of(element: ElementType, means: &[f32]) -> f32 {
        let largest = means.iter().map(|v| v.abs()).fold(0.0, f32::max);
        if element == ElementType::F16 && largest > 0.0 {
            largest / LARGEST
        } else {
            1.0
        }
    }

    /// Rows of the nearest components that there are.
    pub(super) fn rounded(self, means: &[f32]) -> Vec<u8> {
        let scaled = means.iter().map(|v| v / self.scale);
        match self.vectors.element {
            ElementType::F32 => scaled.flat_map(f32::to_le_bytes).collect(),
            ElementType::F16 => scaled.flat_map(|v| bounded_f16(v).to_le_bytes()).collect(),
            ElementType::U8 => scaled.map(|v| v.round() as u8).collect(),
            ElementType::I8 => scaled.map(|v| v.round() as i8 as u8).collect(),
        }
    }
}

/// Rows of means with their squared norms.
pub(super) struct Means {
    pub(super) rows: Vec<u8>,
    norms: Vec<f32>,
    form: Form,
}

impl Means {
    /// `count` means; `None` where the rows are not as many, or not finite.
    pub(super) fn new(rows: Vec<u8>, count: usize, form: Form) -> Option<Self> {
        if rows.len() != count.checked_mul(form.vectors.row_bytes())? {
            return None;
        }
        let norms = Vec::with_capacity(count);
        let mut means = Self { rows, norms, form };
        let mut values = vec![0.0_f32; form.vectors.dimension as usize];
        for at in 0..count {
            means.write(at, &mut values);
            let squares = values.iter().map(|v| f64::from(*v) * f64::from(*v));
            means.norms.push(squares.sum::<f64>() as f32);
        }
        let finite = means.norms.iter().all(|norm| norm.is_finite());
        finite.then_some(means)
    }

    /// Squared norm of one of them.
    pub(super) fn norm(&self, at: usize) -> f32 {
        self.norms.get(at).copied().unwrap_or(0.0)
    }

    /// Distances of a query to some of them, as they are ranked by.
    pub(super) fn compare(&self, query: &MeanQuery, numbers: &[NodeId], out: &mut [f32]) {
        let Form { vectors, scale, .. } = self.form;
        (self.form.many)(&query.whole, &self.rows, vectors.row_bytes(), numbers, out);
        for out in out {
            *out *= scale * scale;
        }
    }

    /// Writes one of them.
    pub(super) fn write(&self, at: usize, out: &mut [f32]) {
        let row_bytes = self.form.vectors.row_bytes();
        let start = at * row_bytes;
        (self.form.widen)(self.rows.get(start..start + row_bytes).unwrap_or(&[]), out);
        for out in out {
            *out *= self.form.scale;
        }
    }
}
