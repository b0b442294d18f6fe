//! The graph of another index of the same rows, laid out anew in place of building one.
//!
//! Its lists are read from its records, some thousand at a time, in the order of the nodes of this
//! build. If that is not the order of the data, memory holds the node of each row, but no lists.

use std::path::Path;
use std::sync::Arc;

use pageway_graph::Graph;
use pageway_store::Vfs;
use pageway_types::{NodeId, Progress, VectorRead};

use super::ordered::OrderedRows;
use super::sample::{read_rows, sample_rows};
use super::write::ListStream;
use crate::cache::ListRead;
use crate::error::{Error, ErrorKind, Result};
use crate::index::Index;
use crate::manifest::{Manifest, SegmentEntry};
use crate::memory::MemoryWish;
use crate::options::OpenOptions;
use crate::plan::least_memory;
use crate::presets::choices::typed;
use crate::resolve::{self, Source};
use crate::spec::IndexSpec;

/// Nodes whose lists are read at a time.
const BATCH: u32 = 4096;
/// Rows that are compared before a graph is taken over.
const COMPARED_ROWS: u64 = 256;
/// Memory for the lists of a batch and their pages, beside what is held for each row.
pub(super) const DONOR_BYTES: u64 = 8 << 20;
/// Memory per row: its node, if rows are not in the order of the data.
pub(super) const DONOR_ROW_BYTES: u64 = size_of::<NodeId>() as u64;

/// Memory of a graph that is taken over whole: first as separate lists, then as a graph.
pub(super) fn held_bytes(nodes: u64, max_degree: u32) -> u64 {
    let list = (size_of::<Vec<NodeId>>() + size_of::<NodeId>() * max_degree as usize) as u64;
    nodes * list + Graph::bytes(nodes, max_degree)
}

/// An index whose graph is taken over.
pub(super) struct Donor<'d> {
    vfs: &'d Arc<dyn Vfs>,
    dir: &'d Path,
    manifest: Manifest,
}

/// Rows as a build has them: in the order of its nodes.
#[derive(Clone, Copy)]
pub(super) struct DonorRows<'d> {
    pub(super) vectors: &'d dyn VectorRead,
    /// The order of nodes, if it is not that of the data.
    pub(super) ordered: Option<&'d OrderedRows>,
}

/// Its lists, node by node.
pub(super) struct DonorLists<'d> {
    reader: Box<dyn ListRead>,
    ordered: Option<&'d OrderedRows>,
    /// Node of each row; empty if their numbers are the same.
    nodes: Vec<u32>,
    lists: Vec<Vec<NodeId>>,
    /// Nodes of the batches so far.
    read: u32,
    /// Place in the batch.
    at: usize,
}

impl<'d> Donor<'d> {
    /// The index in `dir`.
    ///
    /// # Errors
    /// `InvalidInput` if its lists are not those of a build of `spec` over `rows`.
    pub(super) fn open(
        (vfs, dir): (&'d Arc<dyn Vfs>, &'d Path),
        spec: &IndexSpec,
        rows: DonorRows<'_>,
    ) -> Result<Self> {
        let manifest = Manifest::read(vfs.as_ref(), dir)?;
        let donor = Self { vfs, dir, manifest };
        donor.refuse_other_graph(spec, rows.vectors.count())?;
        donor.refuse_other_vectors(rows, spec.seed)?;
        Ok(donor)
    }

    fn segment(&self) -> Result<&SegmentEntry> {
        self.manifest.first()
    }

