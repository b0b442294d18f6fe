//! Writes pages in order: vectors stream from the source in the order of nodes, lists from the
//! graph, in memory or on disk. The pages of a batch are encoded in parallel. Data of nodes on
//! other pages is read for the batch, if memory does not hold it.

use std::collections::BTreeMap;
use std::ops::Range;

use pageway_graph::Graph;
use pageway_quant::Quantizer;
use pageway_store::{FileEntry, PageFileWriter};
use pageway_types::{NodeId, PageId, Progress};
use rayon::ThreadPool;
use rayon::prelude::*;

use super::census::Census;
use super::codes::encode_rows;
use super::encode::CodesAtHand;
use super::gather::Gathered;
use super::graph_file::{GraphFile, neighbors};
use super::order::NodeOrder;
use super::replicas::ReplicaPlan;
use super::stages::BLOCK_BYTES;
use crate::error::{Error, ErrorKind, Result};
use crate::layout::{NodeFeed, PageMap, VectorPart};
use crate::manifest::GraphStatistics;
use crate::options::BuildInput;
use crate::resolve::AnyCodec;

/// Pages of a batch at most.
const BATCH_PAGES: u32 = 1024;
/// Edges of a batch at most, if codes or rows of neighbours are read for it.
const FOREIGN_EDGES: u32 = 1 << 15;

/// Adjacency lists in node order.
pub(super) trait ListStream {
    /// Replaces `list` by the list of the next node.
    fn next_list(&mut self, list: &mut Vec<NodeId>) -> Result<()>;
}

/// The source of lists.
#[derive(Clone, Copy)]
pub(super) enum ListSource<'l> {
    /// The graph in memory, its nodes in their final order.
    Graph(&'l Graph),
    /// The same on disk.
    File(&'l GraphFile),
    /// Nodes have no lists.
    None,
}

/// The input of pages.
pub(super) struct PageInput<'p> {
    pub(super) input: &'p BuildInput<'p>,
    pub(super) codec: &'p AnyCodec,
    pub(super) order: &'p NodeOrder,
    pub(super) lists: ListSource<'p>,
    /// Codes of all nodes, in order, if pages hold any.
    pub(super) codes: &'p CodesAtHand,
    /// Makes the fine codes that lie in records, if any do.
    pub(super) fine: Option<&'p Quantizer>,
    /// Chooses the lists that are packed beside a record.
    pub(super) replicas: Option<ReplicaPlan<'p>>,
    /// Whether memory or pages hold the lists packed.
    pub(super) packs: bool,
    pub(super) pool: &'p ThreadPool,
}

/// Writes all pages.
pub(super) fn write_pages(
    mut pages: PageInput<'_>,
    mut file: PageFileWriter,
    progress: &dyn Progress,
) -> Result<(FileEntry, GraphStatistics)> {
    let map = pages.codec.map();
    progress.stage("write records", map.page_count().into());
    let mut census = if pages.packs {
        Census::with_packed(map.node_count)
    } else {
        Census::default()
    };
    let mut used = 0u64;
    let mut first = 0;
    while first < map.page_count() {
        progress.check()?;
        let range = pages.batch_of(map, first);
        let batch = NodeBatch::load(&mut pages, range.clone())?;
        if !map.holds_vectors_alone(PageId(first)) {
            for node in batch.nodes.clone() {
                let node = NodeId(node);
                census.count(node, batch.list(pages.lists, node)?)?;
            }
        }
        for payload in batch.encode(&pages, range.clone())? {
            used += payload.len() as u64;
            file.append_unit(&payload)?;
        }
        progress.advance(range.len() as u64);
        first = range.end;
    }
    let bytes = u64::from(map.page_count()) * map.geometry.unit_bytes() as u64;
    let statistics = GraphStatistics {
        page_utilisation: used as f64 / bytes as f64,
        ..census.statistics()
    };
    Ok((file.finish()?, statistics))
}

impl PageInput<'_> {
    /// Pages from `first` on whose vectors make about a block; all with lists, or all without.
    /// Fewer if data of other nodes is read for them.
    fn batch_of(&self, map: PageMap, first: u32) -> Range<u32> {
        let unit = map.geometry.unit_bytes();
        let mut most = (2 * BLOCK_BYTES / unit).clamp(1, BATCH_PAGES as usize) as u32;
        let limit = if first < map.list_pages() {
            map.list_pages()
        } else {
            map.page_count()
        };
        let reads_rows = self.replicas.is_some() && matches!(self.lists, ListSource::File(_));
        if let (ListSource::File(graph), true) = (
            self.lists,
            reads_rows || self.codes.record_bytes().is_some(),
        ) {
            let edges = graph.max_degree().max(1) * map.nodes_per_page.max(1);
            most = most.min((FOREIGN_EDGES / edges).max(1));
        }
        first..(first + most).min(limit)
    }
}

