//! What stays in memory beside the codes.

use std::collections::HashSet;

use pageway_store::{BlobReader, PageReader};
use pageway_types::{NodeId, PageId};

use super::Source;
use crate::cache::{Eviction, ImageShape, NodeCache, PageCache};
use crate::error::Result;
use crate::execution::CachePart;
use crate::layout::{PageCodec, PageView};
use crate::spec::{CacheSpec, CodecSpec, IndexSpec, NodeCacheSpec, PageCacheSpec, VectorStorage};
use crate::storage::gather;

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
            NodeCacheSpec::Records | NodeCacheSpec::Lists => bytes - pages,
        };
        Self { nodes, pages }
    }
}

/// Whether an index of this spec has a list of hot nodes.
pub(crate) fn keeps_hot_list(spec: &IndexSpec) -> bool {
    spec.cache.nodes != NodeCacheSpec::None || spec.cache.pages == PageCacheSpec::Hot
}

/// Fills the caches of a searcher.
pub(super) fn load<C: PageCodec>(
    source: Source<'_>,
    codec: &C,
    reader: &PageReader,
    bytes: CacheBytes,
) -> Result<CachePart> {
    let loader = Loader {
        source,
        codec,
        reader,
    };
    let (nodes, vectors) = loader.nodes(bytes.nodes)?;
    Ok(CachePart {
        nodes,
        vectors,
        pages: loader.pages(bytes.pages)?,
    })
}

struct Loader<'l, C: PageCodec> {
    source: Source<'l>,
    codec: &'l C,
    reader: &'l PageReader,
}

