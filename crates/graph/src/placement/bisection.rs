//! Balanced clustering: the set is cut in two, and the halves again, until a piece fits a page.
//!
//! A cut is that of 2-means with the sizes prescribed: nodes are sorted along the line between two
//! means and cut at the multiple of a page next to the middle. The line needs no mean: where
//! distances behave like squared L2, as all build distances do,
//!
//! ```text
//! mean over b in B of |x - b|^2  -  mean over a in A of |x - a|^2  =  2 <x, mean A - mean B> + c
//! ```
//!
//! so means of some embedded nodes of either side make the line, for every metric and element
//! type, and a node takes one product for its place along it. The sides are found on a sample, from
//! two far nodes.
//!
//! `log2(pages)` products per node, and [`ROUNDS`] more in each piece that is a sample as a whole.

use pageway_types::{Cancelled, Candidate, NodeId, Progress};

use super::score::{Pole, score, score_along};
use crate::error::{GraphError, try_reserved};
use crate::rng::SplitMix64;
use crate::vectors::VectorSet;

/// Nodes that stand for one side of a cut.
const POLES: usize = 16;

/// Nodes that the sides of a cut are found on.
const SAMPLE: usize = 256;

/// Rounds in which the sides of the sample settle.
const ROUNDS: usize = 5;

struct Bisection<'b> {
    vectors: &'b VectorSet<'b>,
    per_page: usize,
    seed: u64,
    progress: &'b dyn Progress,
}

/// Bytes that `cluster` holds beside some KiB per thread, its result included.
pub(super) fn bytes(count: u64) -> u64 {
    let rows = size_of::<Candidate>() + size_of::<NodeId>();
    count.saturating_mul(rows as u64)
}

/// Orders the nodes of `vectors`, in the pool of the caller.
pub(super) fn cluster(
    vectors: &VectorSet<'_>,
    per_page: u32,
    seed: u64,
    progress: &dyn Progress,
) -> Result<Vec<NodeId>, GraphError> {
    let count = vectors.count() as usize;
    progress.stage("cut into pages", count as u64);
    let mut nodes = try_reserved(count, "nodes to cut")?;
    nodes.extend((0..vectors.count()).map(|node| Candidate::new(NodeId(node), 0.0)));
    let bisection = Bisection {
        vectors,
        per_page: per_page as usize,
        seed,
        progress,
    };
    bisection.cut(&mut nodes, 0)?;
    let mut order = try_reserved(count, "order of nodes")?;
    order.extend(nodes.iter().map(|candidate| candidate.node));
    Ok(order)
}

impl Bisection<'_> {
    /// Reorders `nodes`, which begin at a page and at position `first` of the whole order.
    fn cut(&self, nodes: &mut [Candidate], first: u64) -> Result<(), Cancelled> {
        self.progress.check()?;
        if nodes.len() <= self.per_page {
            self.progress.advance(nodes.len() as u64);
            return Ok(());
        }
        let middle = nodes.len().div_ceil(self.per_page) / 2 * self.per_page;
        let poles = self.poles(nodes, middle, first)?;
        score_along(self.vectors, &poles, nodes, self.progress)?;
        nodes.sort_unstable();
        let (near, far) = nodes.split_at_mut(middle);
        let beyond = first + middle as u64;
        let (near, far) = rayon::join(|| self.cut(near, first), || self.cut(far, beyond));
        near.and(far)
    }

    /// Nodes for either side of a cut, those behind `middle` with negative weight.
    fn poles(
        &self,
        nodes: &[Candidate],
        middle: usize,
        first: u64,
    ) -> Result<Vec<Pole>, Cancelled> {
        let mut sample = self.sample(nodes, first);
        let cut = (sample.len() * middle / nodes.len()).max(1);
        let mut poles = self.far_pair(&mut sample)?;
        for _ in 0..ROUNDS {
            score_along(self.vectors, &poles, &mut sample, self.progress)?;
            sample.sort_unstable();
            let (near, far) = sample.split_at(cut.min(sample.len() - 1));
            poles.clear();
            poles.extend(spread(near, 1.0).chain(spread(far, -1.0)));
        }
        Ok(poles)
    }

    fn sample(&self, nodes: &[Candidate], first: u64) -> Vec<Candidate> {
        if nodes.len() <= SAMPLE {
            return nodes.to_vec();
        }
        // A piece is told from all others by where it begins and how long it is.
        let mut random = SplitMix64::new(self.seed ^ first << 32 ^ nodes.len() as u64);
        let draws = (0..SAMPLE).map(|_| random.below(nodes.len() as u64) as usize);
        draws.filter_map(|at| nodes.get(at).copied()).collect()
    }

    /// A node far from the first of the sample, and one far from that.
    fn far_pair(&self, sample: &mut [Candidate]) -> Result<Vec<Pole>, Cancelled> {
        let mut poles = Vec::with_capacity(2 * POLES);
        let mut from = sample.first().copied();
        for weight in [1.0, -1.0] {
            let pole = from.map(|candidate| Pole {
                node: candidate.node,
                weight: 1.0,
            });
            score(self.vectors, pole.as_slice(), sample, self.progress)?;
            from = sample.iter().max().copied();
            poles.extend(from.map(|candidate| Pole {
                node: candidate.node,
                weight,
            }));
        }
        Ok(poles)
    }
}

/// At most `POLES` nodes, evenly from all, whose weights add up to `weight`.
fn spread(nodes: &[Candidate], weight: f32) -> impl Iterator<Item = Pole> {
    let step = nodes.len().div_ceil(POLES).max(1);
    let share = weight / nodes.len().div_ceil(step) as f32;
    let nodes = nodes.iter().step_by(step);
    nodes.map(move |candidate| Pole {
        node: candidate.node,
        weight: share,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Rows;
    use pageway_types::{Guide, NoProgress};

    #[test]
    fn groups_of_the_size_of_a_page_are_found() {
        // Sixteen groups of four along a line, each spread over the whole range of ids.
        let values: Vec<f32> = (0..64)
            .flat_map(|node| [(node % 16 * 100) as f32, (node / 16) as f32])
            .collect();
        let rows = Rows::f32(2, &values);
        for metric in [Guide::L2, Guide::InnerProduct] {
            let order = cluster(&rows.set(metric), 4, 1, &NoProgress).expect("not cancelled");
            for page in order.chunks(4) {
                assert!(
                    page.iter().all(|node| node.0 % 16 == page[0].0 % 16),
                    "{page:?}"
                );
            }
        }
    }

    #[test]
    fn weights_of_a_side_add_up() {
        for count in [1, 2, 16, 17, 100] {
            let nodes = vec![Candidate::new(NodeId(3), 0.0); count];
            let poles: Vec<Pole> = spread(&nodes, -1.0).collect();
            assert!(!poles.is_empty() && poles.len() <= POLES);
            let sum: f32 = poles.iter().map(|pole| pole.weight).sum();
            assert!((sum + 1.0).abs() < 1e-6);
        }
    }
}