/// The nodes of some pages.
struct NodeBatch {
    nodes: Range<u32>,
    rows: Vec<u8>,
    /// Fine codes, and bytes of one.
    fine: (Vec<u8>, usize),
    /// Row numbers and ids.
    numbers: Vec<u32>,
    user_ids: Vec<u64>,
    /// Lists one after the other, if they are on disk, and the end of each.
    lists: Vec<NodeId>,
    ends: Vec<usize>,
    replicas: Vec<Vec<NodeId>>,
    /// The ranges of the lists of other nodes.
    foreign: BTreeMap<u32, Range<usize>>,
    /// Codes of neighbours, if they are on disk.
    codes: Gathered,
}

impl NodeBatch {
    fn load(pages: &mut PageInput<'_>, range: Range<u32>) -> Result<Self> {
        let map = pages.codec.map();
        let first = map.nodes_of(PageId(range.start)).start;
        let nodes = first..map.nodes_of(PageId(range.end - 1)).end;
        let mut batch = Self {
            rows: Vec::new(),
            fine: (Vec::new(), 0),
            numbers: Vec::new(),
            user_ids: Vec::new(),
            lists: Vec::new(),
            ends: Vec::new(),
            replicas: Vec::new(),
            foreign: BTreeMap::new(),
            codes: Gathered::default(),
            nodes,
        };
        let vectors_alone = map.holds_vectors_alone(PageId(range.start));
        let lists_alone = map.vectors_per_page > 0 && !vectors_alone && pages.fine.is_none();
        if !lists_alone {
            batch.read_vectors(pages)?;
        }
        if !vectors_alone {
            batch.encode_rows(pages)?;
            batch.read_lists(pages)?;
        }
        Ok(batch)
    }

    fn read_vectors(&mut self, pages: &PageInput<'_>) -> Result<()> {
        let vectors = pages.input.vectors;
        let row_bytes = vectors.shape().row_bytes();
        self.rows.resize(self.nodes.len() * row_bytes, 0);
        if pages.order.is_sequential() {
            vectors.read(self.nodes.start.into(), &mut self.rows)?;
        } else {
            let rows = self.rows.chunks_exact_mut(row_bytes);
            for (node, out) in self.nodes.clone().zip(rows) {
                vectors.read(pages.order.row_of(NodeId(node)).0.into(), out)?;
            }
        }
        let nodes = self.nodes.clone();
        pages.order.numbers(nodes.clone(), &mut self.numbers)?;
        pages
            .order
            .user_ids((pages.input.ids, nodes), &self.numbers, &mut self.user_ids)
    }

    fn encode_rows(&mut self, pages: &PageInput<'_>) -> Result<()> {
        let Some(quantizer) = pages.fine else {
            return Ok(());
        };
        let (shape, code_bytes) = (pages.input.vectors.shape(), quantizer.code_bytes());
        let mut codes = vec![0; self.nodes.len() * code_bytes];
        encode_rows((quantizer, shape), &self.rows, &mut codes, pages.pool)?;
        self.fine = (codes, code_bytes);
        Ok(())
    }

    fn read_lists(&mut self, pages: &mut PageInput<'_>) -> Result<()> {
        if let ListSource::File(graph) = pages.lists {
            let mut stream = graph.lists(self.nodes.clone());
            let mut list = Vec::new();
            for _ in self.nodes.clone() {
                stream.next_list(&mut list)?;
                self.lists.extend_from_slice(&list);
                self.ends.push(self.lists.len());
            }
        }
        if let Some(plan) = &mut pages.replicas {
            let (batch, lists) = (&*self, pages.lists);
            let nodes = self.nodes.clone();
            let chosen = plan.choose(nodes, &|node| batch.list(lists, node), pages.pool)?;
            self.replicas = chosen;
            self.read_foreign(pages)?;
        }
        self.codes = pages.codes.gather(&self.lists, pages.pool)?;
        Ok(())
    }

