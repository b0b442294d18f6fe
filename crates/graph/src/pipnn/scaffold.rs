//! Edges that cross: the lists of a graph over some of the nodes, made by searches.
//!
//! Leaves hold what is near. Of tight clusters the nearest of a node lie in its own in every leaf,
//! and no edge would lead from one cluster to another. A search-built graph over one node in
//! [`SHARE`] has such edges, for a small part of the time that one over all of them takes: they
//! join the candidates, and pruning keeps those that nothing nearer stands for.
//!
//! Of rows that come in many copies the nearest of a node are copies, whatever leaf it is in: nodes
//! with few candidates are one another's. One of such a group is in the scaffold.

use pageway_types::{NodeId, Progress};
use rayon::prelude::*;

use super::reservoir::Reservoirs;
use super::spec::{PiPnnSpec, add_missing};
use crate::error::GraphError;
use crate::graph::AdjacencyLists;
use crate::linking::{InsertSpec, Insertion, ListSpec, Subset};
use crate::routing::sample_nodes;
use crate::vectors::VectorSet;

/// Of so many nodes one is in the scaffold,
const SHARE: u32 = 16;
/// and so many at least, where there are: a small set is linked by searches as a whole.
const LEAST: u32 = 2048;
/// The same of graphs that are joined, which have such edges within each.
const JOINED_SHARE: u32 = 64;
const JOINED_LEAST: u32 = 512;
/// Of so many nodes one at most is there for a group of its own.
const GROUP_SHARE: u32 = 6;
/// Candidate list of its searches.
const BUILD_LIST: u32 = 64;
/// Sets its seed apart from those of leaders and planes.
const STREAM: u32 = 29;

/// A graph over some nodes.
pub(super) struct Scaffold {
    /// Ascending.
    nodes: Vec<NodeId>,
    lists: AdjacencyLists,
}

impl Scaffold {
    /// Links some nodes, the entry among them and one of each group that knows nobody else, and no
    /// guest. In the pool of the caller.
    pub(super) fn build(
        vectors: &VectorSet<'_>,
        reservoirs: &Reservoirs,
        (entry, guests): (NodeId, &[NodeId]),
        (spec, joins): (&PiPnnSpec, bool),
        progress: &dyn Progress,
    ) -> Result<Self, GraphError> {
        let count = vectors.count();
        let seed = spec.seed.rotate_left(STREAM);
        let size = if joins {
            (JOINED_SHARE, JOINED_LEAST)
        } else {
            (SHARE, LEAST)
        };
        let drawn = drawn(count.into(), size) as u32;
        let mut nodes = sample_nodes(count, drawn.max(2) - 1, seed);
        nodes.extend(leaders(reservoirs, count, spec));
        nodes.sort_unstable();
        nodes.dedup();
        let mut guests = guests.to_vec();
        guests.sort_unstable();
        nodes.retain(|node| guests.binary_search(node).is_err());
        if let Err(place) = nodes.binary_search(&entry) {
            nodes.insert(place, entry);
        }
        let subset = Subset {
            vectors,
            nodes: &nodes,
        };
        let at = nodes.binary_search(&entry).unwrap_or_default();
        let insertion = Insertion {
            vectors: &subset,
            entry: NodeId(at as u32),
            spec: insert(spec),
            guests: &[],
            progress,
        };
        let lists = insertion.lists()?;
        Ok(Self { nodes, lists })
    }

    /// Adds the neighbours that `node` has here, and `nodes` lacks.
    pub(super) fn add_to(&self, node: NodeId, nodes: &mut Vec<NodeId>) {
        let Ok(at) = self.nodes.binary_search(&node) else {
            return;
        };
        let positions = self.lists.neighbors(NodeId(at as u32)).iter();
        let neighbors = positions.filter_map(|position| self.nodes.get(position.index()));
        add_missing(neighbors, nodes);
    }

    /// Bytes that a scaffold of `count` nodes takes.
    pub(super) fn bytes(count: u64, spec: &PiPnnSpec) -> u64 {
        let nodes = size(count);
        let numbers = nodes * size_of::<NodeId>() as u64;
        AdjacencyLists::bytes(nodes, spec.max_degree).saturating_add(numbers)
    }

    /// Bytes at the peak of its build.
    pub(super) fn build_bytes(count: u64, spec: &PiPnnSpec, threads: usize) -> u64 {
        let nodes = size(count);
        let numbers = nodes * size_of::<NodeId>() as u64;
        insert(spec)
            .list_bytes(nodes, threads)
            .saturating_add(numbers)
    }
}

/// Nodes of a scaffold over `count`, at most.
fn size(count: u64) -> u64 {
    count.min(drawn(count, (SHARE, LEAST)) + count / u64::from(GROUP_SHARE))
}

/// Those that are drawn at random, one of so many and so many at least, and the entry.
fn drawn(count: u64, (share, least): (u32, u32)) -> u64 {
    count.min((count / u64::from(share)).max(least.into()) + 1)
}

/// One node of each group whose nodes have few candidates beside one another; ascending.
fn leaders(reservoirs: &Reservoirs, count: u32, spec: &PiPnnSpec) -> Vec<NodeId> {
    let few = (spec.knn * spec.fanout / 2) as usize;
    let few = few.min(reservoirs.capacity() / 2);
    let all: Vec<NodeId> = (0..count)
        .into_par_iter()
        .map(NodeId)
        .filter(|node| reservoirs.leads_few(*node, few))
        .collect();
    let most = (count / GROUP_SHARE).max(1) as usize;
    let step = all.len().div_ceil(most).max(1);
    all.into_iter().step_by(step).collect()
}

/// How they are linked: as by Vamana.
const fn insert(spec: &PiPnnSpec) -> InsertSpec {
    InsertSpec {
        lists: ListSpec {
            fill: 0,
            ..spec.lists()
        },
        first_fill: 0,
        build_list: BUILD_LIST,
        seed: spec.seed,
    }
}
