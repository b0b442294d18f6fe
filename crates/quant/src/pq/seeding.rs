//! k-means++: starting centroids that are spread out like the rows.
//!
//! Each centroid is a row drawn with probability proportional to its squared distance from the
//! centroids chosen so far. The draw looks at 16,384 rows at most, evenly spaced over the sample:
//! Lloyd rounds over all rows follow, and more rows to choose from do not improve their result.
//! Rows are stored in blocks of 256 as the columns of a matrix, so that the kernel that fills
//! look-up tables measures a new centroid against a whole block at once.
#![expect(
    clippy::indexing_slicing,
    reason = "slots lie within rows of 256; a slip must stop"
)]

use pageway_types::{Cancelled, SplitMix64};

use super::CENTROIDS;
use super::columns::Columns;
use super::train::Context;

/// Most rows the start chooses from.
const LIMIT: usize = 16_384;

/// Fills `centroids` (`width` rows of 256 values) with rows of `columns`. When there are fewer
/// distinct rows than centroids, the rest repeat the first.
pub(super) fn seed(
    columns: &Columns,
    context: Context<'_>,
    rng: &mut SplitMix64,
    centroids: &mut [f32],
) -> Result<(), Cancelled> {
    let mut seeds = Seeds::new(columns, context)?;
    let first = seeds.row(rng.below(seeds.count as u64) as usize);
    let mut chosen = first.clone();
    for slot in 0..CENTROIDS {
        put(centroids, slot, &chosen);
        seeds.approach(&chosen, context)?;
        chosen = seeds
            .draw(rng)
            .map_or_else(|| first.clone(), |index| seeds.row(index));
    }
    Ok(())
}

/// Writes one centroid into the transposed matrix.
pub(super) fn put(centroids: &mut [f32], slot: usize, row: &[f32]) {
    for (values, &component) in centroids.chunks_exact_mut(CENTROIDS).zip(row) {
        values[slot] = component;
    }
}

/// Bytes [`seed`] allocates for `rows` rows.
pub(super) fn bytes(rows: usize, width: usize) -> usize {
    let blocks = rows.min(LIMIT).div_ceil(CENTROIDS);
    let block = CENTROIDS
        .saturating_mul(width + 1)
        .saturating_mul(size_of::<f32>());
    blocks.saturating_mul(block + size_of::<f64>())
}

/// The rows to choose from, with their distances from the nearest centroid chosen so far.
struct Seeds {
    /// Blocks of `width` times 256 values; the last is padded with zeros.
    blocks: Vec<f32>,
    /// Squared distance by row, 0 in the padding, which is therefore never drawn.
    nearest: Vec<f32>,
    /// Sums of `nearest`, by block.
    sums: Vec<f64>,
    width: usize,
    count: usize,
}

impl Seeds {
    fn new(columns: &Columns, context: Context<'_>) -> Result<Self, Cancelled> {
        let (width, available) = (columns.width, columns.count());
        let count = available.min(LIMIT);
        let block_count = count.div_ceil(CENTROIDS);
        let mut blocks = vec![0.0; block_count * width * CENTROIDS];
        for (number, block) in blocks.chunks_exact_mut(width * CENTROIDS).enumerate() {
            context.progress.check()?;
            let start = number * CENTROIDS;
            for index in start..count.min(start + CENTROIDS) {
                put(block, index - start, columns.row(index * available / count));
            }
        }
        let mut nearest = vec![f32::INFINITY; count];
        nearest.resize(block_count * CENTROIDS, 0.0);
        Ok(Self {
            blocks,
            nearest,
            sums: vec![0.0; block_count],
            width,
            count,
        })
    }

    fn row(&self, index: usize) -> Vec<f32> {
        let (block, slot) = (index / CENTROIDS, index % CENTROIDS);
        let values = self
            .blocks
            .chunks_exact(CENTROIDS)
            .skip(block * self.width)
            .take(self.width);
        values.map(|values| values[slot]).collect()
    }

    /// Takes a new centroid into account.
    fn approach(&mut self, chosen: &[f32], context: Context<'_>) -> Result<(), Cancelled> {
        let measure = context.kernels.l2_to_256();
        let mut distances = [0.0; CENTROIDS];
        let blocks = self.blocks.chunks_exact(self.width * CENTROIDS);
        let states = self.nearest.chunks_exact_mut(CENTROIDS).zip(&mut self.sums);
        for (block, (nearest, sum)) in blocks.zip(states) {
            context.progress.check()?;
            measure(chosen, block, &mut distances);
            *sum = 0.0;
            for (nearest, &distance) in nearest.iter_mut().zip(&distances) {
                *nearest = nearest.min(distance);
                *sum += f64::from(*nearest);
            }
        }
        Ok(())
    }

    /// A row by weight of its distance; `None` when every row coincides with a centroid.
    fn draw(&self, rng: &mut SplitMix64) -> Option<usize> {
        let mut left = rng.unit() * self.sums.iter().sum::<f64>();
        let mut drawn = None;
        let blocks = self
            .nearest
            .chunks_exact(CENTROIDS)
            .zip(&self.sums)
            .enumerate();
        for (number, (nearest, &sum)) in blocks.filter(|(_, (_, sum))| **sum > 0.0) {
            if left >= sum {
                left -= sum;
                drawn = last_positive(nearest).map(|slot| number * CENTROIDS + slot);
                continue;
            }
            for (slot, &distance) in nearest.iter().enumerate().filter(|(_, d)| **d > 0.0) {
                drawn = Some(number * CENTROIDS + slot);
                left -= f64::from(distance);
                if left < 0.0 {
                    return drawn;
                }
            }
        }
        drawn
    }
}

fn last_positive(values: &[f32]) -> Option<usize> {
    values.iter().rposition(|&value| value > 0.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use pageway_kernels::KernelSet;
    use pageway_types::NoProgress;

    fn seeded(values: &[f32], width: usize) -> Vec<f32> {
        let columns = Columns {
            values: values.to_vec(),
            width,
        };
        let kernels = KernelSet::detect().unwrap();
        let context = Context {
            kernels,
            progress: &NoProgress,
        };
        let mut centroids = vec![f32::NAN; width * CENTROIDS];
        seed(
            &columns,
            context,
            &mut SplitMix64::stream(1, 0),
            &mut centroids,
        )
        .unwrap();
        centroids
    }

    #[test]
    fn every_distinct_row_becomes_a_centroid() {
        let values: Vec<f32> = (0..600).map(|i| (i % 200) as f32).collect();
        let mut found = seeded(&values, 1);
        found.sort_by(f32::total_cmp);
        found.dedup();
        assert_eq!(found, (0..200).map(|i| i as f32).collect::<Vec<_>>());
    }

    #[test]
    fn one_row_fills_every_slot() {
        let centroids = seeded(&[3.0, -4.0], 2);
        assert!(centroids[..CENTROIDS].iter().all(|&value| value == 3.0));
        assert!(centroids[CENTROIDS..].iter().all(|&value| value == -4.0));
    }

    #[test]
    fn reaches_a_rare_group_far_away() {
        let mut values = vec![0.0f32; 20_000];
        for (index, value) in values.iter_mut().enumerate() {
            *value = if index % 1000 == 7 {
                1e6 + index as f32
            } else {
                (index % 5) as f32
            };
        }
        assert!(seeded(&values, 1).iter().any(|&value| value > 1e5));
    }
}
