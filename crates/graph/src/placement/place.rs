//! The door to all placements.

use pageway_types::{NodeId, Progress};

use super::frequency::{self, Stop};
use super::paging::Paging;
use super::spec::{Placement, PlacementSpec};
use super::{bisection, grouping, nearest, padding, swap};
use crate::error::{GraphError, try_reserved};
use crate::graph::Graph;
use crate::vectors::VectorSet;

/// Chooses which nodes share a page: `order[new] = old`, a permutation of all nodes.
///
/// Page `p` holds `order[p * n .. (p + 1) * n]` with `n` nodes per page; only the last page may be
/// short. The order is the same for any number of threads in `pool`. Takes [`placement_bytes`]
/// beside graph and vectors. With one node per page, or one page, it is the order of ids.
///
/// `Grouped` puts `guests`, distinct nodes that stand in for queries, on pages behind all others.
///
/// # Errors
/// When a parameter is out of range, graph and vectors differ in number, memory is refused, or
/// `progress` cancels.
pub fn place(
    graph: &Graph,
    vectors: &VectorSet<'_>,
    (spec, guests): (&PlacementSpec, &[NodeId]),
    pool: &rayon::ThreadPool,
    progress: &dyn Progress,
) -> Result<Vec<NodeId>, GraphError> {
    spec.validate()?;
    if graph.count() != vectors.count() {
        return Err(GraphError::Parameter {
            name: "vectors",
            value: vectors.count().to_string(),
            expected: "as many as the graph has nodes",
        });
    }
    let per_page = spec.nodes_per_page;
    if per_page == 1 || per_page >= graph.count() {
        return by_id(graph.count());
    }
    let paging = Paging::whole(per_page);
    pool.install(|| match spec.placement {
        Placement::Bnp => padding::pad(graph, per_page, progress),
        Placement::Bnf { rounds, gain } => {
            let stop = Stop { rounds, gain };
            frequency::shuffle(graph, paging, stop, progress)?.into_order()
        }
        Placement::Bns { rounds, gain } => {
            let stop = Stop { rounds, gain };
            swap::swap(graph, paging, stop, progress)
        }
        Placement::Grouped { hops } => {
            grouping::group(graph, (vectors, guests), per_page, hops, progress)
        }
        Placement::Clustered => bisection::cluster(vectors, per_page, spec.seed, progress),
        Placement::Nearest => nearest::place(graph, vectors, (per_page, spec.seed), progress),
    })
}

/// As [`place`] with [`Placement::Clustered`], which looks at no graph.
///
/// # Errors
/// As [`place`].
pub fn place_clustered(
    vectors: &VectorSet<'_>,
    (per_page, seed): (u32, u64),
    pool: &rayon::ThreadPool,
    progress: &dyn Progress,
) -> Result<Vec<NodeId>, GraphError> {
    let spec = PlacementSpec {
        placement: Placement::Clustered,
        nodes_per_page: per_page,
        seed,
    };
    spec.validate()?;
    if per_page == 1 || per_page >= vectors.count() {
        return by_id(vectors.count());
    }
    pool.install(|| bisection::cluster(vectors, per_page, seed, progress))
}

/// Bytes that [`place`] holds at most beside graph and vectors, its result included, and beside
/// some KiB per thread.
pub fn placement_bytes(count: u64, placement: Placement, max_degree: u32) -> u64 {
    match placement {
        Placement::Bnp => padding::bytes(count),
        Placement::Bnf { .. } => frequency::bytes(count, max_degree),
        Placement::Bns { .. } => swap::bytes(count, max_degree),
        Placement::Grouped { .. } => grouping::bytes(count),
        Placement::Clustered => bisection::bytes(count),
        Placement::Nearest => nearest::bytes(count),
    }
}

fn by_id(count: u32) -> Result<Vec<NodeId>, GraphError> {
    let mut order = try_reserved(count as usize, "order of nodes")?;
    order.extend((0..count).map(NodeId));
    Ok(order)
}
