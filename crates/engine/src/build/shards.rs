//! A graph under a memory budget: overlapping shards, a graph for each, lists merged. Subramanya et
//! al., NeurIPS 2019, section 4; lists are merged by rank instead of at random.
//!
//! ```text
//!  rows -assign-> shard 0: (node, row)... -build-> (node, list)... -+
//!            \--> shard 1: (node, row)... -build-> (node, list)... -+-> merge by node -> lists
//!            \--> scaffold: some of all     -build-> (node, list)... -+
//! ```
//! If rows lie in clusters far from each other, both shards of a row belong to its own cluster, and
//! no edge would cross to another. So one more graph, the scaffold, is built over a sample of all
//! rows.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use pageway_graph::{
    COPIES, Graph, MedoidSpec, Partition, PartitionSpec, VectorSet, medoid, merge_lists, plan,
};
use pageway_kernels::advise_huge_pages;
use pageway_types::{NodeId, VectorRead};
use rayon::ThreadPool;
use serde_json::Value;

use super::course::Course;
use super::deal::Deal;
use super::joined::{JoinedFile, JoinedLists};
use super::plan::BuildPlan;
use super::sample::sample_rows;
use super::scratch::StageFiles;
use super::spill::{Spill, SpillReader, SpillWriter};
use super::stages::BLOCK_BYTES;
use super::write::ListStream;
use crate::error::{Error, ErrorKind, Result};
use crate::resolve;
use crate::source::VectorSlice;

/// One in so many nodes is in the scaffold, but at least `SCAFFOLD_LEAST`.
const SCAFFOLD_SHARE: u64 = 16;
const SCAFFOLD_LEAST: u64 = 2048;

impl BuildPlan {
    /// Nodes of the scaffold, in a build with shards of at most `capacity`.
    pub(super) fn scaffold_nodes(&self, capacity: u32) -> u64 {
        let nodes = u64::from(self.node_count);
        let wanted = (nodes / SCAFFOLD_SHARE).max(SCAFFOLD_LEAST);
        wanted.min(nodes).min(capacity.into())
    }
}

/// A graph build in shards.
pub(super) struct ShardBuild<'b> {
    pub(super) vectors: &'b dyn VectorRead,
    pub(super) plan: &'b BuildPlan,
    pub(super) files: StageFiles<'b>,
    pub(super) pool: &'b ThreadPool,
    /// Largest norm of all shards, under the inner product.
    pub(super) max_norm: Option<f32>,
    /// Lists of the segments that the rows come from, if they are joined.
    pub(super) joined: Option<JoinedFile>,
    pub(super) progress: &'b Course<'b>,
}

/// Nodes of a shard with their rows: `(node u32, row)` repeated, nodes ascending.
struct ShardRows {
    spill: Spill,
    count: usize,
    /// Whether this is the scaffold.
    is_scaffold: bool,
}

/// The graphs of all shards: per shard `(node u32, degree u32, neighbours u32...)` repeated, nodes
/// ascending.
pub(super) struct ShardGraphs {
    spills: Vec<Spill>,
    count: u32,
}

