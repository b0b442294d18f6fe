//! All pairs of one leaf.
//!
//! Rows are multiplied by blocks of a panel with all rows from that block on, or behind the rows of
//! their own graph, whose neighbours are known: each pair once. A pair counts when it is among the
//! nearest so far of either row, which vector code decides for a whole panel at a time.
#![expect(
    clippy::indexing_slicing,
    reason = "buffers are sized for the largest leaf; a slip must stop"
)]

use pageway_kernels::{NearFn, PANEL_ROWS, lanes, panel_values};

use super::groups::Member;
use super::reservoir::HASH_BITS;
use super::sizes::LeafSizes;
use crate::error::{GraphError, try_filled};
use crate::matrix::{NOBODY, Panels, Rows, insert};
use crate::vectors::VectorSet;

/// Rows of one leaf, and the nearest of each.
pub(super) struct Leaf {
    rows: Rows,
    panels: Panels,
    origin: Vec<f32>,
    products: Vec<f32>,
    /// A value per row and plane: how far above the plane the row lies.
    sketches: Vec<f32>,
    knn: usize,
    /// The nearest of each row, as many for each.
    nearest: Vec<(f32, u32)>,
    /// Distance of the last of these, by panels.
    limits: Vec<f32>,
}

impl Leaf {
    pub(super) fn new(sizes: &LeafSizes) -> Result<Self, GraphError> {
        let LeafSizes {
            leaf,
            knn,
            dimension,
            ..
        } = *sizes;
        let padded = leaf.next_multiple_of(PANEL_ROWS);
        Ok(Self {
            rows: Rows::new(leaf, dimension)?,
            panels: Panels::new(leaf, dimension)?,
            origin: try_filled(dimension, 0.0, "origin")?,
            products: try_filled(PANEL_ROWS * padded, 0.0, "products")?,
            sketches: try_filled(leaf * PANEL_ROWS, 0.0, "sketches")?,
            knn,
            nearest: try_filled(leaf * knn, NOBODY, "nearest")?,
            limits: try_filled(padded, f32::INFINITY, "limits")?,
        })
    }

    /// Bytes that `new` with the same argument takes.
    pub(super) fn bytes(sizes: &LeafSizes) -> u64 {
        let LeafSizes {
            leaf,
            knn,
            dimension,
            ..
        } = *sizes;
        let padded = leaf.next_multiple_of(PANEL_ROWS);
        let floats = dimension + PANEL_ROWS * (padded + leaf) + padded;
        let own = floats * size_of::<f32>() + leaf * knn * size_of_val(&NOBODY);
        Rows::bytes(leaf, dimension) + Panels::bytes(leaf, dimension) + own as u64
    }

    /// Finds the nearest of each member among those that it is compared with: the members from that
    /// of `first_other` on, and those for which it is such. `first_other` has a place for each
    /// member, behind that of the member, and ascends.
    pub(super) fn compare(
        &mut self,
        vectors: &VectorSet<'_>,
        (members, first_other): (&[Member], &[usize]),
        planes: &Panels,
    ) {
        let (count, dimension) = (members.len(), self.origin.len());
        self.rows
            .load(vectors, members.iter().map(|member| member.node()));
        // Of rows as they are: the sketch of a node must not depend on the leaf.
        let sketches = &mut self.sketches[..count * PANEL_ROWS];
        vectors.products()(self.rows.values(), planes.from(0), dimension, sketches);
        self.rows.mean(&mut self.origin);
        self.rows.center(&self.origin);
        self.panels.pack(self.rows.values());
        self.nearest[..count * self.knn].fill(NOBODY);
        self.limits.fill(f32::INFINITY);
        for first in (0..count).step_by(PANEL_ROWS) {
            let end = count.min(first + PANEL_ROWS);
            let panel = first_other[first] / PANEL_ROWS;
            if panel * PANEL_ROWS >= count {
                break;
            }
            let panels = self.panels.from(panel);
            let products = &mut self.products[..(end - first) * panels.len() / dimension];
            vectors.products()(self.rows.part(first, end), panels, dimension, products);
            for (row, other) in (first..end).zip(&first_other[first..]) {
                self.scan((row, *other), panel, vectors.near());
            }
        }
    }

    /// Tells a row and all from another on of each other, by products with the rows from panel
    /// `first` on.
    fn scan(&mut self, (row, other): (usize, usize), first: usize, near: NearFn) {
        let (own_panel, lane) = (row / PANEL_ROWS, row % PANEL_ROWS);
        let norms = self.rows.norms();
        let own_norm = norms[own_panel][lane];
        let norms = &norms[first..];
        let limits = self.limits.as_chunks_mut::<PANEL_ROWS>().0;
        let products = &mut self.products[lane * panel_values(norms.len() * PANEL_ROWS, 1)..];
        let mut wanted = u32::MAX << (other % PANEL_ROWS);
        let panels = products
            .as_chunks_mut()
            .0
            .iter_mut()
            .zip(norms)
            .zip(first..);
        for ((distances, others), panel) in panels.skip(other / PANEL_ROWS - first) {
            let own = (own_norm, limits[own_panel][lane]);
            let marks = near(distances, own, others, &limits[panel]) & wanted;
            wanted = u32::MAX;
            for other in lanes(marks) {
                let (distance, other_row) = (distances[other], panel * PANEL_ROWS + other);
                for (from, to) in [(row, other_row), (other_row, row)] {
                    let found = &mut self.nearest[from * self.knn..][..self.knn];
                    insert(found, distance, to as u32);
                    limits[from / PANEL_ROWS][from % PANEL_ROWS] = found[self.knn - 1].0;
                }
            }
        }
    }

