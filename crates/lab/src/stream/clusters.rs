//! Rows in the order of clusters: each belongs to the nearest of a few rows that are drawn.

use pageway::lab::SplitMix64;
use pageway::{Error, Progress, Result};

use crate::in_memory::InMemory;

/// Clusters.
const CLUSTERS: u64 = 32;
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
pub fn clustered(data: InMemory<'_>, progress: &dyn Progress) -> Result<Clustered> {
    let count = data.count();
    if count == 0 {
        return Err(Error::invalid("no rows to cut into clusters"));
    }
    let mut random = SplitMix64::new(SEED);
    let drawn = data.rows_at((0..CLUSTERS.min(count)).map(|_| random.below(count)));
    let to_drawn = InMemory {
        rows: &drawn,
        queries: data.rows,
        ..data
    };
    let nearest = to_drawn.nearest(1, progress)?;
    let cluster_of = |at: u64| nearest.ids_of(at as usize).first().copied().unwrap_or(0);
    let mut order: Vec<u64> = (0..count).collect();
    order.sort_by_key(|at| cluster_of(*at));
    let ends = order.chunk_by(|one, next| cluster_of(*one) == cluster_of(*next));
    let ends = ends.scan(0, |end, own| {
        *end += own.len() as u64;
        Some(*end)
    });
    Ok(Clustered {
        bounds: std::iter::once(0).chain(ends).collect(),
        rows: data.rows_at(order),
    })
}

#[cfg(test)]
mod tests {
    use pageway::NoProgress;

    use super::*;
    use crate::in_memory::tests::of_bytes;

    #[test]
    fn rows_of_a_cluster_follow_each_other_and_none_is_lost() {
        let rows: Vec<u8> = (0..500u32)
            .flat_map(|at| [(at % 3 * 90) as u8, 7, (at % 3) as u8, (at / 50) as u8])
            .collect();
        let sorted = |rows: &[u8]| {
            let mut rows: Vec<Vec<u8>> = rows.chunks(4).map(<[u8]>::to_vec).collect();
            rows.sort();
            rows
        };
        let made = |rows: &[u8]| clustered(of_bytes(rows, &[], 4), &NoProgress);
        let Clustered { rows: own, bounds } = made(&rows).unwrap();
        assert_eq!(sorted(&own), sorted(&rows));
        assert_eq!((bounds[0], bounds[bounds.len() - 1]), (0, 500));
        // Three groups far apart: no cluster has rows of two.
        for part in bounds.windows(2) {
            let own = &own[part[0] as usize * 4..part[1] as usize * 4];
            assert!(!own.is_empty() && own.chunks(4).all(|row| row[0] == own[0]));
        }
        assert!(made(&[]).is_err());
    }
}
