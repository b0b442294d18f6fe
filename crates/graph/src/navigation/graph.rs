//! The graph itself: sampled nodes, their vectors, and layers of lists over them.
#![expect(
    clippy::indexing_slicing,
    reason = "positions are checked when a graph is put together; a slip must stop"
)]

use pageway_kernels::{DistanceManyFn, KernelSet, places};
use pageway_types::{ElementType, Guide, NodeId, VectorShape};

use super::NavigationSpec;
use crate::error::GraphError;
use crate::graph::{AdjacencyLists, Graph};
use crate::routing::sample_nodes;

/// Sampled nodes with their vectors, and how to compare these.
pub struct SampledVectors {
    /// Ids in the big graph.
    pub nodes: Vec<NodeId>,
    /// Raw element bytes of their vectors, one after the other in the same order.
    pub rows: Vec<u8>,
    /// Dimension and element type.
    pub shape: VectorShape,
    /// Guide of queries.
    pub metric: Guide,
    /// Kernels that compare.
    pub kernels: &'static KernelSet,
}

/// A layer above the bottom one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NavigationLayer {
    /// Positions of its members among the sampled nodes, ascending.
    pub members: Vec<u32>,
    /// Lists over the members: node `i` of it is member `i`. A search enters the top layer at the
    /// entry of its graph, each lower one where the layer above led.
    pub graph: Graph,
}

/// A graph over a sample of the nodes, searched in memory.
pub struct NavigationGraph {
    pub(super) nodes: Vec<NodeId>,
    pub(super) rows: Vec<u8>,
    pub(super) row_bytes: usize,
    pub(super) upper: Vec<NavigationLayer>,
    pub(super) bottom: Graph,
    many: DistanceManyFn,
}

impl NavigationGraph {
    /// The nodes to sample from a set of `count`: ascending, distinct, as many as `spec` says or
    /// all. One from each of equal runs of ids, so that an ordered set is covered evenly.
    pub fn sample(count: u32, spec: &NavigationSpec) -> Vec<NodeId> {
        sample_nodes(count, spec.sample, spec.seed)
    }

    /// Puts ready layers together, the top one first; `bottom` has one node per sampled vector,
    /// and its entry counts when there is no other layer.
    ///
    /// # Errors
    /// When rows, nodes and `bottom` differ in number, or a layer is not contained in the next.
    pub fn from_layers(
        mut vectors: SampledVectors,
        upper: Vec<NavigationLayer>,
        bottom: Graph,
    ) -> Result<Self, GraphError> {
        vectors.check()?;
        if bottom.count() as usize != vectors.nodes.len() {
            let found = format!("{} nodes", bottom.count());
            return Err(parameter("bottom", found, "one node per sampled vector"));
        }
        let below = upper.iter().skip(1).map(Some).chain([None]);
        for (layer, below) in upper.iter().zip(below) {
            layer.check(below, bottom.count())?;
        }
        vectors.nodes.shrink_to_fit();
        vectors.rows.shrink_to_fit();
        Ok(Self {
            row_bytes: vectors.shape.row_bytes(),
            many: vectors
                .kernels
                .distance_many(vectors.shape.element, vectors.metric.metric()),
            nodes: vectors.nodes,
            rows: vectors.rows,
            upper,
            bottom,
        })
    }

    /// The same graph for queries of another element type, `element`, over sampled vectors of
    /// `shape`; `None` where those are not compared.
    #[must_use]
    pub fn for_queries(
        self,
        element: ElementType,
        (shape, metric): (VectorShape, Guide),
        kernels: &'static KernelSet,
    ) -> Option<Self> {
        let many = kernels.distance_many_to((element, shape.element), metric.metric())?;
        Some(Self { many, ..self })
    }

    /// Replaces every node id by `map` of it: nodes get new ids when they are placed on pages.
    pub fn renumber(&mut self, map: impl Fn(NodeId) -> NodeId) {
        for node in &mut self.nodes {
            *node = map(*node);
        }
    }

