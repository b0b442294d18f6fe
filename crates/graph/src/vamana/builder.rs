//! The loop over batches.

use pageway_types::{NodeId, Progress};

use super::back_edges::Appending;
use super::batch::Batch;
use super::spec::VamanaSpec;
use super::worker::{Scratch, Workers};
use super::{finish, repair};
use crate::error::{GraphError, try_reserved};
use crate::graph::{AdjacencyLists, Graph};
use crate::rng::SplitMix64;
use crate::vectors::VectorSet;

/// Builds a graph over `vectors` that is searched from `entry`.
///
/// Takes [`build_bytes`](super::build_bytes) of memory beside the vectors, all of it allocated at
/// the start, and about `build_list * max_degree` distances per vector. The graph is the same for
/// any number of threads in `pool`.
///
/// # Errors
/// When a parameter or the entry is out of range, memory is refused, or `progress` cancels;
/// that is noticed within some milliseconds.
pub fn build(
    vectors: &VectorSet<'_>,
    entry: NodeId,
    spec: &VamanaSpec,
    pool: &rayon::ThreadPool,
    progress: &dyn Progress,
) -> Result<Graph, GraphError> {
    spec.validate()?;
    let count = vectors.count();
    if entry.0 >= count {
        return Err(GraphError::EntryOutOfRange { entry, count });
    }
    pool.install(|| {
        let lists = Builder {
            vectors,
            entry,
            spec,
            progress,
        }
        .run()?;
        let mut graph = Graph::new(lists, entry);
        repair::repair_in_pool(&mut graph, vectors, progress)?;
        Ok(graph)
    })
}

struct Builder<'b> {
    vectors: &'b VectorSet<'b>,
    entry: NodeId,
    spec: &'b VamanaSpec,
    progress: &'b dyn Progress,
}

/// The graph while a batch is searched: nothing changes it.
pub(super) struct Frozen<'f> {
    vectors: &'f VectorSet<'f>,
    lists: &'f AdjacencyLists,
    entry: NodeId,
    spec: &'f VamanaSpec,
}

impl Builder<'_> {
    fn run(&self) -> Result<AdjacencyLists, GraphError> {
        let count = self.vectors.count();
        let threads = rayon::current_num_threads();
        let mut lists = AdjacencyLists::new(count as usize, self.spec.slack_degree())?;
        let mut batch = Batch::new(count, self.spec)?;
        let workers = Workers::new(threads, || Scratch::new(count, self.spec))?;
        let order = insertion_order(count, self.entry, self.spec.seed)?;
        self.progress.stage("link vectors", u64::from(count - 1));
        let mut waiting = order.get(1..).unwrap_or_default();
        while !waiting.is_empty() {
            let inserted = order.len() - waiting.len();
            let size = inserted
                .min(VamanaSpec::max_batch(count) as usize)
                .min(waiting.len());
            let (nodes, rest) = waiting.split_at(size);
            self.insert(nodes, &mut lists, &mut batch, &workers)?;
            waiting = rest;
        }
        drop((batch, order));
        finish::finish_lists(&mut lists, self.vectors, self.spec, &workers, self.progress)?;
        Ok(lists)
    }

    fn insert(
        &self,
        nodes: &[NodeId],
        lists: &mut AdjacencyLists,
        batch: &mut Batch,
        workers: &Workers<Scratch>,
    ) -> Result<(), GraphError> {
        let frozen = Frozen {
            vectors: self.vectors,
            lists,
            entry: self.entry,
            spec: self.spec,
        };
        batch.search(nodes, &frozen, workers, self.progress)?;
        let edges = batch.link(nodes, lists);
        let appending = Appending {
            vectors: self.vectors,
            spec: self.spec,
            workers,
            progress: self.progress,
            stride: lists.stride(),
        };
        Ok(appending.append(edges, lists.slots_mut(), NodeId(0))?)
    }
}

impl Frozen<'_> {
    /// The list of a node that is not in the graph yet.
    pub(super) fn find_list<'s>(&self, node: NodeId, scratch: &'s mut Scratch) -> &'s [NodeId] {
        let Scratch { search, thinning } = scratch;
        search.run(self.lists, self.entry, |others, out| {
            self.vectors.distance_many(node, others, out);
        });
        thinning.candidates.clear();
        thinning.candidates.extend_from_slice(search.expanded());
        thinning.thin_candidates(self.vectors, self.spec)
    }
}

/// All nodes, the entry first, the others shuffled.
fn insertion_order(count: u32, entry: NodeId, seed: u64) -> Result<Vec<NodeId>, GraphError> {
    let mut order = try_reserved(count as usize, "insertion order")?;
    order.extend((0..count).map(NodeId));
    order.swap(0, entry.index());
    let mut random = SplitMix64::new(seed);
    for last in (2..order.len()).rev() {
        let other = 1 + random.below(last as u64) as usize;
        order.swap(last, other);
    }
    Ok(order)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_order_is_a_permutation_that_begins_at_the_entry() {
        for (count, entry) in [(1, 0), (2, 1), (100, 37)] {
            let mut order = insertion_order(count, NodeId(entry), 9).expect("memory");
            assert_eq!(order[0], NodeId(entry));
            assert_eq!(
                order,
                insertion_order(count, NodeId(entry), 9).expect("memory")
            );
            order.sort();
            assert_eq!(order, (0..count).map(NodeId).collect::<Vec<_>>());
        }
        let orders = [1, 2].map(|seed| insertion_order(100, NodeId(0), seed).expect("memory"));
        assert_ne!(orders[0], orders[1]);
    }
}
