//! The nearest centroid of a row, by way of the nearest groups.
#![expect(
    clippy::indexing_slicing,
    reason = "buffers are sized for a block and all centroids; a slip must stop"
)]

use pageway_kernels::{DotPanelsFn, NearFn, panel_values};

use super::centroids::{Centroids, Sorted, mean};
use crate::error::{GraphError, try_filled, try_reserved};
use crate::matrix::{Nearest, Rows, Side};

/// Groups whose clusters a row is compared with.
const FANOUT: usize = 8;

/// Rows that come together.
pub(super) const BLOCK_ROWS: usize = 1024;

/// Rows of one product.
const PRODUCT_ROWS: usize = 64;

/// How rows are compared.
#[derive(Clone, Copy)]
pub(super) struct Kernels {
    pub(super) products: DotPanelsFn,
    pub(super) near: NearFn,
}

/// Centroids, ready to be compared with rows.
pub(super) struct Directory<'d> {
    groups: &'d Sorted,
    /// One for each group.
    top: Side,
    /// The centroids of each group.
    sides: Vec<Side>,
    origin: Vec<f32>,
    kernels: Kernels,
}

impl<'d> Directory<'d> {
    /// A directory of centroids that are sorted into groups.
    pub(super) fn new(
        centroids: &Centroids,
        groups: &'d Sorted,
        kernels: Kernels,
    ) -> Result<Self, GraphError> {
        let origin = centroids.mean();
        let of = |group: usize| groups.of(group).iter().copied();
        let means = (0..groups.owners()).flat_map(|group| {
            let rows = of(group).map(|at| centroids.row(at as usize));
            mean(centroids.dimension, rows)
        });
        let tops = Centroids {
            dimension: centroids.dimension,
            values: means.collect(),
        };
        let side = |group| Side::new(&centroids.picked(of(group)).values, &origin);
        Ok(Self {
            groups,
            top: Side::new(&tops.values, &origin)?,
            sides: (0..groups.owners()).map(side).collect::<Result<_, _>>()?,
            origin,
            kernels,
        })
    }

    /// Bytes of a directory of `count` centroids in `groups`.
    pub(super) fn bytes(count: usize, groups: usize, dimension: usize) -> u64 {
        // The rows of a side are picked before; every group may have a panel that is hardly begun.
        let picked = |count: usize| (count * dimension * size_of::<f32>()) as u64;
        let side = |count: usize| picked(count) + Side::bytes(count, dimension);
        side(count)
            + 2 * side(groups)
            + (groups * panel_values(1, dimension) * size_of::<f32>()) as u64
    }

    fn largest(&self) -> usize {
        let sides = self.sides.iter().chain([&self.top]);
        sides.map(|side| side.rows.count()).max().unwrap_or(0)
    }
}

/// What one thread needs to find the nearest centroids of a block of rows.
pub(super) struct Finder {
    rows: Rows,
    /// Rows of the block that are compared with one side.
    picked: Vec<f32>,
    products: Vec<f32>,
    nearest: Nearest,
    /// Group and row: what is still to compare.
    pairs: Vec<(u32, u32)>,
    /// Distance and centroid of each row.
    best: Vec<(f32, u32)>,
}

impl Finder {
    pub(super) fn new(directory: &Directory<'_>) -> Result<Self, GraphError> {
        let dimension = directory.origin.len();
        let products = PRODUCT_ROWS * panel_values(directory.largest(), 1);
        Ok(Self {
            rows: Rows::new(BLOCK_ROWS, dimension)?,
            picked: try_reserved(PRODUCT_ROWS * dimension, "rows of a group")?,
            products: try_filled(products, 0.0, "products")?,
            nearest: Nearest::new(FANOUT)?,
            pairs: try_reserved(BLOCK_ROWS * FANOUT, "groups of rows")?,
            best: try_reserved(BLOCK_ROWS, "nearest centroids")?,
        })
    }

    /// Bytes that `new` takes, where no group has more than `largest` centroids.
    pub(super) fn bytes(largest: usize, dimension: usize) -> u64 {
        let floats = PRODUCT_ROWS * (dimension + panel_values(largest, 1));
        Rows::bytes(BLOCK_ROWS, dimension)
            + (floats * size_of::<f32>()) as u64
            + Nearest::bytes(FANOUT)
            + (BLOCK_ROWS * (FANOUT + 1) * size_of::<(f32, u32)>()) as u64
    }

    /// Finds the nearest centroid of each of `out.len()` rows, which `write` shows.
    pub(super) fn find(
        &mut self,
        directory: &Directory<'_>,
        write: impl FnMut(usize, &mut [f32]),
        out: &mut [u32],
    ) {
        self.rows.load_with(0..out.len(), write);
        self.rows.center(&directory.origin);
        self.best.clear();
        self.best.resize(out.len(), (f32::INFINITY, u32::MAX));
        self.choose_groups(directory, out.len());
        let pairs = std::mem::take(&mut self.pairs);
        for of_group in pairs.chunk_by(|a, b| a.0 == b.0) {
            for some in of_group.chunks(PRODUCT_ROWS) {
                self.compare(directory, some);
            }
        }
        self.pairs = pairs;
        for (out, best) in out.iter_mut().zip(&self.best) {
            *out = best.1;
        }
    }

    /// Sorts pairs of rows and their nearest groups that have centroids.
    fn choose_groups(&mut self, directory: &Directory<'_>, count: usize) {
        self.pairs.clear();
        let top = &directory.top;
        let limit = FANOUT.min(top.rows.count());
        let width = panel_values(top.rows.count(), 1);
        for first in (0..count).step_by(PRODUCT_ROWS) {
            let end = (first + PRODUCT_ROWS).min(count);
            let products = &mut self.products[..(end - first) * width];
            let rows = self.rows.part(first, end);
            let multiply = directory.kernels.products;
            multiply(rows, top.panels.from(0), directory.origin.len(), products);
            for (row, products) in (first as u32..).zip(products.chunks_exact_mut(width)) {
                let norms = top.rows.norms();
                let near = directory.kernels.near;
                let found = self.nearest.among(near, products, norms, limit);
                let groups = found.iter().map(|(_, group)| (*group, row));
                self.pairs.extend(groups);
            }
        }
        let filled = |(group, _): &(u32, u32)| !directory.groups.of(*group as usize).is_empty();
        self.pairs.retain(filled);
        self.pairs.sort_unstable();
    }

    /// Compares some rows with the centroids of one group.
    fn compare(&mut self, directory: &Directory<'_>, pairs: &[(u32, u32)]) {
        let Some(&(group, _)) = pairs.first() else {
            return;
        };
        let side = &directory.sides[group as usize];
        let members = directory.groups.of(group as usize);
        self.picked.clear();
        for (_, row) in pairs {
            let row = *row as usize;
            self.picked.extend_from_slice(self.rows.part(row, row + 1));
        }
        let width = panel_values(side.rows.count(), 1);
        let products = &mut self.products[..pairs.len() * width];
        let multiply = directory.kernels.products;
        multiply(
            &self.picked,
            side.panels.from(0),
            directory.origin.len(),
            products,
        );
        for ((_, row), products) in pairs.iter().zip(products.chunks_exact_mut(width)) {
            let near = directory.kernels.near;
            let found = self.nearest.among(near, products, side.rows.norms(), 1);
            let best = &mut self.best[*row as usize];
            for &(distance, place) in found {
                let found = (distance, members[place as usize]);
                if found.0 < best.0 || found.0 == best.0 && found.1 < best.1 {
                    *best = found;
                }
            }
        }
    }
}
