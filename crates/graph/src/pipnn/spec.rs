//! Parameters of a build, the build, and the memory that it takes.

use pageway_types::{NodeId, Progress, VectorShape};

use super::carve::Carving;
use super::pairing::Pairing;
use super::reservoir::Reservoirs;
use super::scaffold::Scaffold;
use super::sizes::LeafSizes;
use crate::error::GraphError;
use crate::graph::{AdjacencyLists, Graph, write_list};
use crate::linking::{
    InsertSpec, Insertion, ListSpec, Thinning, Workers, check, check_alpha, check_degree,
    check_entry, for_each_row, repair_bytes, repair_in_pool,
};
use crate::prune::PruneSpec;
use crate::vectors::VectorSet;

/// Candidate list of the searches for guests.
const GUEST_LIST: u32 = 100;

/// Parameters of a PiPNN graph.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PiPnnSpec {
    /// Longest adjacency list, called `R` in the literature. 1 to 4,096; 32 to 96 is usual.
    pub max_degree: u32,
    /// Occlusion that pruning tolerates, on squared distances; at least 1, usually 1.2.
    pub alpha: f32,
    /// Groups of the first level that each node goes to; it comes to twice as many leaves. Time
    /// grows with it, and recall. 1 to 64.
    pub fanout: u32,
    /// Nodes of a leaf, at most; half as many on average. 16 to 8,192.
    pub leaf: u32,
    /// Nearest nodes that each node takes from each leaf. 1 to 64.
    pub knn: u32,
    /// Fixes leaders and hash planes.
    pub seed: u64,
}

impl Joined<'_> {
    /// Longest list that a graph of `max_degree` joins: that of a graph whose shards have such.
    pub const fn longest(max_degree: u32) -> u32 {
        max_degree + max_degree / 2
    }

    /// Bytes of lists and parts of `count` nodes, at most.
    fn bytes(count: u64, max_degree: u32) -> u64 {
        let parts = count.saturating_mul(size_of::<u16>() as u64);
        Graph::bytes(count, Self::longest(max_degree)).saturating_add(parts)
    }

    fn check(&self, count: u32, max_degree: u32) -> Result<(), GraphError> {
        let is_sound = self.lists.count() == count
            && self.parts.len() == count as usize
            && self.lists.max_degree() <= Self::longest(max_degree);
        if is_sound {
            return Ok(());
        }
        Err(GraphError::Parameter {
            name: "joined",
            value: format!(
                "{} lists of at most {}, {} parts",
                self.lists.count(),
                self.lists.max_degree(),
                self.parts.len()
            ),
            expected: "a list of at most one and a half times the max degree and a part for each",
        })
    }
}

impl PiPnnSpec {
    /// With a fanout, leaf and neighbours per leaf that make as good a graph as Vamana with
    /// a list of 100, on vectors of images and of text, 24,000 to 200,000 of them, with lists of 32
    /// and 48.
    pub const fn new(max_degree: u32, alpha: f32, seed: u64) -> Self {
        Self {
            max_degree,
            alpha,
            fanout: 12,
            leaf: 512,
            knn: 5,
            seed,
        }
    }

    fn validate(&self) -> Result<(), GraphError> {
        check_degree("max_degree", self.max_degree)?;
        check_alpha(self.alpha)?;
        let within = |value: u32, least: u32, most: u32| (least..=most).contains(&value);
        check(within(self.fanout, 1, 64), "fanout", self.fanout, "1 to 64")?;
        check(within(self.leaf, 16, 8192), "leaf", self.leaf, "16 to 8192")?;
        check(within(self.knn, 1, 64), "knn", self.knn, "1 to 64")
    }

    /// Lists are full: a record on disk has the room anyway.
    pub(super) const fn lists(&self) -> ListSpec {
        ListSpec {
            prune: PruneSpec {
                max_degree: self.max_degree,
                alpha: self.alpha,
            },
            fill: self.max_degree,
        }
    }

    /// How guests are linked.
    const fn insert(&self) -> InsertSpec {
        InsertSpec {
            lists: self.lists(),
            first_fill: 0,
            build_list: GUEST_LIST,
            seed: self.seed,
        }
    }
}

