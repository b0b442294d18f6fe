//! The axes on which residuals are coded, as a rotation of the space or of a part of it.
//!
//! * Random rotation: one [`Hadamard`] over all components.
//! * Principal axes: a matrix in fixed point with a column per axis that has bits, then one
//!   [`Hadamard`] over the axes of equal bits. Among these the variances are alike, and the
//!   rotation makes them equal and the errors random.

use pageway_kernels::{FixedMatrix, KernelSet};

use super::hadamard::Hadamard;

/// A rotation from components to axes.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Frame {
    dimension: usize,
    /// A row of axes for each component; none for a random rotation.
    matrix: Option<FixedMatrix>,
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
        let mixes = (0..).zip(widths);
        Self {
            dimension,
            matrix: Some(FixedMatrix::new(dimension, axes, matrix)),
            mixes: mixes
                .map(|(stream, width)| Hadamard::new(*width, seed, stream))
                .collect(),
        }
    }

    pub(super) fn dimension(&self) -> usize {
        self.dimension
    }

    /// True when a matrix comes first.
    pub(super) fn is_principal(&self) -> bool {
        self.matrix.is_some()
    }

    /// Values of the matrix, component by component; none for a random rotation.
    pub(super) fn matrix(&self) -> impl Iterator<Item = f32> {
        let places = self.matrix.iter().flat_map(|matrix| {
            let rows = 0..matrix.rows();
            rows.flat_map(move |row| (0..matrix.columns()).map(move |axis| (matrix, row, axis)))
        });
        places.map(|(matrix, row, axis)| matrix.value(row, axis))
    }

    /// Axes of a rotated vector.
    pub(super) fn axes(&self) -> usize {
        self.mixes.iter().map(Hadamard::width).sum()
    }

    /// Bytes of memory behind the frame.
    pub(super) fn bytes(&self) -> usize {
        let mixes = self.mixes.iter();
        let matrix = self.matrix.as_ref();
        matrix.map_or(0, |matrix| {
            FixedMatrix::bytes(matrix.rows(), matrix.columns())
        }) + mixes
            .map(|mix| Hadamard::bytes(mix.width()) + size_of::<Hadamard>())
            .sum::<usize>()
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
