//! What codes of the sample show: where their errors lie, and what a code cut short lacks.

use pageway_kernels::KernelSet;
use pageway_types::{Cancelled, Progress};

use super::RaBitQuantizer;
use super::allocation::MAX_BITS;
use super::encoder::{Coder, dot, squared_l2};
use super::layout::Layout;
use super::rows::{BLOCK_ROWS, Rows};

/// Rows that are encoded for it.
const ROWS: usize = 1024;

/// Rows among which the nearest to some others are looked for, and how many others.
const NEAR_ROWS: usize = 4096;
const QUERIES: usize = 64;

/// Least share of the mean squared residual that such rows have.
const LEAST_ENERGY: f64 = 0.25;

/// Looks at pairs of near rows, encodes some rows, and keeps what they show in the quantizer.
pub(super) fn learn(
    quantizer: &mut RaBitQuantizer,
    rows: Rows<'_>,
    kernels: &'static KernelSet,
    progress: &dyn Progress,
) -> Result<(), Cancelled> {
    if quantizer.has_outside() {
        look_outside(quantizer, rows, kernels, progress)?;
    }
    let mut sums = Sums {
        errors: vec![0.0; quantizer.layout.segments.len()],
        noise: quantizer.frame.noise().collect(),
        ..Sums::default()
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

/// Sums over rows.
#[derive(Default)]
struct Sums {
    /// Squared errors of each segment, and of what lies outside the axes.
    errors: Vec<f64>,
    /// Of each axis, of residuals of length 1, squared.
    noise: Vec<f64>,
    outside: f64,
    /// Squared `rescale` of the rows.
    rescale: f64,
    /// `<g, r>` of whole codes, and with the first planes only.
    product: f64,
    prefixes: [f64; MAX_BITS],
}

impl Sums {
    fn add(&mut self, coder: &mut Coder<'_>, row: &[f32]) {
        let layout = &coder.quantizer.layout;
        let fit = coder.fit(row);
        let parts = coder.parts(fit);
        self.product += fit.product;
        self.rescale += parts.rescale * parts.rescale;
        self.outside += parts.outside;
        let mut values = vec![0.0; coder.numbers.len()];
        for (planes, prefix) in (1..=layout.planes()).zip(&mut self.prefixes) {
            prefix_values(layout, planes, &coder.numbers, &mut values);
            *prefix += dot(&values, &coder.rotated);
        }
        layout.values(&coder.numbers, &mut values);
        let energy = coder.energy();
        let mut rest = values.iter().zip(&coder.rotated).zip(&self.noise);
        for (segment, error) in layout.segments.iter().zip(&mut self.errors) {
            for ((grid, y), noise) in rest.by_ref().take(segment.width) {
                let across = parts.rescale * f64::from(*grid) - parts.along * f64::from(*y);
                *error += across * across + noise * energy;
            }
        }
    }

    fn keep(&self, quantizer: &mut RaBitQuantizer) {
        let total = self.errors.iter().sum::<f64>() + self.outside;
        let share = |error: f64| {
            if total > 0.0 {
                (error / total) as f32
            } else {
                0.0
            }
        };
        let segments = quantizer.layout.segments.iter_mut();
        for (segment, error) in segments.zip(&self.errors) {
            segment.error_share = share(*error);
        }
        quantizer.outside.error_share = share(self.outside);
        let unit = (total / self.rescale).sqrt() as f32;
        if unit > 0.0 && unit.is_finite() {
            quantizer.error_unit = unit;
        }
        for (ratio, prefix) in quantizer.prefixes.iter_mut().zip(self.prefixes) {
            if prefix > 0.0 {
                *ratio = (self.product / prefix) as f32;
            }
        }
    }
}

/// Learns what near rows have in common outside the axes: codes leave that part out of their inner
/// product, and the nearest vectors are the ones that count.
fn look_outside(
    quantizer: &mut RaBitQuantizer,
    rows: Rows<'_>,
    kernels: &'static KernelSet,
    progress: &dyn Progress,
) -> Result<(), Cancelled> {
    let (mut common, mut cosines) = (Common::default(), Vec::with_capacity(QUERIES));
    let mut pair = [0, 1].map(|_| Part::new(quantizer));
    let among = with_residual(quantizer, rows, NEAR_ROWS, kernels);
    for query in with_residual(quantizer, rows, QUERIES, kernels) {
        progress.check()?;
        let Some(near) = nearest(rows, query, &among) else {
            continue;
        };
        take_pair(&mut pair, quantizer, (rows, [query, near]), kernels);
        let [a, b] = &pair;
        let product = a.product_outside(b);
        let square = a.product_outside(a).max(0.0) * b.product_outside(b).max(0.0);
        if square > 0.0 {
            common.products += product;
            common.lengths += square.sqrt();
            cosines.push((product / square.sqrt()).clamp(-1.0, 1.0));
        }
    }
    if common.lengths > 0.0 {
        let mean = (common.products / common.lengths).clamp(0.0, 1.0);
        let squares = cosines
            .iter()
            .map(|cosine| (cosine - mean) * (cosine - mean));
        quantizer.outside.common = mean as f32;
        quantizer.outside.spread = (squares.sum::<f64>() / cosines.len() as f64) as f32;
    }
    Ok(())
}

/// Takes two rows from the centroid of the second, which is the one that has the code.
fn take_pair(
    pair: &mut [Part; 2],
    quantizer: &RaBitQuantizer,
    (rows, numbers): (Rows<'_>, [usize; 2]),
    kernels: &KernelSet,
) {
    for (part, number) in pair.iter_mut().zip(numbers) {
        rows.copy(number, &mut part.residual);
    }
    let [_, coded] = &*pair;
    let centroid = quantizer.centroids.nearest(kernels, &coded.residual);
    for part in pair {
        part.take(quantizer, centroid, kernels);
    }
}

/// Those of some rows that have a residual worth the name. Of rows that are what they differ by
/// from the mean of a cluster, one that is a cluster of its own has none: it is nearest to nearly
/// all, and has nothing in common with any.
fn with_residual(
    quantizer: &RaBitQuantizer,
    rows: Rows<'_>,
    count: usize,
    kernels: &KernelSet,
) -> Vec<usize> {
    let least = LEAST_ENERGY * f64::from(quantizer.energy);
    let mut row = vec![0.0; rows.dimension()];
    let has_residual = |number: &usize| {
        rows.copy(*number, &mut row);
        let centroid = quantizer.centroids.nearest(kernels, &row);
        squared_l2(&row, quantizer.centroid(centroid)) >= least
    };
    rows.spread(count).filter(has_residual).collect()
}

/// Sums over pairs of near rows.
#[derive(Default)]
struct Common {
    /// Inner products outside the axes.
    products: f64,
    /// Products of the lengths there.
    lengths: f64,
}

/// A row less a centroid, and the same on the axes.
struct Part {
    residual: Vec<f32>,
    rotated: Vec<f32>,
}

impl Part {
    fn new(quantizer: &RaBitQuantizer) -> Self {
        Self {
            residual: vec![0.0; quantizer.dimension()],
            rotated: vec![0.0; quantizer.axes()],
        }
    }

    /// Takes a centroid from the row that `residual` holds.
    fn take(&mut self, quantizer: &RaBitQuantizer, centroid: usize, kernels: &KernelSet) {
        for (value, mean) in self.residual.iter_mut().zip(quantizer.centroid(centroid)) {
            *value -= mean;
        }
        quantizer.rotate(kernels, &self.residual, &mut self.rotated);
    }

    /// Inner product with another row of what lies outside the axes.
    fn product_outside(&self, other: &Self) -> f64 {
        dot(&self.residual, &other.residual) - dot(&self.rotated, &other.rotated)
    }
}

/// The row nearest to another one among some rows, that one and its equals left out.
fn nearest(rows: Rows<'_>, query: usize, among: &[usize]) -> Option<usize> {
    let (mut from, mut row) = (vec![0.0; rows.dimension()], vec![0.0; rows.dimension()]);
    rows.copy(query, &mut from);
    let mut nearest = None;
    for &number in among {
        rows.copy(number, &mut row);
        let distance = squared_l2(&from, &row);
        let best = nearest.map_or(f64::INFINITY, |(distance, _)| distance);
        if distance > 0.0 && distance < best {
            nearest = Some((distance, number));
        }
    }
    nearest.map(|(_, number)| number)
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