    /// The sampled nodes by their ids in the big graph, in the order of their positions.
    ///
    /// After [`NavigationGraph::from_bytes`] these are any numbers: who knows the size of the big
    /// graph compares.
    pub fn nodes(&self) -> &[NodeId] {
        &self.nodes
    }

    /// Longest adjacency list of any layer.
    pub fn max_degree(&self) -> u32 {
        let upper = self.upper.iter().map(|layer| layer.graph.max_degree());
        upper.fold(self.bottom.max_degree(), u32::max)
    }

    /// Bytes that the graph holds.
    pub fn resident_bytes(&self) -> u64 {
        let count = self.nodes.len() as u64;
        let upper = self.upper.iter().map(NavigationLayer::bytes);
        Self::bytes_for(count, self.row_bytes as u64, self.bottom.max_degree()) + upper.sum::<u64>()
    }

    /// Bytes that a graph of one layer holds, known before its build. A layer above the bottom
    /// adds [`NavigationLayer::bytes_for`].
    pub fn bytes_for(sample: u64, row_bytes: u64, max_degree: u32) -> u64 {
        Self::vector_bytes(sample, row_bytes)
            .saturating_add(AdjacencyLists::bytes(sample, max_degree))
    }

    /// Bytes of sampled nodes and their vectors.
    pub(super) fn vector_bytes(sample: u64, row_bytes: u64) -> u64 {
        sample.saturating_mul(row_bytes.saturating_add(size_of::<NodeId>() as u64))
    }

    /// The node at a position.
    #[inline]
    pub(super) fn node(&self, position: NodeId) -> NodeId {
        self.nodes[position.index()]
    }

    /// Distances of a query to the vectors at some positions.
    #[inline]
    pub(super) fn score(&self, query: &[u8], positions: &[NodeId], out: &mut [f32]) {
        (self.many)(query, &self.rows, self.row_bytes, places(positions), out);
    }
}

impl SampledVectors {
    /// One row of a sound shape for each of at least one node.
    pub(super) fn check(&self) -> Result<(), GraphError> {
        let row_bytes = self.shape.row_bytes();
        if self.nodes.is_empty() || row_bytes == 0 {
            return Err(GraphError::Empty);
        }
        if self.nodes.len().checked_mul(row_bytes) == Some(self.rows.len()) {
            Ok(())
        } else {
            let found = format!("{} bytes", self.rows.len());
            Err(parameter("rows", found, "one vector per sampled node"))
        }
    }
}

impl NavigationLayer {
    /// Bytes of a layer above the bottom one.
    pub fn bytes_for(members: u64, max_degree: u32) -> u64 {
        let ranks = members.saturating_mul(size_of::<u32>() as u64);
        ranks.saturating_add(AdjacencyLists::bytes(members, max_degree))
    }

    fn bytes(&self) -> u64 {
        Self::bytes_for(self.members.len() as u64, self.graph.max_degree())
    }

    /// The position of a member.
    #[inline]
    pub(super) fn position(&self, member: NodeId) -> NodeId {
        NodeId(self.members[member.index()])
    }

    /// The member at a position. Every position that a search brings from above is one.
    pub(super) fn member(&self, position: NodeId) -> NodeId {
        let found = self.members.binary_search(&position.0);
        found.map_or(self.graph.entry(), |member| NodeId(member as u32))
    }

    /// Members ascend, are as many as the nodes of the graph, and members of the layer below; or
    /// below `count` when that is the bottom.
    fn check(&self, below: Option<&Self>, count: u32) -> Result<(), GraphError> {
        let ascend = self.members.is_sorted_by(|a, b| a < b);
        let lower = |position| match below {
            Some(layer) => layer.members.binary_search(position).is_ok(),
            None => *position < count,
        };
        let contained = self.members.iter().all(lower);
        if ascend && contained && self.members.len() == self.graph.count() as usize {
            Ok(())
        } else {
            Err(parameter(
                "members",
                format!("{} positions", self.members.len()),
                "one ascending position per node of the layer, each also in the layer below",
            ))
        }
    }
}

fn parameter(name: &'static str, value: String, expected: &'static str) -> GraphError {
    GraphError::Parameter {
        name,
        value,
        expected,
    }
}
