//! Codecs, and what follows from them.

use std::cmp::Reverse;

use pageway_store::{MAX_UNIT_BYTES, OpenMode};
use pageway_types::{NodeId, PageId};

use super::cache::record_copy_bytes;
use super::codes::{scorer_bytes, turned_values};
use super::{Source, entry, record_pages};
use crate::cache::ListRead;
use crate::error::Result;
use crate::execution::{CodeShape, HarvestShape, Hold, IndexShape, PROBE_BLOCK};
use crate::layout::{
    NodeFeed, PageCodec, PageMap, PageNodeCodec, PageView, RecordCodec, UnpackedList,
};
use crate::manifest::SegmentEntry;
use crate::spec::{CodecSpec, EntrySpec, HarvestSpec, IndexSpec, VectorStorage};
use crate::storage::{RecordPages, gather};

/// Any codec, for what does not happen per record.
pub(crate) enum AnyCodec {
    Record(RecordCodec),
    PageNode(PageNodeCodec),
}

/// The codec of a spec.
pub(crate) fn codec(spec: &IndexSpec, node_count: u32) -> Result<AnyCodec> {
    Ok(match spec.layout.codec {
        CodecSpec::Packed
        | CodecSpec::InlineCodes
        | CodecSpec::Replicated { .. }
        | CodecSpec::Split => AnyCodec::Record(RecordCodec::new(spec, node_count)?),
        CodecSpec::PageNode { .. } => AnyCodec::PageNode(PageNodeCodec::new(spec, node_count)?),
    })
}

/// The codec of a segment, to which nodes may have come since it was built.
pub(crate) fn segment_codec(segment: &SegmentEntry) -> Result<AnyCodec> {
    Ok(match codec(&segment.spec, segment.node_count)? {
        AnyCodec::Record(codec) => AnyCodec::Record(codec.grown_from(segment.built())),
        own @ AnyCodec::PageNode(_) => own,
    })
}

impl AnyCodec {
    /// Which page holds which node.
    pub(crate) fn map(&self) -> PageMap {
        match self {
            Self::Record(codec) => codec.map(),
            Self::PageNode(codec) => codec.map(),
        }
    }

    /// Neighbours that one list may have.
    pub(crate) fn max_neighbors(&self) -> usize {
        match self {
            Self::Record(codec) => codec.max_neighbors(),
            Self::PageNode(codec) => codec.max_neighbors(),
        }
    }

    /// Appends the payload of a page.
    pub(crate) fn encode(
        &self,
        page: PageId,
        feed: &dyn NodeFeed,
        payload: &mut Vec<u8>,
    ) -> Result<()> {
        match self {
            Self::Record(codec) => codec.encode(page, feed, payload),
            Self::PageNode(codec) => codec.encode(page, feed, payload),
        }
    }
}

/// Lists that are followed for a candidate whose page is read.
fn lists_per_candidate(spec: &IndexSpec, map: PageMap) -> usize {
    let others = map.nodes_per_page.saturating_sub(1);
    let share = match (spec.execution.harvest, spec.layout.codec) {
        (HarvestSpec::Target | HarvestSpec::Held, _) | (_, CodecSpec::PageNode { .. }) => 0.0,
        (HarvestSpec::Near { share }, _) => share,
        (HarvestSpec::All, _) => 1.0,
    };
    1 + (others as f32 * share).ceil() as usize
}

/// Records that a page of a walk gives.
fn harvest_shape(spec: &IndexSpec, map: PageMap) -> HarvestShape {
    // Without lists only pages of fine codes are read before the refinement.
    let is_read = spec.graph.max_degree() > 0 || spec.storage.vectors == VectorStorage::Coded;
    let is_harvested = match spec.execution.harvest {
        HarvestSpec::Near { .. } | HarvestSpec::All => is_read,
        HarvestSpec::Target | HarvestSpec::Held => false,
    };
    if !is_harvested {
        return HarvestShape::default();
    }
    HarvestShape {
        nodes: map.nodes_per_page as usize,
        waits: spec.execution.defers_harvest(),
    }
}

/// Nodes that a walk starts at, at most.
fn seeds(entry: EntrySpec) -> u32 {
    match entry {
        EntrySpec::Medoid => 1,
        EntrySpec::Clusters => PROBE_BLOCK,
        EntrySpec::Fixed { count } => count,
        EntrySpec::Navigation { list_size, .. } | EntrySpec::UpperLayers { list_size } => list_size,
        // And the medoid.
        EntrySpec::Hash { limit, .. } => limit + 1,
    }
}

