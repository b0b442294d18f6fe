//! Sampled nodes by the sides of hyperplanes on which their vectors lie.
//!
//! ```text
//! keys   [ 3 | 4 | 9 | ... ]      ascending, only those that some node has
//! ends   [ 2 | 3 | 7 | ... ]      where the run of a key ends
//! nodes  [ a b | c | d e f g | ... ]
//! ```
//! Routing by binary hashes is PageANN's (Kang et al., "Scalable Disk-Based Approximate Nearest
//! Neighbor Search with Page-Aligned Graph", 2025, section 4.3). The order of a look-up within one
//! radius is that of Lv et al. ("Multi-Probe LSH", VLDB 2007): bits whose plane is nearest to the
//! query are flipped first, since neighbours are most likely behind these planes.
//!
//! Invariants: keys ascend and every key has a node; the last end is the number of nodes.

use std::iter;

use pageway_types::NodeId;

use super::HashSpec;
use super::planes::{Planes, Sides};
use super::sample::sample_nodes;
use super::spec::MAX_BITS;
use crate::error::GraphError;

/// A hash table over a sample of the nodes.
///
/// Vectors and queries are widened to `f32` and, under the cosine, scaled to length 1, both by the
/// caller.
#[derive(Clone, Debug, PartialEq)]
pub struct HashTable {
    pub(super) planes: Planes,
    pub(super) radius: u32,
    pub(super) keys: Vec<u32>,
    pub(super) ends: Vec<u32>,
    pub(super) nodes: Vec<NodeId>,
}

impl HashTable {
    /// The nodes to sample from a set of `count`: ascending, distinct, as many as `spec` says or
    /// all.
    pub fn sample(count: u32, spec: &HashSpec) -> Vec<NodeId> {
        sample_nodes(count, spec.sample, spec.seed)
    }

    /// Bits with which the buckets that a look-up visits hold some tens of nodes: as many keys as
    /// nodes. Vectors lie in clusters, so about half of the keys stay empty.
    pub fn default_bits(sample: u64) -> u32 {
        sample.max(1).ilog2().clamp(1, MAX_BITS)
    }

    /// Hashes sampled nodes; `rows` are their vectors, each of as many components as `mean`, which
    /// is the mean of all vectors.
    ///
    /// Costs an inner product per node and plane, on one thread, and
    /// [`build_bytes`](Self::build_bytes) of memory beside the arguments.
    ///
    /// # Errors
    /// When a parameter is out of range, there are no nodes, too many, or not one row for each.
    pub fn build(
        nodes: &[NodeId],
        rows: &[f32],
        mean: &[f32],
        spec: &HashSpec,
    ) -> Result<Self, GraphError> {
        check_rows(nodes, rows, mean)?;
        let mut build = HashBuild::train(rows, mean, spec)?;
        build.add(nodes, rows);
        Ok(build.finish())
    }

    /// Appends at most `limit` nodes to `out`: those with the key of `query`, then, as far as the
    /// radius of the spec goes, those whose keys differ in one bit and in two. They are in no
    /// order of distance, and there may be none.
    ///
    /// Costs an inner product per plane and, once `out` has its size, no allocation. `query` has
    /// the dimension of the table.
    pub fn lookup(&self, query: &[f32], limit: usize, out: &mut Vec<NodeId>) {
        let end = out.len().saturating_add(limit);
        for key in self.probes(&self.planes.sides(query)) {
            let room = end - out.len();
            if room == 0 {
                break;
            }
            out.extend(self.bucket(key).iter().take(room));
        }
    }

    /// Keys to visit, nearest first.
    fn probes(&self, sides: &Sides) -> impl Iterator<Item = u32> + use<> {
        let key = sides.key;
        let bits = self.planes.count() as usize;
        let flips = flips_by_margin(sides, bits);
        let (singles, pairs) = (bits * usize::from(self.radius > 0), self.radius > 1);
        let one = flips.into_iter().take(singles);
        let two = (1..if pairs { bits } else { 0 }).flat_map(move |far| {
            let far_flip = flips.get(far).copied().unwrap_or(0);
            flips.into_iter().take(far).map(move |near| near | far_flip)
        });
        iter::once(0)
            .chain(one)
            .chain(two)
            .map(move |flip| key ^ flip)
    }

    /// The nodes with a key.
    fn bucket(&self, key: u32) -> &[NodeId] {
        let Ok(at) = self.keys.binary_search(&key) else {
            return &[];
        };
        let end_of = |at: usize| self.ends.get(at).map_or(0, |&end| end as usize);
        let begin = at.checked_sub(1).map_or(0, end_of);
        self.nodes.get(begin..end_of(at)).unwrap_or_default()
    }

    /// Replaces every node id by `map` of it: nodes get new ids when they are placed on pages.
    pub fn renumber(&mut self, map: impl Fn(NodeId) -> NodeId) {
        for node in &mut self.nodes {
            *node = map(*node);
        }
    }