impl ShardBuild<'_> {
    /// Partitions, and builds the graph of each shard.
    pub(super) fn run(&self, capacity: u32) -> Result<ShardGraphs> {
        let shards = self.assign(capacity)?;
        let mut spills = Vec::with_capacity(shards.len());
        let rows: usize = shards.iter().map(|shard| shard.count).sum();
        let count = shards.iter().filter(|shard| !shard.is_scaffold).count() as u32;
        for (number, shard) in shards.into_iter().enumerate() {
            self.progress.portion(shard.count as f64 / rows as f64);
            spills.push(self.shard(number, &shard)?);
        }
        Ok(ShardGraphs { spills, count })
    }

    /// The graph of a shard, kept or built now.
    fn shard(&self, number: usize, shard: &ShardRows) -> Result<Spill> {
        let stage = format!("lists-{number}");
        if let Some((kept, _)) = self.files.find(&stage)? {
            return Ok(kept);
        }
        let built = self.build_shard(&stage, shard)?;
        self.files.keep(&stage, &built, Value::Null)?;
        Ok(built)
    }

    fn assign(&self, capacity: u32) -> Result<Vec<ShardRows>> {
        let deal = Deal {
            vectors: self.vectors,
            metric: self.plan.spec.shape.metric,
            pool: self.pool,
            progress: self.progress,
            stage: "assign shards",
        };
        let partition = self.partition(&deal, capacity)?;
        let files = partition.shards() + 1;
        let mut writers = Vec::with_capacity(files);
        for number in 0..files {
            let name = format!("shard-{number}");
            writers.push((self.files.writer_beside(&name, files)?, 0));
        }
        let scaffold = partition.shards() as u32;
        let mut sampled = self.scaffold(&partition).into_iter().peekable();
        let row_bytes = self.vectors.shape().row_bytes();
        deal.run(&partition, &mut |dealt| {
            let rows = dealt.rows.chunks_exact(row_bytes);
            let shards = dealt.shards.chunks_exact(partition.copies());
            for ((node, row), shards) in (dealt.first as u32..).zip(rows).zip(shards) {
                let sampled = sampled.next_if_eq(&u64::from(node)).map(|_| &scaffold);
                for shard in shards.iter().chain(sampled) {
                    let Some((writer, nodes)) = writers.get_mut(*shard as usize) else {
                        continue;
                    };
                    writer.write(&node.to_le_bytes())?;
                    writer.write(row)?;
                    *nodes += 1;
                }
            }
            Ok(())
        })?;
        let finish = |(number, (writer, count)): (u32, (SpillWriter, usize))| {
            Ok(ShardRows {
                spill: writer.finish()?,
                count,
                is_scaffold: number == scaffold,
            })
        };
        (0u32..)
            .zip(writers)
            .filter(|(_, (_, count))| *count > 0)
            .map(finish)
            .collect()
    }

    /// The nodes of the scaffold, ascending; empty if there is one shard.
    fn scaffold(&self, partition: &Partition) -> Vec<u64> {
        if partition.shards() < 2 {
            return Vec::new();
        }
        let capacity = partition.spec().shard_capacity.min(u32::MAX.into()) as u32;
        let wanted = self.plan.scaffold_nodes(capacity);
        sample_rows(self.vectors.count(), wanted, self.plan.spec.seed)
    }

    fn partition(&self, deal: &Deal<'_>, capacity: u32) -> Result<Partition> {
        let sample = deal.sample(self.plan)?;
        let spec = PartitionSpec {
            dimension: self.vectors.shape().dimension as usize,
            total_count: self.vectors.count(),
            shard_capacity: capacity.into(),
            copies: COPIES,
            seed: self.plan.spec.seed,
        };
        Ok(plan(&sample, &spec, self.pool, self.progress)?)
    }

    fn build_shard(&self, stage: &str, shard: &ShardRows) -> Result<Spill> {
        let shape = self.vectors.shape();
        let metric = self.plan.spec.shape.metric;
        let kernels = resolve::kernels()?;
        let (nodes, rows) = shard.load(shape.row_bytes())?;
        let slice = VectorSlice::new(&rows, shape)?;
        let spec = MedoidSpec {
            metric: metric.guide(),
            kernels,
            block_bytes: BLOCK_BYTES,
        };
        let entry = medoid(&slice, &spec, self.pool, self.progress)?.node;
        advise_huge_pages(&rows);
        let set = VectorSet::new(&rows, shape, metric.guide(), kernels, self.max_norm)?;
        let algorithm = self.plan.shard_algorithm().ok_or_else(no_shards)?;
        let joined = self.joined.as_ref().filter(|_| !shard.is_scaffold);
        let joined = joined.map(|file| file.of(&nodes, (entry, self.plan.shard_degree())));
        let joined = joined.transpose()?;
        let joined = joined.as_ref().map(JoinedLists::as_joined);
        let (graph, _) = algorithm.grow(&set, (entry, &[], joined), self.pool, self.progress)?;
        self.write_graph(stage, &graph, &nodes)
    }

    fn write_graph(&self, stage: &str, graph: &Graph, nodes: &[u32]) -> Result<Spill> {
        let mut out = self.files.writer(stage)?;
        let mut list = Vec::new();
        for (local, node) in (0u32..).zip(nodes) {
            list.clear();
            for neighbor in graph.neighbors(NodeId(local)) {
                let global = nodes.get(neighbor.index()).ok_or_else(torn)?;
                list.push(NodeId(*global));
            }
            write_list(&mut out, *node, &list)?;
        }
        out.finish()
    }
}

