//! The error of codes: the part of a row that they lose.

use pageway_quant::normalise;
use pageway_types::{Guide, NodeId};

use super::codes::Encoding;
use crate::error::Result;
use crate::resolve;

/// Rows that are looked at, at most.
const ROWS: u32 = 1024;

impl Encoding<'_> {
    /// Mean squared error of the codes of some of the nodes `0 .. count`, evenly drawn, as a share
    /// of the variance of their rows: about cluster means if codes are made around these, otherwise
    /// about the mean of the rows. 0 if rows do not vary. Costs a read, a code and its inverse for
    /// each of 1,024 rows at most.
    ///
    /// # Errors
    /// `Io` as rows are.
    pub(super) fn error(&self, count: u32) -> Result<f64> {
        let shape = self.vectors.shape();
        let dimension = shape.dimension as usize;
        let kernels = resolve::kernels()?;
        let widen = kernels.widen(shape.element);
        let mut encoder = self.quantizer.encoder(shape.element, kernels);
        let mut raw = vec![0; shape.row_bytes()];
        let mut code = vec![0; self.quantizer.code_bytes()];
        let (mut row, mut mean, mut decoded) = (
            vec![0.0; dimension],
            vec![0.0; dimension],
            vec![0.0; dimension],
        );
        let mut spread = Spread::new(dimension);
        let mut error = 0.0;
        let sampled = count.min(ROWS);
        for at in 0..sampled {
            let node = (u64::from(at) * u64::from(count) / u64::from(sampled)) as u32;
            self.read(node.into(), &mut raw)?;
            widen(&raw, &mut row);
            if self.quantizer.metric() == Guide::Cosine {
                normalise(&mut row);
            }
            match self.around {
                Some(table) => {
                    table.mean(table.cluster_of(NodeId(node)), &mut mean);
                    encoder.encode_around(&mean, &raw, &mut code);
                }
                None => encoder.encode(&raw, &mut code),
            }
            row.iter_mut()
                .zip(&mean)
                .for_each(|(value, mean)| *value -= mean);
            if self.around.is_some() {
                self.quantizer.decode_around(kernels, &code, &mut decoded);
            } else {
                self.quantizer.decode(kernels, &code, &mut decoded);
            }
            error += squared_difference(&row, &decoded);
            spread.add(&row);
        }
        let variance = spread.variance(self.around.is_some());
        Ok(if variance > 0.0 {
            error / variance
        } else {
            0.0
        })
    }
}

/// Sums of rows.
struct Spread {
    sums: Vec<f64>,
    squares: f64,
    count: f64,
}

impl Spread {
    fn new(dimension: usize) -> Self {
        Self {
            sums: vec![0.0; dimension],
            squares: 0.0,
            count: 0.0,
        }
    }

    fn add(&mut self, row: &[f32]) {
        for (sum, value) in self.sums.iter_mut().zip(row) {
            *sum += f64::from(*value);
            self.squares += f64::from(*value) * f64::from(*value);
        }
        self.count += 1.0;
    }

    /// Sum of squared differences from the mean, or from zero if rows are `centred`.
    fn variance(&self, centred: bool) -> f64 {
        let means: f64 = self.sums.iter().map(|sum| sum * sum).sum();
        if centred || self.count == 0.0 {
            self.squares
        } else {
            self.squares - means / self.count
        }
    }
}

fn squared_difference(one: &[f32], other: &[f32]) -> f64 {
    let differences = one
        .iter()
        .zip(other)
        .map(|(one, other)| f64::from(one - other));
    differences.map(|difference| difference * difference).sum()
}