/// Lists that nodes have in graphs over parts of them, each node in one: what is joined.
#[derive(Clone, Copy, Debug)]
pub struct Joined<'j> {
    /// The lists of all nodes, none longer than [`Joined::longest`]. They lead to nodes of the same
    /// part.
    pub lists: &'j Graph,
    /// The part of each node.
    pub parts: &'j [u16],
}

/// A graph, and what else its build found out.
pub struct PiPnn {
    /// The graph.
    pub graph: Graph,
    /// All nodes, those of one leaf together, guests last: an order in which nodes that are near
    /// share pages.
    pub order: Vec<NodeId>,
}

/// Builds a PiPNN graph over `vectors` that is searched from `entry`.
///
/// `guests`, distinct, join the finished graph of the others and hardly change it, as in
/// [`build`](crate::build).
///
/// Where graphs over parts of the nodes are `joined`, their lists are candidates, nodes of one part
/// are not compared with each other, and leaves and scaffold are fewer: on photographs and texts
/// that takes two thirds to five sixths of the time, for a graph as good within .005 of recall.
///
/// Takes [`pipnn_bytes`] of memory beside the vectors, lists of joined graphs included. Every
/// vector is compared with the leaders of its groups and with `fanout * leaf` others, by products
/// of matrices, and with the candidates that it keeps, twice the max degree of them at most; one in
/// sixteen is searched for, in a graph of these alone. The graph is the same for any number of
/// threads in `pool`.
///
/// # Errors
/// When a parameter or the entry is out of range, memory is refused, or `progress` cancels;
/// that is noticed within some milliseconds.
pub fn pipnn(
    vectors: &VectorSet<'_>,
    (entry, guests): (NodeId, &[NodeId]),
    (spec, joined): (&PiPnnSpec, Option<Joined<'_>>),
    pool: &rayon::ThreadPool,
    progress: &dyn Progress,
) -> Result<PiPnn, GraphError> {
    spec.validate()?;
    let count = vectors.count();
    joined.map_or(Ok(()), |joined| joined.check(count, spec.max_degree))?;
    check_entry(entry, count)?;
    for guest in guests {
        check_entry(*guest, count)?;
    }
    let guests: Vec<NodeId> = guests
        .iter()
        .copied()
        .filter(|node| *node != entry)
        .collect();
    let guests = guests.as_slice();
    let dimension = vectors.embedded_dimension();
    let sizes = if joined.is_some() {
        LeafSizes::of_joined(count.into(), dimension, spec)
    } else {
        LeafSizes::new(count.into(), dimension, spec)
    };
    let leaving = (guests, joined.map_or(&[][..], |joined| joined.parts));
    pool.install(|| {
        let (reservoirs, order) = find_candidates(vectors, (&sizes, spec.seed), leaving, progress)?;
        let wanted = (spec, joined.is_some());
        let scaffold = Scaffold::build(vectors, &reservoirs, (entry, guests), wanted, progress)?;
        let known = joined.map(|joined| joined.lists);
        let mut lists = choose(vectors, (&reservoirs, &scaffold, known), spec, progress)?;
        drop((reservoirs, scaffold));
        let insertion = Insertion {
            vectors,
            entry,
            spec: spec.insert(),
            guests,
            progress,
        };
        insertion.admit_guests(&mut lists)?;
        let mut graph = Graph::new(lists, entry);
        repair_in_pool(&mut graph, vectors, progress)?;
        Ok(PiPnn { graph, order })
    })
}

/// Candidates of all nodes but guests, which have none, and the order of their leaves.
fn find_candidates(
    vectors: &VectorSet<'_>,
    (sizes, seed): (&LeafSizes, u64),
    (guests, parts): (&[NodeId], &[u16]),
    progress: &dyn Progress,
) -> Result<(Reservoirs, Vec<NodeId>), GraphError> {
    let carving = Carving {
        vectors,
        sizes,
        seed,
        progress,
    };
    let leaves = carving.leaves(guests)?;
    let reservoirs = Reservoirs::new(vectors.count() as usize, sizes.reservoir)?;
    let pairing = Pairing {
        vectors,
        sizes,
        parts,
        seed,
        progress,
    };
    pairing.fill(&leaves, &reservoirs)?;
    let mut order = leaves.own_order(vectors.count())?;
    order.extend_from_slice(guests);
    Ok((reservoirs, order))
}

/// The lists: every reservoir pruned, with what known lists and the scaffold add. Where what a
/// known list adds would fill a list, what was found beyond all of that is no candidate: in large
/// sets that join small ones that is much, and hardly any of it would be chosen.
fn choose(
    vectors: &VectorSet<'_>,
    (reservoirs, scaffold, known): (&Reservoirs, &Scaffold, Option<&Graph>),
    spec: &PiPnnSpec,
    progress: &dyn Progress,
) -> Result<AdjacencyLists, GraphError> {
    let count = vectors.count();
    let mut lists = AdjacencyLists::new(count as usize, spec.max_degree)?;
    let listed = spec.max_degree + known.map_or(0, Graph::max_degree);
    let candidates = reservoirs.capacity() + listed as usize;
    let workers = Workers::new(|| Thinning::new(candidates))?;
    progress.stage("choose neighbors", count.into());
    for_each_row(&mut lists, &workers, progress, |thinning, node, row| {
        reservoirs.copy_to(node, &mut thinning.nodes);
        let found = thinning.nodes.len();
        let list = known.map_or(&[][..], |known| known.neighbors(node));
        add_missing(list.iter(), &mut thinning.nodes);
        let both = thinning.nodes.len();
        scaffold.add_to(node, &mut thinning.nodes);
        thinning.candidates.clear();
        thinning.add_nodes(vectors, node);
        if both - found >= spec.max_degree as usize {
            thinning.drop_beyond(0..found, found..both);
        }
        write_list(row, thinning.thin_candidates(vectors, node, spec.lists()));
    })?;
    Ok(lists)
}

/// Adds those of distinct `others` that `nodes` lacks.
pub(super) fn add_missing<'n>(others: impl Iterator<Item = &'n NodeId>, nodes: &mut Vec<NodeId>) {
    let near = nodes.len();
    for other in others {
        if !nodes.iter().take(near).any(|node| node == other) {
            nodes.push(*other);
        }
    }
}

