//! Insertion: a graph that grows in batches.
//!
//! Nodes come in a random order fixed by the seed, the entry first, in batches that double until
//! they reach a small share of the set. Each node of a batch is searched from the entry, what the
//! search expanded is pruned to its list, and its neighbours get edges back. A node of which a
//! query with the same vector lies apart, under the inner product, is searched for as that too.

use std::collections::HashSet;

use pageway_types::{NodeId, Progress};

use super::back_edges::{BackEdges, Linking};
use super::batch::Batch;
use super::distances::Distances;
use super::finish;
use super::limit::{max_batch, slack_degree};
use super::repair::{repair_bytes, repair_in_pool};
use super::thinning::{ListSpec, Thinning};
use super::worker::{LinkScratch, Workers};
use crate::error::{GraphError, try_reserved};
use crate::graph::{AdjacencyLists, Graph, write_list};
use crate::rng::SplitMix64;
use crate::search::{Bounds, SearchScratch};

/// Neighbours of a guest that link back to it.
const HOSTS: usize = 12;

/// What a graph that grows must respect. Checked by whoever makes one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct InsertSpec {
    /// How lists are kept within the max degree when edges come back.
    pub(crate) lists: ListSpec,
    /// Up to where the list of a new node is filled; see [`ListSpec::fill`].
    pub(crate) first_fill: u32,
    /// Candidate list of the searches.
    pub(crate) build_list: u32,
    /// Fixes the order of insertion.
    pub(crate) seed: u64,
}

impl InsertSpec {
    fn bounds(&self, count: u32) -> Bounds {
        Bounds {
            count,
            max_degree: slack_degree(self.lists.prune.max_degree),
            list_size: self.build_list,
        }
    }

    /// A list at its longest, and an edge back from every node of a batch; or all that a search
    /// expands, and what another finds.
    fn max_candidates(&self, count: u32) -> usize {
        let joining = slack_degree(self.lists.prune.max_degree) + max_batch(count);
        let found = self.bounds(count).expansions() + self.build_list as usize;
        (joining as usize).max(found.min(count as usize))
    }

    /// Bytes that [`Insertion::graph`] over `count` nodes holds at its peak beside the vectors;
    /// the graph is part of it.
    ///
    /// An upper bound: all buffers are allocated at their largest size before the first insertion.
    /// Counts are those that a build accepts; others saturate.
    pub(crate) fn bytes(&self, count: u64, threads: usize) -> u64 {
        let finished = AdjacencyLists::bytes(count, self.lists.prune.max_degree);
        let repairing =
            finished.saturating_add(repair_bytes(count, self.lists.prune.max_degree, threads));
        self.list_bytes(count, threads).max(repairing)
    }

    /// Bytes that [`Insertion::admit_guests`] holds beside the lists.
    pub(crate) fn guest_bytes(&self, count: u64, threads: usize) -> u64 {
        let nodes = u32::try_from(count).unwrap_or(u32::MAX);
        let (batch, degree) = (max_batch(nodes) as usize, self.lists.prune.max_degree);
        let scratch = LinkScratch::bytes(self.bounds(nodes), self.max_candidates(nodes));
        Batch::bytes(batch, degree).saturating_add(Workers::<LinkScratch>::bytes(threads, scratch))
    }

    /// Bytes that [`Insertion::lists`] holds at its peak beside the vectors, as above.
    pub(crate) fn list_bytes(&self, count: u64, threads: usize) -> u64 {
        let nodes = u32::try_from(count).unwrap_or(u32::MAX);
        let (batch, degree) = (max_batch(nodes) as usize, self.lists.prune.max_degree);
        let scratch = LinkScratch::bytes(self.bounds(nodes), self.max_candidates(nodes));
        AdjacencyLists::bytes(count, slack_degree(degree))
            .saturating_add(count.saturating_mul(size_of::<NodeId>() as u64))
            .saturating_add(Batch::bytes(batch, degree) + BackEdges::bytes(batch, degree))
            .saturating_add(Workers::<LinkScratch>::bytes(threads, scratch))
    }
}

/// A build over all nodes of `vectors`, in the pool of the caller.
pub(crate) struct Insertion<'i> {
    pub(crate) vectors: &'i dyn Distances,
    pub(crate) entry: NodeId,
    pub(crate) spec: InsertSpec,
    /// Nodes that join the finished graph of the others and hardly change it: with them hidden it
    /// is searched as if they had never been there. Distinct.
    pub(crate) guests: &'i [NodeId],
    pub(crate) progress: &'i dyn Progress,
}

/// The graph while a batch is searched: nothing changes it.
pub(super) struct Frozen<'f> {
    insertion: &'f Insertion<'f>,
    lists: &'f AdjacencyLists,
}

