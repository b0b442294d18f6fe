//! The middle of a build: the graph, the order of its nodes, and the pages.

use pageway_graph::{Graph, Layer, MedoidSpec, medoid, overlap_ratio};
use pageway_store::{FileEntry, PageFileWriter};
use pageway_types::{Metric, NodeId, Progress};
use serde_json::{Value, json};

use super::donor::{Donor, DonorRows};
use super::encode::CodeFiles;
use super::fingerprint::Fingerprint;
use super::graph::{GraphInput, WholeGraph};
use super::graph_file::GraphFile;
use super::joined::{JoinedFile, JoinedLists};
use super::order::{NodeOrder, order_nodes};
use super::pipeline::{Pipeline, Stages, not_in_memory};
use super::plan::GraphPlan;
use super::reach::relink;
use super::replicas::{Distances, ReplicaPlan};
use super::scratch::StageFiles;
use super::shards::{ShardBuild, ShardGraphs};
use super::stages::BLOCK_BYTES;
use super::write::{ListSource, ListStream, PageInput, write_pages};
use crate::error::Result;
use crate::manifest::{FileKind, GraphStatistics};
use crate::resolve;

/// A graph, and the row at which walks start.
pub(super) struct Linked<'p> {
    pub(super) medoid: NodeId,
    pub(super) lists: Lists<'p>,
    /// Graphs it was merged from; 1 if it was built whole.
    pub(super) shards: u32,
}

impl Linked<'_> {
    /// The layers above the graph; top first.
    pub(super) fn layers(&self) -> &[Layer] {
        match &self.lists {
            Lists::Whole(whole) => &whole.layers,
            Lists::File(_) | Lists::None => &[],
        }
    }
}

pub(super) enum Lists<'p> {
    Whole(WholeGraph<'p>),
    /// On disk.
    File(GraphFile),
    /// Nodes have no lists.
    None,
}

