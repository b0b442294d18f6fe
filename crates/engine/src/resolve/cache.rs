//! What stays in memory beside the codes.

use std::collections::HashSet;

use pageway_store::BlobReader;
use pageway_types::{NodeId, PageId};

use super::Source;
use super::fill::Fill;
use crate::cache::{
    Eviction, FrameCache, ImageCache, ImageShape, ListCache, ListShape, NodeCache, RecentRecords,
};
use crate::error::Result;
use crate::execution::{CachePart, NodeSet};
use crate::layout::{Neighbors, PageCodec, PageView, Record, StoredList, UnfoldedVector};
use crate::manifest::SegmentEntry;
use crate::spec::{CacheSpec, CodecSpec, IndexSpec, NodeCacheSpec, PageCacheSpec, VectorStorage};
use crate::storage::{RecordPages, gather};

/// Nodes whose records are loaded per batch.
const LOAD_BATCH: usize = 4096;

/// What caches may take.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct CacheBytes {
    nodes: u64,
    pages: u64,
}

impl CacheBytes {
    /// Divides `bytes` as the spec says.
    pub(crate) fn divide(bytes: u64, spec: CacheSpec) -> Self {
        let pages = match (spec.nodes, spec.pages) {
            (_, PageCacheSpec::None) => 0,
            (NodeCacheSpec::None, _) => bytes,
            _ => (bytes as f64 * f64::from(spec.page_share)) as u64,
        };
        let nodes = match spec.nodes {
            NodeCacheSpec::None => 0,
            NodeCacheSpec::Records | NodeCacheSpec::Clock | NodeCacheSpec::Lists => bytes - pages,
        };
        Self { nodes, pages }
    }
}

/// Whether an index of this spec has a list of hot nodes.
pub(crate) fn keeps_hot_list(spec: &IndexSpec) -> bool {
    spec.cache.nodes != NodeCacheSpec::None || spec.cache.pages == PageCacheSpec::Hot
}

/// Bytes of all adjacency lists in memory: what a node cache `lists` needs to hold them all.
///
/// An estimate, for before there is a graph: with lists of `mean_degree`, or with the longest
/// there may be. It is rather too high than too low.
pub(crate) fn list_memory_bytes(
    spec: &IndexSpec,
    node_count: u32,
    mean_degree: Option<f64>,
) -> u64 {
    let max_degree = spec.graph.max_degree();
    let mean_degree = mean_degree.unwrap_or_else(|| max_degree.into());
    let shape = ListShape::expected(
        node_count,
        max_degree,
        (mean_degree, spec.layout.is_placed()),
    );
    ListCache::bytes_of_all(shape)
}

/// Bytes of all adjacency lists of an index in memory, where it may hold them.
pub(crate) fn packed_list_bytes(segment: &SegmentEntry) -> Option<u64> {
    if !segment.spec.cache.holds_lists() {
        return None;
    }
    segment.graph.packed_bytes?;
    let shape = list_shape(segment, segment.spec.graph.max_degree());
    Some(ListCache::bytes_of_all(shape))
}

/// The lists of an index: as the build counted them, or about.
fn list_shape(segment: &SegmentEntry, max_degree: u32) -> ListShape {
    let graph = segment.graph;
    let mean = (graph.mean_degree, false);
    let expected = ListShape::expected(segment.node_count, max_degree, mean);
    ListShape {
        packed_bytes: graph.packed_bytes.unwrap_or(expected.packed_bytes),
        ..expected
    }
}

/// Fills the caches of a searcher.
pub(super) fn load<C: PageCodec>(
    source: Source<'_>,
    codec: &C,
    records: &RecordPages,
    bytes: CacheBytes,
) -> Result<CachePart> {
    let loader = Loader {
        source,
        codec,
        records,
    };
    let (nodes, vectors) = loader.nodes(bytes.nodes)?;
    Ok(CachePart {
        nodes,
        vectors,
        pages: loader.pages(bytes.pages)?,
    })
}

/// What of a record is kept in memory.
fn record_shape(spec: &IndexSpec, max_neighbors: usize) -> ImageShape {
    let inline = spec.layout.codec == CodecSpec::InlineCodes;
    let code_bytes = spec.storage.quantizer.code_bytes() as usize;
    let vector_bytes = spec.shape.vectors().row_bytes();
    ImageShape {
        neighbors: max_neighbors,
        code_bytes: if inline { code_bytes } else { 0 },
        vector_bytes: spec.storage.bytes_beside_list(vector_bytes),
    }
}

/// Bytes of a copy of a record, where a query makes one.
pub(crate) fn record_copy_bytes(spec: &IndexSpec, max_neighbors: usize) -> usize {
    if spec.cache.nodes == NodeCacheSpec::Clock {
        record_shape(spec, max_neighbors).most_bytes()
    } else {
        0
    }
}