impl ShardRows {
    fn load(&self, row_bytes: usize) -> Result<(Vec<u32>, Vec<u8>)> {
        let mut nodes = Vec::with_capacity(self.count);
        let mut rows = vec![0; self.count * row_bytes];
        let mut reader = self.spill.reader();
        let mut word = [0; 4];
        for row in rows.chunks_exact_mut(row_bytes) {
            if !(reader.read(&mut word)? && reader.read(row)?) {
                return Err(torn());
            }
            nodes.push(u32::from_le_bytes(word));
        }
        Ok((nodes, rows))
    }
}

impl ShardGraphs {
    /// Lists of one graph that are in several files.
    pub(super) fn of_one(spills: Vec<Spill>) -> Self {
        Self { spills, count: 1 }
    }

    /// Number of shards.
    pub(super) fn count(&self) -> u32 {
        self.count
    }

    /// The lists of all nodes in order, each merged from its shards and at most `max_degree` long.
    /// Not every node is reachable over them.
    pub(super) fn merged(&self, max_degree: u32) -> Result<MergedLists<'_>> {
        let cursor = |spill| ShardCursor::new(spill, self.spills.len());
        let mut merged = MergedLists {
            shards: self.spills.iter().map(cursor).collect(),
            heads: BinaryHeap::new(),
            next: 0,
            max_degree,
        };
        for shard in 0..merged.shards.len() {
            merged.advance(shard)?;
        }
        Ok(merged)
    }
}

/// A walk over all shard graphs at once, node by node.
pub(super) struct MergedLists<'s> {
    shards: Vec<ShardCursor<'s>>,
    /// Next node of each shard.
    heads: BinaryHeap<Reverse<(u32, usize)>>,
    next: u32,
    max_degree: u32,
}

struct ShardCursor<'s> {
    reader: SpillReader<'s>,
    list: Vec<NodeId>,
}

impl<'s> ShardCursor<'s> {
    /// One of so many.
    fn new(spill: &'s Spill, cursors: usize) -> Self {
        Self {
            reader: spill.reader_beside(cursors),
            list: Vec::new(),
        }
    }

    /// Reads the next list; its node, or `None` at the end.
    fn advance(&mut self) -> Result<Option<u32>> {
        let mut word = [0; 4];
        if !self.reader.read(&mut word)? {
            return Ok(None);
        }
        let node = u32::from_le_bytes(word);
        let mut next = |word: &mut [u8; 4]| match self.reader.read(word) {
            Ok(true) => Ok(u32::from_le_bytes(*word)),
            Ok(false) => Err(torn()),
            Err(error) => Err(error),
        };
        let degree = next(&mut word)?;
        self.list.clear();
        for _ in 0..degree {
            self.list.push(NodeId(next(&mut word)?));
        }
        Ok(Some(node))
    }
}

impl MergedLists<'_> {
    fn advance(&mut self, shard: usize) -> Result<()> {
        let node = self
            .shards
            .get_mut(shard)
            .map_or(Ok(None), ShardCursor::advance)?;
        if let Some(node) = node {
            self.heads.push(Reverse((node, shard)));
        }
        Ok(())
    }
}

impl ListStream for MergedLists<'_> {
    fn next_list(&mut self, list: &mut Vec<NodeId>) -> Result<()> {
        let mut here = Vec::with_capacity(2);
        while let Some(Reverse((node, shard))) = self.heads.peek().copied() {
            if node != self.next {
                break;
            }
            self.heads.pop();
            here.push(shard);
        }
        let lists: Vec<&[NodeId]> = here
            .iter()
            .filter_map(|shard| self.shards.get(*shard))
            .map(|cursor| cursor.list.as_slice())
            .collect();
        merge_lists(&lists, self.max_degree as usize, list);
        for shard in here {
            self.advance(shard)?;
        }
        self.next += 1;
        Ok(())
    }
}

/// Writes the list of a node.
pub(super) fn write_list(out: &mut SpillWriter, node: u32, list: &[NodeId]) -> Result<()> {
    out.write(&node.to_le_bytes())?;
    out.write(&(list.len() as u32).to_le_bytes())?;
    list.iter()
        .try_for_each(|other| out.write(&other.0.to_le_bytes()))
}

fn no_shards() -> Error {
    Error::new(
        ErrorKind::Internal,
        "shards were planned for a graph that cannot be merged from them",
    )
}

fn torn() -> Error {
    Error::new(
        ErrorKind::Internal,
        "a temporary file of the build ends too early",
    )
}