    /// Its lists, in the order of `ordered` or of the data.
    pub(super) fn lists<'l>(&self, ordered: Option<&'l OrderedRows>) -> Result<DonorLists<'l>> {
        let segment = self.segment()?;
        let reader = resolve::list_reader(Source {
            vfs: self.vfs.as_ref(),
            dir: self.dir,
            segment,
        })?;
        let nodes = ordered.map_or(Ok(Vec::new()), OrderedRows::nodes)?;
        Ok(DonorLists {
            reader,
            ordered,
            nodes,
            lists: Vec::new(),
            read: 0,
            at: 0,
        })
    }

    /// Its graph in memory, over rows in the order of the data.
    pub(super) fn graph(&self, entry: NodeId, progress: &dyn Progress) -> Result<Graph> {
        let mut lists = self.lists(None)?;
        let mut all = vec![Vec::new(); self.segment()?.node_count as usize];
        progress.stage("read graph", all.len() as u64);
        for batch in all.chunks_mut(BATCH as usize) {
            progress.check()?;
            for list in &mut *batch {
                lists.next_list(list)?;
            }
            progress.advance(batch.len() as u64);
        }
        let max_degree = self.manifest.spec.graph.max_degree();
        let slices = all.iter().map(Vec::as_slice);
        Ok(Graph::from_lists(slices, max_degree, entry)?)
    }

    /// Refuses an index that holds other vectors of the same shape. Opens it in the least memory,
    /// which is less than its lists will take.
    fn refuse_other_vectors(&self, rows: DonorRows<'_>, seed: u64) -> Result<()> {
        let least = least_memory(&self.manifest.spec, self.manifest.node_count())?.reserved();
        let options = OpenOptions {
            memory: Some(MemoryWish::Bytes(least)),
            ..OpenOptions::default()
        };
        let index = Index::open_on(self.vfs, self.dir, &options)?;
        let ours = sample_rows(rows.vectors.count(), COMPARED_ROWS, seed);
        let mut theirs = ours.clone();
        if let Some(ordered) = rows.ordered {
            let mut row = Vec::new();
            for number in &mut theirs {
                let node = *number as u32;
                ordered.numbers(node..node + 1, &mut row)?;
                *number = row.first().copied().ok_or_else(torn)?.into();
            }
        }
        let widened = |vectors: &dyn VectorRead, rows: &[u64]| -> Result<Vec<f32>> {
            let (bytes, element) = (read_rows(vectors, rows)?, vectors.shape().element);
            let mut values = vec![0.0; element.components_in(bytes.len())];
            resolve::kernels()?.widen(element)(&bytes, &mut values);
            Ok(values)
        };
        if widened(&index, &theirs)? == widened(rows.vectors, &ours)? {
            return Ok(());
        }
        Err(self.refused("it is over other vectors"))
    }

    /// Refuses an index of another number of rows or another graph than the build would make.
    fn refuse_other_graph(&self, ours: &IndexSpec, rows: u64) -> Result<()> {
        let theirs = &self.manifest.spec;
        let is_alike = theirs.shape.keeps(ours.shape) || ours.shape.keeps(theirs.shape);
        if !is_alike || u64::from(self.manifest.node_count()) != rows {
            return Err(self.refused("it is over other vectors"));
        }
        if self.manifest.segments.len() > 1 {
            return Err(self.refused("it has several segments, each with a graph of its own"));
        }
        if theirs.graph != ours.graph {
            return Err(self.refused(&format!(
                "it is {}, and the graph of this build {}; ask for the former with --graph and \
                 --degree, or take another index",
                typed(&theirs.graph),
                typed(&ours.graph)
            )));
        }
        if !theirs.nodes_are_rows() || theirs.layout.codec.is_page_node() {
            return Err(self.refused(
                "its nodes are not in the order of the data; take one with placement by_id",
            ));
        }
        if theirs.layout.lists.is_packed() {
            return Err(self.refused(
                "its lists are packed and have lost their order; take one with lists plain",
            ));
        }
        if ours.execution.entry.needs_layers() {
            return Err(
                self.refused("it does not keep the upper layers that entry upper_layers needs")
            );
        }
        Ok(())
    }

    fn refused(&self, what: &str) -> Error {
        let dir = self.dir.display();
        Error::invalid(format!("the graph of {dir} cannot be taken over: {what}"))
    }
}

impl DonorLists<'_> {
    /// Reads the lists of the next nodes.
    fn refill(&mut self) -> Result<()> {
        let end = self.reader.node_count().min(self.read + BATCH);
        let mut rows = Vec::new();
        match self.ordered {
            Some(ordered) => ordered.numbers(self.read..end, &mut rows)?,
            None => rows.extend(self.read..end),
        }
        let rows: Vec<NodeId> = rows.into_iter().map(NodeId).collect();
        let (lists, nodes) = (&mut self.lists, &self.nodes);
        lists.resize_with(rows.len(), Vec::new);
        let mut is_torn = false;
        self.reader.lists(&rows, &mut |at, neighbors| {
            let Some(list) = lists.get_mut(at) else {
                return;
            };
            list.clear();
            if nodes.is_empty() {
                list.extend_from_slice(neighbors);
                return;
            }
            let own = neighbors.iter().map(|row| nodes.get(row.index()).copied());
            is_torn |= own.clone().any(|node| node.is_none());
            list.extend(own.flatten().map(NodeId));
        })?;
        if is_torn || rows.is_empty() {
            return Err(torn());
        }
        (self.read, self.at) = (end, 0);
        Ok(())
    }
}

impl ListStream for DonorLists<'_> {
    fn next_list(&mut self, list: &mut Vec<NodeId>) -> Result<()> {
        if self.at == self.lists.len() {
            self.refill()?;
        }
        list.clear();
        list.extend_from_slice(self.lists.get(self.at).ok_or_else(torn)?);
        self.at += 1;
        Ok(())
    }
}

fn torn() -> Error {
    let what = "the lists of a graph that is taken over are not those of its rows";
    Error::new(ErrorKind::Internal, what)
}