impl<C: PageCodec> Loader<'_, C> {
    /// The cache of records or lists; and of vectors, where all lists are in and memory is left.
    fn nodes(&self, bytes: u64) -> Result<(NodeCache, NodeCache)> {
        let spec = &self.source.manifest.spec;
        let row_bytes = spec.shape.vectors().row_bytes();
        let shape = ImageShape {
            neighbors: self.codec.max_neighbors(),
            code_bytes: if spec.layout.codec == CodecSpec::InlineCodes {
                spec.storage.quantizer.code_bytes() as usize
            } else {
                0
            },
            vector_bytes: match spec.cache.nodes {
                NodeCacheSpec::Records => row_bytes,
                NodeCacheSpec::None | NodeCacheSpec::Lists => 0,
            },
        };
        let listed = self.hot_count();
        let nodes = self.fill(shape, bytes, listed)?;
        if spec.cache.nodes != NodeCacheSpec::Lists || nodes.len() < listed {
            return Ok((nodes, NodeCache::default()));
        }
        let vectors = ImageShape {
            neighbors: 0,
            code_bytes: 0,
            vector_bytes: row_bytes,
        };
        let left = bytes.saturating_sub(nodes.bytes());
        let vectors = self.fill(vectors, left, listed)?;
        Ok((nodes, vectors))
    }

    /// Takes hot nodes, in order, until the cache is full.
    fn fill(&self, shape: ImageShape, bytes: u64, listed: usize) -> Result<NodeCache> {
        let mean = self.source.manifest.graph.mean_degree.ceil() as usize;
        let mut cache = NodeCache::new(bytes, shape, mean, listed);
        let room = NodeCache::capacity_for(bytes, shape.bytes(0), listed);
        let hot = self.hot_nodes(room)?;
        let map = self.codec.map();
        for batch in hot.chunks(LOAD_BATCH) {
            let page_of = |node: &NodeId| match shape.neighbors {
                0 => map.vector_page_of(*node),
                _ => map.page_of(*node),
            };
            let pages: Vec<PageId> = batch.iter().map(page_of).collect();
            let mut images = vec![Vec::new(); batch.len()];
            gather(self.reader, &pages, &mut |at, payload| {
                let parts = (batch.get(at), pages.get(at), images.get_mut(at));
                if let (Some(node), Some(page), Some(image)) = parts {
                    self.image(&cache, (*node, *page), payload, image)?;
                }
                Ok(())
            })?;
            let full = batch
                .iter()
                .zip(&images)
                .any(|(node, image)| !cache.insert(*node, image));
            if full {
                break;
            }
        }
        Ok(cache)
    }

    fn image(
        &self,
        cache: &NodeCache,
        (node, page): (NodeId, PageId),
        payload: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<()> {
        let view = self.codec.view(page, payload)?;
        let separate = self.source.manifest.spec.storage.vectors == VectorStorage::Separate;
        let record = if separate && self.codec.map().holds_vectors_alone(page) {
            crate::layout::Record {
                node,
                vector: Some(view.vector(node)?),
                neighbors: crate::layout::Neighbors::default(),
            }
        } else {
            view.record(node)?
        };
        cache.image(&record, out);
        Ok(())
    }

    fn pages(&self, bytes: u64) -> Result<PageCache> {
        let eviction = match self.source.manifest.spec.cache.pages {
            PageCacheSpec::None | PageCacheSpec::Hot => Eviction::Pinned,
            PageCacheSpec::Lru => Eviction::Lru,
            PageCacheSpec::Clock => Eviction::Clock,
        };
        let map = self.codec.map();
        let payload_bytes = map.geometry.payload_bytes();
        let capacity = PageCache::capacity_for(bytes, payload_bytes);
        let capacity = capacity.min(map.page_count() as usize);
        let cache = PageCache::new(capacity, payload_bytes, eviction);
        if eviction != Eviction::Pinned || capacity == 0 {
            return Ok(cache);
        }
        let pages = self.hot_pages(capacity)?;
        for batch in pages.chunks(LOAD_BATCH) {
            gather(self.reader, batch, &mut |at, payload| {
                if let Some(page) = batch.get(at) {
                    cache.pin(*page, payload);
                }
                Ok(())
            })?;
        }
        Ok(cache)
    }

    /// The first `capacity` pages of the hot list. Reads no farther than it must.
    fn hot_pages(&self, capacity: usize) -> Result<Vec<PageId>> {
        let Source { vfs, dir, manifest } = self.source;
        let Some(file) = &manifest.files.hot else {
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
        let node_count = self.source.manifest.node_count;
        let (words, _) = bytes.as_chunks::<4>();
        words
            .iter()
            .map(|word| NodeId(u32::from_le_bytes(*word)))
            .filter(move |node| node.0 < node_count)
    }

    fn hot_count(&self) -> usize {
        let hot = self.source.manifest.files.hot.as_ref();
        let listed = hot.map_or(0, |hot| hot.payload_bytes / 4);
        listed.min(u64::from(self.source.manifest.node_count)) as usize
    }

    /// The first `limit` nodes of the hot list.
    fn hot_nodes(&self, limit: usize) -> Result<Vec<NodeId>> {
        let Source { vfs, dir, manifest } = self.source;
        let Some(file) = manifest.files.hot.as_ref().filter(|_| limit > 0) else {
            return Ok(Vec::new());
        };
        let mut bytes = vec![0; limit.min(self.hot_count()) * 4];
        BlobReader::open(vfs, dir, file)?.read_exact(&mut bytes)?;
        Ok(self.nodes_in(&bytes).collect())
    }
}

/// Checks the list of hot nodes.
pub(crate) fn check_hot(source: Source<'_>) -> Result<()> {
    let Some(file) = &source.manifest.files.hot else {
        return Ok(());
    };
    let mut hot = BlobReader::open(source.vfs, source.dir, file)?;
    let mut word = [0; 4];
    while hot.remaining_bytes() > 0 {
        hot.read_exact(&mut word)?;
        let node = u32::from_le_bytes(word);
        if node >= source.manifest.node_count {
            return Err(source.corrupt(&file.name, format!("node {node} is out of range")));
        }
    }
    Ok(())
}
