//! The middle of a build: the graph, the order of its nodes, and the pages.

use pageway_graph::{Layer, MedoidSpec, medoid, overlap_ratio};
use pageway_store::{FileEntry, PageFileWriter};
use pageway_types::{Metric, NodeId};

use super::budget::{BLOCK_BYTES, GraphPlan};
use super::clusters::NoLists;
use super::encode::CodeFiles;
use super::fingerprint::Fingerprint;
use super::graph::{GraphInput, WholeGraph};
use super::order::{NodeOrder, order_nodes};
use super::pipeline::{Pipeline, Stages, not_in_memory};
use super::reach::{ReachSpec, Relinked, relink};
use super::replicas::ReplicaPlan;
use super::shards::{ShardBuild, ShardGraphs};
use super::write::{ListSource, PageInput, write_pages};
use crate::error::Result;
use crate::manifest::{FileKind, GraphStatistics};
use crate::resolve;

/// A graph, and the row where walks over it start.
pub(super) struct Linked<'p> {
    pub(super) medoid: NodeId,
    pub(super) lists: Lists<'p>,
}

impl Linked<'_> {
    /// The layers above the graph; top first.
    pub(super) fn layers(&self) -> &[Layer] {
        match &self.lists {
            Lists::Whole(whole) => &whole.layers,
            Lists::Shards(_) | Lists::None => &[],
        }
    }
}

pub(super) enum Lists<'p> {
    Whole(WholeGraph<'p>),
    Shards((ShardGraphs, Relinked)),
    /// Nodes have none.
    None,
}

