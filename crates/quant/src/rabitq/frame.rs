//! The axes on which residuals are coded, as a rotation of the space or of a part of it.
//!
//! * Random rotation: one [`Hadamard`] over all components.
//! * Principal axes: a matrix with a column per axis that has bits, then one [`Hadamard`] over the
//!   axes of equal bits. Among these the variances are alike, and the rotation makes them equal and
//!   the errors random.

use pageway_kernels::KernelSet;

use super::hadamard::Hadamard;

/// A rotation from components to axes.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Frame {
    dimension: usize,
    /// A row of axes for each component; empty for a random rotation.
    matrix: Vec<f32>,
    /// Rotations of neighbouring axes, which together cover all of them.
    mixes: Vec<Hadamard>,
}

impl Frame {
    /// A random rotation of all components.
    pub(super) fn random(dimension: usize, seed: u64) -> Self {
        Self {
            dimension,
            matrix: Vec::new(),
            mixes: vec![Hadamard::new(dimension, seed, 0)],
        }
    }

    /// Some axes, given as a matrix with a row for each component, rotated in runs of `widths`.
    pub(super) fn principal(
        dimension: usize,
        matrix: Vec<f32>,
        widths: &[usize],
        seed: u64,
    ) -> Self {
        let mixes = (0..).zip(widths);
        Self {
            dimension,
            matrix,
            mixes: mixes
                .map(|(stream, width)| Hadamard::new(*width, seed, stream))
                .collect(),
        }
    }

    pub(super) fn dimension(&self) -> usize {
        self.dimension
    }

    /// Values of the matrix; none for a random rotation.
    pub(super) fn matrix(&self) -> &[f32] {
        &self.matrix
    }

    /// Axes of a rotated vector.
    pub(super) fn axes(&self) -> usize {
        self.mixes.iter().map(Hadamard::width).sum()
    }

    /// Bytes of memory behind the frame.
    pub(super) fn bytes(&self) -> usize {
        let mixes = self.mixes.iter();
        self.matrix.capacity() * size_of::<f32>()
            + mixes
                .map(|mix| Hadamard::bytes(mix.width()) + size_of::<Hadamard>())
                .sum::<usize>()
    }

    /// Rotates `dimension` components into `axes` values.
    pub(super) fn rotate(&self, kernels: &KernelSet, components: &[f32], out: &mut [f32]) {
        if self.matrix.is_empty() {
            out.copy_from_slice(components);
        } else {
            kernels.project()(components, &self.matrix, out);
        }
        let mut rest = out;
        for mix in &self.mixes {
            let (own, others) = rest.split_at_mut(mix.width());
            mix.rotate(own);
            rest = others;
        }
    }

    /// Rotates back; what lies outside the axes is zero. Changes `values`.
    pub(super) fn undo(&self, values: &mut [f32], out: &mut [f32]) {
        let mut rest = &mut *values;
        for mix in &self.mixes {
            let (own, others) = rest.split_at_mut(mix.width());
            mix.undo(own);
            rest = others;
        }
        if self.matrix.is_empty() {
            out.copy_from_slice(values);
            return;
        }
        for (out, axes) in out.iter_mut().zip(self.matrix.chunks_exact(values.len())) {
            *out = axes.iter().zip(&*values).map(|(a, b)| a * b).sum();
        }
    }
}