impl Insertion<'_> {
    /// The finished graph, every node of it reachable from the entry.
    pub(crate) fn graph(&self) -> Result<Graph, GraphError> {
        let mut graph = Graph::new(self.lists()?, self.entry);
        repair_in_pool(&mut graph, self.vectors, self.progress)?;
        Ok(graph)
    }

    /// The finished lists, before anybody has looked whether all nodes can be reached.
    pub(crate) fn lists(&self) -> Result<AdjacencyLists, GraphError> {
        let (spec, count) = (&self.spec, self.vectors.count());
        let (max_batch, max_degree) = (max_batch(count) as usize, spec.lists.prune.max_degree);
        let mut lists = AdjacencyLists::new(count as usize, slack_degree(max_degree))?;
        let mut batch = Batch::new(max_batch, max_degree)?;
        let mut back_edges = BackEdges::new(max_batch, max_degree)?;
        let workers =
            Workers::new(|| LinkScratch::new(spec.bounds(count), spec.max_candidates(count)))?;
        let linking = self.linking(&workers);
        let mut order = insertion_order(count, self.entry, spec.seed)?;
        let guests: HashSet<NodeId> = self.guests.iter().copied().collect();
        order.retain(|node| *node == self.entry || !guests.contains(node));
        self.progress.stage("link vectors", u64::from(count - 1));
        let mut waiting = order.get(1..).unwrap_or_default();
        while !waiting.is_empty() {
            let inserted = order.len() - waiting.len();
            let size = inserted.min(max_batch).min(waiting.len());
            let (nodes, rest) = waiting.split_at(size);
            batch.search(nodes, &self.frozen(&lists), &workers, self.progress)?;
            batch.write(nodes, &mut lists);
            back_edges.add(nodes.iter().copied(), &mut lists, &linking)?;
            waiting = rest;
        }
        drop((back_edges, order));
        finish::finish_lists(&mut lists, &linking)?;
        self.admit(&mut lists, &mut batch, &workers)?;
        Ok(lists)
    }

    /// Links the guests to finished lists of the others.
    pub(crate) fn admit_guests(&self, lists: &mut AdjacencyLists) -> Result<(), GraphError> {
        if self.guests.is_empty() {
            return Ok(());
        }
        let (spec, count) = (&self.spec, self.vectors.count());
        let mut batch = Batch::new(max_batch(count) as usize, spec.lists.prune.max_degree)?;
        let workers =
            Workers::new(|| LinkScratch::new(spec.bounds(count), spec.max_candidates(count)))?;
        self.admit(lists, &mut batch, &workers)
    }

    /// Links the guests: each to what a search for it finds, and their nearest neighbours back to
    /// them. A full list gives its last edge for that, which of all matters least; the edge to the
    /// guest stands where its length says, as lists may be cut to what a page has room for.
    fn admit(
        &self,
        lists: &mut AdjacencyLists,
        batch: &mut Batch,
        workers: &Workers<LinkScratch>,
    ) -> Result<(), GraphError> {
        let (max_batch, capacity) = (max_batch(self.vectors.count()) as usize, lists.capacity());
        for nodes in self.guests.chunks(max_batch) {
            let nodes: Vec<NodeId> = nodes
                .iter()
                .copied()
                .filter(|node| *node != self.entry)
                .collect();
            batch.search(&nodes, &self.frozen(lists), workers, self.progress)?;
            batch.write(&nodes, lists);
            for node in nodes {
                let hosts = lists.neighbors(node).iter().copied().take(HOSTS);
                for host in hosts.collect::<Vec<_>>() {
                    let mut list = lists.neighbors(host).to_vec();
                    list.truncate(capacity - 1);
                    list.insert(self.place(host, (node, &list)), node);
                    write_list(lists.row_mut(host), &list);
                }
            }
        }
        Ok(())
    }

    /// The place of a guest in the list of its host: before the first edge that is longer.
    fn place(&self, host: NodeId, (guest, list): (NodeId, &[NodeId])) -> usize {
        let nodes = [list, &[guest]].concat();
        let mut lengths = vec![0.0; nodes.len()];
        self.vectors.distance_many(host, &nodes, &mut lengths);
        let own = lengths.pop().unwrap_or(f32::INFINITY);
        let longer = lengths.iter().position(|length| *length > own);
        longer.unwrap_or(list.len())
    }

    fn frozen<'f>(&'f self, lists: &'f AdjacencyLists) -> Frozen<'f> {
        Frozen {
            insertion: self,
            lists,
        }
    }

    fn linking<'a>(&'a self, workers: &'a Workers<LinkScratch>) -> Linking<'a> {
        Linking {
            vectors: self.vectors,
            spec: self.spec.lists,
            mutual: false,
            workers,
            progress: self.progress,
        }
    }
}

impl Frozen<'_> {
    /// The list of a node that is not in the graph yet.
    pub(super) fn find_list<'s>(&self, node: NodeId, scratch: &'s mut LinkScratch) -> &'s [NodeId] {
        let Insertion {
            vectors,
            entry,
            spec,
            ..
        } = *self.insertion;
        let LinkScratch { search, thinning } = scratch;
        search.run(self.lists, entry, |others, out| {
            vectors.distance_many(node, others, out);
        });
        thinning.candidates.clear();
        thinning.candidates.extend_from_slice(search.expanded());
        if vectors.is_asked_apart(node) {
            self.add_asked(node, search, thinning);
        }
        let fill = spec.first_fill;
        thinning.thin_candidates(vectors, node, ListSpec { fill, ..spec.lists })
    }

    /// Adds what a query with the vector of a node finds to the candidates for its list.
    ///
    /// Under the inner product the rows near a row are hardly longer than it, but those that
    /// queries want are long: without edges to them a search would have to go through all others.
    fn add_asked(&self, node: NodeId, search: &mut SearchScratch, thinning: &mut Thinning) {
        let Insertion { vectors, entry, .. } = *self.insertion;
        search.run(self.lists, entry, |others, out| {
            vectors.asked_many(node, others, out);
        });
        let found = search.nearest(self.insertion.spec.build_list as usize);
        let Thinning {
            candidates, nodes, ..
        } = thinning;
        let is_new = |own: &NodeId| candidates.iter().all(|known| known.node != *own);
        nodes.clear();
        nodes.extend(found.map(|own| own.node).filter(is_new));
        thinning.add_nodes(vectors, node);
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