    /// The sampled nodes, bucket after bucket.
    ///
    /// After [`HashTable::from_bytes`] these are any numbers: who knows the size of the graph
    /// compares.
    pub fn nodes(&self) -> &[NodeId] {
        &self.nodes
    }

    /// Bytes that the table holds.
    pub fn resident_bytes(&self) -> u64 {
        let dimension = self.planes.mean.len() as u64;
        let words = self.nodes.len() + self.keys.len() + self.ends.len();
        Planes::bytes(dimension, self.planes.count()) + (words * size_of::<u32>()) as u64
    }

    /// Bytes that a table holds at most, known before its build.
    pub fn bytes_for(sample: u64, dimension: u64, bits: u32) -> u64 {
        let keys = 1_u64
            .checked_shl(bits)
            .map_or(sample, |keys| keys.min(sample));
        let words = keys.saturating_mul(2).saturating_add(sample);
        Planes::bytes(dimension, bits).saturating_add(words.saturating_mul(size_of::<u32>() as u64))
    }

    /// Bytes that [`build`](Self::build) holds at its peak beside its arguments, the finished
    /// table included.
    pub fn build_bytes(sample: u64, dimension: u64, bits: u32) -> u64 {
        let hashed = sample.saturating_mul(size_of::<(u32, NodeId)>() as u64);
        Self::bytes_for(sample, dimension, bits)
            .saturating_add(Planes::bytes(dimension, bits))
            .saturating_add(hashed)
    }
}

/// A table while nodes are hashed, some at a time. Eight bytes for each.
pub struct HashBuild {
    planes: Planes,
    radius: u32,
    hashed: Vec<(u32, NodeId)>,
}

impl HashBuild {
    /// Of `count` sampled rows, every how manieth the planes follow from.
    pub const fn step(count: usize) -> usize {
        Planes::step(count)
    }

    /// Turns the planes by `rows`, or by every [`step`](Self::step)-th of them: the same planes
    /// either way. `mean` is that of all vectors.
    ///
    /// # Errors
    /// When a parameter is out of range, or there are no rows or components.
    pub fn train(rows: &[f32], mean: &[f32], spec: &HashSpec) -> Result<Self, GraphError> {
        spec.validate()?;
        if rows.is_empty() || mean.is_empty() {
            return Err(GraphError::Empty);
        }
        Ok(Self {
            planes: Planes::train(rows, mean, spec.bits, spec.seed),
            radius: spec.radius,
            hashed: Vec::new(),
        })
    }

    /// Hashes nodes by their rows.
    pub fn add(&mut self, nodes: &[NodeId], rows: &[f32]) {
        let rows = rows.chunks_exact(self.planes.mean.len());
        let keys = rows.map(|row| self.planes.sides(row).key);
        self.hashed.extend(keys.zip(nodes.iter().copied()));
    }

    /// The table of all that were added.
    pub fn finish(mut self) -> HashTable {
        self.hashed.sort_unstable();
        let buckets = self.hashed.chunk_by(|a, b| a.0 == b.0);
        let count = buckets.clone().count();
        let (mut keys, mut ends) = (Vec::with_capacity(count), Vec::with_capacity(count));
        let mut end = 0;
        for bucket in buckets {
            end += bucket.len() as u32;
            keys.extend(bucket.first().map(|(key, _)| *key));
            ends.push(end);
        }
        HashTable {
            planes: self.planes,
            radius: self.radius,
            keys,
            ends,
            nodes: self.hashed.iter().map(|(_, node)| *node).collect(),
        }
    }
}

/// One row per node, at least one, and as many as can be counted.
fn check_rows(nodes: &[NodeId], rows: &[f32], mean: &[f32]) -> Result<(), GraphError> {
    if nodes.is_empty() || mean.is_empty() {
        return Err(GraphError::Empty);
    }
    let (count, limit) = (nodes.len() as u64, u64::from(u32::MAX));
    if count > limit {
        return Err(GraphError::TooMany { count, limit });
    }
    if nodes.len().checked_mul(mean.len()) != Some(rows.len()) {
        return Err(GraphError::Parameter {
            name: "rows",
            value: format!("{} components", rows.len()),
            expected: "one vector per sampled node",
        });
    }
    Ok(())
}

/// One set bit per plane, that of the plane nearest to the query first. Behind `bits`: zeros.
fn flips_by_margin(sides: &Sides, bits: usize) -> [u32; MAX_BITS as usize] {
    let mut order: [u32; MAX_BITS as usize] = std::array::from_fn(|bit| bit as u32);
    let margin = |bit: u32| sides.margins.get(bit as usize).copied().unwrap_or(0.0);
    if let Some(planes) = order.get_mut(..bits) {
        planes.sort_unstable_by(|&a, &b| margin(a).total_cmp(&margin(b)).then(a.cmp(&b)));
    }
    order.map(|bit| 1 << bit)
}