struct Loader<'l, C: PageCodec> {
    source: Source<'l>,
    codec: &'l C,
    records: &'l RecordPages,
}

impl<C: PageCodec> Loader<'_, C> {
    /// The cache of records or lists; and of vectors, where all lists are in and memory is left.
    fn nodes(&self, bytes: u64) -> Result<(NodeCache, ImageCache)> {
        let spec = &self.source.segment.spec;
        let vector_bytes = spec.shape.vectors().row_bytes();
        match spec.cache.nodes {
            NodeCacheSpec::None => Ok(Default::default()),
            NodeCacheSpec::Records => {
                let records = self.images(record_shape(spec, self.codec.max_neighbors()), bytes)?;
                Ok((NodeCache::Records(records), ImageCache::default()))
            }
            NodeCacheSpec::Clock => {
                let records = self.recent(bytes)?;
                Ok((NodeCache::Recent(records), ImageCache::default()))
            }
            NodeCacheSpec::Lists => {
                let lists = self.lists(bytes)?;
                let left = if lists.len() < self.hot_count() {
                    0
                } else {
                    bytes.saturating_sub(lists.bytes())
                };
                let shape = ImageShape {
                    vector_bytes,
                    ..ImageShape::default()
                };
                Ok((NodeCache::Lists(lists), self.images(shape, left)?))
            }
        }
    }

    /// The lists of all nodes where they fit, else of hot ones.
    fn lists(&self, bytes: u64) -> Result<ListCache> {
        let segment = self.source.segment;
        let shape = list_shape(segment, self.codec.max_neighbors() as u32);
        if ListCache::bytes_of_all(shape) <= bytes {
            let mut lists = ListCache::of_all(shape);
            self.fill(&mut lists, (0..segment.node_count).map(NodeId))?;
            if lists.len() == segment.node_count as usize {
                return Ok(lists);
            }
        }
        let mut lists = ListCache::of_some(shape, bytes, self.hot_count());
        let hot = self.hot_nodes(lists.capacity())?;
        self.fill(&mut lists, hot.into_iter())?;
        Ok(lists)
    }

    /// Images of hot nodes.
    fn images(&self, shape: ImageShape, bytes: u64) -> Result<ImageCache> {
        let mean = self.source.segment.graph.mean_degree.ceil() as usize;
        let mut images = ImageCache::new(bytes, shape, mean, self.hot_count());
        let hot = self.hot_nodes(images.capacity())?;
        self.fill(&mut images, hot.into_iter())?;
        Ok(images)
    }

    /// Records of hot nodes, to begin with: the hottest came last, so they go last.
    fn recent(&self, bytes: u64) -> Result<RecentRecords> {
        let SegmentEntry {
            spec, node_count, ..
        } = self.source.segment;
        let shape = record_shape(spec, self.codec.max_neighbors());
        let mut records = RecentRecords::new(bytes, shape, *node_count as usize);
        let hot = self.hot_nodes(records.capacity())?;
        self.fill(&mut records, hot.into_iter().rev())?;
        Ok(records)
    }

    /// Takes nodes, in order, until the cache is full.
    fn fill(&self, cache: &mut impl Fill, mut nodes: impl Iterator<Item = NodeId>) -> Result<()> {
        let map = self.codec.map();
        loop {
            let batch: Vec<NodeId> = nodes.by_ref().take(LOAD_BATCH).collect();
            let page_of = |node: &NodeId| {
                if cache.wants_vectors() {
                    map.vector_page_of(*node)
                } else {
                    map.page_of(*node)
                }
            };
            let pages: Vec<PageId> = batch.iter().map(page_of).collect();
            let mut images = vec![Vec::new(); batch.len()];
            let mut room = UnfoldedVector::new();
            gather(self.records, &pages, &mut |at, payload| {
                let parts = (batch.get(at), pages.get(at), images.get_mut(at));
                if let (Some(node), Some(page), Some(image)) = parts {
                    let record = self.record((*node, *page), payload, &mut room)?;
                    cache.image(&record, image)?;
                }
                Ok(())
            })?;
            let mut pairs = batch.iter().zip(&images);
            let full = pairs.any(|(node, image)| !cache.insert(*node, image));
            if full || batch.len() < LOAD_BATCH {
                return Ok(());
            }
        }
    }

    /// What a page has of a node.
    fn record<'p>(
        &'p self,
        (node, page): (NodeId, PageId),
        payload: &'p [u8],
        room: &'p mut UnfoldedVector,
    ) -> Result<Record<'p>> {
        let view = self.codec.view(page, payload)?;
        let separate = self.source.segment.spec.storage.vectors == VectorStorage::Separate;
        if separate && self.codec.map().holds_vectors_alone(page) {
            return Ok(Record {
                node,
                vector: Some(view.vector(node, room)?),
                list: StoredList::Plain(Neighbors::default()),
            });
        }
        Ok(view.record(node)?)
    }

    fn pages(&self, bytes: u64) -> Result<FrameCache> {
        let eviction = match self.source.segment.spec.cache.pages {
            PageCacheSpec::None | PageCacheSpec::Hot => Eviction::Pinned,
            PageCacheSpec::Lru => Eviction::Lru,
            PageCacheSpec::Clock => Eviction::Clock,
        };
        let map = self.codec.map();
        let payload_bytes = map.geometry.payload_bytes();
        let capacity = FrameCache::capacity_for(bytes, payload_bytes);
        let capacity = capacity.min(map.page_count() as usize);
        let cache = FrameCache::new(capacity, payload_bytes, eviction);
        if eviction != Eviction::Pinned || capacity == 0 {
            return Ok(cache);
        }
        let pages = self.hot_pages(capacity)?;
        for batch in pages.chunks(LOAD_BATCH) {
            gather(self.records, batch, &mut |at, payload| {
                if let Some(page) = batch.get(at) {
                    cache.pin(page.0, payload);
                }
                Ok(())
            })?;
        }
        Ok(cache)
    }

    /// The first `capacity` pages of the hot list. Reads no farther than it must.
    fn hot_pages(&self, capacity: usize) -> Result<Vec<PageId>> {
        let Source { vfs, dir, segment } = self.source;
        let Some(file) = &segment.files.hot else {
            return Ok(Vec::new());
        };
        let mut hot = BlobReader::open(vfs, dir, file)?;
        let (mut taken, mut pages) = (HashSet::new(), Vec::new());
        let mut bytes = vec![0; LOAD_BATCH * 4];
        while pages.len() < capacity && hot.remaining_bytes() > 0 {
            let length = hot.remaining_bytes().min(bytes.len() as u64) as usize;
            let batch = bytes.get_mut(..length).unwrap_or_default();
            hot.read_exact(batch)?;
            for node in self.nodes_in(batch) {
                let page = self.codec.map().page_of(node);
                if pages.len() < capacity && taken.insert(page.0) {
                    pages.push(page);
                }
            }
        }
        Ok(pages)
    }

    /// The nodes that some bytes of a hot list name. A list that was damaged on purpose may name
    /// others: `verify` says so.
    fn nodes_in<'b>(&self, bytes: &'b [u8]) -> impl Iterator<Item = NodeId> + use<'b, C> {
        let node_count = self.source.segment.node_count;
        let (words, _) = bytes.as_chunks::<4>();
        words
            .iter()
            .map(|word| NodeId(u32::from_le_bytes(*word)))
            .filter(move |node| node.0 < node_count)
    }

    fn hot_count(&self) -> usize {
        let hot = self.source.segment.files.hot.as_ref();
        let listed = hot.map_or(0, |hot| hot.payload_bytes / 4);
        listed.min(u64::from(self.source.segment.node_count)) as usize
    }

    /// The first `limit` nodes of the hot list.
    fn hot_nodes(&self, limit: usize) -> Result<Vec<NodeId>> {
        let Source { vfs, dir, segment } = self.source;
        let Some(file) = segment.files.hot.as_ref().filter(|_| limit > 0) else {
            return Ok(Vec::new());
        };
        let mut bytes = vec![0; limit.min(self.hot_count()) * 4];
        BlobReader::open(vfs, dir, file)?.read_exact(&mut bytes)?;
        Ok(self.nodes_in(&bytes).collect())
    }
}

/// Checks the list of hot nodes.
pub(crate) fn check_hot(source: Source<'_>) -> Result<()> {
    let Some(file) = &source.segment.files.hot else {
        return Ok(());
    };
    let mut hot = BlobReader::open(source.vfs, source.dir, file)?;
    let mut word = [0; 4];
    if hot.remaining_bytes() == 0 || !hot.remaining_bytes().is_multiple_of(4) {
        return Err(source.corrupt(&file.name, "it is no list of nodes"));
    }
    let mut listed = NodeSet::default();
    while hot.remaining_bytes() > 0 {
        hot.read_exact(&mut word)?;
        let node = u32::from_le_bytes(word);
        if node >= source.segment.node_count {
            return Err(source.corrupt(&file.name, format!("node {node} is out of range")));
        }
        if !listed.insert(NodeId(node)) {
            return Err(source.corrupt(&file.name, format!("node {node} stands in it twice")));
        }
    }
    Ok(())
}