/// Bytes that [`pipnn`] holds at its peak beside the rows and what a [`VectorSet`] holds; graph and
/// order are part of it.
///
/// An upper bound. Counts are those that a build accepts; others saturate.
pub fn pipnn_bytes(count: u64, shape: VectorShape, spec: &PiPnnSpec, threads: usize) -> u64 {
    let dimension = shape.dimension as usize + 1;
    let anew = LeafSizes::new(count, dimension, spec);
    let joined = LeafSizes::of_joined(count, dimension, spec);
    let joining = peak_bytes(count, &joined, spec, threads);
    let known = Joined::bytes(count, spec.max_degree);
    peak_bytes(count, &anew, spec, threads).max(joining.saturating_add(known))
}

/// The same of leaves and reservoirs of such sizes, beside lists that are joined.
fn peak_bytes(count: u64, sizes: &LeafSizes, spec: &PiPnnSpec, threads: usize) -> u64 {
    let order = count.saturating_mul(size_of::<NodeId>() as u64);
    let leaves = Carving::leaf_bytes(count, sizes);
    let reservoirs = Reservoirs::bytes(count, sizes.reservoir).saturating_add(order);
    let lists = AdjacencyLists::bytes(count, spec.max_degree);
    let listed = spec.max_degree + Joined::longest(spec.max_degree);
    let thinning = Thinning::bytes(sizes.reservoir + listed as usize);
    let thinning = Workers::<Thinning>::bytes(threads, thinning);
    let scaffold = Scaffold::bytes(count, spec);
    let pairing = Pairing::bytes(sizes, threads);
    let comparing = reservoirs.saturating_add(leaves).saturating_add(pairing);
    let choosing = lists.saturating_add(thinning).saturating_add(scaffold);
    let choosing = choosing.max(Scaffold::build_bytes(count, spec, threads));
    let choosing = choosing.saturating_add(reservoirs);
    let repair = repair_bytes(count, spec.max_degree, threads);
    let repair = repair.max(spec.insert().guest_bytes(count, threads));
    let repairing = lists.saturating_add(order).saturating_add(repair);
    let carving = Carving::bytes(count, sizes, threads);
    carving.max(comparing).max(choosing).max(repairing)
}
