//! Rows in the order of clusters: each belongs to the nearest of a few rows that are drawn.

use pageway::lab::SplitMix64;
use pageway::{Error, Metric, Progress, Result, VectorShape};

use crate::nearest::nearest;

/// Clusters.
const CLUSTERS: usize = 32;
/// Seed of the rows that are drawn.
const SEED: u64 = 1;

/// Data cut into clusters that follow each other.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Clustered {
    /// All rows, cluster by cluster.
    pub rows: Vec<u8>,
    /// Where each cluster begins, and where the last ends, in rows.
    pub bounds: Vec<u64>,
}

/// Puts rows in the order of clusters. Costs a distance per row and cluster.
///
/// # Errors
/// `InvalidInput` without rows; `Cancelled`.
pub fn clustered(
    rows: &[u8],
    (shape, metric): (VectorShape, Metric),
    progress: &dyn Progress,
) -> Result<Clustered> {
    let row_bytes = shape.row_bytes();
    let count = rows.len() / row_bytes;
    if count == 0 {
        return Err(Error::invalid("no rows to cut into clusters"));
    }
    let row = |at: usize| rows.get(at * row_bytes..(at + 1) * row_bytes);
    let mut random = SplitMix64::new(SEED);
    let drawn = (0..CLUSTERS.min(count)).filter_map(|_| row(random.below(count as u64) as usize));
    let drawn: Vec<u8> = drawn.flatten().copied().collect();
    let nearest = nearest(&drawn, rows, (shape, metric), 1, progress)?;
    let cluster_of = |at: usize| nearest.ids_of(at).first().copied().unwrap_or(0);
    let mut order: Vec<usize> = (0..count).collect();
    order.sort_by_key(|at| cluster_of(*at));
    let ends = order.chunk_by(|one, next| cluster_of(*one) == cluster_of(*next));
    let ends = ends.scan(0, |end, own| {
        *end += own.len() as u64;
        Some(*end)
    });
    Ok(Clustered {
        bounds: std::iter::once(0).chain(ends).collect(),
        rows: order
            .into_iter()
            .filter_map(row)
            .flatten()
            .copied()
            .collect(),
    })
}

#[cfg(test)]
mod tests {
    use pageway::{ElementType, NoProgress};

    use super::*;

    #[test]
    fn rows_of_a_cluster_follow_each_other_and_none_is_lost() {
        let shape = VectorShape {
            dimension: 4,
            element: ElementType::U8,
        };
        let rows: Vec<u8> = (0..500u32)
            .flat_map(|at| [(at % 3 * 90) as u8, 7, (at % 3) as u8, (at / 50) as u8])
            .collect();
        let sorted = |rows: &[u8]| {
            let mut rows: Vec<Vec<u8>> = rows.chunks(4).map(<[u8]>::to_vec).collect();
            rows.sort();
            rows
        };
        let Clustered { rows: own, bounds } =
            clustered(&rows, (shape, Metric::L2), &NoProgress).unwrap();
        assert_eq!(sorted(&own), sorted(&rows));
        assert_eq!((bounds[0], bounds[bounds.len() - 1]), (0, 500));
        // Three groups far apart: no cluster has rows of two.
        for part in bounds.windows(2) {
            let own = &own[part[0] as usize * 4..part[1] as usize * 4];
            assert!(!own.is_empty() && own.chunks(4).all(|row| row[0] == own[0]));
        }
        assert!(clustered(&[], (shape, Metric::L2), &NoProgress).is_err());
    }
}
