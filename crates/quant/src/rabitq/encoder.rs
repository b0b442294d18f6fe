//! Rows to codes, a row at a time.

use pageway_kernels::KernelSet;
use pageway_types::{ElementType, Metric};

use super::RaBitQuantizer;
use super::factors::{Factors, rounded};
use super::grid::{Fit, Grid};

/// Encodes rows of one element type. Holds the scratch of one row; make one per thread.
pub struct RaBitQEncoder<'q> {
    kernels: &'static KernelSet,
    element: ElementType,
    pub(super) coder: Coder<'q>,
    row: Vec<f32>,
}

impl RaBitQuantizer {
    /// An encoder for rows of `element`; allocates [`RaBitQEncoder::resident_bytes`].
    pub fn encoder(&self, element: ElementType, kernels: &'static KernelSet) -> RaBitQEncoder<'_> {
        RaBitQEncoder {
            kernels,
            element,
            coder: Coder::new(self, kernels),
            row: vec![0.0; self.dimension()],
        }
    }
}

impl RaBitQEncoder<'_> {
    /// Encodes a whole number of rows, given as raw element bytes, into as many codes.
    ///
    /// Costs a rotation per row, some passes over its axes for the scale, and `dimension` times the
    /// number of centroids; allocates nothing. Components must be finite: a code of NaN or infinity
    /// means nothing.
    ///
    /// # Panics
    /// When `rows` is not a whole number of rows or `out` not as many codes.
    pub fn encode(&mut self, rows: &[u8], out: &mut [u8]) {
        let row_bytes = self.row.len() * self.element.bytes();
        let code_bytes = self.coder.quantizer.code_bytes();
        assert_eq!(rows.len() % row_bytes, 0, "whole rows");
        assert_eq!(
            rows.len() / row_bytes * code_bytes,
            out.len(),
            "one code per row"
        );
        let widen = self.kernels.widen(self.element);
        for (row, code) in rows
            .chunks_exact(row_bytes)
            .zip(out.chunks_exact_mut(code_bytes))
        {
            widen(row, &mut self.row);
            self.coder.quantizer.normalise(&mut self.row);
            self.coder.encode(&self.row, code);
        }
    }

    /// Bytes of memory the encoder holds.
    pub fn resident_bytes(&self) -> usize {
        let axes = self.coder.rotated.len();
        let values = 2 * self.row.len() + axes;
        size_of::<Self>() + values * size_of::<f32>() + axes + Grid::bytes(axes)
    }
}

/// Encodes one row at a time.
pub(super) struct Coder<'q> {
    pub(super) quantizer: &'q RaBitQuantizer,
    kernels: &'static KernelSet,
    grid: Grid,
    pub(super) residual: Vec<f32>,
    pub(super) rotated: Vec<f32>,
    pub(super) numbers: Vec<u8>,
}

impl<'q> Coder<'q> {
    pub(super) fn new(quantizer: &'q RaBitQuantizer, kernels: &'static KernelSet) -> Self {
        Self {
            quantizer,
            kernels,
            grid: Grid::new(&quantizer.layout),
            residual: vec![0.0; quantizer.dimension()],
            rotated: vec![0.0; quantizer.axes()],
            numbers: vec![0; quantizer.axes()],
        }
    }

    /// Encodes a row that is normalised where the metric asks for it.
    fn encode(&mut self, row: &[f32], code: &mut [u8]) {
        let centroid = 0;
        let fit = self.fit(row, centroid);
        let factors = self.factors(centroid, fit);
        code.fill(0);
        factors.write(self.quantizer.layout.factors, code);
        self.quantizer.layout.set_centroid(code, centroid);
        self.quantizer.layout.pack(&self.numbers, code);
    }

    /// Finds the grid vector of a row's residual; what it found stays in the fields.
    pub(super) fn fit(&mut self, row: &[f32], centroid: usize) -> Fit {
        let values = row.iter().zip(self.quantizer.centroid(centroid));
        for (residual, (value, centroid)) in self.residual.iter_mut().zip(values) {
            *residual = value - centroid;
        }
        let (residual, rotated) = (&self.residual, &mut self.rotated);
        self.quantizer.rotate(self.kernels, residual, rotated);
        self.grid.nearest(rotated, &mut self.numbers)
    }

    /// Squared length of the residual.
    pub(super) fn energy(&self) -> f64 {
        let values = self.residual.iter();
        values.map(|r| f64::from(*r) * f64::from(*r)).sum()
    }

    fn factors(&mut self, centroid: usize, fit: Fit) -> Factors {
        let quantizer = self.quantizer;
        let (unit, energy) = (f64::from(quantizer.energy), self.energy());
        let rescale = rescale(energy, fit);
        let width = quantizer.layout.factors;
        let kept = f64::from(rounded(width, rescale as f32));
        let error = (rescale * rescale * fit.norm - energy).max(0.0) / unit;
        let offset = quantizer.offset(centroid);
        quantizer.layout.values(&self.numbers, &mut self.rotated);
        let to_offset = kept * dot(&self.rotated, offset);
        let add = match quantizer.metric {
            Metric::L2 => energy + 2.0 * to_offset,
            Metric::InnerProduct | Metric::Cosine => {
                to_offset - dot(&self.residual, quantizer.centroid(centroid))
            }
        };
        Factors {
            add: (add / unit) as f32,
            rescale: kept as f32,
            error: error.sqrt() as f32,
        }
    }
}

/// `|r|^2 / <g, r>`; 0 for a residual of zero.
pub(super) fn rescale(energy: f64, fit: Fit) -> f64 {
    if energy > 0.0 && fit.product > 0.0 {
        energy / fit.product
    } else {
        0.0
    }
}

/// Inner product in `f64`; the shorter one counts.
pub(super) fn dot(a: &[f32], b: &[f32]) -> f64 {
    a.iter()
        .zip(b)
        .map(|(a, b)| f64::from(*a) * f64::from(*b))
        .sum()
}
