//! The grid vector with the largest cosine to a given one.
//!
//! Only the direction of a grid vector matters, so the best one is found by a scale `t`: its
//! numbers are those of `t * y`, cut to the grid, for the `t` that gives the largest cosine. The
//! cosine hardly changes near its peak: a few scales around the expected one are tried, then single
//! axes are moved by one step as long as that helps. Against the exact search over all `t` at which
//! a number changes, `tests.rs` finds 1 % more squared error on average.
//!
//! Source: Gao et al. (SIGMOD 2025), section 3; moving single axes is our refinement.

use super::allocation::STEPS;
use super::layout::{Layout, Segment};

/// Scales that are tried, in parts of the expected one.
const SCALES: [f32; 14] = [
    0.5, 0.6, 0.7, 0.78, 0.85, 0.92, 1.0, 1.08, 1.16, 1.25, 1.36, 1.5, 1.8, 2.3,
];

/// Scales that are tried next, in parts of the best one.
const FINE_SCALES: [f32; 4] = [0.95, 0.975, 1.025, 1.05];

/// Passes over the axes to move single ones.
const PASSES: usize = 4;

/// Independent sums, so that the compiler may use registers.
const LANES: usize = 8;

/// How well a grid vector `g` fits `y`.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Fit {
    /// `<g, y>`
    pub(super) product: f64,
    /// `|g|^2`
    pub(super) norm: f64,
}

impl Fit {
    /// True when the cosine is larger than that of `other`; no product is negative.
    fn is_better(self, other: Self) -> bool {
        self.product * self.product * other.norm > other.product * other.product * self.norm
    }
}

/// Finds grid vectors for one layout; holds the scratch of one vector.
pub(super) struct Grid {
    /// What is fixed, for each axis.
    axes: Vec<Axis>,
    /// Magnitudes of the vector in steps.
    magnitudes: Vec<f32>,
    /// Levels of the magnitudes; the grid has them at `level + 1/2`.
    levels: Vec<f32>,
    /// Length of a vector that fills the grid as it should.
    length: f64,
    /// True when some axis has more than its sign.
    has_levels: bool,
}

/// One axis of the grid.
#[derive(Clone, Copy, Debug)]
struct Axis {
    step: f32,
    /// Squared step.
    weight: f32,
    /// Greatest level: `2^(bits-1) - 1`.
    top: f32,
}

impl Grid {
    pub(super) fn new(layout: &Layout) -> Self {
        let axis = |segment: Segment| Axis {
            step: segment.step,
            weight: segment.step * segment.step,
            top: f32::from((1_u16 << (segment.bits - 1)) - 1),
        };
        let deviation = |segment: &Segment| {
            let normal = STEPS.get(usize::from(segment.bits)).copied();
            f64::from(segment.step / normal.unwrap_or(1.0))
        };
        let energy = layout.segments.iter();
        let energy: f64 = energy
            .map(|s| s.width as f64 * deviation(s) * deviation(s))
            .sum();
        Self {
            axes: layout.per_axis().map(axis).collect(),
            magnitudes: vec![0.0; layout.axes()],
            levels: vec![0.0; layout.axes()],
            length: energy.sqrt(),
            has_levels: layout.planes() > 1,
        }
    }

    pub(super) const fn bytes(axes: usize) -> usize {
        axes.saturating_mul(size_of::<Axis>() + 2 * size_of::<f32>())
    }

    /// Writes the numbers of the grid vector nearest in direction to `y`, one per axis.
    pub(super) fn nearest(&mut self, y: &[f32], numbers: &mut [u8]) -> Fit {
        let axes = self.axes.iter().zip(y);
        for (magnitude, (axis, y)) in self.magnitudes.iter_mut().zip(axes) {
            *magnitude = y.abs() / axis.step;
        }
        let mut fit = if self.has_levels {
            let scale = self.best_scale(y);
            self.set_levels(scale);
            self.measure()
        } else {
            self.levels.fill(0.0);
            self.measure()
        };
        if self.has_levels {
            for _ in 0..PASSES {
                if !self.move_axes(&mut fit) {
                    break;
                }
            }
        }
        self.write(y, numbers);
        fit
    }

    /// The scale tried that gives the largest cosine.
    fn best_scale(&mut self, y: &[f32]) -> f32 {
        let energy: f64 = y.iter().map(|y| f64::from(*y) * f64::from(*y)).sum();
        if energy <= 0.0 {
            return 0.0;
        }
        let expected = (self.length / energy.sqrt()) as f32;
        let coarse = self.best_of(expected, &SCALES, (expected, Fit::default()));
        self.best_of(coarse.0, &FINE_SCALES, coarse).0
    }

    /// The best of parts of a scale and of the best one so far, with its fit.
    fn best_of(&mut self, scale: f32, parts: &[f32], best: (f32, Fit)) -> (f32, Fit) {
        let mut best = best;
        for part in parts {
            self.set_levels(part * scale);
            let fit = self.measure();
            if best.1.product == 0.0 || fit.is_better(best.1) {
                best = (part * scale, fit);
            }
        }
        best
    }

    fn set_levels(&mut self, scale: f32) {
        let magnitudes = self.magnitudes.iter().zip(&self.axes);
        for (level, (magnitude, axis)) in self.levels.iter_mut().zip(magnitudes) {
            *level = (scale * magnitude).min(axis.top) as i32 as f32;
        }
    }

    /// Product and norm of the levels as they are.
    fn measure(&self) -> Fit {
        let (mut products, mut norms) = ([0.0_f32; LANES], [0.0_f32; LANES]);
        let chunks = self.levels.chunks(LANES).zip(self.magnitudes.chunks(LANES));
        for ((levels, magnitudes), axes) in chunks.zip(self.axes.chunks(LANES)) {
            let sums = products.iter_mut().zip(&mut norms);
            let terms = levels.iter().zip(magnitudes).zip(axes);
            for ((product, norm), ((level, magnitude), axis)) in sums.zip(terms) {
                let value = level + 0.5;
                *product += axis.weight * value * magnitude;
                *norm += axis.weight * value * value;
            }
        }
        let total = |lanes: [f32; LANES]| lanes.iter().map(|lane| f64::from(*lane)).sum();
        Fit {
            product: total(products),
            norm: total(norms),
        }
    }

    /// Moves every axis by one level where that enlarges the cosine; true when one was moved.
    fn move_axes(&mut self, fit: &mut Fit) -> bool {
        let mut moved = false;
        let axes = self.axes.iter().zip(&self.magnitudes);
        for (level, (axis, magnitude)) in self.levels.iter_mut().zip(axes) {
            for next in [*level + 1.0, *level - 1.0] {
                if !(0.0..=axis.top).contains(&next) {
                    continue;
                }
                let weight = f64::from(axis.weight);
                let (old, new) = (f64::from(*level) + 0.5, f64::from(next) + 0.5);
                let changed = Fit {
                    product: fit.product + weight * f64::from(*magnitude) * (new - old),
                    norm: fit.norm + weight * (new * new - old * old),
                };
                if changed.is_better(*fit) {
                    (*fit, *level, moved) = (changed, next, true);
                    break;
                }
            }
        }
        moved
    }

    fn write(&self, y: &[f32], numbers: &mut [u8]) {
        let levels = self.levels.iter().zip(&self.axes);
        for ((number, y), (level, axis)) in numbers.iter_mut().zip(y).zip(levels) {
            let (level, middle) = (*level as u8, axis.top as u8);
            *number = if *y >= 0.0 {
                middle + 1 + level
            } else {
                middle - level
            };
        }
    }
}
