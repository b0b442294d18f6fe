//! The nearest leaders of the members of a group.
#![expect(
    clippy::indexing_slicing,
    reason = "buffers are sized for a block and all leaders; a slip must stop"
)]

use pageway_kernels::panel_values;
use pageway_types::{NodeId, SplitMix64};

use super::groups::Member;
use super::sizes::LeafSizes;
use crate::error::{GraphError, try_filled, try_reserved};
use crate::matrix::Nearest;
use crate::matrix::{Panels, Rows};
use crate::vectors::VectorSet;

/// Rows that are compared with all leaders at a time.
pub(super) const BLOCK_ROWS: usize = 64;

/// Leaders of one group, ready to be compared with rows.
pub(super) struct Leaders {
    nodes: Vec<NodeId>,
    rows: Rows,
    panels: Panels,
    origin: Vec<f32>,
}

impl Leaders {
    pub(super) fn new(sizes: &LeafSizes) -> Result<Self, GraphError> {
        Ok(Self {
            nodes: try_reserved(sizes.max_leaders, "leaders")?,
            rows: Rows::new(sizes.max_leaders, sizes.dimension)?,
            panels: Panels::new(sizes.max_leaders, sizes.dimension)?,
            origin: try_filled(sizes.dimension, 0.0, "origin")?,
        })
    }

    /// Bytes that `new` with the same argument takes.
    pub(super) fn bytes(sizes: &LeafSizes) -> u64 {
        Rows::bytes(sizes.max_leaders, sizes.dimension)
            + Panels::bytes(sizes.max_leaders, sizes.dimension)
            + (sizes.max_leaders * size_of::<NodeId>() + sizes.dimension * size_of::<f32>()) as u64
    }

    /// Draws `count` leaders: one member of each of as many equal parts of a group.
    pub(super) fn draw(
        &mut self,
        vectors: &VectorSet<'_>,
        members: &[Member],
        count: usize,
        mut random: SplitMix64,
    ) {
        let begin = |part: usize| members.len() * part / count;
        self.nodes.clear();
        self.nodes.extend((0..count).map(|part| {
            let part = &members[begin(part)..begin(part + 1)];
            part[random.below(part.len() as u64) as usize].node()
        }));
        self.rows.load(vectors, self.nodes.iter().copied());
        self.rows.mean(&mut self.origin);
        self.rows.center(&self.origin);
        self.panels.pack(self.rows.values());
    }
}

/// What it takes to compare a block of rows with leaders.
pub(super) struct Comparison {
    rows: Rows,
    products: Vec<f32>,
    nearest: Nearest,
}

impl Comparison {
    pub(super) fn new(sizes: &LeafSizes) -> Result<Self, GraphError> {
        let products = BLOCK_ROWS * panel_values(sizes.max_leaders, 1);
        Ok(Self {
            rows: Rows::new(BLOCK_ROWS, sizes.dimension)?,
            products: try_filled(products, 0.0, "products")?,
            nearest: Nearest::new(sizes.copies())?,
        })
    }

    /// Bytes that `new` with the same argument takes.
    pub(super) fn bytes(sizes: &LeafSizes) -> u64 {
        let products = BLOCK_ROWS * panel_values(sizes.max_leaders, 1) * size_of::<f32>();
        Rows::bytes(BLOCK_ROWS, sizes.dimension) + products as u64 + Nearest::bytes(sizes.copies())
    }

    /// Writes the nearest leaders of a block of members, nearest first, as many for each. Where
    /// there are fewer leaders the rest stays as it is.
    pub(super) fn choose(
        &mut self,
        vectors: &VectorSet<'_>,
        leaders: &Leaders,
        members: &[Member],
        choices: &mut [u16],
    ) {
        self.rows
            .load(vectors, members.iter().map(|member| member.node()));
        self.rows.center(&leaders.origin);
        let (fanout, count) = (choices.len() / members.len(), leaders.rows.count());
        let width = panel_values(count, 1);
        let products = &mut self.products[..members.len() * width];
        let (rows, panels) = (self.rows.values(), leaders.panels.from(0));
        vectors.products()(rows, panels, leaders.origin.len(), products);
        let rows = products.chunks_exact_mut(width);
        for (products, choices) in rows.zip(choices.chunks_exact_mut(fanout)) {
            let (norms, limit) = (leaders.rows.norms(), fanout.min(count));
            let found = self.nearest.among(vectors.near(), products, norms, limit);
            for (choice, &(_, leader)) in choices.iter_mut().zip(found) {
                *choice = leader as u16;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::spec::PiPnnSpec;
    use super::*;
    use crate::linking::testing::METRICS;
    use crate::testing::{Rows as Vectors, clustered};

    #[test]
    fn the_nearest_leaders_are_those_of_all_distances() {
        let vectors = Vectors::f32(7, &clustered(400, 7, 2.0, 3));
        for metric in METRICS {
            let set = vectors.set(metric);
            let sizes = LeafSizes::new(
                400_000,
                set.embedded_dimension(),
                &PiPnnSpec::new(8, 1.2, 0),
            );
            let members: Vec<_> = (0..400)
                .map(|node| Member::new(NodeId(node), true))
                .collect();
            let mut leaders = Leaders::new(&sizes).expect("memory");
            leaders.draw(&set, &members, 45, SplitMix64::new(1));
            let mut comparison = Comparison::new(&sizes).expect("memory");
            let mut choices = vec![0; BLOCK_ROWS * 3];
            let block = &members[100..100 + BLOCK_ROWS];
            comparison.choose(&set, &leaders, block, &mut choices);
            let mut all = vec![0.0; 45];
            for (member, choices) in block.iter().zip(choices.chunks(3)) {
                set.distance_many(member.node(), &leaders.nodes, &mut all);
                let chosen: Vec<f32> = choices.iter().map(|at| all[usize::from(*at)]).collect();
                all.sort_by(f32::total_cmp);
                for (chosen, nearest) in chosen.iter().zip(&all) {
                    assert!(
                        (chosen - nearest).abs() <= 1e-4 * (1.0 + nearest),
                        "{metric}"
                    );
                }
            }
        }
    }
}
