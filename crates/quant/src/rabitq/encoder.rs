//! Rows to codes, a row at a time.

use pageway_kernels::KernelSet;
use pageway_types::{ElementType, Guide};

use super::RaBitQuantizer;
use super::factors::{Factors, rounded};
use super::grid::{Fit, Grid};

/// Rows that are turned at once: the matrix of a turn comes from far away once for all of them.
const TOGETHER: usize = 8;

/// Encodes rows of one element type. Holds the scratch of some rows; make one per thread.
pub struct RaBitQEncoder<'q> {
    kernels: &'static KernelSet,
    element: ElementType,
    pub(super) coder: Coder<'q>,
    residuals: Vec<f32>,
    rotated: Vec<f32>,
}

impl RaBitQuantizer {
    /// An encoder for rows of `element`; allocates [`RaBitQEncoder::resident_bytes`].
    pub fn encoder(&self, element: ElementType, kernels: &'static KernelSet) -> RaBitQEncoder<'_> {
        RaBitQEncoder {
            kernels,
            element,
            coder: Coder::new(self, kernels),
            residuals: vec![0.0; TOGETHER * self.dimension()],
            rotated: vec![0.0; TOGETHER * self.axes()],
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
        self.each(None, rows, out);
    }

    /// Encodes rows as by [`RaBitQEncoder::encode`], each as what it differs by from `centre`. The
    /// codes do not name it: whoever scores them knows.
    ///
    /// # Panics
    /// As [`RaBitQEncoder::encode`], or when the centre has another dimension.
    pub fn encode_around(&mut self, centre: &[f32], rows: &[u8], out: &mut [u8]) {
        let dimension = self.coder.quantizer.dimension();
        assert_eq!(centre.len(), dimension, "a centre of this dimension");
        let offset = self.coder.offset_of(centre);
        self.each(Some((centre, &offset)), rows, out);
    }

    /// Encodes rows around one centre with its offset, or each around the nearest centroid.
    fn each(&mut self, around: Option<(&[f32], &[f32])>, rows: &[u8], out: &mut [u8]) {
        let quantizer = self.coder.quantizer;
        let row_bytes = self.element.bytes_of(quantizer.dimension());
        let code_bytes = quantizer.code_bytes();
        assert_eq!(rows.len() % row_bytes, 0, "whole rows");
        assert_eq!(
            rows.len() / row_bytes * code_bytes,
            out.len(),
            "one code per row"
        );
        let rows = rows.chunks(TOGETHER * row_bytes);
        for (rows, codes) in rows.zip(out.chunks_mut(TOGETHER * code_bytes)) {
            let numbers = self.turn(around.map(|(centre, _)| centre), rows);
            let residuals = self.residuals.chunks_exact(quantizer.dimension());
            let turned = residuals.zip(self.rotated.chunks_exact(quantizer.axes()));
            let codes = codes.chunks_exact_mut(code_bytes).zip(numbers);
            for ((residual, rotated), (code, number)) in turned.zip(codes) {
                self.coder.take(residual, rotated);
                let own = (quantizer.centroid(number), quantizer.offset(number));
                self.coder.encode(around.unwrap_or(own), code);
                if around.is_none() {
                    quantizer.layout.set_centroid(code, number);
                }
            }
        }
    }

    /// Turns what some rows differ by from a centre, or from the nearest centroids; the numbers of
    /// those.
    fn turn(&mut self, centre: Option<&[f32]>, rows: &[u8]) -> [usize; TOGETHER] {
        let (quantizer, widen) = (self.coder.quantizer, self.kernels.widen(self.element));
        let (dimension, mut numbers) = (quantizer.dimension(), [0; TOGETHER]);
        let row_bytes = self.element.bytes_of(dimension);
        let count = rows.len() / row_bytes;
        let (residuals, _) = self.residuals.split_at_mut(count * dimension);
        let own = residuals.chunks_exact_mut(dimension).zip(&mut numbers);
        for (row, (residual, number)) in rows.chunks_exact(row_bytes).zip(own) {
            widen(row, residual);
            quantizer.normalise(residual);
            match centre {
                Some(centre) => {
                    let values = residual.iter_mut().zip(centre);
                    values.for_each(|(value, centre)| *value -= centre);
                }
                None => *number = quantizer.centroids.take_from(self.kernels, residual),
            }
        }
        let (rotated, _) = self.rotated.split_at_mut(count * quantizer.axes());
        quantizer.rotate(self.kernels, residuals, rotated);
        numbers
    }

    /// Bytes of memory the encoder holds.
    pub fn resident_bytes(&self) -> usize {
        let (dimension, axes) = (self.coder.residual.len(), self.coder.rotated.len());
        let values = (TOGETHER + 1) * (dimension + axes);
        size_of::<Self>() + values * size_of::<f32>() + axes + Grid::bytes(axes)
    }
}

/// Encodes one row at a time.
pub(super) struct Coder<'q> {
    pub(super) quantizer: &'q RaBitQuantizer,
    kernels: &'static KernelSet,
    grid: Grid,
    /// Of the axes, of residuals of length 1, squared.
    noise: f64,
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
            noise: quantizer.frame.noise().sum(),
            residual: vec![0.0; quantizer.dimension()],
            rotated: vec![0.0; quantizer.axes()],
            numbers: vec![0; quantizer.axes()],
        }
    }

    /// Takes what a row differs by from where its code is made around, and the same rotated.
    fn take(&mut self, residual: &[f32], rotated: &[f32]) {
        self.residual.copy_from_slice(residual);
        self.rotated.copy_from_slice(rotated);
    }

    /// Encodes what was taken, around a centre with its offset.
    fn encode(&mut self, around: (&[f32], &[f32]), code: &mut [u8]) {
        let fit = self.grid.nearest(&self.rotated, &mut self.numbers);
        let factors = self.factors(around, fit);
        code.fill(0);
        factors.write(self.quantizer.layout.factors, code);
        self.quantizer.layout.pack(&self.numbers, code);
    }

    /// How a centre differs from the first centroid, rotated.
    fn offset_of(&self, centre: &[f32]) -> Vec<f32> {
        let first = self.quantizer.centroid(0);
        let difference: Vec<f32> = centre.iter().zip(first).map(|(a, b)| a - b).collect();
        let mut offset = vec![0.0; self.quantizer.axes()];
        self.quantizer
            .rotate(self.kernels, &difference, &mut offset);
        offset
    }

    /// Finds the nearest centroid of a row and the grid vector of its residual; what it found stays
    /// in the fields.
    pub(super) fn fit(&mut self, row: &[f32]) -> Fit {
        self.residual.copy_from_slice(row);
        let centroids = &self.quantizer.centroids;
        centroids.take_from(self.kernels, &mut self.residual);
        let (residual, rotated) = (&self.residual, &mut self.rotated);
        self.quantizer.rotate(self.kernels, residual, rotated);
        self.grid.nearest(rotated, &mut self.numbers)
    }

    /// Squared length of the residual.
    pub(super) fn energy(&self) -> f64 {
        dot(&self.residual, &self.residual)
    }

    fn factors(&mut self, (centre, offset): (&[f32], &[f32]), fit: Fit) -> Factors {
        let quantizer = self.quantizer;
        let parts = self.parts(fit);
        let rescale = rounded(quantizer.layout.factors, parts.rescale as f32);
        quantizer.layout.values(&self.numbers, &mut self.rotated);
        let to_offset = f64::from(rescale) * dot(&self.rotated, offset);
        // What rounding took from the product with the residual itself: near vectors see the same.
        let lost = (f64::from(rescale) - parts.rescale) * fit.product;
        let add = match quantizer.metric {
            Guide::L2 => self.energy() + 2.0 * (to_offset + lost),
            Guide::InnerProduct | Guide::Cosine => to_offset + lost - dot(&self.residual, centre),
        };
        let unit = f64::from(rescale) * f64::from(quantizer.error_unit);
        let error = (parts.error + parts.outside).sqrt();
        Factors {
            add: (add / f64::from(quantizer.energy)) as f32,
            rescale,
            error: if unit > 0.0 {
                (error / unit) as f32
            } else {
                0.0
            },
        }
    }

    /// Splits the residual that was fitted last.
    pub(super) fn parts(&self, fit: Fit) -> Parts {
        let (along, energy) = (dot(&self.rotated, &self.rotated), self.energy());
        let common = f64::from(self.quantizer.outside.common);
        let (outside, wanted) = if self.quantizer.has_outside() {
            let outside = (energy - along).max(0.0);
            (outside, along + common * outside)
        } else {
            // All of a residual lies on the axes, however these were rounded.
            (0.0, energy)
        };
        let noise = self.noise * energy;
        if along <= 0.0 || fit.product <= 0.0 {
            return Parts {
                outside,
                ..Parts::default()
            };
        }
        let rescale = wanted / fit.product;
        Parts {
            rescale,
            along: wanted / along,
            error: (rescale * rescale * fit.norm - wanted * wanted / along).max(0.0) + noise,
            outside,
        }
    }
}