    /// The nearest of a row, nearest first: distances and rows.
    pub(super) fn nearest(&self, row: usize) -> &[(f32, u32)] {
        let found = &self.nearest[row * self.knn..][..self.knn];
        let known = found.partition_point(|near| near.1 != NOBODY.1);
        &found[..known]
    }

    /// Whether two rows are the same, as far as sketches tell.
    pub(super) fn are_twins(&self, one: usize, other: usize) -> bool {
        self.sketch(one) == self.sketch(other)
    }

    fn sketch(&self, row: usize) -> &[f32] {
        &self.sketches[row * PANEL_ROWS..][..HASH_BITS]
    }

    /// On which side of each plane through row `from` row `to` lies.
    pub(super) fn hash(&self, from: usize, to: usize) -> u16 {
        let sides = self.sketch(from).iter().zip(self.sketch(to));
        sides.fold(0, |hash, (from, to)| hash << 1 | u16::from(to > from))
    }
}

#[cfg(test)]
mod tests {
    use super::super::spec::PiPnnSpec;
    use super::*;
    use crate::linking::testing::METRICS;
    use crate::testing::{Rows as Vectors, clustered};
    use pageway_types::{Guide, NodeId, SplitMix64};

    #[test]
    fn the_nearest_are_those_of_all_distances() {
        let mut values = clustered(300, 9, 2.0, 5);
        let near = Vectors::f32(9, &values);
        values[9 * 150..]
            .iter_mut()
            .for_each(|value| *value += 500.0);
        let far = Vectors::f32(9, &values);
        let cases = METRICS.map(|metric| (&near, metric));
        for (vectors, metric) in cases.into_iter().chain([(&far, Guide::L2)]) {
            let set = vectors.set(metric);
            let dimension = set.embedded_dimension();
            let sizes = LeafSizes::new(300, dimension, &PiPnnSpec::new(8, 1.2, 0));
            let planes = Panels::random(12, dimension, SplitMix64::new(1)).expect("memory");
            let mut leaf = Leaf::new(&sizes).expect("memory");
            for count in [300, 1, 2, 5, 32, 33] {
                let nodes = (0..count).map(NodeId);
                let members: Vec<_> = nodes.map(|node| Member::new(node, true)).collect();
                let others: Vec<usize> = (1..=members.len()).collect();
                leaf.compare(&set, (&members, &others), &planes);
                for row in 0..count as usize {
                    check(&leaf, &set, row, count);
                }
            }
        }
    }

    fn check(leaf: &Leaf, set: &VectorSet<'_>, row: usize, count: u32) {
        let others: Vec<NodeId> = (0..count)
            .filter(|other| *other as usize != row)
            .map(NodeId)
            .collect();
        let mut all = vec![0.0; others.len()];
        set.distance_many(NodeId(row as u32), &others, &mut all);
        all.sort_by(f32::total_cmp);
        let found = leaf.nearest(row);
        assert_eq!(found.len(), leaf.knn.min(others.len()));
        let mut rows: Vec<u32> = found.iter().map(|near| near.1).collect();
        rows.sort_unstable();
        rows.dedup();
        assert_eq!(rows.len(), found.len(), "each once");
        for (&(_, other), nearest) in found.iter().zip(&all) {
            let distance = set.distance(NodeId(row as u32), NodeId(other));
            let slack = 1e-5 * (1.0 + nearest + set.distance(NodeId(0), NodeId(count - 1)));
            assert!((distance - nearest).abs() <= slack, "{distance} {nearest}");
        }
    }

    #[test]
    fn opposite_candidates_have_opposite_hashes() {
        let vectors = Vectors::f32(2, &[0.0, 0.0, 1.0, 2.0, -1.0, -2.0, 2.0, 4.0]);
        let set = vectors.set(Guide::L2);
        let sizes = LeafSizes::new(4, 2, &PiPnnSpec::new(8, 1.2, 0));
        let planes = Panels::random(12, 2, SplitMix64::new(1)).expect("memory");
        let members: Vec<Member> = (0..4).map(|node| Member::new(NodeId(node), true)).collect();
        let mut leaf = Leaf::new(&sizes).expect("memory");
        let others: Vec<usize> = (1..=members.len()).collect();
        leaf.compare(&set, (&members, &others), &planes);
        assert_eq!(leaf.hash(0, 1), leaf.hash(0, 3));
        assert_eq!(leaf.hash(0, 1), leaf.hash(2, 0));
        assert_eq!(leaf.hash(0, 1), 0xFFF & !leaf.hash(0, 2));
        assert_eq!(leaf.hash(1, 1), 0);
        assert!(leaf.are_twins(1, 1) && !leaf.are_twins(0, 1));
    }
}