/// What a scratch must suit.
pub(crate) fn index_shape(spec: &IndexSpec, node_count: u32) -> Result<IndexShape> {
    let codec = codec(spec, node_count)?;
    let map = codec.map();
    let execution = spec.execution;
    let hold = if execution.harvest == HarvestSpec::Held {
        let replicas = spec.layout.codec.packed_lists() * map.nodes_per_page;
        Hold::Walk {
            replicas: replicas as usize,
        }
    } else if execution.keeps_pages() || execution.takes_in_order() {
        Hold::Round
    } else {
        Hold::Nothing
    };
    Ok(IndexShape {
        nodes: node_count as usize,
        max_neighbors: codec.max_neighbors(),
        seeds: seeds(spec.execution.entry) as usize,
        lists_per_candidate: lists_per_candidate(spec, map),
        harvested: harvest_shape(spec, map),
        dimension: spec.shape.dimension as usize,
        folded_bytes: folded_bytes(spec, node_count)?,
        codes: CodeShape {
            scorer_bytes: scorer_bytes(spec),
            turned_values: turned_values(spec),
            bounded: execution.refine.is_bounded(),
            coded: spec.storage.vectors == VectorStorage::Coded,
            rescored: execution.refine.is_cascade(),
        },
        payload_bytes: map.geometry.payload_bytes(),
        record_bytes: record_copy_bytes(spec, codec.max_neighbors()),
        entry: entry::scratch_shape(spec, node_count),
        hold,
    })
}

impl IndexSpec {
    /// The design over `node_count` rows that were looked at; `below_two` if all components are
    /// below 2 in size, so that vectors are folded where more of them fit a page then.
    ///
    /// # Errors
    /// `InvalidInput` for vectors larger than the largest unit of a page file.
    pub(crate) fn for_rows(&self, node_count: u32, below_two: bool) -> Result<Self> {
        let mut spec = self.clone();
        let folded = if below_two {
            best_fold(self, node_count)?
        } else {
            0
        };
        spec.layout.folded = Some(folded);
        Ok(spec)
    }
}

/// The number of folded components with which most vectors fit, and a read brings the fewest bytes;
/// the least of those.
fn best_fold(spec: &IndexSpec, node_count: u32) -> Result<u32> {
    if !spec.storage.vectors.has_own_pages() {
        return Ok(0);
    }
    let mut spec = spec.clone();
    let (mut best, mut most) = (0, (0, Reverse(usize::MAX)));
    for folded in 0..=spec.shape.vectors().foldable() {
        spec.layout.folded = Some(folded);
        let map = codec(&spec, node_count)?.map();
        let bytes = map.geometry.unit_bytes();
        let fit = map.vectors_per_page as usize * MAX_UNIT_BYTES / bytes;
        if (fit, Reverse(bytes)) > most {
            (best, most) = (folded, (fit, Reverse(bytes)));
        }
    }
    Ok(best)
}

/// Bytes of a vector if it may be folded on its page.
fn folded_bytes(spec: &IndexSpec, node_count: u32) -> Result<usize> {
    let folded = match spec.layout.folded {
        Some(folded) => folded,
        None => best_fold(spec, node_count)?,
    };
    Ok(match folded {
        0 => 0,
        _ => spec.shape.vectors().row_bytes(),
    })
}

/// The lists of an index, off its record file.
pub(crate) fn list_reader(source: Source<'_>) -> Result<Box<dyn ListRead>> {
    let records = record_pages(source, OpenMode::ReadDirect)?.records;
    let segment = source.segment;
    Ok(match segment_codec(segment)? {
        AnyCodec::Record(codec) => Box::new(PageLists { codec, records }),
        AnyCodec::PageNode(codec) => Box::new(PageLists { codec, records }),
    })
}

struct PageLists<C: PageCodec> {
    codec: C,
    records: RecordPages,
}

impl<C: PageCodec> ListRead for PageLists<C> {
    fn node_count(&self) -> u32 {
        self.codec.map().node_count
    }

    fn lists(&self, nodes: &[NodeId], visit: &mut dyn FnMut(usize, &[NodeId])) -> Result<()> {
        let map = self.codec.map();
        let pages: Vec<PageId> = nodes.iter().map(|node| map.page_of(*node)).collect();
        let (mut unpacked, mut list) = (UnpackedList::new(), Vec::new());
        gather(&self.records, &pages, &mut |at, payload| {
            if let (Some(node), Some(page)) = (nodes.get(at), pages.get(at)) {
                let record = self.codec.view(*page, payload)?.record(*node)?;
                list.clear();
                list.extend(record.list.unpack(&mut unpacked)?.0.iter());
                visit(at, &list);
            }
            Ok(())
        })
    }
}