    /// Reads the lists that are packed beside records, if they are on disk.
    fn read_foreign(&mut self, pages: &PageInput<'_>) -> Result<()> {
        let ListSource::File(graph) = pages.lists else {
            return Ok(());
        };
        let mut wanted: Vec<u32> = self.replicas.iter().flatten().map(|node| node.0).collect();
        wanted.sort_unstable();
        wanted.dedup();
        let read = |first: u64, out: &mut [u8]| graph.read(first, out);
        let found = Gathered::read(wanted.clone(), graph.list_bytes(), &read, pages.pool)?;
        for node in wanted {
            let start = self.lists.len();
            self.lists
                .extend(neighbors(found.get(node).unwrap_or_default()));
            self.foreign.insert(node, start..self.lists.len());
        }
        Ok(())
    }

    fn list<'b>(&'b self, lists: ListSource<'b>, node: NodeId) -> Result<&'b [NodeId]> {
        if let ListSource::Graph(graph) = lists {
            return Ok(graph.neighbors(node));
        }
        if matches!(lists, ListSource::None) {
            return Ok(&[]);
        }
        let range = match self.foreign.get(&node.0) {
            Some(range) => Ok(range.clone()),
            None => self.own_range(node),
        };
        Ok(self.lists.get(range?).unwrap_or_default())
    }

    /// The range of the list of a node of the batch.
    fn own_range(&self, node: NodeId) -> Result<Range<usize>> {
        let at = self.place(node)?;
        let before = at.checked_sub(1).and_then(|before| self.ends.get(before));
        let end = self.ends.get(at).copied().unwrap_or(0);
        Ok(before.copied().unwrap_or(0)..end)
    }

    fn place(&self, node: NodeId) -> Result<usize> {
        let at = node.0.checked_sub(self.nodes.start);
        at.filter(|_| self.nodes.contains(&node.0))
            .map(|at| at as usize)
            .ok_or_else(|| not_at_hand(node))
    }

    fn encode(&self, pages: &PageInput<'_>, range: Range<u32>) -> Result<Vec<Vec<u8>>> {
        let (codec, feed) = (pages.codec, self.feed(pages));
        pages.pool.install(|| {
            range
                .into_par_iter()
                .map(|page| {
                    let capacity = codec.map().geometry.payload_bytes();
                    let mut payload = Vec::with_capacity(capacity);
                    codec.encode(PageId(page), &feed, &mut payload)?;
                    Ok(payload)
                })
                .collect()
        })
    }

    fn feed<'b>(&'b self, pages: &'b PageInput<'_>) -> BatchFeed<'b> {
        BatchFeed {
            batch: self,
            lists: pages.lists,
            codes: pages.codes,
            row_bytes: pages.input.vectors.shape().row_bytes(),
        }
    }
}

fn not_at_hand(node: NodeId) -> Error {
    Error::new(
        ErrorKind::Internal,
        format!("node {} is not at hand while pages are written", node.0),
    )
}

struct BatchFeed<'f> {
    batch: &'f NodeBatch,
    lists: ListSource<'f>,
    codes: &'f CodesAtHand,
    row_bytes: usize,
}

impl NodeFeed for BatchFeed<'_> {
    fn vector(&self, node: NodeId) -> Result<VectorPart<'_>> {
        let at = self.batch.place(node)?;
        let start = at * self.row_bytes;
        let bytes = self.batch.rows.get(start..start + self.row_bytes);
        let identity = self.batch.numbers.get(at).zip(self.batch.user_ids.get(at));
        match (bytes, identity) {
            (Some(bytes), Some((row, user_id))) => Ok(VectorPart {
                bytes,
                row: *row,
                user_id: *user_id,
            }),
            _ => Err(not_at_hand(node)),
        }
    }

    fn neighbors(&self, node: NodeId) -> Result<&[NodeId]> {
        self.batch.list(self.lists, node)
    }

    fn fine_code(&self, node: NodeId) -> Result<&[u8]> {
        let (codes, code_bytes) = &self.batch.fine;
        let start = self.batch.place(node)? * code_bytes;
        codes
            .get(start..start + code_bytes)
            .ok_or_else(|| not_at_hand(node))
    }

    fn code(&self, node: NodeId) -> Result<&[u8]> {
        let code = self.codes.code(node, &self.batch.codes);
        code.ok_or_else(|| not_at_hand(node))
    }

    fn replicas(&self, node: NodeId) -> Result<&[NodeId]> {
        let at = self.batch.place(node)?;
        Ok(self.batch.replicas.get(at).map_or(&[], Vec::as_slice))
    }
}