impl Pipeline<'_> {
    /// Builds the graph, whole or in shards.
    pub(super) fn link(&self, max_norm: f32, stages: &mut Stages) -> Result<Linked<'_>> {
        let metric = self.options.metric;
        let vectors = self.input.vectors;
        let spec = MedoidSpec {
            metric: metric.guide(),
            kernels: resolve::kernels()?,
            block_bytes: BLOCK_BYTES,
        };
        let medoid = medoid(vectors, &spec, self.pool, self.progress)?.node;
        if resolve::cluster_spec(&self.plan.spec).is_some() {
            let lists = Lists::None;
            return Ok(Linked { medoid, lists });
        }
        let max_norm = (metric == Metric::InnerProduct).then_some(max_norm);
        let lists = match self.plan.graph {
            GraphPlan::Whole => {
                let whole = WholeGraph::build(GraphInput {
                    vectors,
                    spec: &self.plan.spec,
                    entry: medoid,
                    guests: self.guests,
                    max_norm,
                    donor: self
                        .options
                        .graph_from
                        .as_deref()
                        .map(|dir| (&self.workspace.vfs, dir)),
                    pool: self.pool,
                    progress: self.progress,
                })?;
                stages.end("build graph");
                Lists::Whole(whole)
            }
            GraphPlan::Shards { capacity } => {
                let graphs = self.shard_graphs(capacity, max_norm)?;
                stages.end("build graph");
                Lists::Shards(self.relinked(graphs, medoid, stages)?)
            }
            GraphPlan::Kept => {
                let kept = self.kept.ok_or_else(not_in_memory)?;
                let graphs = self.rewrite(kept, max_norm)?;
                stages.end("build graph");
                Lists::Shards(self.relinked(graphs, medoid, stages)?)
            }
        };
        Ok(Linked { medoid, lists })
    }

    pub(super) fn order(&self, linked: &Linked<'_>) -> Result<NodeOrder> {
        let Lists::Whole(whole) = &linked.lists else {
            return Ok(NodeOrder::Rows);
        };
        let spec = &self.plan.spec;
        let nodes_per_page = resolve::codec(spec, self.plan.node_count)?
            .map()
            .nodes_per_page;
        let subject = (&whole.graph, &whole.vectors()?);
        order_nodes(spec, nodes_per_page, subject, self.pool, self.progress)
    }

    /// OR(G) of the order.
    pub(super) fn overlap(&self, linked: &Linked<'_>, order: &NodeOrder) -> Result<Option<f64>> {
        let Lists::Whole(whole) = &linked.lists else {
            return Ok(None);
        };
        let nodes = self.plan.node_count;
        let nodes_per_page = resolve::codec(&self.plan.spec, nodes)?.map().nodes_per_page;
        let all: Vec<NodeId>;
        let rows = match order {
            NodeOrder::Placed { rows, .. } => rows,
            NodeOrder::Rows | NodeOrder::Ordered(_) => {
                all = (0..nodes).map(NodeId).collect();
                &all
            }
        };
        Ok(Some(overlap_ratio(&whole.graph, rows, nodes_per_page)))
    }

    /// Writes the pages.
    pub(super) fn records(
        &self,
        linked: Linked<'_>,
        order: &NodeOrder,
        codes: &CodeFiles,
        fingerprint: Fingerprint,
    ) -> Result<(FileEntry, GraphStatistics)> {
        let spec = &self.plan.spec;
        let codec = resolve::codec(spec, self.plan.node_count)?;
        let kind = FileKind::Records;
        let (path, uuid) = (self.path(kind), fingerprint.uuid(kind.stem()));
        let vfs = self.workspace.vfs.as_ref();
        let geometry = codec.map().geometry;
        let file = PageFileWriter::create(vfs, &path, kind as u16, geometry, uuid)?;
        let code_bytes = spec.storage.quantizer.code_bytes() as usize;
        let input = |lists, replicas| PageInput {
            input: self.input,
            codec: &codec,
            order,
            lists,
            codes: (&codes.at_hand, code_bytes),
            fine: codes.fine.as_ref(),
            replicas,
            packs: spec.cache.nodes.holds_lists() || spec.layout.lists.is_packed(),
            pool: self.pool,
        };
        match linked.lists {
            Lists::Whole(mut whole) => {
                if let NodeOrder::Placed { rows, .. } = order {
                    whole.graph = whole.graph.renumbered(rows)?;
                }
                let vectors = whole.vectors()?;
                let lists = spec.layout.codec.packed_lists();
                let replicated = spec.layout.codec.is_replicated();
                let plan = || ReplicaPlan::new(&whole.graph, &vectors, order, lists);
                let replicas = replicated.then(plan);
                let pages = input(ListSource::Graph(&whole.graph), replicas);
                write_pages(pages, file, self.progress)
            }
            Lists::None => write_pages(
                input(ListSource::Stream(&mut NoLists), None),
                file,
                self.progress,
            ),
            Lists::Shards((shards, relinked)) => {
                let mut lists = relinked.patch(shards.merged(spec.graph.max_degree())?);
                let pages = input(ListSource::Stream(&mut lists), None);
                let (records, statistics) = write_pages(pages, file, self.progress)?;
                let shards = shards.count();
                Ok((
                    records,
                    GraphStatistics {
                        shards,
                        ..statistics
                    },
                ))
            }
        }
    }

    /// Builds the graphs of all shards.
    fn shard_graphs(&self, capacity: u32, max_norm: Option<f32>) -> Result<ShardGraphs> {
        let build = ShardBuild {
            vectors: self.input.vectors,
            plan: self.plan,
            workspace: self.workspace,
            pool: self.pool,
            max_norm,
            progress: self.progress,
        };
        build.run(capacity)
    }

    /// Links the nodes that the merge of graphs does not reach.
    fn relinked(
        &self,
        shards: ShardGraphs,
        entry: NodeId,
        stages: &mut Stages,
    ) -> Result<(ShardGraphs, Relinked)> {
        let max_degree = self.plan.spec.graph.max_degree();
        let spec = ReachSpec {
            entry,
            node_count: self.plan.node_count,
            max_degree,
        };
        let relinked = relink(spec, || shards.merged(max_degree), self.progress)?;
        stages.relinked_nodes += relinked.count() as u64;
        stages.end("check reachability");
        Ok((shards, relinked))
    }
}