impl Pipeline<'_> {
    /// Builds the graph, whole or in shards.
    pub(super) fn link(
        &self,
        max_norm: f32,
        files: StageFiles<'_>,
        stages: &mut Stages,
    ) -> Result<Linked<'_>> {
        let metric = self.options.metric;
        let spec = MedoidSpec {
            metric: metric.guide(),
            kernels: resolve::kernels()?,
            block_bytes: BLOCK_BYTES,
        };
        let medoid = medoid(self.input.vectors, &spec, self.pool, self.progress)?.node;
        let max_norm = (metric == Metric::InnerProduct).then_some(max_norm);
        let mut shards = GraphStatistics::default().shards;
        let lists = if resolve::cluster_spec(&self.plan.spec).is_some() {
            Lists::None
        } else if self.plan.graph == GraphPlan::Whole {
            let whole = self.whole_graph(medoid, max_norm, files)?;
            stages.end("build graph");
            Lists::Whole(whole)
        } else {
            let merged = self.graph_file(medoid, max_norm, files, stages)?;
            shards = merged.shards;
            Lists::File(merged.graph)
        };
        Ok(Linked {
            medoid,
            lists,
            shards,
        })
    }

    fn whole_graph(
        &self,
        entry: NodeId,
        max_norm: Option<f32>,
        files: StageFiles<'_>,
    ) -> Result<WholeGraph<'_>> {
        let input = GraphInput {
            vectors: self.input.vectors,
            spec: &self.plan.spec,
            entry,
            guests: self.guests,
            max_norm,
            pool: self.pool,
            progress: self.progress,
        };
        let (nodes, max_degree) = (self.plan.node_count, self.plan.spec.graph.max_degree());
        if let Some((kept, _)) = files.find("graph")? {
            let kept = GraphFile::of(kept, nodes, max_degree).load(entry)?;
            return WholeGraph::of(kept, input);
        }
        let joined = match self.joined_file()? {
            Some(file) => {
                let all: Vec<u32> = (0..self.plan.node_count).collect();
                Some(file.of(&all, (entry, max_degree))?)
            }
            None => None,
        };
        let joined = joined.as_ref().map(JoinedLists::as_joined);
        let whole = WholeGraph::build(input, joined, self.donor()?.as_ref())?;
        // A graph with layers is not kept, because layers are not.
        if files.scratch.resumes() && whole.layers.is_empty() {
            let mut lists = GraphRows::new(&whole.graph);
            let file = GraphFile::write(files.writer("graph")?, &mut lists, (nodes, max_degree))?;
            files.keep("graph", file.spill(), json!({}))?;
        }
        Ok(whole)
    }

    /// The lists of the segments that the rows come from, if they are joined.
    fn joined_file(&self) -> Result<Option<JoinedFile>> {
        let kept = self.kept.filter(|_| self.plan.joins());
        kept.map(|kept| self.joined(kept)).transpose()
    }

    /// The index whose graph is taken over, if any.
    fn donor(&self) -> Result<Option<Donor<'_>>> {
        let rows = DonorRows {
            vectors: self.input.vectors,
            ordered: self.ordered_rows(),
        };
        let dir = self.options.graph_from.as_deref();
        let place = dir.map(|dir| (&self.workspace.vfs, dir));
        place
            .map(|place| Donor::open(place, &self.plan.spec, rows))
            .transpose()
    }

    /// The graph on disk, taken over or merged from shards or kept lists, with every node
    /// reachable.
    fn graph_file(
        &self,
        entry: NodeId,
        max_norm: Option<f32>,
        files: StageFiles<'_>,
        stages: &mut Stages,
    ) -> Result<Merged> {
        let (nodes, max_degree) = (self.plan.node_count, self.plan.spec.graph.max_degree());
        if let Some((kept, note)) = files.find("graph")? {
            let graph = GraphFile::of(kept, nodes, max_degree);
            return Ok(Merged::noted(graph, &note, stages));
        }
        if let Some(donor) = self.donor()? {
            self.progress.stage("read graph", nodes.into());
            let mut lists = donor.lists(self.ordered_rows())?;
            let graph = GraphFile::write(files.writer("graph")?, &mut lists, (nodes, max_degree))?;
            files.keep("graph", graph.spill(), Value::Null)?;
            stages.end("build graph");
            return Ok(Merged { graph, shards: 1 });
        }
        let graphs = match (self.plan.graph, self.kept) {
            (GraphPlan::Shards { capacity, .. }, _) => {
                self.shard_graphs(capacity, max_norm, files)?
            }
            (_, Some(kept)) => self.rewrite(kept, max_norm)?,
            (_, None) => return Err(not_in_memory()),
        };
        stages.end("build graph");
        let mut lists = graphs.merged(max_degree)?;
        let graph = GraphFile::write(files.writer("graph")?, &mut lists, (nodes, max_degree))?;
        let shards = graphs.count();
        drop(graphs);
        let relinked = relink(&graph, entry, self.progress)?;
        let note = json!({ "shards": shards, "relinked": relinked });
        files.keep("graph", graph.spill(), note.clone())?;
        files.forget(&["lists-"])?;
        let merged = Merged::noted(graph, &note, stages);
        stages.end("check reachability");
        Ok(merged)
    }

    pub(super) fn order(&self, linked: &Linked<'_>, files: StageFiles<'_>) -> Result<NodeOrder> {
        let Lists::Whole(whole) = &linked.lists else {
            return Ok(NodeOrder::Rows);
        };
        if let Some(kept) = files.find_bytes("order")? {
            let (words, _) = kept.as_chunks::<4>();
            let rows = words.iter().map(|word| NodeId(u32::from_le_bytes(*word)));
            return Ok(NodeOrder::placed(rows.collect()));
        }
        let spec = &self.plan.spec;
        let nodes_per_page = self.plan.nodes_per_page();
        let subject = (&whole.graph, &whole.vectors()?, self.guests);
        let order = order_nodes(spec, nodes_per_page, subject, self.pool, self.progress)?;
        if let NodeOrder::Placed { rows, .. } = &order
            && files.scratch.resumes()
        {
            let bytes: Vec<u8> = rows.iter().flat_map(|row| row.0.to_le_bytes()).collect();
            files.keep_bytes("order", &bytes)?;
        }
        Ok(order)
    }

    /// Overlap ratio OR(G) of the order.
    pub(super) fn overlap(&self, linked: &Linked<'_>, order: &NodeOrder) -> Result<Option<f64>> {
        let nodes_per_page = self.plan.nodes_per_page();
        let all: Vec<NodeId>;
        let whole = match &linked.lists {
            Lists::Whole(whole) => whole,
            Lists::File(graph) => return graph.overlap(nodes_per_page).map(Some),
            Lists::None => return Ok(None),
        };
        let rows = match order {
            NodeOrder::Placed { rows, .. } => rows,
            NodeOrder::Rows | NodeOrder::Ordered(_) => {
                all = (0..self.plan.node_count).map(NodeId).collect();
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
        (fingerprint, max_norm): (Fingerprint, f32),
    ) -> Result<(FileEntry, GraphStatistics)> {
        let spec = &self.plan.spec;
        let codec = resolve::codec(spec, self.plan.node_count)?;
        let kind = FileKind::Records;
        let (path, uuid) = (self.path(kind), fingerprint.uuid(kind.stem()));
        let vfs = self.workspace.vfs.as_ref();
        let geometry = codec.map().geometry;
        let file = PageFileWriter::create(vfs, &path, kind as u16, geometry, uuid)?;
        let input = |lists, replicas| PageInput {
            input: self.input,
            codec: &codec,
            order,
            lists,
            codes: &codes.at_hand,
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
                let replicated = spec.layout.codec.is_replicated();
                let distances = Distances::Held(&vectors);
                let plan = || ReplicaPlan::new(distances, order, self.plan);
                let replicas = replicated.then(plan);
                let pages = input(ListSource::Graph(&whole.graph), replicas);
                write_pages(pages, file, self.progress)
            }
            Lists::None => write_pages(input(ListSource::None, None), file, self.progress),
            Lists::File(graph) => {
                let replicated = spec.layout.codec.is_replicated();
                let distances = self.distances(max_norm);
                let plan = || ReplicaPlan::new(distances, order, self.plan);
                let pages = input(ListSource::File(&graph), replicated.then(plan));
                let (records, statistics) = write_pages(pages, file, self.progress)?;
                let shards = linked.shards;
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

    /// Distances between rows that are read for them.
    fn distances(&self, max_norm: f32) -> Distances<'_> {
        let metric = self.options.metric;
        let max_norm = (metric == Metric::InnerProduct).then_some(max_norm);
        Distances::Read(self.input.vectors, metric.guide(), max_norm)
    }

    /// Builds the graphs of all shards.
    fn shard_graphs(
        &self,
        capacity: u32,
        max_norm: Option<f32>,
        files: StageFiles<'_>,
    ) -> Result<ShardGraphs> {
        let build = ShardBuild {
            vectors: self.input.vectors,
            plan: self.plan,
            files,
            pool: self.pool,
            max_norm,
            joined: self.joined_file()?,
            progress: self.progress,
        };
        build.run(capacity)
    }
}

/// A merged graph, and the number of graphs it was merged from.
struct Merged {
    graph: GraphFile,
    shards: u32,
}

impl Merged {
    fn noted(graph: GraphFile, note: &Value, stages: &mut Stages) -> Self {
        stages.relinked_nodes += noted(note, "relinked");
        Self {
            graph,
            shards: noted(note, "shards") as u32,
        }
    }
}

/// A number in the note of a stage.
pub(super) fn noted(note: &Value, name: &str) -> u64 {
    note.get(name).and_then(Value::as_u64).unwrap_or(0)
}

/// The lists of a graph in memory, in order.
struct GraphRows<'g> {
    graph: &'g Graph,
    next: u32,
}

impl<'g> GraphRows<'g> {
    const fn new(graph: &'g Graph) -> Self {
        Self { graph, next: 0 }
    }
}

impl ListStream for GraphRows<'_> {
    fn next_list(&mut self, list: &mut Vec<NodeId>) -> Result<()> {
        list.clear();
        list.extend_from_slice(self.graph.neighbors(NodeId(self.next)));
        self.next += 1;
        Ok(())
    }
}