/// What a code makes of a residual: `y` on the axes, and the rest outside.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Parts {
    /// What the grid vector is multiplied by.
    pub(super) rescale: f64,
    /// How many times `y` the product is along `y`: more than once, to make up for what near
    /// vectors have in common outside the axes.
    pub(super) along: f64,
    /// Squared length of the product across `y`, and of what axes err by.
    pub(super) error: f64,
    /// Squared length of what lies outside the axes.
    pub(super) outside: f64,
}

/// Independent sums, so that the compiler may use registers.
const LANES: usize = 8;

/// Inner product in `f64`; the shorter one counts.
pub(super) fn dot(a: &[f32], b: &[f32]) -> f64 {
    let mut sums = [0.0; LANES];
    for (a, b) in a.chunks(LANES).zip(b.chunks(LANES)) {
        for (sum, (a, b)) in sums.iter_mut().zip(a.iter().zip(b)) {
            *sum += f64::from(*a) * f64::from(*b);
        }
    }
    sums.iter().sum()
}

/// Squared distance in `f64`; what one vector lacks counts as zero.
pub(super) fn squared_l2(a: &[f32], b: &[f32]) -> f64 {
    let b = b.iter().chain(std::iter::repeat(&0.0));
    let differences = a.iter().zip(b).map(|(a, b)| f64::from(*a) - f64::from(*b));
    differences.map(|difference| difference * difference).sum()
}
