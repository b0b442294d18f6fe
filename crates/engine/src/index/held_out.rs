//! Finds near copies of a row that stands for a query.
//!
//! A query is not in the data, but a row that stands for one and has a copy would find that at
//! once. Adjacency lists name only one of several copies, so hiding a row may hide the way to the
//! others. So a few copies are held out together. If a row has many copies, queries have many near
//! rows as well, and no copy is held out.

use pageway_kernels::DistanceFn;
use pageway_types::{Metric, NodeId, VectorRead};

use super::Index;
use crate::error::Result;
use crate::execution::{HeldOut, MOST_COPIES};
use crate::resolve;

/// A neighbour nearer than this share of the next one's distance counts as a copy. Most distances
/// are squared.
const NEAR: f32 = 0.002;
/// Rows that are compared byte by byte, at most, under metrics whose distances do not tell copies.
const READ: usize = 8;

/// Tells copies of a row among its neighbours.
pub(crate) struct CopyTest<'t> {
    index: &'t Index,
    distance: DistanceFn,
}

impl<'t> CopyTest<'t> {
    /// For rows of an index.
    ///
    /// # Errors
    /// A choice of kernels that cannot be.
    pub(crate) fn of(index: &'t Index) -> Result<Self> {
        let (element, metric) = (index.shape().element, index.metric());
        let distance = resolve::kernels()?.distance(element, metric);
        Ok(Self { index, distance })
    }

    /// The row with its copies among its true neighbours, nearest first.
    ///
    /// # Errors
    /// As reads.
    pub(crate) fn held_out(
        &self,
        (node, row): (NodeId, &[u8]),
        near: impl Iterator<Item = (NodeId, f32)>,
    ) -> Result<HeldOut> {
        let own = (self.distance)(row, row);
        let near = near.map(|(node, distance)| (node, (distance - own).abs()));
        let copies = if self.index.metric() == Metric::InnerProduct {
            self.equal_rows(row, near.filter(|(_, apart)| *apart == 0.0))?
        } else {
            let near: Vec<(NodeId, f32)> = near.take(MOST_COPIES + 2).collect();
            let copies = near.iter().take(nearer_by_far(&near));
            copies.map(|(node, _)| *node).collect()
        };
        Ok(HeldOut::new(node).beside(&copies))
    }

    /// The nodes that hold the same vector. Under the inner product, equal distances do not tell
    /// equal vectors.
    fn equal_rows(
        &self,
        row: &[u8],
        nodes: impl Iterator<Item = (NodeId, f32)>,
    ) -> Result<Vec<NodeId>> {
        let mut other = vec![0; row.len()];
        let mut equal = Vec::new();
        for (node, _) in nodes.take(READ) {
            self.index.read(node.0.into(), &mut other)?;
            equal.extend((other == row).then_some(node));
        }
        Ok(equal)
    }
}

/// How many neighbours are much nearer than the next one; counts up to one more than may be held
/// out.
fn nearer_by_far(near: &[(NodeId, f32)]) -> usize {
    let apart = |at: usize| near.get(at).map(|(_, apart)| *apart);
    let is_last = |count: &usize| {
        let last = apart(count - 1);
        last.zip(apart(*count).or(last))
            .is_some_and(|(last, next)| last <= NEAR * next)
    };
    (1..=MOST_COPIES + 1).rev().find(is_last).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn copies(apart: &[f32]) -> usize {
        let near: Vec<_> = apart.iter().map(|apart| (NodeId(0), *apart)).collect();
        nearer_by_far(&near)
    }

    #[test]
    fn copies_are_nearer_than_the_next_by_far() {
        assert_eq!(copies(&[]), 0);
        assert_eq!(copies(&[4.0]), 0);
        assert_eq!(copies(&[0.0, 4.0, 5.0]), 1);
        assert_eq!(copies(&[0.0, 0.001, 5.0, 6.0]), 2);
        assert_eq!(copies(&[0.1, 0.2, 5.0, 6.0]), 0);
        assert_eq!(copies(&[0.0; MOST_COPIES + 2]), MOST_COPIES + 1);
        assert_eq!(copies(&[0.0]), 1, "there are no others");
    }
}
