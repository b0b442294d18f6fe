//! The axes on which residuals are coded, as a rotation of the space or of a part of it.
//!
//! * Random rotation: one [`Hadamard`] over all components.
//! * Principal axes: a matrix in fixed point with a column per axis that has bits, then one
//!   [`Hadamard`] over the axes of equal bits. Among these the variances are alike, and the
//!   rotation makes them equal and the errors random.
//!
//! Of many components a query would wait for its matrix, so that axes behind the first are given in
//! bytes there. The first, which most of a residual lies on, keep 16 bits.

use pageway_kernels::{FixedMatrix, KernelSet};

use super::hadamard::Hadamard;

/// Components from which on axes are narrow.
const NARROW_DIMENSION: usize = 640;

/// Axes that are wide nevertheless.
const WIDE_AXES: usize = 128;

/// A rotation from components to axes.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Frame {
    dimension: usize,
    /// A row of axes for each component; none for a random rotation.
    matrix: Option<Box<FixedMatrix>>,
    /// Rotations of neighbouring axes, which together cover all of them.
    mixes: Vec<Hadamard>,
}

impl Frame {
    /// A random rotation of all components.
    pub(super) fn random(dimension: usize, seed: u64) -> Self {
        Self {
            dimension,
            matrix: None,
            mixes: vec![Hadamard::new(dimension, seed, 0)],
        }
    }

    /// Some axes, given as a matrix with a row for each component, rotated in runs of `widths`.
    pub(super) fn principal(dimension: usize, matrix: &[f32], widths: &[usize], seed: u64) -> Self {
        let axes = widths.iter().sum();
        let wide = Self::wide_axes(dimension, axes);
        Self::of_matrix(
            FixedMatrix::new((dimension, axes), wide, matrix),
            widths,
            seed,
        )
    }

    /// The axes of a matrix with a row for each component, rotated in runs of `widths`.
    pub(super) fn of_matrix(matrix: FixedMatrix, widths: &[usize], seed: u64) -> Self {
        let mixes = (0..).zip(widths);
        Self {
            dimension: matrix.rows(),
            matrix: Some(Box::new(matrix)),
            mixes: mixes
                .map(|(stream, width)| Hadamard::new(*width, seed, stream))
                .collect(),
        }
    }

    /// How many of so many axes are wide: the first.
    pub(super) const fn wide_axes(dimension: usize, axes: usize) -> usize {
        if dimension < NARROW_DIMENSION || axes < WIDE_AXES {
            axes
        } else {
            WIDE_AXES
        }
    }

    /// Bytes of the matrix of so many axes.
    pub(super) const fn matrix_bytes(dimension: usize, axes: usize) -> usize {
        FixedMatrix::bytes((dimension, axes), Self::wide_axes(dimension, axes))
    }

    pub(super) fn dimension(&self) -> usize {
        self.dimension
    }

    /// True when a matrix comes first.
    pub(super) fn is_principal(&self) -> bool {
        self.matrix.is_some()
    }

    /// The matrix; none for a random rotation.
    pub(super) fn matrix(&self) -> Option<&FixedMatrix> {
        self.matrix.as_deref()
    }

    /// For each axis the mean square by which vectors of length 1 are off there, as narrow values
    /// were rounded by up to half of their unit: twice, for queries are off as well.
    pub(super) fn noise(&self) -> impl Iterator<Item = f64> {
        let wide = self.matrix().map_or(self.axes(), FixedMatrix::wide);
        let scales = self.matrix().map_or(&[][..], FixedMatrix::scales);
        let scales = scales.iter().copied().map(f64::from);
        std::iter::repeat_n(0.0, wide).chain(scales.map(|scale| scale * scale / 6.0))
    }

    /// Axes of a rotated vector.
    pub(super) fn axes(&self) -> usize {
        self.mixes.iter().map(Hadamard::width).sum()
    }

    /// Bytes of memory behind the frame.
    pub(super) fn bytes(&self) -> usize {
        let mixes = self.mixes.iter();
        let mixes = mixes.map(|mix| Hadamard::bytes(mix.width()) + size_of::<Hadamard>());
        let matrix = self.matrix();
        let matrix = matrix.map_or(0, |matrix| {
            FixedMatrix::bytes((matrix.rows(), matrix.columns()), matrix.wide())
        });
        matrix + mixes.sum::<usize>()
    }

    /// Rotates vectors of `dimension` components into `axes` values each.
    pub(super) fn rotate(&self, kernels: &KernelSet, components: &[f32], out: &mut [f32]) {
        match &self.matrix {
            None => out.copy_from_slice(components),
            Some(matrix) => kernels.project_fixed()(matrix, components, out),
        }
        for out in out.chunks_exact_mut(self.axes().max(1)) {
            let mut rest = out;
            for mix in &self.mixes {
                let (own, others) = rest.split_at_mut(mix.width());
                mix.rotate(kernels, own);
                rest = others;
            }
        }
    }

    /// Rotates back; what lies outside the axes is zero. Changes `values`.
    pub(super) fn undo(&self, kernels: &KernelSet, values: &mut [f32], out: &mut [f32]) {
        let mut rest = &mut *values;
        for mix in &self.mixes {
            let (own, others) = rest.split_at_mut(mix.width());
            mix.undo(kernels, own);
            rest = others;
        }
        match &self.matrix {
            None => out.copy_from_slice(values),
            Some(matrix) => matrix.project_back(values, out),
        }
    }
}
