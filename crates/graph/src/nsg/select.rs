//! The lists: neighbours chosen on the kNN graph, then the edges back.

use pageway_types::{NodeId, Progress};

use super::spec::NsgSpec;
use crate::error::GraphError;
use crate::graph::{AdjacencyLists, fill_list, write_list};
use crate::linking::{
    BackEdges, LinkScratch, Linking, ListSpec, Workers, finish_lists, for_each_row, slack_degree,
};
use crate::search::Bounds;
use crate::vectors::VectorSet;

/// Nodes whose edges go back at a time; bounds the memory for them.
const NODES_PER_ROUND: u32 = 1 << 12;

/// A choice of neighbours for all nodes of `vectors`, in the pool of the caller.
pub(super) struct Selection<'s> {
    pub(super) vectors: &'s VectorSet<'s>,
    pub(super) entry: NodeId,
    pub(super) spec: &'s NsgSpec,
    pub(super) progress: &'s dyn Progress,
}

impl Selection<'_> {
    /// The finished lists, before anybody has looked whether all nodes can be reached.
    pub(super) fn lists(&self, near: &AdjacencyLists) -> Result<AdjacencyLists, GraphError> {
        let (count, progress) = (self.vectors.count(), self.progress);
        let sizes = SelectionSizes::new(count, near.capacity() as u32, self.spec);
        let mut lists = AdjacencyLists::new(count as usize, sizes.slack)?;
        let workers = Workers::new(|| LinkScratch::new(sizes.bounds, sizes.candidates))?;
        progress.stage("choose neighbors", u64::from(count));
        for_each_row(&mut lists, &workers, progress, |scratch, node, row| {
            write_list(row, self.choose(node, near, scratch));
        })?;
        let mut linking = Linking {
            vectors: self.vectors,
            spec: self.list_spec(0),
            mutual: true,
            workers: &workers,
            progress,
        };
        link_back(&mut lists, &sizes, &linking)?;
        let max_degree = self.spec.max_degree;
        progress.stage("fill lists", u64::from(count));
        for_each_row(&mut lists, &workers, progress, |_, node, row| {
            let near = near.neighbors(node).iter().copied();
            fill_list(row, max_degree as usize, near);
        })?;
        linking.spec = self.list_spec(max_degree);
        finish_lists(&mut lists, &linking)?;
        Ok(lists)
    }

    const fn list_spec(&self, fill: u32) -> ListSpec {
        let prune = self.spec.prune();
        ListSpec { prune, fill }
    }

    /// The list of a node: from what a search for it expands, and what is known to be near.
    fn choose<'c>(
        &self,
        node: NodeId,
        near: &AdjacencyLists,
        scratch: &'c mut LinkScratch,
    ) -> &'c [NodeId] {
        let LinkScratch { search, thinning } = scratch;
        search.run(near, self.entry, |others, out| {
            self.vectors.distance_many(node, others, out);
        });
        let expanded = search.expanded();
        let met = |other: &NodeId| expanded.iter().any(|candidate| candidate.node == *other);
        let unmet = near.neighbors(node).iter().filter(|other| !met(other));
        thinning.nodes.clear();
        thinning.nodes.extend(unmet);
        thinning.candidates.clear();
        let others = expanded.iter().filter(|candidate| candidate.node != node);
        thinning.candidates.extend(others);
        thinning.add_nodes(self.vectors, node);
        thinning.thin_candidates(self.vectors, node, self.list_spec(0))
    }

    /// Bytes that `lists` holds at its peak, with `near` lists of `degree`, which are part of it.
    pub(super) fn bytes(count: u64, degree: u32, spec: &NsgSpec, threads: usize) -> u64 {
        let nodes = u32::try_from(count).unwrap_or(u32::MAX);
        let sizes = SelectionSizes::new(nodes, degree, spec);
        let scratch = LinkScratch::bytes(sizes.bounds, sizes.candidates);
        AdjacencyLists::bytes(count, degree)
            .saturating_add(AdjacencyLists::bytes(count, sizes.slack))
            .saturating_add(BackEdges::bytes(sizes.round, sizes.slack))
            .saturating_add(Workers::<LinkScratch>::bytes(threads, scratch))
    }
}

/// Adds the edges back, round by round.
fn link_back(
    lists: &mut AdjacencyLists,
    sizes: &SelectionSizes,
    linking: &Linking<'_>,
) -> Result<(), GraphError> {
    let count = sizes.bounds.count;
    let mut back_edges = BackEdges::new(sizes.round, sizes.slack)?;
    linking.progress.stage("link back", u64::from(count));
    for first in (0..count).step_by(sizes.round) {
        let end = count.min(first + sizes.round as u32);
        back_edges.add((first..end).map(NodeId), lists, linking)?;
        linking.progress.advance(u64::from(end - first));
    }
    Ok(())
}

/// What bounds the buffers.
struct SelectionSizes {
    bounds: Bounds,
    slack: u32,
    round: usize,
    candidates: usize,
}

impl SelectionSizes {
    /// For `near` lists of `degree`. A prune meets a list at its longest and an edge back from
    /// every node of a round; or all that a search expands and all that is near.
    fn new(count: u32, degree: u32, spec: &NsgSpec) -> Self {
        let bounds = Bounds {
            count,
            max_degree: degree,
            list_size: spec.build_list,
        };
        let slack = slack_degree(spec.max_degree);
        let round = NODES_PER_ROUND.min(count.max(1)) as usize;
        let joining = slack as usize + round;
        Self {
            bounds,
            slack,
            round,
            candidates: joining.max(bounds.expansions() + degree as usize),
        }
    }
}
