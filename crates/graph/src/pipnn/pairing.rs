//! All leaves: who is near to whom goes to the reservoirs.
#![expect(
    clippy::indexing_slicing,
    reason = "rows are counted by the leaf; a slip must stop"
)]

use pageway_types::{NodeId, Progress, SplitMix64};
use rayon::prelude::*;

use super::groups::{Groups, Member};
use super::leaf::Leaf;
use super::reservoir::{HASH_BITS, Reservoirs, Slot};
use super::sizes::LeafSizes;
use crate::error::{GraphError, try_filled, try_reserved};
use crate::linking::Workers;
use crate::matrix::Panels;
use crate::vectors::VectorSet;

/// The random stream of the planes; those of groups have smaller numbers.
const PLANES: u64 = u64::MAX;

/// A comparison of all pairs in all leaves, in the pool of the caller.
pub(super) struct Pairing<'p> {
    pub(super) vectors: &'p VectorSet<'p>,
    pub(super) sizes: &'p LeafSizes,
    /// The graph that each node has a list of; none where no lists are known.
    pub(super) parts: &'p [u16],
    pub(super) seed: u64,
    pub(super) progress: &'p dyn Progress,
}

impl Pairing<'_> {
    /// Offers each node its nearest in every leaf, and those whose nearest it is.
    pub(super) fn fill(&self, leaves: &Groups, reservoirs: &Reservoirs) -> Result<(), GraphError> {
        let random = SplitMix64::stream(self.seed, PLANES);
        let planes = Panels::random(HASH_BITS, self.sizes.dimension, random)?;
        let workers = Workers::new(|| PairScratch::new(self.sizes))?;
        self.progress
            .stage("compare neighbors", leaves.members().len() as u64);
        let leaves: Vec<&[Member]> = leaves.iter().collect();
        leaves.par_iter().try_for_each(|members| {
            self.progress.check()?;
            workers.with(|scratch| {
                scratch.order.arrange(members, self.parts);
                let PairScratch {
                    leaf,
                    order,
                    offers,
                } = scratch;
                leaf.compare(self.vectors, (&order.members, &order.first_other), &planes);
                offers.collect(leaf, &order.members);
                offers.hand_over(&order.members, reservoirs);
            });
            self.progress.advance(members.len() as u64);
            Ok(())
        })
    }

    /// Bytes that `fill` holds beside leaves and reservoirs.
    pub(super) fn bytes(sizes: &LeafSizes, threads: usize) -> u64 {
        let scratch = Leaf::bytes(sizes) + LeafOrder::bytes(sizes) + Offers::bytes(sizes);
        let planes = Panels::bytes(HASH_BITS, sizes.dimension);
        Workers::<PairScratch>::bytes(threads, scratch).saturating_add(planes)
    }
}

/// What one thread needs.
struct PairScratch {
    leaf: Leaf,
    order: LeafOrder,
    offers: Offers,
}

impl PairScratch {
    fn new(sizes: &LeafSizes) -> Result<Self, GraphError> {
        Ok(Self {
            leaf: Leaf::new(sizes)?,
            order: LeafOrder::new(sizes)?,
            offers: Offers::new(sizes)?,
        })
    }
}

/// The members of a leaf, those of one graph together: who is not compared lies side by side.
struct LeafOrder {
    members: Vec<Member>,
    /// The first that each is compared with, of those behind it.
    first_other: Vec<usize>,
}

impl LeafOrder {
    fn new(sizes: &LeafSizes) -> Result<Self, GraphError> {
        Ok(Self {
            members: try_reserved(sizes.leaf, "members")?,
            first_other: try_reserved(sizes.leaf, "members")?,
        })
    }

    fn bytes(sizes: &LeafSizes) -> u64 {
        (sizes.leaf * (size_of::<Member>() + size_of::<usize>())) as u64
    }

    fn arrange(&mut self, members: &[Member], parts: &[u16]) {
        self.members.clear();
        self.members.extend_from_slice(members);
        self.first_other.clear();
        if parts.is_empty() {
            self.first_other.extend(1..=members.len());
            return;
        }
        let part = |member: &Member| parts[member.node().index()];
        self.members.sort_by_key(part);
        for own in self.members.chunk_by(|one, other| part(one) == part(other)) {
            let end = self.first_other.len() + own.len();
            self.first_other.resize(end, end);
        }
    }
}

/// Candidates that a leaf has for its members, grouped by member: so each reservoir is visited
/// once per leaf.
struct Offers {
    /// Where the candidates of a member end, once they are all there.
    ends: Vec<usize>,
    slots: Vec<Slot>,
}

impl Offers {
    fn new(sizes: &LeafSizes) -> Result<Self, GraphError> {
        Ok(Self {
            ends: try_filled(sizes.leaf, 0, "offers")?,
            slots: try_filled(2 * sizes.leaf * sizes.knn, Slot::EMPTY, "offers")?,
        })
    }

    fn bytes(sizes: &LeafSizes) -> u64 {
        (sizes.leaf * (size_of::<usize>() + 2 * sizes.knn * size_of::<Slot>())) as u64
    }

    /// Two passes: one counts, one puts each candidate in its place.
    fn collect(&mut self, leaf: &Leaf, members: &[Member]) {
        let ends = &mut self.ends[..members.len()];
        ends.fill(0);
        for_each_edge(leaf, members.len(), |from, _, _| ends[from] += 1);
        let mut total = 0;
        for end in &mut *ends {
            total += std::mem::replace(end, total);
        }
        for_each_edge(leaf, members.len(), |from, to, distance| {
            let node = members[to].node();
            let hash = if leaf.are_twins(from, to) {
                twin_hash(node)
            } else {
                leaf.hash(from, to)
            };
            let slot = Slot::new(distance, node, hash);
            self.slots[ends[from]] = slot;
            ends[from] += 1;
        });
    }

    fn hand_over(&self, members: &[Member], reservoirs: &Reservoirs) {
        let mut first = 0;
        for (member, &end) in members.iter().zip(&self.ends) {
            reservoirs.offer(member.node(), &self.slots[first..end]);
            first = end;
        }
    }
}

/// Stands for the direction of a node that is the same: each has one of its own, about.
fn twin_hash(node: NodeId) -> u16 {
    const ODD: u32 = 0x9E37_79B9;
    (node.0.wrapping_mul(ODD) >> (u32::BITS - HASH_BITS as u32)) as u16
}

/// Calls `visit` with both directions of every edge from a row to one of its nearest, each once.
fn for_each_edge(leaf: &Leaf, rows: usize, mut visit: impl FnMut(usize, usize, f32)) {
    for row in 0..rows {
        for &(distance, other) in leaf.nearest(row) {
            let other = other as usize;
            visit(row, other, distance);
            if leaf
                .nearest(other)
                .iter()
                .all(|near| near.1 as usize != row)
            {
                visit(other, row, distance);
            }
        }
    }
}
