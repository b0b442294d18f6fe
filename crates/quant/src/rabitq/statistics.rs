//! What codes of the sample show: where their errors lie, and what a code cut short lacks.

use pageway_kernels::KernelSet;
use pageway_types::{Cancelled, Progress};

use super::RaBitQuantizer;
use super::allocation::MAX_BITS;
use super::encoder::{Coder, dot, rescale};
use super::layout::Layout;
use super::rows::{BLOCK_ROWS, Rows};

/// Rows that are encoded for it.
const ROWS: usize = 1024;

/// Sums over rows.
struct Sums {
    /// Squared errors of each segment, then of what lies outside the axes.
    errors: Vec<f64>,
    /// `<g, r>` of whole codes, and with the first planes only.
    product: f64,
    prefixes: [f64; MAX_BITS],
}

/// Encodes rows of the sample and keeps what they show in the quantizer.
pub(super) fn learn(
    quantizer: &mut RaBitQuantizer,
    rows: Rows<'_>,
    kernels: &'static KernelSet,
    progress: &dyn Progress,
) -> Result<(), Cancelled> {
    let segments = quantizer.layout.segments.len();
    let mut sums = Sums {
        errors: vec![0.0; segments + 1],
        product: 0.0,
        prefixes: [0.0; MAX_BITS],
    };
    let mut coder = Coder::new(quantizer, kernels);
    let mut row = vec![0.0; rows.dimension()];
    for (index, number) in rows.spread(ROWS).enumerate() {
        if index.is_multiple_of(BLOCK_ROWS) {
            progress.check()?;
        }
        rows.copy(number, &mut row);
        sums.add(&mut coder, &row);
    }
    sums.keep(quantizer);
    Ok(())
}

impl Sums {
    fn add(&mut self, coder: &mut Coder<'_>, row: &[f32]) {
        let layout = &coder.quantizer.layout;
        let fit = coder.fit(row, 0);
        let energy = coder.energy();
        let rescale = rescale(energy, fit);
        self.product += fit.product;
        let mut values = vec![0.0; coder.numbers.len()];
        for (planes, prefix) in (1..=layout.planes()).zip(&mut self.prefixes) {
            prefix_values(layout, planes, &coder.numbers, &mut values);
            *prefix += dot(&values, &coder.rotated);
        }
        layout.values(&coder.numbers, &mut values);
        let (mut rest, mut kept) = (values.iter().zip(&coder.rotated), 0.0);
        for (segment, error) in layout.segments.iter().zip(&mut self.errors) {
            for (grid, y) in rest.by_ref().take(segment.width) {
                let difference = rescale * f64::from(*grid) - f64::from(*y);
                *error += difference * difference;
                kept += f64::from(*y) * f64::from(*y);
            }
        }
        if let Some(outside) = self.errors.last_mut() {
            *outside += (energy - kept).max(0.0);
        }
    }

    fn keep(&self, quantizer: &mut RaBitQuantizer) {
        let total: f64 = self.errors.iter().sum();
        let share = |error: &f64| {
            if total > 0.0 {
                (error / total) as f32
            } else {
                0.0
            }
        };
        let segments = quantizer.layout.segments.iter_mut();
        for (segment, error) in segments.zip(&self.errors) {
            segment.error_share = share(error);
        }
        quantizer.outside.error_share = self.errors.last().map_or(0.0, share);
        for (ratio, prefix) in quantizer.prefixes.iter_mut().zip(self.prefixes) {
            if prefix > 0.0 {
                *ratio = (self.product / prefix) as f32;
            }
        }
    }
}

/// What the first `planes` bits of each axis stand for: the middle of the numbers that share them.
fn prefix_values(layout: &Layout, planes: u8, numbers: &[u8], out: &mut [f32]) {
    for ((segment, number), out) in layout.per_axis().zip(numbers).zip(out) {
        let left = segment.bits.saturating_sub(planes);
        let (kept, count) = (number >> left, f32::from(1_u16 << left));
        let middle = f32::from((1_u16 << (segment.bits - left)) - 1) / 2.0;
        *out = (f32::from(kept) - middle) * count * segment.step;
    }
}
